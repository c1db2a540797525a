# SPDX-License-Identifier: Apache-2.0
"""Ways to grow, each up to a real kill: the record must name who did it first, with the right
bytes. The tests of growth_test.py that are about memory itself."""
import growth
from cgroup import Cgroup
from cli_test import differ
from growth import MIB, parts_of
from recorder import (
    Mount,
    Recorder,
    Scratch,
    checked,
    checked_after_push,
    grown_then_pushed,
    pass_over,
    push,
    schema_errors,
    used,
)
from workloads import Workload


# --- how it grew ---


def test_leak(binary):
    """1 MiB every 150 ms, into the limit: 7 s of a straight line."""
    with (
        Cgroup('leak', 48) as cgroup,
        Workload('grow', '-S', '-i', 150, 'anon', 96, cgroup=cgroup) as leak,
        Recorder(binary, '--window', '10s') as recorder,
    ):
        used_before = used(cgroup)
        leak.go().killed()
        record, errors = checked(recorder, leak.steps, used_before=used_before)
    yield from errors
    yield from growth.kind_errors(record, 'steady', rate=MIB / 0.15)
    yield from growth.rest_errors(record, 0)
    took = leak.steps[-1]['ms'] if leak.steps else 0
    started = record['growth'].get('started_ms_before', 0)
    if not took * 0.8 - 500 <= started <= took * 1.2 + 500:
        yield f'growth.started_ms_before {started}, by its own account {took}'
    if record['growth'].get('r2', 0) < 0.9:
        yield f'growth.r2 {record["growth"].get("r2")}'
    yield from differ('victim_pid', record['victim_pid'], leak.pid)


def test_leak_born_within(binary):
    """One that is started after the recorder: it grew by all that it holds."""
    with Cgroup('born', 48) as cgroup, Recorder(binary) as recorder:
        with Workload('grow', '-S', '-i', 20, 'anon', 40, cgroup=cgroup) as leak:
            leak.go().wait('done')
            record, errors = checked_after_push(recorder, cgroup, leak, None)
    yield from errors
    one = growth.process_of(record, leak.pid) or {}
    if one and not growth.began_within(record, one):
        yield f'started {one["started"]} is not within the window'


def test_spike(binary):
    """All of it at once, between two passes, after a quiet time."""
    with (
        Cgroup('spike', 40) as cgroup,
        Workload('grow', '-S', '-s', 1024, 'anon', 80, cgroup=cgroup) as spike,
        Recorder(binary, '--window', '10s') as recorder,
    ):
        used_before = used(cgroup)
        pass_over(recorder)
        spike.go().killed()
        record, errors = checked(recorder, spike.steps, used_before=used_before)
    yield from errors
    yield from growth.kind_errors(record, 'spike')
    yield from growth.rest_errors(record, 0)


def test_huge_pages(binary):
    for flags in (('-H',), ('-S',)):
        with (
            Cgroup('huge', 48) as cgroup,
            Workload('grow', *flags, '-s', 4096, '-i', 20, 'anon', 40, cgroup=cgroup) as grower,
        ):
            record, errors = grown_then_pushed(binary, cgroup, grower)
        yield from (f'{flags[0]}: {error}' for error in errors)
        yield from (f'{flags[0]}: {error}' for error in growth.rest_errors(record, 0))


def test_churn(binary):
    """One that maps, touches and unmaps all the time did not grow; one that leaks beside it did."""
    with (
        Cgroup('churn', 40) as cgroup,
        Workload('grow', '-S', '-r', 300, '-i', 5, 'churn', 4, cgroup=cgroup) as churner,
        Workload('grow', '-S', '-i', 80, 'anon', 24, cgroup=cgroup) as leak,
        Recorder(binary) as recorder,
    ):
        used_before = used(cgroup)
        churner.go()
        leak.go().wait('done')
        churner.wait('done')
        pushed = push(cgroup)
        record, errors = checked(
            recorder, leak.steps + churner.steps + pushed, used_before=used_before
        )
    yield from errors
    yield from growth.first_errors(record, leak.pid)
    yield from growth.rest_errors(record, 0)


