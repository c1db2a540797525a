#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cli_test.py [-q] [BINARY]: oomsnoop's command line on this machine: rights, options, bad input,
broken outputs, signals, filters, hostile names. Makes contained OOM kills in a memory cgroup of its
own. Needs root. Prints "ok NAME" and "FAIL NAME: why" lines and a last line of sums."""
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import suite
from cgroup import Cgroup, HOSTILE_COMM, eat

TOP = Path(__file__).resolve().parents[2]
EX_USAGE, EX_UNAVAILABLE, EX_IOERR, EX_NOPERM = 64, 69, 74, 77
# Under a load of two guests a start can take long; nothing here waits this long unless it fails.
PATIENCE = 30


class Tracer:
    """A running oomsnoop, attached: waits for its READY."""

    def __init__(
        self, binary, *options, stdout=subprocess.PIPE, env=None, wrap=(), anywhere=False
    ):
        reader, writer = os.pipe()
        if '--cgroup' not in options and not anywhere:
            # Kills that others make meanwhile are none of these tests' business.
            options = ('--cgroup', f'/oomsnoop-cli-{os.getpid()}-*', *options)
        self.process = subprocess.Popen(
            [*wrap, binary, '--ready-fd', str(writer), *options],
            stdout=stdout,
            stderr=subprocess.PIPE,
            pass_fds=[writer],
            env=env,
            stdin=subprocess.DEVNULL,
        )
        os.close(writer)
        self.ready = b''
        deadline = time.monotonic() + PATIENCE
        while not self.ready.endswith(b'\n') and time.monotonic() < deadline:
            if not select.select([reader], [], [], 1)[0]:
                continue
            chunk = os.read(reader, 64)
            if not chunk:
                break
            self.ready += chunk
        os.close(reader)

    def end(self, number=signal.SIGTERM):
        """(status, stdout, stderr) after a signal, or after it has ended by itself (number
        None)."""
        if number is not None and self.process.poll() is None:
            self.process.send_signal(number)
        try:
            out, err = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            return 'hangs', out, err
        return self.process.returncode, out or b'', err


def run(binary, *options, wrap=(), **more):
    """(status, stdout, stderr) of a run that ends by itself."""
    try:
        done = subprocess.run(
            [*wrap, binary, *options],
            capture_output='stdout' not in more,
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
            check=False,
            **more,
        )
    except subprocess.TimeoutExpired:
        return 'hangs', b'', b''
    return done.returncode, done.stdout or b'', done.stderr or b''


def records(out):
    lines = [json.loads(line) for line in out.splitlines()]
    return lines, [line for line in lines if line['type'] == 'oom']


def differ(what, got, want):
    return [] if got == want else [f'{what} is {got!r}, not {want!r}']


def status_errors(result, status, *, names=None):
    """A refusal: the status, nothing on stdout, one clear word on stderr."""
    code, out, err = result
    errors = differ('exit status', code, status) + differ('stdout', out, b'')
    if not err:
        errors.append('nothing on stderr')
    if names and names.encode() not in err:
        errors.append(f'stderr does not name {names}: {err[:200]!r}')
    return errors


def without(*capabilities):
    """Root without some capabilities, as a container's runtime would start it."""
    return ['setpriv', '--bounding-set=' + ','.join(f'-{name}' for name in capabilities)]


# --- rights ---


def test_not_root(binary):
    nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
    yield from status_errors(
        run(binary, '--json', '--source', 'bpf', '--timeout', '1', wrap=nobody),
        EX_NOPERM,
        names='CAP_BPF',
    )


def test_no_cap_bpf(binary):
    result = run(binary, '--json', '--source', 'bpf', '--timeout', '1', wrap=without('bpf', 'sys_admin'))
    yield from status_errors(result, EX_NOPERM, names='CAP_BPF')
    if b'CAP_PERFMON' in result[2]:
        yield 'stderr names CAP_PERFMON, which is there'


def test_no_cap_perfmon(binary):
    result = run(
        binary, '--json', '--source', 'bpf', '--timeout', '1', wrap=without('perfmon', 'sys_admin')
    )
    yield from status_errors(result, EX_NOPERM, names='CAP_PERFMON')


def test_doctor_without_rights(binary):
    """The doctor is who tells what is missing: it must not need it."""
    code, out, _ = run(binary, 'doctor', '--json', wrap=without('bpf', 'sys_admin'))
    if code == 'hangs' or code < 0:
        yield f'doctor ended with {code}'
    elif b'CAP_BPF' not in out:
        yield f'doctor does not name CAP_BPF: {out[:200]!r}'
    else:
        json.loads(out)


