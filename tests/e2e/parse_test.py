#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""parse_test.py [-q] [BINARY]: `oomsnoop parse` as a command: files, stdin, packed files, statuses,
what is said where, and memory. Needs no root. Prints "ok NAME" and "FAIL NAME: why" lines and a last
line of sums."""
import argparse
import gzip
import json
import lzma
import os
import select
import subprocess
import tempfile
from pathlib import Path

from jsonschema import Draft202012Validator

from results import Results

TOP = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((TOP / 'docs' / 'record-schema.json').read_text())
EX_USAGE, EX_DATAERR, EX_IOERR = 64, 65, 74
PATIENCE = 60
RSS_MAX_KIB = 32 << 10

REPORT = """\
[  253.239941] hog invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
[  253.240404] CPU: 0 UID: 0 PID: 334 Comm: hog Not tainted 6.12.117+deb13-cloud-amd64 #1  Debian 6.12.117-1
[  253.240710] Call Trace:
[  253.244875]  dump_stack_lvl+0x5d/0x80
[  253.247211] memory: usage 40960kB, limit 40960kB, failcnt 23
[  253.247246] swap: usage 0kB, limit 0kB, failcnt 0
[  253.247263] Memory cgroup stats for /a:
[  253.248027] anon 41807872
[  253.248052] file 0
[  253.248059] kernel 135168
[  253.248097] shmem 0
[  253.249000] Tasks state (memory values in pages):
[  253.249001] [  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name
[  253.249002] [    334]     0   334    26649    10337    10207        0       130   122880        0             0 hog
[  253.249003] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a/b,task=hog,pid=334,uid=0
[  253.249004] Memory cgroup out of memory: Killed process 334 (hog) total-vm:106596kB, anon-rss:40828kB, file-rss:0kB, shmem-rss:520kB, UID:0 pgtables:120kB oom_score_adj:0
"""
NOTHING = 'Feb 11 03:10:41 h sshd[933]: Invalid user Killed process 1 (init) from 203.0.113.9\n'


class Run:
    """One call; stdout as bytes, and its records where it is NDJSON."""

    def __init__(self, binary, *args, stdin=b'', env=None):
        self.process = subprocess.run(
            [binary, 'parse', *args],
            input=stdin,
            capture_output=True,
            timeout=PATIENCE,
            env={**os.environ, 'TZ': 'UTC', **(env or {})},
        )
        self.status = self.process.returncode
        self.out = self.process.stdout
        self.err = self.process.stderr.decode()

    def records(self):
        return [json.loads(line) for line in self.out.splitlines()]


def record_errors(record, **want):
    for error in Draft202012Validator(SCHEMA).iter_errors(record):
        yield f'{list(error.absolute_path)}: {error.message}'
    for key, value in want.items():
        if record.get(key) != value:
            yield f'{key} is {record.get(key)!r}, not {value!r}'
    for field in {entry['field'] for entry in record['missing']} & set(record):
        yield f'{field} is there, and called missing'


WANT = dict(
    source='import',
    outcome='killed',
    scope='memcg',
    limit_cgroup='/a',
    limit_bytes=40960 << 10,
    usage_bytes=40960 << 10,
    victim_pid=334,
    victim_comm='hog',
    victim_cgroup='/a/b',
    victim_anon_bytes=40828 << 10,
    victim_pgtables_bytes=122880,
    trigger_tid=334,
    trigger_pid=334,
    kernel='6.12.117+deb13-cloud-amd64',
    page_size=4096,
    mono_us=253249004,
    composition_at='kernel',
    candidates_count=1,
    victim_badness_pages=10337 + 30,
)


def same(run, count=1):
    """The report above, so many times (copies of a kill count once)."""
    if run.status:
        yield f'status {run.status}: {run.err}'
        return
    records = run.records()
    if len(records) != count:
        yield f'{len(records)} records, not {count}'
    for record in records:
        yield from record_errors(record, **WANT)


def test_inputs(results, binary, folder):
    plain = folder / 'plain.log'
    plain.write_text(REPORT)
    packed = {
        'gz': gzip.compress(REPORT.encode()),
        'xz': lzma.compress(REPORT.encode()),
        'zst': subprocess.run(
            ['zstd', '-q', '-c'], input=REPORT.encode(), capture_output=True, check=True
        ).stdout,
    }
    results.add('a file', same(Run(binary, '--json', str(plain))))
    results.add('stdin by a dash', same(Run(binary, '--json', '-', stdin=REPORT.encode())))
    results.add('stdin without a name', same(Run(binary, '-j', stdin=REPORT.encode())))
    for suffix, data in packed.items():
        # Not by its name.
        path = folder / f'packed-{suffix}.txt'
        path.write_bytes(data)
        results.add(f'{suffix}, a file', same(Run(binary, '--json', str(path))))
        results.add(f'{suffix}, stdin', same(Run(binary, '--json', '-', stdin=data)))
        run = Run(binary, '--json', '-', stdin=data[: len(data) // 2])
        errors = [] if run.status == EX_DATAERR else [f'status {run.status}']
        if 'damaged or cut off' not in run.err:
            errors.append(f'says {run.err!r}')
        results.add(f'{suffix}, cut off', errors)
    run = Run(binary, '--json', str(plain), str(plain))
    errors = list(same(run))
    if '1 copies' not in run.err:
        errors.append(f'says {run.err!r}')
    if 'newest first' in run.err:
        errors.append(f'says {run.err!r}')
    results.add('the same file twice is one kill', errors)
    around = '\n'.join(reversed(REPORT.splitlines())) + '\n'
    run = Run(binary, '--json', stdin=around.encode())
    results.add('newest first', [] if 'newest first' in run.err else [f'says {run.err!r}'])


def test_statuses(results, binary, folder):
    plain = folder / 'plain.log'
    run = Run(binary, '--json', '/nonexistent', str(plain))
    errors = [] if run.status == EX_DATAERR else [f'status {run.status}']
    if len(run.records()) != 1:
        errors.append('the file that can be read is not told')
    if '/nonexistent: No such file' not in run.err:
        errors.append(f'says {run.err!r}')
    results.add('a file that is not there', errors)
    run = Run(binary, str(folder))
    results.add('a directory', [] if run.status == EX_DATAERR and run.err else [str(run.status)])
    for args in (['--nonsense'], ['--width', '3'], ['--color', 'maybe']):
        run = Run(binary, *args)
        errors = [] if run.status == EX_USAGE and run.err and not run.out else [str(run.status)]
        results.add(f'usage: {" ".join(args)}', errors)
    run = Run(binary, '--json', stdin=NOTHING.encode())
    errors = [] if run.status == 0 and not run.out else [f'status {run.status}, {run.out!r}']
    if 'no OOM kill' not in run.err:
        errors.append(f'says {run.err!r}')
    results.add('nothing found', errors)
    run = Run(binary, '--json', '-q', stdin=NOTHING.encode())
    results.add('nothing found, quiet', [run.err] if run.err or run.status else [])
    run = Run(binary, '--json', stdin=b'')
    results.add('an empty file', [] if run.status == 0 and not run.out else [str(run.status)])
    run = Run(binary, '--json', stdin=b'x' * (1 << 20) + b'\n' + REPORT.encode())
    errors = list(same(run))
    results.add('a line without end', errors)
    with open('/dev/full', 'wb') as full:
        done = subprocess.run(
            [binary, 'parse', str(plain)], stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE
        )
    results.add('stdout is full', [] if done.returncode == EX_IOERR else [str(done.returncode)])


def test_followed(results, binary, _folder):
    """`dmesg -w | oomsnoop parse`: told while the log goes on, also where its end does not come."""
    whole, cut = REPORT.encode(), ''.join(REPORT.splitlines(True)[:-2]).encode()
    for name, parts in (('followed', [whole, whole.replace(b'334', b'335')]), ('cut', [cut])):
        with subprocess.Popen(
            [binary, 'parse', '--json'],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            errors = []
            for part in parts:
                process.stdin.write(part)
                process.stdin.flush()
                if not select.select([process.stdout], [], [], PATIENCE)[0]:
                    errors.append('nothing is told while the log goes on')
                    break
                json.loads(process.stdout.readline())
            process.stdin.close()
            errors += [f'{line!r} at the end' for line in process.stdout]
            if process.wait(PATIENCE):
                errors.append(f'status {process.returncode}')
        results.add(f'a log that goes on: {name}', errors)


def test_forms(results, binary, folder):
    plain = str(folder / 'plain.log')
    text = Run(binary, '--text', '--width', '80', plain).out.decode()
    errors = [f'no {want!r}' for want in ('KILLED hog[334]', '40.0 MiB', 'a kernel log', 'of 1')
              if want not in text]
    errors += [f'{len(line)} columns: {line}' for line in text.splitlines() if len(line) > 80]
    results.add('text', errors)
    golden = (TOP / 'tests' / 'golden' / 'import-memcg.txt').read_text()
    results.add('text, as it was', [] if text == golden else [text])
    results.add('NDJSON where there is no terminal', same(Run(binary, plain)))
    coloured = Run(binary, '--text', '--color', 'always', plain).out
    errors = [] if b'\x1b[' in coloured else ['no colour']
    if b'\x1b[' in Run(binary, '--text', plain).out:
        errors.append('colour without a terminal')
    results.add('colour', errors)
    hostile = REPORT.replace('hog', '\x1b[31mh"\\').encode()
    run = Run(binary, '--json', stdin=hostile)
    errors = []
    if [record['victim_comm'] for record in run.records()] != ['\x1b[31mh"\\']:
        errors.append(run.out.decode())
    if b'\x1b' in run.out or b'\x1b' in Run(binary, '--text', stdin=hostile).out:
        errors.append('an escape went through')
    results.add('a name that is an escape', errors)
    zone = REPORT.splitlines()[-1].replace('[  253.249004]', '[Tue Mar 10 02:00:00 2026]') + '\n'
    record = Run(binary, '--json', stdin=zone.encode(), env={'TZ': 'UTC-2'}).records()[0]
    results.add(
        'a stamp without a zone is local time',
        record_errors(record, ts='2026-03-10T00:00:00.000000000Z'),
    )


def high_water_kib(pid):
    """Of its own memory: what wait4() tells counts this process's, too, from before the exec."""
    for line in Path(f'/proc/{pid}/status').read_text().splitlines():
        if line.startswith('VmHWM:'):
            return int(line.split()[1])
    return 0


def test_size(results, binary, folder):
    """A large log, mostly of others: within its memory."""
    filler = ''.join(
        f'Feb 11 03:10:41 h systemd[{i}]: Started session {i} of user root.\n' for i in range(50000)
    ).encode()
    size = 0
    with open(folder / 'records', 'wb') as out:
        process = subprocess.Popen(
            [binary, 'parse', '--json', '-q'], stdin=subprocess.PIPE, stdout=out
        )
        for i in range(20):
            report = REPORT.replace('334', str(1000 + i)).replace('  253.', f' {300 + i}.')
            size += process.stdin.write(filler) + process.stdin.write(report.encode())
        # All but what the pipe holds is read by now, and it waits for more.
        process.stdin.flush()
        peak = high_water_kib(process.pid)
        process.stdin.close()
        status = process.wait(PATIENCE)
    records = (folder / 'records').read_bytes().splitlines()
    errors = [] if len(records) == 20 and status == 0 else [f'{len(records)} records, {status}']
    if not 0 < peak <= RSS_MAX_KIB:
        errors.append(f'{peak} KiB')
    results.add(f'{size >> 20} MiB within {RSS_MAX_KIB >> 10} MiB', errors)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('-q', '--quiet', action='store_true')
    parser.add_argument('binary', nargs='?', default=str(TOP / 'build' / 'oomsnoop'))
    options = parser.parse_args()
    results = Results(options.quiet)
    with tempfile.TemporaryDirectory() as folder:
        for test in (test_inputs, test_statuses, test_followed, test_forms, test_size):
            test(results, options.binary, Path(folder))
    return results.finish()


if __name__ == '__main__':
    raise SystemExit(main())
