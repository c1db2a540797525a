# SPDX-License-Identifier: Apache-2.0
"""Who grew, by the workloads' own accounts, and what the record of the kill may say of it: the
checks that real kills here and in guests share. Each yields what is wrong, with both numbers."""
import os
from dataclasses import dataclass
from datetime import datetime

from scenarios import MIB

PAGE = 4096
CPUS = os.cpu_count()
# The kernel counts what a cgroup uses in batches: each CPU may have 64 pages charged ahead
# (MEMCG_CHARGE_BATCH), of those that its few processes ran on. From 6.2 on the kernel keeps the
# counters of a process's memory per CPU: a reading lags by up to max(32, 2 * CPUs) pages for each
# CPU that the process ran on. Ours run on one or two, and both ends of a window lag. Before 6.2,
# each thread holds back up to 64 faults.
AHEAD = 64 * PAGE * min(CPUS, 4)
LAG = 2 * 2 * max(32, 2 * CPUS) * PAGE
SLACK = max(MIB, AHEAD + LAG)
# What anyone copies after a fork or an exec without meaning to: stack, data, page tables' worth.
COPY_NOISE = MIB // 2
# Copies are told from faults by what RSS did not rise by meanwhile, and before 6.2 the last faults of
# the time before come into it late.
COPIES_LATE = 64 * PAGE
# The pages of a workload's own program, in its RSS once they are touched and charged to nobody's
# account: the page cache had them before.
PROGRAM = MIB