# --- options ---


def test_bad_options(binary):
    for options in (
        ['--no-such-option'],
        ['nonsense'],
        ['--pid', 'abc'],
        ['--pid', '0'],
        ['--pid', '-1'],
        ['--pid', ''],
        ['--pid', '99999999999'],
        ['--cgroup', ''],
        ['--comm', ''],
        ['--max-events', 'x'],
        ['--max-events', '-1'],
        ['--timeout', 'soon'],
        ['--timeout', '-1'],
        ['--timeout', ''],
        ['--ready-fd', 'x'],
        ['--ready-fd', '-1'],
        ['--pid'],
        ['--json=1'],
        ['doctor', '--no-such-option'],
        ['doctor', 'nonsense'],
    ):
        yield from (
            f'{options}: {error}' for error in status_errors(run(binary, *options), EX_USAGE)
        )


def test_ready_fd_not_open(binary):
    code, _, err = run(binary, '--json', '--timeout', '1', '--ready-fd', '77')
    if code == 'hangs' or b'--ready-fd' not in err:
        yield f'exit status {code}, stderr {err[:200]!r}'


def test_help_and_version(binary):
    for option, word in (('--help', b'--max-events'), ('--version', b'oomsnoop')):
        code, out, err = run(binary, option)
        yield from differ(f'{option} status', code, 0)
        yield from differ(f'{option} stderr', err, b'')
        if word not in out:
            yield f'{option} does not say {word!r}'


# --- outputs that break ---


def test_stdout_full(binary):
    with open('/dev/full', 'wb') as full:
        code, _, err = run(binary, '--json', '--timeout', '20', stdout=full, stderr=subprocess.PIPE)
    yield from differ('exit status', code, EX_IOERR)
    if not err:
        yield 'nothing on stderr'


def test_stdout_closed(binary):
    code, _, err = run('sh', '-c', 'exec "$@" >&-', 'sh', binary, '--json', '--timeout', '20')
    yield from differ('exit status', code, EX_IOERR)
    if not err:
        yield 'nothing on stderr'


def test_reader_gone(binary):
    """A closed pipe is how `| head -n1` says it has enough: end quietly, once there is something to
    write."""
    reader, writer = os.pipe()
    os.close(reader)
    with Cgroup('reader-gone', 16) as cgroup:
        tracer = Tracer(binary, '--json', stdout=writer)
        os.close(writer)
        eat(cgroup, 32)
        code, _, err = tracer.end(None)
    yield from differ('exit status', code, 0)
    yield from differ('stderr', re.sub(rb'(?m)^oomsnoop: (?!.*[Bb]roken pipe).*\n?', b'', err), b'')


def test_doctor_full(binary):
    with open('/dev/full', 'wb') as full:
        yield from differ(
            'exit status', run(binary, 'doctor', stdout=full, stderr=subprocess.PIPE)[0], EX_IOERR
        )


# --- how it ends ---


def test_signals(binary):
    for number in (signal.SIGTERM, signal.SIGINT):
        tracer = Tracer(binary, '--json')
        yield from differ('READY', tracer.ready, b'READY\n')
        code, out, _ = tracer.end(number)
        lines, _ = records(out)
        yield from differ(f'{number.name}: status', code, 0)
        yield from differ(
            f'{number.name}: types', [line['type'] for line in lines], ['start', 'stop']
        )


def test_drains_at_sigterm(binary):
    """A kill just before the signal is still told."""
    with Cgroup('drain', 16) as cgroup:
        tracer = Tracer(binary, '--json')
        pid = eat(cgroup, 32)
        code, out, _ = tracer.end()
    lines, incidents = records(out)
    yield from differ('status', code, 0)
    yield from differ('victims', [one.get('victim_pid') for one in incidents], [pid])
    yield from differ('last line', lines[-1]['type'], 'stop')


def test_max_events(binary):
    with Cgroup('max-events', 16) as cgroup:
        tracer = Tracer(binary, '--json', '--max-events', '2')
        pids = [eat(cgroup, 32), eat(cgroup, 32)]
        code, out, _ = tracer.end(None)
    yield from differ('status', code, 0)
    yield from differ('victims', [one.get('victim_pid') for one in records(out)[1]], pids)


