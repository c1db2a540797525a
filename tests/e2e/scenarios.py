# SPDX-License-Identifier: Apache-2.0
"""What each scenario of tests/workloads/scenarios.sh must lead to, so that a missing or an extra
kill is noticed even if kernel and tracer should agree about it."""
from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Scenario:
    name: str
    kills: tuple = (1, 1)  # incidents with a victim: from, to
    no_killable: tuple = (0, 0)  # the kernel's reports without one
    limit: int | None = None  # MiB, of the cgroup whose limit is hit
    scope: str = 'memcg'
    # A process of the scenario may run while the kernel weighs, prints and is traced: readings may
    # differ by a bound.
    running: bool = False
    # The kernel's report may have been dropped by its own rate limit.
    reportless: bool = False
    swap: bool = False  # the swap limit counts into the total
    weighed: bool = True  # the victim was chosen by badness
    trigger_is_victim: bool | None = True
    manual: bool = False
    only: tuple = ()  # cgroup versions; empty: both
    # Who grew before is held against the workloads' accounts; 'any', or the kind that it must be.
    growth: str = ''


def _all():
    yield Scenario('simple', limit=32)
    yield Scenario('small-pages', limit=32)
    yield Scenario('thread', limit=32)
    yield Scenario('file', limit=32)
    yield Scenario('tmpfs', limit=24)
    # A victim that hands its pages back late can cost the asker its life too; the first kill is the
    # one that matters.
    yield Scenario('trigger', kills=(1, 2), limit=72, trigger_is_victim=False)
    yield Scenario('workers', kills=(1, 6), limit=32, running=True, trigger_is_victim=None)
    yield Scenario('group', limit=32, running=True, trigger_is_victim=None, only=('v2',))
    yield Scenario('ancestor', limit=32)
    yield Scenario('sharemm', limit=32, trigger_is_victim=None)
    yield Scenario('adj-plus', kills=(1, 2), limit=32, trigger_is_victim=False)
    yield Scenario('adj-minus', limit=32)
    yield Scenario('hostile', kills=(2, 2), limit=16)
    yield Scenario('gone-cgroup', limit=16)
    yield Scenario('pid-reuse', kills=(2, 2), limit=16)
    # The kernel goes on lowering after the kill and may find nobody left.
    yield Scenario(
        'limit-lowered', no_killable=(0, 3), limit=16, trigger_is_victim=False, only=('v2',)
    )
    yield Scenario('two-at-once', kills=(2, 2), limit=16)
    yield Scenario('no-killable', kills=(0, 0), no_killable=(1, 100000), limit=16, running=True)
    # SIGKILL by somebody else: no OOM kill at all.
    yield Scenario('kills', kills=(0, 0), trigger_is_victim=None)
    # Asked for and not given: nobody dies.
    yield Scenario('refused', kills=(0, 0), trigger_is_victim=None)
    yield Scenario('swap', limit=24, swap=True, only=('v2',))
    # When the machine is full, the next page is anybody's to ask for.
    yield Scenario('global', scope='global', trigger_is_victim=None)
    # Whoever asks is killed unless nothing may kill it, as the tracer, which asks for pages, too.
    yield Scenario('allocating-task', scope='global', weighed=False, trigger_is_victim=None)
    yield Scenario('sysrq', scope='global', manual=True, trigger_is_victim=False)
    yield Scenario('cpuset', scope='cpuset')
    yield Scenario('mempolicy', scope='mempolicy')
    yield Scenario('ten-at-once', kills=(10, 10), limit=16)
    yield Scenario('twenty-in-a-row', kills=(20, 20), limit=8, reportless=True)
    yield Scenario('growth-leak', limit=40, growth='steady')
    yield Scenario('growth-spike', limit=32, growth='spike')
    yield Scenario('growth-cow', limit=36, growth='any')
    yield Scenario('growth-tmpfs', limit=32, growth='any')
    yield Scenario('growth-cache', limit=32, growth='any')
    yield Scenario('growth-children', limit=24, growth='any')
    yield Scenario('growth-swap', limit=24, swap=True, only=('v2',), growth='any')


SCENARIOS = {scenario.name: scenario for scenario in _all()}


def read_run(text):
    """The scenarios that were run, out of scenarios.tsv, in order: {name: [lines of fields]}."""
    run = {}
    for line in text.splitlines():
        name, *rest = line.split('\t')
        if name in SCENARIOS and rest[0] != 'skipped':
            run.setdefault(name, []).append(rest)
    return run


def read_account(text):
    """A workload's own account: [{pid, event, ...}], numbers as int."""
    steps = []
    for line in text.splitlines():
        pairs = (pair.partition('=') for pair in line.split())
        steps.append(
            {key: int(value) if value.lstrip('-').isdigit() else value for key, _, value in pairs}
        )
    return steps