def slack(want):
    """2 %, or what the kernel's counters leave open."""
    return max(SLACK, abs(want) // 50)


@dataclass(frozen=True)
class Part:
    """What one process did since it was let go, in bytes. Two numbers where its account ends before
    it did: at least, at most."""

    pid: int
    grown: tuple = (0, 0)  # resident and swapped
    before: int | None = None  # what it held when it was let go; None: not said
    copied: int = 0  # private copies: in no resident set
    cached: tuple = (0, 0)  # in files, and in no address space

    @property
    def least(self):
        return self.grown[0] + self.copied + self.cached[0]

    @property
    def most(self):
        return self.grown[1] + self.copied + self.cached[1]


def last(steps, event):
    return next((step for step in reversed(steps) if step.get('event') == event), None)


def span_of(steps):
    """How far one got that says at each step how far it is: at least that, at most a step more."""
    steps = [step for step in steps if step.get('event') in ('grown', 'touched', 'written')]
    reached = [step['bytes'] for step in steps]
    if not reached:
        return 0, 4 * MIB
    stride = reached[-1] - reached[-2] if len(reached) > 1 else max(reached[0], 4 * MIB)
    return reached[-1], reached[-1] + stride


def part_of(pid, steps):
    """One process's account."""
    mode = (last(steps, 'start') or {}).get('mode', '')
    done, worked = last(steps, 'done'), last(steps, 'worked')
    if worked:
        return Part(pid, (worked['rss'],) * 2, None, worked['copied'])
    if mode in ('idle', 'brief', 'vfork', 'zero'):
        return Part(pid)
    if mode in ('copy', 'reuse') and done:
        return Part(pid, (done['bytes'],) * 2)
    if done and 'rss' in done:
        grown = done['rss'] + done['swap']
        cached = done['bytes'] if mode == 'write' else 0
        return Part(pid, (grown,) * 2, done['held'] - grown, cached=(cached,) * 2)
    low, high = span_of(steps)
    if done:
        high = low
    if mode == 'write':
        return Part(pid, (0, 0), cached=(low, high))
    return Part(pid, (low, high))


def parts_of(steps):
    """Accounts by process, in the order of their first words."""
    by_pid = {}
    for step in steps:
        by_pid.setdefault(step.get('pid'), []).append(step)
    return [part_of(pid, own) for pid, own in by_pid.items()]


# --- the record ---


def moment(text):
    """Seconds; the nine digits of a record are more than datetime reads."""
    whole, _, fraction = text.rstrip('Z').partition('.')
    return datetime.fromisoformat(whole + '+00:00').timestamp() + float('0.' + (fraction or '0'))


def process_of(record, pid):
    return next((one for one in record.get('growth_processes', []) if one['pid'] == pid), None)


def began_within(record, one):
    return moment(one['started']) > moment(record['ts']) - record['window_ms'] / 1000


def told_first(record):
    return [
        (one['pid'], one.get('comm'), one.get('delta_bytes'), one.get('cow_bytes'))
        for one in record.get('growth_processes', [])[:3]
    ]


def first_errors(record, *pids):
    """The culprit comes first: one of these."""
    told = told_first(record)
    if not told or told[0][0] not in pids:
        yield f'the first of growth_processes is none of {list(pids)} but {told}'


def culprit_errors(record, parts):
    """By the accounts: who did most, and whoever may have done as much within the bounds."""
    most = max(part.least for part in parts)
    yield from first_errors(record, *(part.pid for part in parts if part.most + SLACK >= most))


def outside(what, got, low, high, spare):
    if not isinstance(got, int) or not low - spare <= got <= high + spare:
        want = low if low == high else f'{low} to {high}'
        yield f'{what} {got}, by its own account {want} (within {spare})'


def delta_errors(record, part):
    """What is in its resident set and in swap. One that began within the window grew by all that it
    holds, its program's pages included."""
    one = process_of(record, part.pid)
    if one is None:
        yield f'{part.pid} is not in growth_processes'
        return
    low, high = part.grown
    if began_within(record, one):
        low, high = (low + (part.before or 0), high + (part.before or PROGRAM))
    yield from outside(f'{part.pid} delta_bytes', one.get('delta_bytes'), low, high, slack(high))


def copy_errors(record, part):
    """Private copies: within 5 %, or the record says that it is the most it can be, and then it
    must not be less."""
    one = process_of(record, part.pid) or {}
    got = one.get('cow_bytes', 0)
    spare = max(part.copied // 20, COPY_NOISE + COPIES_LATE)
    if got < part.copied - spare:
        yield f'{part.pid} cow_bytes {got}, by its own account {part.copied} (within {spare})'
    elif got > part.copied + spare and not one.get('cow_upper_bound'):
        yield (
            f'{part.pid} cow_bytes {got}, by its own account {part.copied} (within {spare}),'
            ' and no cow_upper_bound'
        )


def cached_errors(record, part):
    """What it can account for in files: at most that, so at least what it wrote."""
    got = (process_of(record, part.pid) or {}).get('cached_bytes', 0)
    if got < part.cached[0] - slack(part.cached[0]):
        yield f'{part.pid} cached_bytes {got}, by its own account at least {part.cached[0]}'


def part_errors(record, part):
    yield from delta_errors(record, part)
    yield from copy_errors(record, part)
    yield from cached_errors(record, part)


def attributed(record):
    """Of the usage that the cgroup grew by: those alive by their growth and their copies; those
    that ended within the window gave back what they held at its beginning."""
    alive = ended = 0
    for one in record.get('growth_processes', []):
        if one.get('state') != 'exited':
            alive += one['delta_bytes'] + one.get('cow_bytes', 0)
        elif not one.get('began'):
            ended += one['held_bytes'] - one['delta_bytes']
    return alive - ended


def sum_errors(record):
    """The parts make the whole, to the byte: processes, their copies, and what no process shows.
    Pages in swap are in a process's growth and in no cgroup's usage."""
    growth = record.get('growth', {})
    whole, rest = growth.get('delta_bytes'), growth.get('unattributed_bytes')
    if whole is None or rest is None:
        yield f'growth has no delta_bytes or no unattributed_bytes: {shown(growth)}'
        return
    swapped = record.get('swap_usage_bytes', 0)
    listed = 'growth_processes_total' not in record
    if listed and not swapped and attributed(record) + rest != whole:
        yield f'processes {attributed(record)} + unattributed {rest} is not the whole, {whole}'


def rest_errors(record, want):
    """What no process shows: files, tmpfs and the kernel's own memory, less each process's program,
    which it has resident and is not charged for, and less a bound for each reading."""
    got = record['growth'].get('unattributed_bytes', 0)
    count = len(record['growth_processes'])
    low, high = want - SLACK - count * PROGRAM, want + slack(want) + count * PROGRAM
    if not low <= got <= high:
        yield f'unattributed_bytes {got}, by the accounts {want} ({low} to {high})'


def domain_errors(record, used_before=None):
    """The limit's cgroup grew from what it used to what the kernel says it used at the kill."""
    if 'usage_bytes' not in record:
        yield 'usage_bytes is absent'
        return
    if used_before is not None:
        want = record['usage_bytes'] - used_before
        got = record['growth'].get('delta_bytes')
        yield from outside('growth.delta_bytes', got, want, want, SLACK)
    path = record.get('limit_cgroup')
    told = {one.get('cgroup'): one for one in record.get('growth_cgroups', [])}
    if path not in told:
        yield f'growth_cgroups does not name {path!r}: {sorted(map(str, told))}'
    elif told[path]['delta_bytes'] != record['growth']['delta_bytes']:
        yield (
            f'growth_cgroups: {path} by {told[path]["delta_bytes"]},'
            f' growth.delta_bytes {record["growth"]["delta_bytes"]}'
        )


def kind_errors(record, kind, rate=None):
    growth = record.get('growth', {})
    if growth.get('kind') != kind:
        yield f'growth.kind {growth.get("kind")!r}, not {kind!r}: {shown(growth)}'
    if rate is not None and not rate * 0.85 <= growth.get('bytes_per_s', 0) <= rate * 1.15:
        yield f'growth.bytes_per_s {growth.get("bytes_per_s")}, by its own account {rate:.0f}'


def counting_errors(record):
    """When page faults were counted, in milliseconds before the end of the window."""
    spans = record.get('fault_counting')
    if not spans:
        yield 'fault_counting is absent'
        return
    for span in spans:
        if not -record['window_ms'] - 1 <= span['from_ms'] <= span['to_ms'] <= 0:
            yield f'fault_counting {span} in a window of {record["window_ms"]} ms'


def shown(growth):
    """A growth without its long row of numbers."""
    return {key: value for key, value in growth.items() if key != 'series_bytes'}


def series_errors(record):
    """The last point is the usage at the kill, and the row rises as much as it says."""
    growth = record.get('growth', {})
    series = growth.get('series_bytes', [])
    if len(series) < 2:
        yield f'growth.series_bytes has {len(series)} points'
        return
    if abs(series[-1] - record.get('usage_bytes', 0)) > SLACK:
        yield f'growth.series_bytes ends at {series[-1]}, usage_bytes {record.get("usage_bytes")}'
    if series[-1] - series[0] != growth['delta_bytes']:
        yield f'growth.series_bytes rises by {series[-1] - series[0]}, not {growth["delta_bytes"]}'


def family_errors(record, root, parts, exited=0):
    """Who forked them, and what each has to itself. `parts`: of the members, the root left out."""
    family = next((one for one in record.get('families', []) if one['root_pid'] == root), None)
    if family is None:
        yield f'families does not name {root}: {record.get("families")}'
        return
    copied = sum(part.copied for part in parts)
    for name, want in (('members', len(parts) + 1), ('exited', exited)):
        if family.get(name) != want:
            yield f'families: {root} {name} {family.get(name)}, not {want}'
    spare = max(copied // 20, COPY_NOISE * (len(parts) + 1))
    got = family.get('cow_bytes', 0)
    if got < copied - spare or got > copied + spare and not family.get('cow_upper_bound'):
        yield f'families: {root} cow_bytes {got}, by their own account {copied} (within {spare})'


def record_errors(record, parts):
    """All that holds for any record: the culprit first, each process's bytes, and the sum."""
    if 'growth' not in record or 'growth_processes' not in record:
        yield f'no growth in the record: {record.get("missing")}'
        return
    yield from culprit_errors(record, parts)
    for part in parts:
        if part.least > 2 * SLACK:
            yield from part_errors(record, part)
        elif process_of(record, part.pid):
            yield from copy_errors(record, part)
    yield from sum_errors(record)


def scenario_errors(record, steps, kind):
    """A kill of tests/workloads/growth.sh: all that its workloads said is in `steps`."""
    parts = parts_of(steps)
    errors = list(record_errors(record, parts))
    if errors:
        return errors
    errors += domain_errors(record)
    errors += series_errors(record)
    errors += rest_errors(record, sum(part.cached[0] for part in parts))
    if kind != 'any':
        errors += kind_errors(record, kind)
    return errors