# --- copies ---


def cow(binary, name, kind, *options, mib=16, workers=3, limit=76, forked_first=True):
    """Workers of one parent write to what they share with it: (record, errors, parent, parts)."""
    arguments = ('-S', '-k', kind, '-s', 1024, '-i', 60, mib, workers)
    with Cgroup(name, limit) as cgroup:
        with Workload('cow', *arguments, cgroup=cgroup, fifos='g') as parent:
            if forked_first:
                parent.go().wait('forked')
            with Recorder(binary, *options) as recorder:
                used_before = used(cgroup)
                if not forked_first:
                    parent.go().wait('forked')
                    pass_over(recorder)
                parent.go('g').wait('done')
                pushed = push(cgroup)
                parts = parts_of(parent.steps)
                record = recorder.record()
                errors = list(copy_record_errors(record, parts, parts_of(pushed), forked_first))
                errors += growth.domain_errors(record, used_before)
                errors += schema_errors(recorder)
    return record, errors, parent.pid, parts


def copy_record_errors(record, parts, pushed, forked_first):
    """The parent's own memory is older than the recorder, if it forked first."""
    if forked_first:
        parts = [growth.Part(part.pid) if not part.copied else part for part in parts]
    yield from growth.record_errors(record, parts + pushed)


def test_cow(binary):
    """3 workers copy 16 MiB each while write faults are counted."""
    record, errors, parent, parts = cow(binary, 'cow', 'copy', '--faults', 'always')
    yield from errors
    yield from growth.rest_errors(record, 0)
    yield from growth.family_errors(record, parent, [part for part in parts if part.copied])
    copiers = {part.pid for part in parts if part.copied}
    first = {one['pid'] for one in record['growth_processes'][:3]}
    yield from differ('the first three', first, copiers)
    yield from growth.counting_errors(record)


def test_cow_never(binary):
    """Without counting: an upper bound, which says that it is one."""
    record, errors, parent, parts = cow(binary, 'cow-never', 'copy', '--faults', 'never')
    yield from errors
    yield from growth.family_errors(record, parent, [part for part in parts if part.copied])
    if 'fault_counting' in record:
        yield f'fault_counting {record["fault_counting"]} with --faults never'
    for one in record['growth_processes']:
        if one.get('cow_bytes', 0) > growth.COPY_NOISE and not one.get('cow_upper_bound'):
            yield f'{one["pid"]} cow_bytes {one["cow_bytes"]} is not marked as an upper bound'


def test_cow_auto(binary):
    """Forked within the window, and the counting begins by itself near the limit."""
    record, errors, parent, parts = cow(binary, 'cow-auto', 'copy', forked_first=False)
    yield from errors
    yield from growth.family_errors(record, parent, [part for part in parts if part.copied])
    yield from growth.counting_errors(record)


def test_cow_zero(binary):
    """Written after it was read: that is resident memory, and no copy of anything."""
    record, errors, _, _ = cow(
        binary, 'cow-zero', 'zero', '--faults', 'always', limit=60, forked_first=False
    )
    yield from errors
    yield from growth.rest_errors(record, 0)


def test_cow_reuse(binary):
    """Written again once all who shared it are gone: a fault for each page, and nothing copied.
    Another one leaks meanwhile, so that the cgroup does grow."""
    with (
        Cgroup('reuse', 64) as cgroup,
        Workload(
            'cow', '-S', '-k', 'reuse', '-i', 60, 16, 2, cgroup=cgroup, fifos='g'
        ) as parent,
        Workload('grow', '-S', '-i', 60, 'anon', 24, cgroup=cgroup) as leak,
    ):
        parent.go().wait('forked')
        with Recorder(binary, '--faults', 'always') as recorder:
            used_before = used(cgroup)
            parent.go('g')
            leak.go().wait('done')
            parent.wait('done')
            pushed = push(cgroup)
            steps = leak.steps + pushed
            record, errors = checked(recorder, steps, used_before=used_before)
    yield from errors
    yield from growth.copy_errors(record, growth.Part(parent.pid))
    yield from growth.rest_errors(record, 0)


