#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kmsg_test.py [-q] [BINARY]: the kernel's own report of a kill, joined to what is traced, and
followed alone where no BPF is permitted. What the records say is held against the same report as
this test reads it. Makes contained OOM kills in memory cgroups of its own. Needs root. Prints
"ok NAME" and "FAIL NAME: why" lines and a last line of sums."""
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import oracle
import suite
from cgroup import Cgroup, HOSTILE_COMM, eat, finish, start
from cli_test import EX_IOERR, EX_NOPERM, PATIENCE, Tracer, differ, records, run, status_errors

TOP = Path(__file__).resolve().parents[2]
STORM = 20
# printk's rate limit of reports is a window of 5 s from its first one (DEFAULT_RATELIMIT_INTERVAL).
REPORTS_AGAIN_S = 5.5
# memory.stat's names in version 1, with all below, and in version 2.
STATS = {
    'anon_bytes': ('total_rss', 'anon'),
    'file_bytes': ('total_cache', 'file'),
    'shmem_bytes': ('total_shmem', 'shmem'),
    'file_dirty_bytes': ('total_dirty', 'file_dirty'),
    'file_writeback_bytes': ('total_writeback', 'file_writeback'),
}


class Log:
    """What the kernel prints from here on, read by this test itself."""

    def __init__(self):
        self.fd = os.open('/dev/kmsg', os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)

    def incidents(self):
        """By the victim's pid."""
        data = b''
        while True:
            try:
                data += os.read(self.fd, 8192)
            except BlockingIOError:
                break
        os.close(self.fd)
        return {one.victim.pid: one for one in oracle.parse(data).incidents if one.victim}


def log_only(*more):
    """Root with no right but to read the kernel's log."""
    return [
        'setpriv',
        '--bounding-set=' + ','.join(['-all', *more]),
        '--inh-caps=' + ','.join(['-all', *more]),
    ]


def composition_errors(record, report):
    got = record.get('composition', {})
    for name, keys in STATS.items():
        want = next((report.stats[key] for key in keys if key in report.stats), None)
        yield from differ(f'composition.{name}', got.get(name), want)
    yield from differ('composition.usage', got.get('usage_bytes'), report.counters['memory'].usage)
    yield from differ('composition_at', record.get('composition_at'), 'kernel')


def report_errors(record, report):
    """Every field of the record that the report tells."""
    memory = report.counters['memory']
    want = {
        'scope': 'memcg',
        'limit_inferred': False,
        'manual': False,
        'limit_cgroup': oracle.as_text(report.oom_memcg),
        'limit_bytes': memory.limit,
        'order': report.order,
        'gfp_mask': hex(report.gfp_mask),
        'gfp_flags': report.gfp_flags,
        'trigger_oom_score_adj': report.trigger_adj,
        'trigger_tid': report.trigger_tid,
        'trigger_comm': oracle.as_text(report.trigger_comm),
    }
    for name, value in want.items():
        yield from differ(name, record.get(name), value)
    named = {entry['field'] for entry in record['missing']}
    for name in sorted(named & {*want, 'composition'}):
        yield f'{name} is there and named in missing'
    yield from composition_errors(record, report)


def agreement_errors(record):
    """Of one that runs on, the kernel may print a page more than was read a moment before."""
    yield from differ('source', record['source'], 'bpf+kmsg')
    parts = record.get('kernel_log_difference', '').split('; ')
    named = {part.split(' ')[0] for part in parts if part}
    if named - {'anon-rss', 'file-rss', 'pgtables'}:
        yield f'the log differs: {parts}'
    yield from differ('kernel_log', record['kernel_log'], 'differs' if named else 'agrees')


def joined_errors(record, incident):
    memory = incident.report.counters['memory']
    yield from agreement_errors(record)
    yield from differ(
        'kernel_log_limit',
        record.get('kernel_log_limit'),
        {'usage_bytes': memory.usage, 'limit_bytes': memory.limit, 'failcnt': memory.failcnt},
    )
    yield from report_errors(record, incident.report)