def test_timeout(binary):
    begun = time.monotonic()
    code, out, _ = run(binary, '--json', '--timeout', '1')
    took = time.monotonic() - begun
    yield from differ('status', code, 0)
    yield from differ('types', [line['type'] for line in records(out)[0]], ['start', 'stop'])
    if not 0.9 < took < 10:
        yield f'took {took:.1f} s'


# --- surroundings ---


def in_own_mounts(script):
    """Wrap: the script's mounts are seen by what it starts, and by nobody else."""
    return ['unshare', '-m', 'sh', '-ec', script + '; exec "$@"', 'sh']


def test_no_btf(binary):
    wrap = in_own_mounts('mount -t tmpfs none /sys/kernel/btf')
    result = run(binary, '--json', '--timeout', '1', wrap=wrap)
    yield from status_errors(result, EX_UNAVAILABLE, names='CONFIG_DEBUG_INFO_BTF')


def test_old_kernel(binary):
    with tempfile.NamedTemporaryFile('w', encoding='ascii') as release:
        release.write('5.4.0-42-generic\n')
        release.flush()
        wrap = in_own_mounts(f'mount --bind {release.name} /proc/sys/kernel/osrelease')
        result = run(binary, '--json', '--timeout', '1', wrap=wrap)
    yield from status_errors(result, EX_UNAVAILABLE, names='5.8')


def test_no_hook_for_victims(binary):
    result = run(binary, '--json', '--timeout', '1', '--without', 'victim')
    yield from status_errors(result, EX_UNAVAILABLE, names='victim')


def test_fewer_hooks(binary):
    """Any subset gives an honest record: what is left out is named."""
    left_out = 'shared-mm,exit,freed,reaper,fork,exec,cgroup,census'
    with Cgroup('fewer', 16) as cgroup:
        options = ('--json', '--settle', '500ms', '--max-events', '1', '--without', left_out)
        tracer = Tracer(binary, *options)
        pid = eat(cgroup, 32)
        code, out, _ = tracer.end(None)
    lines, incidents = records(out)
    yield from differ('status', code, 0)
    yield from differ('victims', [one.get('victim_pid') for one in incidents], [pid])
    for record in incidents:
        missing = {one['field'] for one in record['missing']}
        yield from differ('closed', record['closed'], 'timeout')
        wanted = {'exit_ms', 'freed_bytes', 'reaped', 'victim_cmdline'}
        if lines[0]['tier'] == 'tracepoint':
            wanted.add('candidates')
        if wanted - missing:
            yield f'missing does not name {sorted(wanted - missing)}'


def test_no_tracefs(binary):
    script = (
        'umount -R /sys/kernel/tracing /sys/kernel/debug 2>/dev/null; '
        'mount -t tmpfs none /sys/kernel/debug; '
        'exec "$@"'
    )
    with Cgroup('no-tracefs', 16) as cgroup:
        tracer = Tracer(binary, '--json', wrap=['unshare', '-m', 'sh', '-c', script, 'sh'])
        pid = eat(cgroup, 32)
        code, out, err = tracer.end()
    yield from differ('status', code, 0)
    if out:
        yield from differ('victims', [one.get('victim_pid') for one in records(out)[1]], [pid])
    else:
        yield f'no output: {err[:200]!r}'


def test_two_at_once(binary):
    with Cgroup('two-tracers', 16) as cgroup:
        tracers = [Tracer(binary, '--json'), Tracer(binary, '--json')]
        pid = eat(cgroup, 32)
        for tracer in tracers:
            code, out, _ = tracer.end()
            yield from differ('status', code, 0)
            yield from differ('victims', [one.get('victim_pid') for one in records(out)[1]], [pid])


# --- filters ---


def filtered(binary, cgroups, *options):
    """Two kills, in both cgroups; the names that a filtered tracer tells."""
    tracer = Tracer(binary, '--json', *options)
    pids = [eat(cgroups[0], 32, comm='first'), eat(cgroups[1], 32, comm='second')]
    code, out, err = tracer.end()
    if code != 0:
        raise AssertionError(f'status {code}: {err[:200]!r}')
    told = [one.get('victim_pid') for one in records(out)[1]]
    return ['first' if pid == pids[0] else 'second' if pid == pids[1] else pid for pid in told]