# --- files ---


def test_tmpfs_write(binary):
    """In no process's memory at all: who wrote it is known by its writes or charges, and what it is
    by what is left over."""
    with Mount() as directory, Cgroup('tmpfs', 48) as cgroup:
        file = directory / 'written'
        with Workload('grow', '-f', file, '-i', 60, 'write', 36, cgroup=cgroup) as writer:
            record, errors = grown_then_pushed(binary, cgroup, writer)
    yield from errors
    yield from growth.rest_errors(record, 36 * MIB)
    if record.get('composition', {}).get('shmem_bytes', 0) < 35 * MIB:
        yield f'composition.shmem_bytes {record.get("composition", {}).get("shmem_bytes")}'


def test_tmpfs_writer_gone(binary):
    """The file stays, its writer does not: the record must still name it."""
    with Mount() as directory, Cgroup('tmpfs-gone', 48) as cgroup:
        file = directory / 'written'
        with Workload('grow', '-f', file, '-i', 60, 'write', 36, cgroup=cgroup) as writer:
            with Recorder(binary) as recorder:
                used_before = used(cgroup)
                writer.go().wait('done')
                writer.process.kill()
                writer.wait_end()
                record, errors = checked_after_push(recorder, cgroup, writer, used_before)
    yield from errors
    one = growth.process_of(record, writer.pid) or {}
    yield from differ('state of the writer', one.get('state'), 'exited')


def test_tmpfs_mapped(binary):
    with Mount() as directory, Cgroup('tmpfs-map', 48) as cgroup:
        file = directory / 'mapped'
        with Workload('grow', '-f', file, '-i', 60, 'shared', 36, cgroup=cgroup) as writer:
            record, errors = grown_then_pushed(binary, cgroup, writer)
    yield from errors
    yield from growth.rest_errors(record, 0)


def test_file_read(binary):
    """A mapped file that is read: resident, and charged to who read it. It can be taken back, so
    the pusher finds room, and who grew at the kill is the pusher; while it grew it was told."""
    with Scratch('read') as file, Cgroup('file-read', 48) as cgroup:
        with (
            Workload('grow', '-f', file, '-i', 30, 'read', 24, cgroup=cgroup) as reader,
            Recorder(binary, '--growth', '--min-delta', '1MiB') as recorder,
        ):
            used_before = used(cgroup)
            reader.go().wait('done')
            recorder.wait_for('growth', lambda line: recorder.told(reader.pid) >= 22 * MIB)
            yield from recorder.sum_errors(cgroup, 24 * MIB)
            pushed = push(cgroup)
            _, errors = checked(recorder, pushed, used_before=used_before)
    yield from errors


def test_dirty_cache(binary):
    """Page cache on a real file system, and its removal: the cgroup grows and shrinks, and no
    process does."""
    options = ('--growth', '--min-delta', '1MiB', '--interval', '200ms')
    with Scratch('dirty') as file, Cgroup('dirty', 64) as cgroup:
        arguments = ('-f', file, '-i', 30, 'write', 32)
        with (
            Workload('grow', *arguments, cgroup=cgroup, fifos='R') as writer,
            Recorder(binary, *options) as recorder,
        ):
            used_before = used(cgroup)
            writer.go().wait('done')
            yield from recorder.sum_errors(cgroup, 32 * MIB)
            writer.go('R').wait('freed')
            yield from recorder.sum_errors(cgroup, 0)
            moved = recorder.told(writer.pid)
            pushed = push(cgroup)
            record, errors = checked(recorder, pushed, used_before=used_before)
    yield from errors
    yield from growth.rest_errors(record, 0)
    if abs(moved) > 2 * MIB:
        yield f'growth lines: the writer moved by {moved}, the file is in no memory of its own'
