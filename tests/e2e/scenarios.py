# SPDX-License-Identifier: Apache-2.0
"""What each scenario of tests/workloads/*.sh must lead to, so that a missing or an extra
kill is noticed even if kernel and tracer should agree about it."""
from dataclasses import dataclass, replace

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
    # The verdicts of the first kill: the first of them (one of these), those that must be given, and those that must not.
    first: tuple = ()
    must: tuple = ()
    never: tuple = ()
    again: tuple = ()  # those that must be given of each kill but the first
    # Who grew before is held against the workloads' accounts; 'any', or the kind that it must be.
    growth: str = ''
    # What is otherwise on older kernels: (cgroup version, the release that it ends with, {field: value}).
    older: tuple = ()

    def on(self, release, version):
        """What must hold on this kernel."""
        here = tuple(int(part) for part in release.split('.')[:2] if part.isdigit())
        for which, before, fields in self.older:
            if which == version and here < before:
                return replace(self, **fields)
        return self


# With tracepoints alone nothing tells these: the kernel's own account of the request is not read, or who was weighed.
NOT_IN_TRACEPOINTS = {'operator-request', 'zone-exhausted', 'node-bound', 'victim-is-largest', 'victim-not-largest'}
HELD = ('tmpfs-held', 'kernel-memory-held', 'hugetlb-held', 'page-cache-dirty', 'no-process-holds-it')
ELSEWHERE = ('ancestor-limit', 'host-exhausted', 'node-bound', 'zone-exhausted', 'operator-request', 'no-victim', 'limit-lowered')
# One eater in the cgroup that it fills.
OWN = {
    'first': ('own-limit',),
    'must': ('own-limit', 'victim-is-largest'),
    'never': (*ELSEWHERE, *HELD, 'victim-not-largest', 'fork-family', 'copy-on-write', 'group-kill', 'swap-heavy', 'no-process-grew', 'throttled-before'),
}
# The machine's own: no cgroup has a part in it.
NO_CGROUP = ('own-limit', 'ancestor-limit', 'limit-lowered', 'host-larger-than-limit', 'repeated', 'group-kill', 'no-victim')