def one_line_errors(record):
    """The kernel left the report out: only the line of the kill is there."""
    yield from agreement_errors(record)
    if record['tier'] == 'full':
        return
    for name in ('order', 'gfp_mask', 'kernel_log_limit'):
        if name in record:
            yield f'{name} is there without a report'
    yield from differ('limit_inferred', record.get('limit_inferred'), True)
    if record.get('composition_at') == 'kernel':
        yield 'composition_at is kernel without a report'


def traced(binary, kills, mib, comm=None, wrap=(), anywhere=False):
    """(records of type oom, all lines, stderr, the kernel's incidents, pids)."""
    with Cgroup('kmsg', mib) as cgroup:
        options = ['--max-events', str(kills), *(['--comm', comm] if anywhere else [])]
        tracer = Tracer(binary, '--json', *options, wrap=wrap, anywhere=anywhere)
        log = Log()
        # All at once: each that dies lets the next one go on.
        eaters = [start(cgroup, 4 * mib, comm, (), None) for _ in range(kills)]
        for eater in eaters:
            finish(eater)
        status, out, err = tracer.end(None)
    lines, ooms = records(out)
    assert status == 0, (status, err)
    return ooms, lines, err, log.incidents(), [eater.pid for eater in eaters]


def test_joined(binary):
    ooms, _, _, kernel, pids = traced(binary, 1, 16)
    yield from differ('victims', [one['victim_pid'] for one in ooms], pids)
    yield from joined_errors(ooms[0], kernel[pids[0]])


def test_joined_hostile_name(binary):
    ooms, _, _, kernel, pids = traced(binary, 1, 16, comm=HOSTILE_COMM)
    yield from joined_errors(ooms[0], kernel[pids[0]])


def test_joined_text(binary):
    with Cgroup('kmsg', 16) as cgroup:
        tracer = Tracer(binary, '--max-events', '1')
        eat(cgroup, 64)
        _, out, _ = tracer.end(None)
    text = ' '.join(out.decode().split())
    if 'the kernel log agrees' not in text or 'filled' not in text:
        yield f'the source does not tell of the report: {text[-400:]}'
    if 'GFP_KERNEL' not in text:
        yield 'the request does not tell its flags'


def storm_errors(ooms, kernel, pids):
    yield from differ('victims', sorted(one['victim_pid'] for one in ooms), sorted(pids))
    whole = sum(1 for pid in pids if kernel[pid].report)
    # The kernel prints ten reports in five seconds.
    if not 0 < whole < STORM:
        yield f'{whole} of {STORM} kills have a report: nothing was left out'


def test_storm(binary):
    ooms, _, _, kernel, pids = traced(binary, STORM, 8)
    yield from storm_errors(ooms, kernel, pids)
    for record in ooms:
        incident = kernel[record['victim_pid']]
        errors = joined_errors(record, incident) if incident.report else one_line_errors(record)
        yield from (f'{record["victim_pid"]}: {error}' for error in errors)
    time.sleep(REPORTS_AGAIN_S)  # nothing tells when the kernel would report again


def test_alone(binary):
    begin = time.time()
    ooms, lines, err, kernel, pids = traced(binary, 1, 16, wrap=log_only('+syslog'))
    yield from differ('types', [line['type'] for line in lines], ['start', 'oom', 'stop'])
    yield from differ('tier', lines[0]['tier'], 'kernel-log')
    yield from differ('victims', [one['victim_pid'] for one in ooms], pids)
    yield from differ('source', ooms[0]['source'], 'kmsg')
    yield from report_errors(ooms[0], kernel[pids[0]].report)
    yield from differ('anon', ooms[0]['victim_anon_bytes'], kernel[pids[0]].victim.anon)
    yield from differ('boot_id', ooms[0]['boot_id'], lines[0]['boot_id'])
    yield from differ('reason', lines[-1]['reason'], 'max-events')
    stamp = ooms[0]['ts'].split('.')[0]
    near = {time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(begin + i)) for i in range(PATIENCE)}
    if stamp not in near:
        yield f'ts is {ooms[0]["ts"]}, not after {time.gmtime(begin)}'
    if b'CAP_BPF' not in err or b'the kernel log alone' not in err:
        yield f'stderr does not say what is missing: {err!r}'


