#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""refused_test.py [-q] [-k TEST] [BINARY]: memory and processes that are asked for and not given, really: by ulimit -v, -d and -u, by pids.max, by
vm.max_map_count, by the size of the address space; a python that ends with MemoryError; a full /dev/shm under python's
multiprocessing. Which limit it is, is known here, and must be told; of what is given nothing may be told.
Prints "ok NAME" and "FAIL NAME: why" lines and a last line of sums."""
import errno
import itertools
import json
import mmap
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import suite
from tracer import PATIENCE, Tracer, differ, end_all

TOP = Path(__file__).resolve().parents[2]
REFUSE = TOP / 'build' / 'tests' / 'workloads' / 'refuse'
SCHEMA = TOP / 'docs' / 'record-schema.json'
DOCS = TOP / 'docs' / 'capture.md'
PIDS = Path('/sys/fs/cgroup/pids')
PAGE = mmap.PAGESIZE
MIB = 1 << 20
STORM = 200000
WORKERS = 12
NOBODY = 65534
NUMBERS = itertools.count(1)


class Account:
    """What a workload says that it did."""

    def __init__(self, text):
        self.steps = []
        for line in text.decode().splitlines():
            pairs = (pair.partition('=') for pair in line.split())
            self.steps.append(
                {key: int(value) if value.isdigit() else value for key, _, value in pairs}
            )

    def step(self, event):
        found = [step for step in self.steps if step['event'] == event]
        if not found:
            raise AssertionError(f'no {event} in {self.steps}')
        return found[-1]


def refuse(*arguments, comm=None):
    """Runs the workload, under a name that nobody had: of one name there are records only so often. Its pid, and its account."""
    name = comm or f'refuse-{next(NUMBERS)}'
    process = subprocess.Popen(
        [REFUSE, '-c', name, *map(str, arguments)], stdout=subprocess.PIPE)
    text = process.communicate(timeout=PATIENCE)[0]
    if process.returncode:
        raise AssertionError(f'it ended with {process.returncode}: {text!r}')
    return process.pid, Account(text)


def number(path):
    return int(Path(path).read_text(encoding='ascii'))


class PidsCgroup:
    """with PidsCgroup(NAME, MAX) as directory: a cgroup of the pids controller."""

    def __init__(self, name, most):
        self.path = PIDS / f'oomsnoop-refused-{os.getpid()}-{name}'
        self.most = most

    def __enter__(self):
        self.path.mkdir()
        (self.path / 'pids.max').write_text(str(self.most), encoding='ascii')
        return self.path

    def __exit__(self, *_):
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.path.rmdir()
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


class Cases:
    """Three tracers that run all the time; one of the last tests ends one of them."""

    def __init__(self, binary):
        self.binary = binary
        self.directory = tempfile.TemporaryDirectory()
        self.store = os.path.join(self.directory.name, 'oom.db')
        self.tracer = Tracer(
            binary, 'record', '-o', self.store, '--also-print', '--json', '--refused', 'on',
            '--kills', 'all')
        self.text = Tracer(binary, '--refused', 'on', '--without', 'recorder', '--kills', 'off')
        self.default = Tracer(binary, '--json', '--without', 'recorder', '--kills', 'off')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end_all(self.tracer, self.text, self.default)
        self.directory.cleanup()

    # --- what there is to expect of each ---

    def refused(self, arguments, cause, call, **expected):
        """One record, with the cause and a limit below the sum."""
        pid, account = refuse(*arguments)
        step = account.step('refused')
        record = self.tracer.wait(pid)
        yield from differ(
            record, type='refusal', call=call, error=errno.errorcode[step['errno']], cause=cause,
            ppid=os.getpid(), processes=1, count_is_least=False, **expected)
        yield from differ(record['verdicts'][0], id='allocation-refused', confidence='certain')
        if 'nobody was killed' not in record['verdicts'][0]['claim']:
            yield record['verdicts'][0]['claim']
        if not record['verdicts'][0]['evidence']:
            yield 'no evidence'
        if len(record['verdicts']) != 1:
            yield f'{len(record["verdicts"])} verdicts'
        yield from self.sum(record)

    def sum(self, record):
        for unit in ('', '_bytes'):
            keys = [f'cause_{name}{unit}' for name in ('used', 'asked', 'limit')]
            if all(key in record for key in keys):
                used, asked, limit = (record[key] for key in keys)
                if record['cause'] != 'max-map-count' and used + asked <= limit:
                    yield f'{used} + {asked} is no more than {limit}'

    def absent(self, pid):
        """What is refused after it is told, it is not."""
        marker, _ = refuse('map', 1 << 40)
        self.tracer.wait(marker)
        return [f'{pid} is told: {record}' for record in self.tracer.told(pid)]

    # --- memory ---

    def test_ulimit_v(self):
        yield from self.refused(
            ('as', 10, 100), 'rlimit-as', 'mmap', asked_bytes=100 * MIB, count=1)

    def test_ulimit_d(self):
        yield from self.refused(
            ('data', 10, 100), 'rlimit-data', 'mmap', asked_bytes=100 * MIB, count=1)

    def test_brk(self):
        yield from self.refused(('brk', 10, 100), 'rlimit-data', 'brk', asked_bytes=100 * MIB)

    def test_mremap(self):
        yield from self.refused(('mremap', 10, 100), 'rlimit-as', 'mremap', asked_bytes=100 * MIB)

    def test_address_space(self):
        yield from self.refused(('map', 1 << 30), 'address-space', 'mmap', asked_bytes=1 << 50)

    def test_thread_stacks(self):
        """What pthread_create() says is EAGAIN; what the kernel refused is memory."""
        pid, account = refuse('thread', 100)
        yield from differ(account.step('refused'), errno=errno.EAGAIN)
        record = self.tracer.wait(pid)
        yield from differ(record, call='mmap', error='ENOMEM', cause='rlimit-as')

    def test_max_map_count(self):
        most = number('/proc/sys/vm/max_map_count')
        pid, account = refuse('mappings')
        record = self.tracer.wait(pid)
        yield from differ(
            record, call='mmap', cause='max-map-count', cause_limit=most, max_map_count=most)
        # The kernel's own count, and no more than the program's own mappings before.
        if not most <= record['mappings'] <= account.step('mapped')['count'] + 64:
            yield f'{record["mappings"]} mappings of {most}'

    def test_python_memory_error(self):
        """What people see: MemoryError, and a process that ends by itself. mmap, brk and mmap again are one record."""
        script = ('import resource; resource.setrlimit(resource.RLIMIT_AS, (400 << 20,) * 2)\n'
                  'try:\n bytearray(1 << 30)\nexcept MemoryError:\n raise SystemExit(3)')
        process = subprocess.Popen([sys.executable, '-I', '-S', '-c', script])
        if process.wait(PATIENCE) != 3:
            yield f'it ended with {process.returncode}'
        record = self.tracer.wait(process.pid)
        yield from differ(
            record, call='mmap', cause='rlimit-as', rlimit_as_bytes=400 << 20, uid=os.getuid())
        if not 1 << 30 <= record['asked_bytes'] < (1 << 30) + 16 * PAGE:
            yield f'{record["asked_bytes"]} asked for'
        if '-c import resource' not in record.get('cmdline', ''):
            yield f'cmdline is {record.get("cmdline")}'
        if len(self.tracer.told(process.pid)) != 1:
            yield f'{len(self.tracer.told(process.pid))} records'
        claim = record['verdicts'][0]['claim']
        pattern = (rf'\S+ \(pid {process.pid}\) was refused 1\.00 GiB by mmap: ulimit -v is 400 MiB, it has '
                   r'[\d.]+ MiB mapped: nobody was killed')
        if not re.fullmatch(pattern, claim):
            yield claim
        self.text.wait_text(f'(pid {process.pid}) was refused'.encode())

    # --- processes ---

    def test_pids_max(self):
        with PidsCgroup('most', 4) as directory:
            yield from self.refused(
                ('-C', directory, 'fork', 8), 'pids-max', 'fork', pids_max=4, pids_current=4,
                pids_cgroup='/' + directory.name, pids_cgroup_name=directory.name, cause_limit=4,
                count=1)

    def test_pids_max_above(self):
        """The limit of a level above its own."""
        with PidsCgroup('above', 3) as directory:
            below = directory / 'below'
            below.mkdir()
            try:
                yield from self.refused(
                    ('-C', below, 'fork', 8), 'pids-max', 'fork', pids_max=3,
                    pids_cgroup='/' + directory.name)
            finally:
                below.rmdir()

    def test_ulimit_u(self):
        yield from self.refused(
            ('-u', NOBODY, 'nproc', 8), 'rlimit-nproc', 'fork', uid=NOBODY, rlimit_nproc=1,
            cause_limit=1)

    # --- many ---

    def test_storm(self):
        pid, account = refuse('storm', STORM, 1000)
        yield from differ(account.step('refused'), count=STORM)
        record = self.tracer.wait(pid)
        yield from differ(
            record, count=STORM, count_is_least=False, cause='rlimit-as', asked_bytes=1000 * MIB)
        if len(self.tracer.told(pid)) != 1:
            yield f'{len(self.tracer.told(pid))} records'

    def test_workers(self):
        """Many of one name, all at once."""
        processes = [
            subprocess.Popen([REFUSE, '-c', 'worker', 'as', '10', '100'], stdout=subprocess.DEVNULL)
            for _ in range(WORKERS)
        ]
        for process in processes:
            process.wait(PATIENCE)
        pids = {process.pid for process in processes}
        with self.tracer.heard:
            if not self.tracer.heard.wait_for(
                    lambda: sum(r['count'] for r in self.workers_told(pids)) >= WORKERS, PATIENCE):
                yield f'{[r["count"] for r in self.workers_told(pids)]} of {WORKERS}'
        records = self.workers_told(pids)
        if sum(record['processes'] for record in records) != WORKERS:
            yield f'{[record["processes"] for record in records]} processes of {WORKERS}'

    def workers_told(self, pids):
        return [r for r in self.tracer.records if r['type'] == 'refusal' and r['pid'] in pids]

    # --- none ---

    def test_given(self):
        pid, account = refuse('given', 1000, 1)
        account.step('given')
        yield from self.absent(pid)

    def test_invalid(self):
        pid, account = refuse('invalid')
        account.step('invalid')
        yield from self.absent(pid)

    # --- a full /dev/shm ---

    def test_full_shm(self):
        """Loaders that hand batches on in shared memory, in a mount namespace with a /dev/shm of 4 MiB: one dies of SIGBUS, and its
        parent lives to tell. Files that other workers filled are named."""
        script = '\n'.join([
            'import multiprocessing as mp, sys',
            'from multiprocessing import shared_memory, resource_tracker',
            'def load(number):',
            '    memory = shared_memory.SharedMemory(name=f"batch-{number}", create=True, size=3 << 20)',
            '    for at in range(0, memory.size, 4096): memory.buf[at] = 1',
            'if __name__ == "__main__":',
            '    mp.set_start_method("fork")',
            # Of all of them: one of a worker's own would remove what the worker left behind.
            '    resource_tracker.ensure_running()',
            '    workers = []',
            '    for number in range(2):',
            '        workers.append(mp.Process(target=load, args=(number,)))',
            '        workers[-1].start()',
            '        workers[-1].join()',
            '    print(*(w.pid for w in workers), *(w.exitcode for w in workers), flush=True)',
            '    sys.stdin.read()',
        ])
        with tempfile.NamedTemporaryFile('w', suffix='.py') as file:
            file.write(script)
            file.flush()
            process = subprocess.Popen(
                ['unshare', '--mount', 'bash', '-c',
                 f'mount -t tmpfs -o size=4M shm /dev/shm && exec {sys.executable} {file.name}'],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            words = process.stdout.readline().split()
            as_meant = words[2:] == [b'0', b'-7']
            record = self.tracer.wait(int(words[1])) if as_meant else {}
            process.communicate()
        if not as_meant:
            yield f'the workers ended with {words}'
            return
        yield from differ(
            record, type='kill', signal='SIGBUS', fault_file='batch-1', tmpfs_mount='/dev/shm',
            tmpfs_max_bytes=4 * MIB, tmpfs_used_bytes=4 * MIB, tmpfs_files=2,
            tmpfs_named_bytes=4 * MIB,
            tmpfs_largest=[{'file': 'batch-0', 'bytes': 3 * MIB}, {'file': 'batch-1', 'bytes': MIB}])
        yield from differ(record['verdicts'][0], id='shm-full', confidence='certain')
        if 'the tmpfs at /dev/shm that batch-1 is in is full: 4.00 MiB of 4.00 MiB' not in (
                record['verdicts'][0]['claim']):
            yield record['verdicts'][0]['claim']

    # --- by default ---

    def test_by_default(self):
        """Where every system call would pay for it, it is told on request only."""
        hooks = json.loads(self.default.lines[0])['hooks']
        refusals = [r for r in self.default.records if r['type'] == 'refusal']
        if hooks.get('refused') == 'tp_btf sys_exit':
            yield 'every system call is hooked'
        if 'refused' not in hooks and refusals:
            yield 'told without a hook'
        if 'refused' in hooks and not refusals:
            yield 'not told by default'

    # --- kept ---

    def test_stored(self):
        """What was told live is what is reported, byte for byte."""
        error = self.tracer.end()
        live = [line for line in self.tracer.lines if b'"type":"refusal"' in line]
        told = subprocess.run(
            [self.binary, 'export', self.store], capture_output=True, timeout=PATIENCE, check=False)
        kept = [line for line in told.stdout.splitlines(True) if b'"type":"refusal"' in line]
        if told.returncode or sorted(kept) != sorted(live):
            yield f'{len(live)} live, {len(kept)} kept: {told.stderr!r} {error!r}'
        listed = subprocess.run(
            [self.binary, 'list', self.store, '--verdict', 'allocation-refused'],
            capture_output=True, timeout=PATIENCE, check=False)
        if listed.stdout.count(b'allocation-refused') != len(live):
            yield f'the list: {listed.stdout[-800:]!r} {listed.stderr!r}'
        report = subprocess.run(
            [self.binary, 'report', self.store, '--since', '1h'], capture_output=True,
            timeout=PATIENCE, check=False)
        if report.stdout.count(b'REFUSED') != len(live):
            yield f'the report tells {report.stdout.count(b"REFUSED")} of {len(live)}'
        question = re.findall(r'```sql\n(.*?)```', DOCS.read_text(encoding='utf-8'), re.DOTALL)[-2]
        with closing(sqlite3.connect(f'file:{self.store}?mode=ro', uri=True)) as db:
            answer = db.execute(question).fetchall()
        claims = [json.loads(line)['verdicts'][0]['claim'] for line in live]
        if sorted(row[1] for row in answer) != sorted(claims):
            yield f'{question}: {answer}'
        last = json.loads(self.tracer.lines[-1])
        yield from differ(last, type='stop', refusals=len(live), lost_refusals=0)

    def test_schema(self):
        try:
            import jsonschema
        except ImportError:
            yield 'python3-jsonschema is missing (tools/install-deps)'
            return
        validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding='utf-8')))
        for record in self.tracer.records:
            yield from (f'{record["type"]}: {error.message[:300]}' for error in
                        list(validator.iter_errors(record))[:3])


if __name__ == '__main__':
    sys.exit(suite.main('refused', __doc__, suite.tests_of(vars(Cases)), Cases))
