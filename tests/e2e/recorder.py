# SPDX-License-Identifier: Apache-2.0
"""A running flight recorder, and the surroundings that its tests need."""
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

from jsonschema import Draft202012Validator

import growth
from cli_test import Tracer
from growth import MIB, PAGE, parts_of
from workloads import Workload

TOP = Path(__file__).resolve().parents[2]
SCHEMA = TOP / 'docs' / 'record-schema.json'
# Passes are a second apart, at most two: no line takes this long unless it never comes.
LINE_PATIENCE = 15


class Recorder:
    """with Recorder(BINARY, OPTION...) as recorder: oomsnoop --json, its lines in a file, so that
    they can be read while it runs and no full pipe stops it."""

    def __init__(self, binary, *options, json_lines=True):
        self.file = tempfile.TemporaryFile()
        words = ('--json', *options) if json_lines else options
        self.tracer = Tracer(binary, *words, stdout=self.file)
        self.pid = self.tracer.process.pid

    def text(self):
        return os.pread(self.file.fileno(), os.fstat(self.file.fileno()).st_size, 0)

    def lines(self, kind=None):
        """What it has told so far, whole lines."""
        told = [json.loads(line) for line in self.text().rpartition(b'\n')[0].splitlines()]
        return [line for line in told if kind in (None, line['type'])]

    def wait_for(self, kind, wanted=lambda _: True):
        """The first line of this kind that is wanted, once it is there."""
        deadline = time.monotonic() + LINE_PATIENCE
        while time.monotonic() < deadline:
            for line in self.lines(kind):
                if wanted(line):
                    return line
            time.sleep(0.05)
        raise AssertionError(f'no {kind} line came')

    def told(self, pid):
        """By how much a process changed, after its growth lines."""
        return sum(line['delta_bytes'] for line in self.lines('growth') if line.get('pid') == pid)

    def told_of(self, cgroup):
        return sum(
            line['delta_bytes']
            for line in self.lines('growth')
            if line['of'] == 'cgroup' and line.get('cgroup') == cgroup.shown
        )

    def sum_errors(self, cgroup, want, spare=2 * MIB):
        """Waits until the growth lines of a cgroup sum up to what it did; else what is wrong."""
        deadline = time.monotonic() + LINE_PATIENCE
        while abs(self.told_of(cgroup) - want) > spare:
            if time.monotonic() > deadline:
                yield f'growth lines of the cgroup sum up to {self.told_of(cgroup)}, not {want}'
                return
            time.sleep(0.05)

    def record(self):
        """The record of the one kill there was, after its end."""
        self.end()
        found = self.lines('oom')
        if len(found) != 1:
            raise AssertionError(f'{len(found)} records of one kill')
        return found[0]

    def end(self):
        code, _, err = self.tracer.end()
        if code != 0:
            raise AssertionError(f'oomsnoop ended with {code}: {err[-300:]!r}')

    def status_bytes(self, key):
        for line in Path(f'/proc/{self.pid}/status').read_text(encoding='ascii').splitlines():
            if line.startswith(key + ':'):
                return int(line.split()[1]) * 1024
        raise AssertionError(f'no {key}')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.tracer.process.poll() is None:
            self.tracer.end()
        self.file.close()


def used(cgroup):
    for name in (b'memory.usage_in_bytes', b'memory.current'):
        try:
            with open(cgroup.path + b'/' + name, encoding='ascii') as file:
                return int(file.read())
        except FileNotFoundError:
            pass
    raise AssertionError('the cgroup tells no usage')


def set_limit(cgroup, limit_bytes):
    with open(cgroup.limit[0], 'w', encoding='ascii') as file:
        file.write(str(limit_bytes // PAGE * PAGE))


def push(cgroup, mib=256):
    """An eater that goes over the limit and dies for it, whoever is bigger; its account."""
    with Workload('eat', '-S', '-j', 1000, '-c', 'pusher', 'anon', mib, cgroup=cgroup) as eater:
        return eater.go().killed().steps


def pass_over(recorder):
    """A quiet time, so long that at least one pass over all processes falls into it."""
    time.sleep(1.5)
    if recorder.tracer.process.poll() is not None:
        raise AssertionError('oomsnoop has ended')


def schema_errors(recorder):
    """Every line told so far is what record-schema.json allows."""
    validator = Draft202012Validator(json.loads(SCHEMA.read_text(encoding='utf-8')))
    yield from sorted(
        {
            f'{line["type"]} line, {"/".join(map(str, error.path))}: {error.message[:160]}'
            for line in recorder.lines()
            for error in validator.iter_errors(line)
        }
    )


class Mount:
    """with Mount() as directory: a tmpfs of our own."""

    def __enter__(self):
        self.directory = tempfile.mkdtemp()
        subprocess.run(['mount', '-t', 'tmpfs', 'none', self.directory], check=True)
        return Path(self.directory)

    def __exit__(self, *_):
        subprocess.run(['umount', '-l', self.directory], check=True)
        os.rmdir(self.directory)


class Scratch:
    """with Scratch(NAME) as file: a path on a real file system, gone afterwards."""

    def __init__(self, name):
        self.directory = Path(tempfile.mkdtemp(dir='/var/tmp'))
        self.file = self.directory / name

    def __enter__(self):
        return self.file

    def __exit__(self, *_):
        self.file.unlink(missing_ok=True)
        self.directory.rmdir()


class Tree:
    """with Tree(CGROUP, DEPTH, LEAVES) as leaf: a chain of cgroups below it, and many leaves; the
    last of them. `first` is another: on version 2 nobody may be in those that are no leaves."""

    def __init__(self, cgroup, depth, leaves):
        self.made = []
        self.path, self.shown = cgroup.path, cgroup.shown
        for level in range(depth):
            self.path += b'/level%d' % level
            self.shown += f'/level{level}'
            self.made.append(self.path)
        leaf_paths = [self.path + b'/leaf%d' % number for number in range(leaves)]
        self.made += leaf_paths
        self.first = SimpleNamespace(path=leaf_paths[0])
        self.path, self.shown = self.made[-1], self.shown + f'/leaf{leaves - 1}'

    def __enter__(self):
        for path in self.made:
            if os.path.exists(path[: path.rindex(b'/')] + b'/cgroup.subtree_control'):
                with open(path[: path.rindex(b'/')] + b'/cgroup.subtree_control', 'wb') as control:
                    control.write(b'+memory')
            os.mkdir(path)
        return self

    def __exit__(self, *_):
        for path in reversed(self.made):
            for _ in range(100):
                try:
                    os.rmdir(path)
                    break
                except OSError:
                    time.sleep(0.05)


def checked(recorder, steps, *, used_before=None):
    """The record, and what is wrong with it by the accounts in `steps`."""
    record = recorder.record()
    errors = list(growth.record_errors(record, parts_of(steps)))
    if not errors:
        errors += growth.domain_errors(record, used_before)
        errors += growth.series_errors(record)
    return record, errors + list(schema_errors(recorder))


def grown_then_pushed(binary, cgroup, workload, *options):
    """The usual course: the workload is there, the recorder starts, the workload does what it does,
    and a pusher makes the kernel kill: (record, errors)."""
    with Recorder(binary, *options) as recorder:
        used_before = used(cgroup)
        workload.go().wait('done')
        record, errors = checked_after_push(recorder, cgroup, workload, used_before)
    return record, errors


def checked_after_push(recorder, cgroup, workload, used_before):
    pushed = push(cgroup)
    return checked(recorder, workload.steps + pushed, used_before=used_before)