def test_alone_storm(binary):
    # Where the report is left out the log does not tell the cgroup, by which others are kept out.
    ooms, lines, _, kernel, pids = traced(
        binary, STORM, 8, comm='stormy', wrap=log_only('+syslog'), anywhere=True
    )
    yield from storm_errors(ooms, kernel, pids)
    yield from differ('kills', lines[-1]['kills'], STORM)
    for record in ooms:
        incident = kernel[record['victim_pid']]
        if incident.report:
            yield from report_errors(record, incident.report)
        yield from differ('anon', record['victim_anon_bytes'], incident.victim.anon)
    time.sleep(REPORTS_AGAIN_S)  # nothing tells when the kernel would report again


def test_alone_filter_and_signal(binary):
    tracer = Tracer(binary, '--json', '--comm', 'nobody', wrap=log_only('+syslog'))
    yield from differ('ready', tracer.ready, b'READY\n')
    with Cgroup('kmsg', 16) as cgroup:
        eat(cgroup, 64)
    status, out, _ = tracer.end(signal.SIGTERM)
    lines, ooms = records(out)
    yield from differ('status', status, 0)
    yield from differ('incidents', len(ooms), 0)
    yield from differ('reason', lines[-1]['reason'], 'signal')


def test_alone_told_at_the_end(binary):
    """A signal right behind the kill: what is open is told all the same."""
    tracer = Tracer(binary, '--json', wrap=log_only('+syslog'))
    with Cgroup('kmsg', 16) as cgroup:
        pid = eat(cgroup, 64)
        status, out, _ = tracer.end(signal.SIGINT)
    yield from differ('status', status, 0)
    yield from differ('victims', [one['victim_pid'] for one in records(out)[1]], [pid])


def test_alone_timeout_and_rest(binary):
    """It sleeps while the kernel prints nothing."""
    tracer = Tracer(binary, '--json', '--timeout', '2', wrap=log_only('+syslog'))
    out, _ = tracer.process.communicate(timeout=PATIENCE)
    spent = os.times().children_user + os.times().children_system
    yield from differ('reason', records(out)[0][-1]['reason'], 'timeout')
    before = spent
    tracer = Tracer(binary, '--json', '--timeout', '3', wrap=log_only('+syslog'))
    tracer.process.communicate(timeout=PATIENCE)
    spent = os.times().children_user + os.times().children_system - before
    if spent > 0.6:
        yield f'{spent:.2f} s of CPU time in 3 s of rest'


def test_alone_text(binary):
    with Cgroup('kmsg', 16) as cgroup:
        tracer = Tracer(binary, '--max-events', '1', wrap=log_only('+syslog'))
        eat(cgroup, 64)
        status, out, _ = tracer.end(None)
    yield from differ('status', status, 0)
    if b'the kernel log alone' not in out:
        yield f'the source is not told: {out!r}'


def test_alone_full_disk(binary):
    with Cgroup('kmsg', 16) as cgroup, open('/dev/full', 'wb') as full:
        tracer = Tracer(binary, '--max-events', '1', stdout=full, wrap=log_only('+syslog'))
        eat(cgroup, 64)
        status, _, err = tracer.end(None)
    yield from differ('status', status, EX_IOERR)
    if b'stdout' not in err:
        yield f'stderr does not name stdout: {err!r}'


def test_no_log_either(binary):
    """Asked for by name: nothing else takes its place."""
    result = run(binary, '--json', '--source', 'kmsg', '--timeout', '1', wrap=log_only())
    return status_errors(result, EX_NOPERM, names='CAP_SYSLOG')


def test_record_is_refused(binary):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'store')
        result = run(binary, 'record', '-o', path, '--timeout', '1', wrap=log_only('+syslog'))
        yield from status_errors(result, EX_NOPERM, names='CAP_BPF')
        if os.path.exists(path):
            yield 'a store was made'


if __name__ == '__main__':
    sys.exit(suite.main('kmsg', __doc__, suite.tests_of(globals())))