def _all():
    yield Scenario('simple', limit=32, **OWN)
    yield Scenario('small-pages', limit=32, **OWN)
    yield Scenario('thread', limit=32, **OWN)
    yield Scenario('file', limit=32)
    yield Scenario(
        'tmpfs',
        limit=24,
        first=('tmpfs-held',),
        must=('tmpfs-held', 'own-limit'),
        never=(*ELSEWHERE, *HELD[1:], 'fork-family'),
    )
    yield Scenario(
        'directories',
        limit=4,
        first=('kernel-memory-held',),
        must=('kernel-memory-held', 'own-limit'),
        never=(*ELSEWHERE, 'tmpfs-held', 'page-cache-dirty', 'no-process-holds-it', 'fork-family'),
    )
    # A victim that hands its pages back late can cost the asker its life too; the first kill is the
    # one that matters.
    yield Scenario('trigger', kills=(1, 2), limit=72, trigger_is_victim=False)
    yield Scenario(
        'workers',
        kills=(1, 6),
        limit=32,
        running=True,
        trigger_is_victim=None,
        first=('fork-family',),
        must=('fork-family', 'own-limit'),
        never=(*ELSEWHERE, *HELD),
    )
    yield Scenario(
        'group',
        limit=32,
        running=True,
        trigger_is_victim=None,
        only=('v2',),
        must=('group-kill', 'own-limit'),
        never=(*ELSEWHERE, *HELD),
    )
    yield Scenario(
        'ancestor',
        limit=32,
        first=('ancestor-limit',),
        must=('ancestor-limit', 'victim-is-largest'),
        never=('own-limit', *ELSEWHERE[1:], *HELD),
    )
    yield Scenario('sharemm', limit=32, trigger_is_victim=None)
    yield Scenario(
        'adj-plus',
        kills=(1, 2),
        limit=32,
        trigger_is_victim=False,
        first=('victim-not-largest',),
        must=('victim-not-largest', 'grew-most', 'own-limit'),
        never=(*ELSEWHERE, *HELD, 'victim-is-largest'),
    )
    yield Scenario(
        'adj-minus',
        limit=32,
        first=('victim-not-largest',),
        must=('victim-not-largest', 'own-limit'),
        never=(*ELSEWHERE, *HELD, 'victim-is-largest'),
    )
    yield Scenario(
        'immune',
        limit=32,
        first=('victim-not-largest',),
        must=('victim-not-largest', 'own-limit'),
        never=(*ELSEWHERE, *HELD, 'victim-is-largest', 'fork-family'),
    )
    pipes = {
        'must': ('own-limit', 'victim-is-largest'),
        'never': (*ELSEWHERE, 'tmpfs-held', 'page-cache-dirty', 'hugetlb-held', 'victim-not-largest', 'fork-family'),
    }
    # Until 5.18 memory.stat of version 2 names parts of the kernel's memory, and these pages are in none of them.
    yield Scenario(
        'pipes',
        limit=32,
        first=('kernel-memory-held',),
        must=('kernel-memory-held', *pipes['must']),
        never=('no-process-holds-it', *pipes['never']),
        older=(
            (
                'v2',
                (5, 18),
                {
                    'first': ('no-process-grew', 'own-limit'),
                    'must': ('no-process-holds-it', *pipes['must']),
                    'never': ('kernel-memory-held', *pipes['never']),
                },
            ),
        ),
    )
    # The disk takes two pages a second.
    yield Scenario(
        'dirty',
        limit=32,
        only=('v2',),
        first=('page-cache-dirty',),
        must=('page-cache-dirty', 'own-limit', 'victim-is-largest'),
        never=(*ELSEWHERE, 'tmpfs-held', 'kernel-memory-held', 'hugetlb-held', 'no-process-holds-it', 'fork-family'),
    )
    yield Scenario('hostile', kills=(2, 2), limit=16, must=('own-limit',), again=('own-limit',))
    yield Scenario('gone-cgroup', limit=16, **OWN)
    yield Scenario('pid-reuse', kills=(2, 2), limit=16, must=('own-limit',), again=('own-limit',))
    # The kernel goes on lowering after the kill and may find nobody left.
    yield Scenario(
        'limit-lowered',
        no_killable=(0, 3),
        limit=16,
        trigger_is_victim=False,
        only=('v2',),
        first=('limit-lowered',),
        must=('limit-lowered', 'own-limit'),
        never=(*ELSEWHERE[:-1], *HELD, 'victim-not-largest'),
    )
    yield Scenario(
        'throttled',
        limit=32,
        only=('v2',),
        first=('own-limit',),
        must=('own-limit', 'victim-is-largest', 'throttled-before'),
        never=(*ELSEWHERE, *HELD),
    )
    yield Scenario('two-at-once', kills=(2, 2), limit=16, **OWN)
    yield Scenario('no-killable', kills=(0, 0), no_killable=(1, 100000), limit=16, running=True)
    # SIGKILL by somebody else: no OOM kill at all.
    yield Scenario('kills', kills=(0, 0), trigger_is_victim=None)
    # Below `oomsnoop run`.
    yield Scenario('run', limit=32, only=('v2',))
    # Asked for and not given: nobody dies.
    yield Scenario('refused', kills=(0, 0), trigger_is_victim=None)
    # Nobody dies of memory.high.
    yield Scenario('stall', kills=(0, 0), trigger_is_victim=None, only=('v2',))
    yield Scenario(
        'swap',
        limit=16,
        swap=True,
        only=('v2',),
        first=('own-limit',),
        must=('own-limit', 'swap-heavy', 'victim-is-largest'),
        never=(*ELSEWHERE, *HELD),
    )
    # When the machine is full, the next page is anybody's to ask for.
    yield Scenario(
        'global',
        scope='global',
        trigger_is_victim=None,
        first=('host-exhausted',),
        must=('host-exhausted', 'victim-is-largest'),
        never=(*NO_CGROUP, *HELD, 'node-bound', 'operator-request', 'fork-family'),
    )
    yield Scenario(
        'hugetlb',
        scope='global',
        trigger_is_victim=None,
        first=('hugetlb-held',),
        must=('hugetlb-held', 'host-exhausted'),
        never=(*NO_CGROUP, 'tmpfs-held', 'kernel-memory-held', 'node-bound', 'operator-request'),
    )
    # What is free may be used for movable memory alone, and pipes are none.
    yield Scenario(
        'zone',
        kills=(1, 4),
        scope='global',
        trigger_is_victim=None,
        first=('zone-exhausted',),
        must=('zone-exhausted',),
        never=(*NO_CGROUP, 'host-exhausted', 'node-bound', 'operator-request'),
    )
    # Whoever asks is killed unless nothing may kill it, as the tracer, which asks for pages, too.
    yield Scenario('allocating-task', scope='global', weighed=False, trigger_is_victim=None)
    yield Scenario(
        'sysrq',
        scope='global',
        manual=True,
        trigger_is_victim=False,
        first=('operator-request',),
        must=('operator-request',),
        never=(*NO_CGROUP, 'host-exhausted', 'node-bound', 'zone-exhausted'),
    )
    nodes = {
        'first': ('node-bound',),
        'must': ('node-bound',),
        'never': (*NO_CGROUP, 'host-exhausted', 'zone-exhausted', 'operator-request'),
    }
    yield Scenario('cpuset', scope='cpuset', **nodes)
    yield Scenario('mempolicy', scope='mempolicy', **nodes)
    yield Scenario('ten-at-once', kills=(10, 10), limit=16, **OWN)
    yield Scenario('twenty-in-a-row', kills=(20, 20), limit=8, reportless=True, again=('repeated',), **OWN)
    yield Scenario('growth-leak', limit=40, growth='steady', **{**OWN, 'must': (*OWN['must'], 'steady-leak')})
    yield Scenario('growth-spike', limit=32, growth='spike', **{**OWN, 'must': (*OWN['must'], 'spike')})
    yield Scenario(
        'growth-cow',
        limit=36,
        growth='any',
        first=('fork-family', 'copy-on-write'),
        must=('copy-on-write', 'own-limit'),
        never=(*ELSEWHERE, *HELD, 'no-process-grew'),
    )
    yield Scenario(
        'growth-tmpfs',
        limit=32,
        growth='any',
        first=('tmpfs-held',),
        must=('tmpfs-held', 'no-process-grew', 'own-limit'),
        never=(*ELSEWHERE, *HELD[1:], 'copy-on-write', 'fork-family'),
    )
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
