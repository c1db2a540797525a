#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rights_test.py [-q] [BINARY]: oomsnoop with as little as it needs: another user than root, single
capabilities, containers as the manifests describe them, its own memory limit. Makes contained OOM
kills in memory cgroups of its own. Needs root, runc and the image (make image). Prints "ok NAME" and
"FAIL NAME: why" lines and a last line of sums."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import manifests
import suite
from bundle import IMAGE, Container
from cgroup import Cgroup, eat
from cli_test import EX_UNAVAILABLE, EX_USAGE, Tracer, differ, records, run

TOP = Path(__file__).resolve().parents[2]
NEEDED = ('bpf', 'perfmon')
EXTRAS = ('sys_resource', 'ipc_lock', 'sys_nice', 'syslog', 'sys_ptrace', 'dac_read_search')
MIB = 1 << 20
SLACK_MIB = 2


def nobody(*extra):
    """uid 65534 with the two capabilities, and these."""
    names = ','.join(f'+{name}' for name in (*NEEDED, *extra))
    return [
        'setpriv',
        '--reuid=65534',
        '--regid=65534',
        '--clear-groups',
        f'--inh-caps=-all,{names}',
        f'--ambient-caps=-all,{names}',
        f'--bounding-set=-all,{names}',
        '--no-new-privs',
    ]


def inside(cgroup):
    """Started in a cgroup."""
    path = (cgroup.path + b'/cgroup.procs').decode()
    return ['sh', '-c', 'echo $$ >"$0"; exec "$@"', path]


def killed(binary, wrap):
    """One kill: (its record, its pid, stderr)."""
    with Cgroup('rights', 16) as cgroup:
        tracer = Tracer(binary, '--json', '--max-events', '1', '--cgroup', cgroup.shown, wrap=wrap)
        pid = eat(cgroup, 64)
        status, out, err = tracer.end(None)
    if status != 0:
        raise AssertionError(f'ended with {status}: {err!r}')
    (record,) = records(out)[1]
    return record, pid, err.decode()


def unknown(record):
    return {entry['field']: entry['why'] for entry in record['missing']}


# --- another user than root ---


def test_two_capabilities(binary):
    """The record is what root's is, but for what is named."""
    record, pid, err = killed(binary, nobody())
    root, _, _ = killed(binary, [])
    yield from differ('victim', record['victim_pid'], pid)
    yield from differ('limit', record['limit_bytes'], 16 * MIB)
    yield from differ('hooks', record['hooks'], root['hooks'])
    lost = set(root) - set(record) - {'kernel_log', 'victim_exe'}
    # What the kernel's own report tells comes with it.
    lost -= {name for name in lost if name in unknown(record) or name.startswith('composition')}
    lost -= {'kernel_log_limit', 'source', 'kernel_log_difference', 'failcnt'}
    if lost:
        yield f'not told, and not named in missing: {sorted(lost)}'
    for field in ('victim_exe', 'kernel_log'):
        if field not in unknown(record):
            yield f'{field} is not named in missing'
    if b'eat' not in record['victim_cmdline'].encode():
        yield f'the command line is {record.get("victim_cmdline")!r}'
    for name in ('CAP_SYS_RESOURCE', 'CAP_SYS_NICE', 'CAP_SYSLOG', 'CAP_SYS_PTRACE'):
        yield from differ(f'lines on {name}', err.count(f'{name} is missing'), 1)


def test_doctor_names_the_losses(binary):
    code, out, _ = run(binary, 'doctor', '--json', wrap=nobody())
    yield from differ('status', code, 0)
    rights = json.loads(out)['rights']
    yield from differ('held', sorted(rights['effective']), ['CAP_BPF', 'CAP_PERFMON'])
    lost = {entry['capability'] for entry in rights['extra'] if 'lost' in entry}
    # Whether memory may be locked is a matter of RLIMIT_MEMLOCK, too.
    want = {f'CAP_{name.upper()}' for name in EXTRAS}
    yield from differ('lost', lost | {'CAP_IPC_LOCK'}, want)
    yield from differ('locked', 'CAP_IPC_LOCK' in lost, not rights['memory_locked'])


def test_each_capability_buys_what_is_said(binary):
    record, _, err = killed(binary, nobody('syslog', 'sys_ptrace', 'ipc_lock', 'sys_nice'))
    yield from differ('exe', os.path.basename(record.get('victim_exe', '')), 'eat')
    if 'kernel_log' in unknown(record):
        yield 'the kernel log is not read with CAP_SYSLOG'
    for name in ('CAP_IPC_LOCK', 'CAP_SYS_NICE', 'CAP_SYSLOG', 'CAP_SYS_PTRACE'):
        if name in err:
            yield f'{name} is there and complained about: {err}'


