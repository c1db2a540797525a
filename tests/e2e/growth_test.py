#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""growth_test.py [-q] [-k PATTERN] [BINARY]: the flight recorder on this machine: workloads that
know what they did grow in memory cgroups of our own until the kernel kills, and the record must
name who grew first, with the right bytes. Needs root. Prints "ok NAME" and "FAIL NAME: why" lines
and a last line of sums."""
import sys
import time
from pathlib import Path

import growth
import growth_cases
import suite
from cgroup import Cgroup, HOSTILE_COMM
from cli_test import EX_USAGE, differ, run, status_errors, unsafe_bytes
from growth import MIB, parts_of
from recorder import (
    Mount,
    Recorder,
    Tree,
    checked,
    checked_after_push,
    grown_then_pushed,
    pass_over,
    push,
    schema_errors,
    set_limit,
    used,
)
from workloads import Workload

TOP = Path(__file__).resolve().parents[2]


# --- growth lines ---


def test_growth_lines(binary):
    """They sum up to the account, but for what was too little to be told."""
    options = ('--growth', '--min-delta', '2MiB', '--interval', '300ms')
    with (
        Cgroup('lines', 48) as cgroup,
        Workload('grow', '-S', '-i', 60, '-c', 'liner', 'anon', 40, cgroup=cgroup) as grower,
        Recorder(binary, *options) as recorder,
    ):
        grower.go().wait('done')
        yield from recorder.sum_errors(cgroup, 40 * MIB, spare=2 * MIB + growth.SLACK)
        deltas = recorder.lines('growth')
        push(cgroup)
        yield from schema_errors(recorder)
        recorder.end()
    own = [line for line in deltas if line.get('pid') == grower.pid]
    total = sum(line['delta_bytes'] for line in own)
    part = parts_of(grower.steps)[0]
    yield from growth.outside('growth lines', total, *part.grown, 2 * MIB + growth.SLACK)
    for line in own:
        yield from differ('comm', line.get('comm'), 'liner')
        yield from differ('cgroup', line.get('cgroup'), cgroup.shown)
        yield from differ('of', line['of'], 'process')
        if abs(line['delta_bytes']) < 2 * MIB:
            yield f'a growth line of {line["delta_bytes"]} with --min-delta 2MiB'
    if own and abs(own[-1]['held_bytes'] - own[0]['held_bytes'] - total + own[0]['delta_bytes']):
        yield f'held_bytes do not follow the deltas: {[line["held_bytes"] for line in own]}'
    times = [line['mono_us'] for line in own]
    near = [late - early for early, late in zip(times, times[1:]) if late - early < 300_000]
    if near:
        yield f'growth lines {near} µs apart with --interval 300ms'
    if len(own) < 3:
        yield f'{len(own)} growth lines in 2.4 s'


def test_growth_text(binary):
    """A hostile name in lines for people."""
    with (
        Cgroup('text\033[31m"\377', 40) as cgroup,
        Workload('grow', '-S', '-c', HOSTILE_COMM, '-i', 30, 'anon', 32, cgroup=cgroup) as grower,
        Recorder(
            binary, '--growth', '--min-delta', '4MiB', '--warn', '50%', json_lines=False
        ) as recorder,
    ):
        grower.go().wait('done')
        push(cgroup)
        recorder.end()
        out = recorder.text()
    yield from unsafe_bytes(out)
    if b'pusher' not in out or b'KILLED' not in out:
        yield f'no kill in {out[:300]!r}'
    if out.count(b'\n') < 3:
        yield f'no growth lines in {out!r}'


def test_growth_hostile(binary):
    """The same name in lines for machines: whole lines, and the name as in a record."""
    with (
        Cgroup('json\033[31m"\377', 40) as cgroup,
        Workload('grow', '-S', '-c', HOSTILE_COMM, '-i', 30, 'anon', 32, cgroup=cgroup) as grower,
        Recorder(binary, '--growth', '--min-delta', '4MiB') as recorder,
    ):
        grower.go().wait('done')
        push(cgroup)
        record = recorder.record()
        told = [line for line in recorder.lines('growth') if line.get('pid') == grower.pid]
        yield from unsafe_bytes(recorder.text())
        yield from schema_errors(recorder)
    names = {line['comm'] for line in told} | {growth.process_of(record, grower.pid)['comm']}
    yield from differ('comm', names, {'a\nb\x1b[31m"\ufffd\\,)x'})
    if not told:
        yield 'no growth line of the hostile one'


# --- limits that are near ---


def test_warn(binary):
    with (
        Cgroup('warn', 48) as cgroup,
        Workload('grow', '-S', '-i', 100, 'anon', 96, cgroup=cgroup) as leak,
        Recorder(binary, '--warn', '90%,3s') as recorder,
    ):
        leak.go().killed()
        record = recorder.record()
        told = [line for line in recorder.lines('pressure') if line.get('cgroup') == cgroup.shown]
        yield from schema_errors(recorder)
    for why in ('90%', '3s'):
        lines = [line for line in told if line.get('why') == why]
        if not lines:
            yield f'no pressure line for {why}: {told}'
        for line in lines:
            yield from pressure_errors(line, record, why, leak.steps[-1]['ms'])


def pressure_errors(line, record, why, took_ms):
    yield from differ(f'{why}: max_bytes', line.get('max_bytes'), 48 * MIB)
    before_ms = (record['mono_us'] - line['mono_us']) / 1000
    if before_ms < 0:
        yield f'{why}: told {-before_ms} ms after the kill'
    percent = 100 * line['usage_bytes'] / line['max_bytes']
    if abs(line['used_percent'] - percent) > 1:
        yield f'{why}: used_percent {line["used_percent"]}, usage and limit say {percent:.1f}'
    if why == '90%' and percent < 89.9:
        yield f'{why}: told at {percent:.1f} %'
    if why == '90%' and before_ms > took_ms * 0.15 + 500:
        yield f'{why}: told {before_ms:.0f} ms before the kill'
    if why == '3s' and not (line.get('left_ms', 1e9) <= 3000 and before_ms < 6000):
        yield f'{why}: left_ms {line.get("left_ms")}, {before_ms:.0f} ms before the kill'
    if 'bytes_per_s' in line and not 0.5 < line['bytes_per_s'] / (MIB / 0.1) < 2:
        yield f'{why}: bytes_per_s {line["bytes_per_s"]}, by its own account {MIB / 0.1:.0f}'


# --- fault counting ---


def counting(binary, name, *options):
    """A leak of 2 s into the limit; its record."""
    with (
        Cgroup(name, 32) as cgroup,
        Workload('grow', '-S', '-i', 60, 'anon', 64, cgroup=cgroup) as leak,
        Recorder(binary, *options) as recorder,
    ):
        leak.go().killed()
        return checked(recorder, leak.steps)


def test_faults_always(binary):
    record, errors = counting(binary, 'always', '--faults', 'always')
    yield from errors
    yield from growth.counting_errors(record)
    spans = record.get('fault_counting', [])
    if len(spans) != 1 or spans[0]['to_ms'] != 0:
        yield f'fault_counting {spans}: always is one time, to the end'


def test_faults_never(binary):
    record, errors = counting(binary, 'never', '--faults', 'never')
    yield from errors
    if 'fault_counting' in record:
        yield f'fault_counting {record["fault_counting"]}'


def test_faults_auto(binary):
    record, errors = counting(binary, 'auto', '--faults', 'auto', '--fault-period', '16')
    yield from errors
    yield from growth.counting_errors(record)


def test_faults_refused(binary):
    record, errors = counting(binary, 'refused', '--without', 'faults', '--faults', 'always')
    yield from errors
    if 'fault_counting' in record:
        yield f'fault_counting {record["fault_counting"]} without the hook'
    names = {one['field'] for one in record['missing']}
    if 'fault_counting' not in names:
        yield f'missing does not name fault_counting: {sorted(names)}'


# --- without ---


def test_without_recorder(binary):
    with Cgroup('no-recorder', 32) as cgroup, Recorder(
        binary, '--without', 'recorder', '--growth'
    ) as recorder:
        push(cgroup, 64)
        record = recorder.record()
        start = recorder.lines('start')[0]
        told = recorder.lines('growth')
        yield from schema_errors(recorder)
    names = {one['field'] for one in record['missing']}
    for name in ('growth', 'growth_processes', 'growth_cgroups', 'families'):
        if name in record:
            yield f'{name} is there without a recorder'
        if name not in names:
            yield f'missing does not name {name}: {sorted(names)}'
    yield from differ('growth lines', told, [])
    if start.get('recorder'):
        yield f'the start line has recorder {start["recorder"]!r}'


def test_proc(binary):
    """No task iterator: /proc is read, and the bytes are right all the same."""
    with (
        Cgroup('proc', 40) as cgroup,
        Workload('grow', '-S', '-i', 60, 'anon', 32, cgroup=cgroup) as grower,
        Recorder(binary, '--without', 'iter') as recorder,
    ):
        used_before = used(cgroup)
        grower.go().wait('done')
        record, errors = checked_after_push(recorder, cgroup, grower, used_before)
        start = recorder.lines('start')[0]
    yield from errors
    yield from growth.first_errors(record, grower.pid)
    yield from differ('recorder.source', start.get('recorder', {}).get('source'), 'proc')


def test_source(binary):
    with Recorder(binary) as recorder:
        recorder.end()
        start = recorder.lines('start')[0]
    yield from differ('recorder.source', start.get('recorder', {}).get('source'), 'iterator')


# --- bad input ---


def test_bad_options(binary):
    for options in (
        ['--growth=1'],
        ['--min-delta', 'x'],
        ['--min-delta', '-1'],
        ['--min-delta', '0'],
        ['--min-delta', ''],
        ['--min-delta', '1QiB'],
        ['--min-delta', 'nan'],
        ['--min-delta', '99999999999T'],
        ['--interval', 'soon'],
        ['--interval', '-1'],
        ['--warn', ''],
        ['--warn', '0%'],
        ['--warn', '101%'],
        ['--warn', '-5%'],
        ['--warn', 'nan%'],
        ['--warn', 'x'],
        ['--warn', '90%%'],
        ['--warn', ','],
        ['--window', ''],
        ['--window', '-1s'],
        ['--window', '0'],
        ['--history', 'x'],
        ['--history', '0'],
        ['--history', '1000d'],
        ['--census', '0'],
        ['--census', '1ms'],
        ['--census', 'x'],
        ['--faults', 'sometimes'],
        ['--faults', ''],
        ['--fault-period', '0'],
        ['--fault-period', 'x'],
        ['--fault-period', '-1'],
        ['--fault-period', '99999999999'],
    ):
        result = run(binary, '--timeout', '1', *options)
        yield from (f'{options}: {error}' for error in status_errors(result, EX_USAGE))


def test_history_shorter_than_window(binary):
    """window_ms says what the history covers; growth is that of this time, no more."""
    with (
        Cgroup('history', 40) as cgroup,
        Workload('grow', '-S', '-s', 512, '-i', 100, 'anon', 80, cgroup=cgroup) as leak,
        Recorder(binary, '--history', '4s', '--window', '60s') as recorder,
    ):
        leak.go().killed()
        record = recorder.record()
    took = leak.steps[-1]['ms']
    window = record['window_ms']
    if not 3000 <= window <= 6100:
        yield f'window_ms {window} with a history of 4 s, and one pass a second'
    one = growth.process_of(record, leak.pid)
    if one is None:
        yield 'the leak is not in growth_processes'
        return
    want = int(5 * MIB * window / 1000)
    what = f'delta_bytes in {window} ms'
    yield from growth.outside(what, one['delta_bytes'], want, want, 2 * MIB)
    yield from growth.sum_errors(record)
    if took < 7000:
        yield f'the leak took {took} ms, no longer than the history'


def test_short_run(binary):
    """A window that the recorder has not been there for."""
    with Cgroup('short', 32) as cgroup, Recorder(binary, '--window', '60s') as recorder:
        ready = time.monotonic()
        pushed = push(cgroup, 64)
        lived = (time.monotonic() - ready) * 1000
        record, errors = checked(recorder, pushed)
    yield from errors
    if record['window_ms'] > lived + 2000:
        yield f'window_ms {record["window_ms"]}, it ran for {lived:.0f} ms'


# --- many ---


def test_brief_children(binary):
    """500 children of 2 MiB each, four at a time, all gone: nobody grew but who came after."""
    with Cgroup('children', 40) as cgroup:
        with Workload('herd', '-S', '-b', 2048, '-n', 4, 'brief', 500, cgroup=cgroup) as herd:
            with Recorder(binary) as recorder:
                used_before = used(cgroup)
                herd.go().wait('done')
                pushed = push(cgroup)
                record, errors = checked(recorder, pushed, used_before=used_before)
    yield from differ('ended', herd.said('done')[0]['ended'], 500)
    yield from errors
    yield from growth.first_errors(record, pushed[0]['pid'])
    yield from growth.rest_errors(record, 0)
    yield from growth.family_errors(record, herd.pid, [], exited=500)


def test_forks(binary):
    """100,000 processes come and go (by vfork: as many forks would take minutes): the record after
    them is right, and the tracer has not grown with them."""
    with Cgroup('forks', 48) as cgroup, Recorder(binary) as recorder:
        with Workload('grow', '-S', '-i', 20, 'anon', 36, cgroup=cgroup) as leak:
            held = []
            for _ in range(2):
                with Workload('herd', 'vfork', 50_000) as herd:
                    herd.go().wait('done')
                held.append(recorder.status_bytes('VmRSS'))
            leak.go().wait('done')
            record, errors = checked_after_push(recorder, cgroup, leak, None)
            stop = recorder.lines('stop')[0]
    yield from errors
    yield from growth.first_errors(record, leak.pid)
    if held[1] - held[0] > 4 * MIB:
        yield f'VmRSS {held[0]} after 50,000 forks, {held[1]} after 100,000'
    if held[1] > 96 * MIB:
        yield f'VmRSS {held[1]}'
    yield from differ('lost_events', stop['lost_events'], 0)


def test_idle_herd(binary):
    """2,000 processes that do nothing, and one that leaks."""
    with (
        Cgroup('herd', 512) as outer,
        Workload('herd', 'idle', 2000, cgroup=outer) as herd,
        Cgroup('beside', 48) as cgroup,
        Workload('grow', '-S', '-i', 40, 'anon', 36, cgroup=cgroup) as leak,
    ):
        herd.go().wait('done')
        record, errors = grown_then_pushed(binary, cgroup, leak)
    yield from errors
    yield from growth.first_errors(record, leak.pid)


def test_deep_tree(binary):
    """10 levels and 5,000 leaves; the limit is at the top and who grew is in the last leaf."""
    with Cgroup('tree', 256) as cgroup, Tree(cgroup, 10, 5000) as leaf:
        # The cgroups themselves are charged to those above them.
        set_limit(cgroup, used(cgroup) + 48 * MIB)
        with (
            Workload('grow', '-S', '-i', 60, 'anon', 40, cgroup=leaf) as grower,
            Recorder(binary, '--growth', '--min-delta', '4MiB') as recorder,
        ):
            used_before = used(cgroup)
            grower.go().wait('done')
            push(leaf.first)
            record = recorder.record()
            told = [line for line in recorder.lines('growth') if line.get('pid') == grower.pid]
            yield from schema_errors(recorder)
    yield from growth.record_errors(record, parts_of(grower.steps))
    yield from growth.domain_errors(record, used_before)
    cgroups = {one.get('cgroup'): one for one in record.get('growth_cgroups', [])}
    own = cgroups.get(leaf.shown)
    if own is None:
        yield f'growth_cgroups does not name {leaf.shown}: {sorted(map(str, cgroups))}'
    else:
        got = own['own_delta_bytes']
        yield from growth.outside('own_delta_bytes', got, 40 * MIB, 41 * MIB, MIB)
        first = record['growth_cgroups'][0].get('cgroup')
        yield from differ('the first of growth_cgroups', first, leaf.shown)
    yield from differ('cgroup of growth lines', {line['cgroup'] for line in told}, {leaf.shown})


def test_entered(binary):
    """A cgroup that was there before, held something, and had nobody in it: that is no growth."""
    with Mount() as directory, Cgroup('entered', 64) as cgroup:
        with Workload('eat', '-f', directory / 'left', '-x', 'write', 20, cgroup=cgroup) as writer:
            writer.go().wait_end()
        with Recorder(binary) as recorder:
            pass_over(recorder)
            used_before = used(cgroup)
            with Workload('grow', '-S', '-i', 40, 'anon', 32, cgroup=cgroup) as leak:
                pass_over(recorder)
                leak.go().wait('done')
                record, errors = checked_after_push(recorder, cgroup, leak, used_before)
    yield from errors
    yield from growth.rest_errors(record, 0)
    for one in record['growth_cgroups']:
        if one.get('began'):
            yield f'growth_cgroups: {one.get("cgroup")} began before the recorder did'


def test_moved_between_cgroups(binary):
    """Half of it in one cgroup, half in the next: what was charged stays behind, what is resident
    goes along."""
    with Cgroup('from', 64) as origin, Cgroup('to', 32) as cgroup:
        arguments = ('-S', '-i', 60, '-m', cgroup.path, 'anon', 40)
        with Workload('grow', *arguments, cgroup=origin) as mover:
            with Recorder(binary) as recorder:
                used_before = used(cgroup)
                mover.go().wait('done')
                pushed = push(cgroup)
                record = recorder.record()
    parts = parts_of(mover.steps + pushed)
    yield from growth.record_errors(record, parts)
    yield from growth.domain_errors(record, used_before)
    # The half that its first cgroup was charged for is in its resident set here.
    yield from growth.rest_errors(record, -20 * MIB)


if __name__ == '__main__':
    sys.exit(suite.main('growth', __doc__, suite.tests_of(vars(growth_cases), globals())))