def test_filters(binary):
    with Cgroup('filter-a', 16) as one, Cgroup('filter-b', 16) as two:
        for options, want in (
            ((), ['first', 'second']),
            (('--cgroup', one.shown), ['first']),
            (('--cgroup', '*filter-b'), ['second']),
            (('--cgroup', '/nowhere'), []),
            (('--cgroup', one.shown[:-1]), []),
            (('--comm', 'second'), ['second']),
            (('--comm', 'f*'), ['first']),
            (('--comm', 'third'), []),
            (('--pid', '1'), []),
            (('--comm', 'first', '--cgroup', two.shown), []),
        ):
            yield from differ(
                f'{" ".join(options) or "no filter"}', filtered(binary, (one, two), *options), want
            )


def test_filter_pid(binary):
    with Cgroup('filter-pid', 16) as cgroup:
        waiting, let_go = eat(cgroup, 32, wait=True)
        tracer = Tracer(binary, '--json', '--pid', str(waiting))
        eat(cgroup, 32)
        let_go()
        out = tracer.end()[1]
    yield from differ('victims', [one.get('victim_pid') for one in records(out)[1]], [waiting])


# --- the text view ---


def text_of_hostile_kill(binary, *options, env=None):
    with Cgroup('hostile\033[31m"\377', 16) as cgroup:
        tracer = Tracer(binary, *options, env=env)
        eat(
            cgroup,
            32,
            comm=HOSTILE_COMM,
            arguments=[b'new\nline', b'\033]0;title\007', b'bad\377utf', b'\xc2\x9b31m'],
        )
        code, out, _ = tracer.end()
    if code != 0:
        raise AssertionError(f'status {code}')
    return out


def unsafe_bytes(text):
    """What a terminal would obey, or what is no UTF-8."""
    try:
        decoded = text.decode()
    except UnicodeDecodeError as error:
        return [f'not UTF-8: {error}']
    found = sorted(
        {char for char in decoded if ord(char) < 0x20 and char != '\n' or 0x7F <= ord(char) < 0xA0}
    )
    return [f'control characters {found}'] if found else []


def test_hostile_text(binary):
    out = text_of_hostile_kill(binary)
    yield from unsafe_bytes(out)
    if b'KILLED' not in out:
        yield f'no kill in {out[:200]!r}'
    # A newline in a name must not begin a line of its own.
    yield from (
        f'a line out of a name: {line!r}'
        for line in out.splitlines()
        if line.startswith((b'b', b'line'))
    )


def test_hostile_json(binary):
    out = text_of_hostile_kill(binary, '--json')
    yield from unsafe_bytes(out)
    incident = records(out)[1][0]
    yield from differ('victim_comm', incident['victim_comm'], 'a\nb\x1b[31m"\ufffd\\,)x')
    if not incident['victim_cgroup'].endswith('-hostile\x1b[31m"\ufffd'):
        yield f'victim_cgroup {incident["victim_cgroup"]!r}'


def on_terminal(binary, *options, env=None):
    """What a terminal gets to see of one hostile kill."""
    main, side = pty.openpty()
    seen = b''
    with Cgroup('terminal', 16) as cgroup:
        tracer = Tracer(binary, *options, stdout=side, env=env)
        os.close(side)
        eat(cgroup, 32, comm=HOSTILE_COMM)
        tracer.process.send_signal(signal.SIGTERM)
        while True:
            try:
                chunk = os.read(main, 65536)
            except OSError:
                break
            if not chunk:
                break
            seen += chunk
        tracer.end(None)
    os.close(main)
    return seen.replace(b'\r\n', b'\n')


def test_colour(binary):
    plain = {key: value for key, value in os.environ.items() if key != 'NO_COLOR'} | {
        'TERM': 'xterm'
    }
    colour = re.compile(rb'\033\[[0-9;]*m')
    coloured = on_terminal(binary, env=plain)
    if not colour.search(coloured):
        yield 'no colour on a terminal'
    yield from unsafe_bytes(colour.sub(b'', coloured))
    for what, out in (
        ('NO_COLOR', on_terminal(binary, env=plain | {'NO_COLOR': '1'})),
        ('--color never', on_terminal(binary, '--color', 'never', env=plain)),
        ('a pipe', text_of_hostile_kill(binary, env=plain)),
    ):
        if b'\033' in out:
            yield f'colour with {what}'


# --- doctor ---


def test_doctor(binary):
    code, out, _ = run(binary, 'doctor')
    yield from differ('status', code, 0)
    yield from unsafe_bytes(out)
    code, out, _ = run(binary, 'doctor', '--json')
    yield from differ('--json status', code, 0)
    if not isinstance(json.loads(out), dict):
        yield 'doctor --json is no JSON object'


if __name__ == '__main__':
    sys.exit(suite.main('cli', __doc__, suite.tests_of(globals())))