def test_permitted_is_enough(binary):
    """A file's capabilities come as permitted alone: what the image has."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        copy = shutil.copy(binary, folder)
        subprocess.run(['setcap', 'cap_bpf,cap_perfmon+p', copy], check=True)
        wrap = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
        code, out, _ = run(copy, 'doctor', '--json', wrap=wrap)
        yield from differ('status', code, 0)
        yield from differ(
            'effective', sorted(json.loads(out)['rights']['effective']), ['CAP_BPF', 'CAP_PERFMON']
        )
        # ...and where none may be had it starts all the same.
        code, out, _ = run(copy, 'doctor', '--json', wrap=[*wrap, '--bounding-set=-all'])
        yield from differ('obstacle', json.loads(out).get('obstacle'), 'not_permitted')


def test_other_pid_namespace(binary):
    record, pid, err = killed(binary, ['unshare', '--pid', '--fork', '--mount-proc'])
    yield from differ('victim', record['victim_pid'], pid)
    if "not the host's pid namespace" not in err:
        yield f'the namespace is not told: {err}'
    # The kill came after the start, so it is known all the same.
    if 'eat' not in record.get('victim_cmdline', ''):
        yield f'the command line is {record.get("victim_cmdline")!r}'


# --- containers as the manifests have them ---


def manifest(folder):
    return manifests.tracer(manifests.resolve(manifests.KUBERNETES / folder))


def container_errors(folder):
    spec, container = manifest(folder)
    with Cgroup('rights', 16) as cgroup:
        extra = ['--max-events=1', f'--cgroup={cgroup.shown}']
        fields = {'metadata.uid': cgroup.shown.rpartition('/')[2]}
        with Container(folder.replace('/', '-'), spec, container, extra, fields) as tracer:
            tracer.wait_ready()
            status, said = tracer.probe(container['readinessProbe']['exec']['command'])
            yield from differ('probe', (status, json.loads(said)['incidents']), (0, 0))
            pid = eat(cgroup, 64)
            yield from differ('status', tracer.wait(), 0)
            lines = [json.loads(line) for line in tracer.stdout().splitlines()]
            yield from differ(
                'lines', [line['type'] for line in lines], ['start', 'oom', 'stop']
            )
            yield from differ('victim', lines[1]['victim_pid'], pid)
            yield from differ('limit', lines[1]['limit_bytes'], 16 * MIB)
            inside_host = "not the host's pid namespace" not in tracer.stderr()
            yield from differ('host pids', inside_host, bool(spec.get('hostPID')))


def test_daemonset_base(_):
    return container_errors('base')


def test_daemonset_least_rights(_):
    return container_errors('overlays/least-rights')


def test_daemonset_privileged(_):
    return container_errors('overlays/privileged')


def test_sidecar(_):
    return container_errors('overlays/sidecar')


# --- its own memory limit ---


def need(binary):
    return json.loads(run(binary, 'doctor', '--json')[1])['own']


def test_refuses_what_does_not_fit(binary):
    full = need(binary)['full_bytes'] // MIB + 1
    with Cgroup('room', full // 2) as cgroup:
        code, out, err = run(binary, '--timeout', '1', '--json', wrap=inside(cgroup))
        yield from differ('status', (code, out), (EX_UNAVAILABLE, b''))
        words = err.decode().split()
        if '--memory' not in words or cgroup.shown not in err.decode():
            yield f'it says {err!r}'
            return
        size = words[words.index('--memory') + 1]
        code, _, err = run(binary, '--timeout', '1', '--memory', size, wrap=inside(cgroup))
        yield from differ(f'status with --memory {size}', (code, b'--memory' in err), (0, False))
        own = json.loads(run(binary, 'doctor', '--json', wrap=inside(cgroup))[1])['own']
        yield from differ('doctor', own['fits'], False)
        if own['memory_option_bytes'] > own['room_bytes']:
            yield f'the doctor advises what does not fit: {own}'


def test_refuses_where_nothing_fits(binary):
    with Cgroup('room', 8) as cgroup:
        code, _, err = run(binary, '--timeout', '1', wrap=inside(cgroup))
        yield from differ('status', code, EX_UNAVAILABLE)
        if b'smallest tables need' not in err:
            yield f'it says {err!r}'
    code, _, err = run(binary, '--memory', '4MiB', '--timeout', '1')
    yield from differ('--memory 4MiB', (code, b'smallest tables' in err), (EX_USAGE, True))


def test_survives_its_own_pressure(binary):
    """In a cgroup with little more than its need, where another process is killed for the limit,
    three times."""
    mib = need(binary)['full_bytes'] // MIB + SLACK_MIB
    with Cgroup('pressure', mib) as cgroup:
        tracer = Tracer(binary, '--json', '--cgroup', cgroup.shown, wrap=inside(cgroup))
        yield from differ('ready', tracer.ready, b'READY\n')
        pids = [eat(cgroup, 4 * mib) for _ in range(3)]
        yield from differ('runs on', tracer.process.poll(), None)
        status, out, _ = tracer.end()
    yield from differ('status', status, 0)
    lines, ooms = records(out)
    yield from differ('victims', [one['victim_pid'] for one in ooms], pids)
    yield from differ('limits', {one['limit_bytes'] for one in ooms}, {mib * MIB})
    yield from differ('lost', lines[-1]['lost_events'], 0)


# --- the probe ---


def test_probe(binary):
    name = f'test-{os.getpid()}'
    yield from differ('nobody there', run(binary, 'probe', name)[0], 1)
    tracer = Tracer(binary, '--json', f'--probe={name}')
    code, out, _ = run(binary, 'probe', name, wrap=nobody())
    yield from differ('answer', (code, json.loads(out)['type']), (0, 'probe'))
    for source in ('bpf', 'kmsg', 'cgroup'):
        code, _, err = run(binary, '--source', source, '--timeout', '1', f'--probe={name}')
        yield from differ(f'{source}: the name is taken', (code, name.encode() in err), (1, True))
    tracer.process.send_signal(signal.SIGSTOP)
    code, out, _ = run(binary, 'probe', name)
    yield from differ('a loop that stands still', (code, out), (1, b''))
    tracer.process.send_signal(signal.SIGCONT)
    yield from differ('status', tracer.end()[0], 0)
    yield from differ('gone', run(binary, 'probe', name)[0], 1)


def test_probe_refuses(binary):
    for options in (['probe', ''], ['probe', 'a', 'b'], ['probe', 'x' * 65], ['--probe=']):
        yield from differ(f'{options}', run(binary, *options)[0], EX_USAGE)


if __name__ == '__main__':
    if not IMAGE.exists():
        sys.exit(f'rights: there is no {IMAGE}: make image')
    sys.exit(suite.main('rights', __doc__, suite.tests_of(globals())))
