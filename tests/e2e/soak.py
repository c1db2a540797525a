#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""soak [BINARY [SECONDS [PROCESSES]]]: a recorder left on beside many idle processes, while kills of many kinds happen, and what it
cost. Every victim of the kernel's must be in the store; the figures stand in docs/capture.md."""
import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cgroup import Cgroup
from cli_test import Tracer
from workloads import PROGRAMS, Workload

TOP = Path(__file__).resolve().parents[2]
TICKS = os.sysconf('SC_CLK_TCK')
EVERY = 20  # seconds from kill to kill


def plain(number):
    with Cgroup(f'plain-{number}', 16) as cgroup, Workload('eat', 'anon', 64, cgroup=cgroup) as eater:
        eater.go()
        eater.wait_end()
        return [eater.pid]


def hostile(number):
    with Cgroup(f'hostile-{number}', 16) as cgroup:
        with Workload('eat', '-c', r'a\x0ab\x1b[31m"', 'anon', 64, cgroup=cgroup) as eater:
            eater.go()
            eater.wait_end()
            return [eater.pid]


def leak(number):
    with Cgroup(f'leak-{number}', 32) as cgroup:
        with Workload('grow', '-s', 512, '-i', 150, 'anon', 64, cgroup=cgroup) as leaking:
            leaking.go()
            leaking.wait_end()
            return [leaking.pid]


def shared(number):
    with Cgroup(f'shared-{number}', 24) as cgroup, tempfile.TemporaryDirectory(dir='/dev/shm') as folder:
        arguments = ('-f', Path(folder) / 'file', 'shared', 64)
        with Workload('grow', *arguments, cgroup=cgroup) as sharing:
            sharing.go()
            sharing.wait_end()
            return [sharing.pid]


def workers(number):
    """Eight that copy what they were forked with; who dies is the kernel's to say, so the log of it is asked: none here, thus
    only that there is one at least."""
    with Cgroup(f'workers-{number}', 64) as cgroup:
        with Workload('cow', '-s', 64, '-i', 20, 12, 8, cgroup=cgroup) as parent:
            parent.go()
            deadline = time.monotonic() + 60
            while not kills_of(cgroup) and time.monotonic() < deadline:
                time.sleep(0.1)
            return ['any'] * kills_of(cgroup)


def kills_of(cgroup):
    """By the kernel's own count."""
    for name in (b'/memory.oom_control', b'/memory.events'):
        try:
            with open(cgroup.path + name, encoding='ascii') as file:
                return next(int(line.split()[1]) for line in file if line.startswith('oom_kill '))
        except FileNotFoundError:
            continue
    raise AssertionError('the kernel does not count kills')


KINDS = (plain, workers, leak, hostile, shared)


def cpu_seconds(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii', errors='replace') as file:
        fields = file.read().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def status_of(pid, key):
    with open(f'/proc/{pid}/status', encoding='utf-8', errors='replace') as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key))


def written(pid):
    with open(f'/proc/{pid}/io', encoding='ascii') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('write_bytes'))


def size_of(store):
    return sum(os.path.getsize(path) for path in (store, f'{store}-wal') if os.path.exists(path))


def figures(pid, store, started, before):
    """What the recorder cost since `before`."""
    seconds = time.monotonic() - started
    return {
        'CPU, % of one': 100 * (cpu_seconds(pid) - before['cpu']) / seconds,
        'store, bytes a day': (size_of(store) - before['size']) * 86400 / seconds,
        'written to disk, bytes a day': (written(pid) - before['written']) * 86400 / seconds,
        'resident at most, KiB': status_of(pid, 'VmHWM'),
    }


def before_of(pid, store):
    return {'cpu': cpu_seconds(pid), 'size': size_of(store), 'written': written(pid)}


def show(title, values):
    for name, value in values.items():
        print(f'{title}: {name}: {value:,.2f}' if isinstance(value, float) else f'{title}: {name}: {value:,}', flush=True)


def rest(pid, store, seconds):
    """Beside processes that do nothing."""
    begun, before = time.monotonic(), before_of(pid, store)
    time.sleep(seconds)  # what is measured is this time
    show('at rest', figures(pid, store, begun, before))


def kill_for(seconds):
    """The pids that must be in the store, and how many more victims."""
    ends = time.monotonic() + seconds
    pids = []
    for number, kind in enumerate(itertools.cycle(KINDS)):
        begun = time.monotonic()
        if begun >= ends:
            return pids
        pids += kind(number)
        time.sleep(max(0, begun + EVERY - time.monotonic()))
    return pids


def missed(store, pids):
    """Victims that are not in the store, and whether it is sound."""
    with sqlite3.connect(f'file:{store}?mode=ro', uri=True) as connection:
        sound = connection.execute('PRAGMA integrity_check').fetchone()[0]
        stored = [row[0] for row in connection.execute('SELECT pid FROM victims')]
        incidents = connection.execute('SELECT count(*) FROM incidents').fetchone()[0]
    lost = [pid for pid in pids if pid != 'any' and pid not in stored]
    if len(stored) < len(pids):
        lost.append(f'{len(pids)} victims, {len(stored)} stored')
    print(f'stored: {incidents} incidents, {len(stored)} victims; integrity: {sound}', flush=True)
    return lost if sound == 'ok' else [*lost, sound]


def soak(binary, seconds, processes, folder):
    store = os.path.join(folder, 'oom.db')
    with Workload('herd', 'idle', processes) as herd:
        herd.go()
        herd.wait('done')
        tracer = Tracer('record', '-o', store, stdout=subprocess.DEVNULL, wrap=(binary,))
        pid = tracer.process.pid
        time.sleep(30)  # the names of all that is there already are no part of a day's rate
        rest(pid, store, max(30, seconds / 10))
        begun, before = time.monotonic(), before_of(pid, store)
        pids = kill_for(seconds)
        show(f'{len(pids)} kills in {time.monotonic() - begun:.0f} s', figures(pid, store, begun, before))
        status, _, err = tracer.end(signal.SIGTERM)
    lost = missed(store, pids)
    print(f'file at the end: {os.path.getsize(store):,} bytes; status {status}')
    for what in lost:
        print(f'FAIL not in the store: {what}')
    if status:
        print(f'FAIL status {status}: {err.decode("utf-8", "replace")[-500:]}')
    good = not lost and not status
    print(f'{int(good)} passed, {int(not good)} failed')
    return not good


def main():
    binary = sys.argv[1] if len(sys.argv) > 1 else str(TOP / 'build' / 'oomsnoop')
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 3600
    processes = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    if not (PROGRAMS / 'cow').exists():
        sys.exit('soak: make workloads first')
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(soak(binary, seconds, processes, folder))


if __name__ == '__main__':
    main()
