#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stream_test.py [-b BYTES] [BINARY]: a syslog of 5 GB that comes through a pipe: `oomsnoop parse` tells every report in it, and
needs no more memory at its end than at its beginning. Takes minutes. Prints "ok NAME" and "FAIL NAME: why" lines and a last line
of sums."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from results import Results

TOP = Path(__file__).resolve().parents[2]
FILL = TOP / 'tools' / 'bench' / 'fillsyslog.py'
PEAK_MAX_KIB = 32 << 10
GROWTH_MAX_KIB = 1 << 10
MARK = b' invoked oom-killer:'


def peak_kib(pid):
    for line in Path(f'/proc/{pid}/status').read_text().splitlines():
        if line.startswith('VmHWM:'):
            return int(line.split()[1])
    return 0


def pump(source, sink, pid, first):
    """(reports, bytes, peak after the first bytes, peak) of all that went through."""
    reports = size = warm = 0
    rest = b''
    while data := source.read(1 << 20):
        sink.write(data)
        size += len(data)
        reports += (rest + data).count(MARK)
        rest = data[-len(MARK) + 1:]
        if not warm and size >= first:
            warm = peak_kib(pid)
    sink.flush()
    return reports, size, warm, peak_kib(pid)


def run(binary, kind, size, folder):
    first = size // 10
    out = folder / f'{kind}.ndjson'
    with open(out, 'wb') as records:
        maker = subprocess.Popen([sys.executable, FILL, kind, str(size)], stdout=subprocess.PIPE)
        parser = subprocess.Popen([binary, 'parse', '--json', '-q'], stdin=subprocess.PIPE, stdout=records)
        reports, size, warm, peak = pump(maker.stdout, parser.stdin, parser.pid, first)
        parser.stdin.close()
        statuses = maker.wait(60), parser.wait(60)
    told = set()
    with open(out, 'rb') as records:
        for count, line in enumerate(records, 1):
            record = json.loads(line)
            told.add((record['mono_ns'], record['victim_pid']))
    os.remove(out)
    print(f'note {kind}: {size} bytes, {reports} reports, peak {peak} KiB, after {first} bytes {warm} KiB')
    if statuses != (0, 0):
        yield f'statuses {statuses}'
    if not reports == count == len(told):
        yield f'{count} records, {len(told)} of them different, of {reports} reports'
    if not 0 < peak <= PEAK_MAX_KIB:
        yield f'{peak} KiB'
    if peak - warm > GROWTH_MAX_KIB:
        yield f'{warm} KiB after {first} bytes, {peak} KiB at the end'


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('-b', '--bytes', type=int, default=5 * 1000**3)
    parser.add_argument('binary', nargs='?', default=str(TOP / 'build' / 'oomsnoop'))
    options = parser.parse_args()
    results = Results()
    with tempfile.TemporaryDirectory() as folder:
        results.add('one report for every 10 MB', run(options.binary, 'mixed', options.bytes, Path(folder)))
        results.add('nothing but reports', run(options.binary, 'reports', options.bytes // 20, Path(folder)))
    return results.finish()


if __name__ == '__main__':
    raise SystemExit(main())
