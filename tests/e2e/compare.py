#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py DIR...: hold oomsnoop's records against the kernel's own reports of the same kills,
number by number.

DIR is what run-guest or run-native leaves: scenarios.tsv, kmsg, oomsnoop.ndjson, work.*. Prints one
line per group of checks and a last line of sums; the exit status is 1 if anything failed. Numbers
must be equal. A bound is used only where the kernel itself is inexact and something was running,
and each use is printed."""
import argparse
import os
import sys
from pathlib import Path

import growth
import parsed
from bounds import BOUND_PAGES, CPUS, FAULT_AROUND, STACK
from oracle import PAGE, as_text
from results import Results
from run import Run
from scenarios import NOT_IN_TRACEPOINTS, SCENARIOS, MIB

SCOPES = {
    'CONSTRAINT_NONE': 'global',
    'CONSTRAINT_MEMCG': 'memcg',
    'CONSTRAINT_CPUSET': 'cpuset',
    'CONSTRAINT_MEMORY_POLICY': 'mempolicy',
}
# So many candidates a record lists at most.
LISTED = 64
# What a record of a kill holds or names as missing; some go with another name.
EXPECTED = '''
victim_pid victim_comm victim_uid victim_anon_bytes victim_file_bytes victim_shmem_bytes
victim_pgtables_bytes victim_total_vm_bytes victim_oom_score_adj victim_swap_bytes victim_cgroup
victim_badness_pages victim_started victim_ppid trigger_pid trigger_tid trigger_comm order
gfp_mask gfp_flags scope total_bytes badness candidates candidates_total
'''.split()
EXPECTED_MEMCG = ['limit_cgroup', 'limit_bytes', 'usage_bytes']
GOES_WITH = {
    'candidates_total': 'candidates',
    'victim_badness_pages': 'badness',
    'limit_bytes': 'limit_cgroup',
    'usage_bytes': 'limit_cgroup',
}


class Pair:
    """One incident of the kernel's and the record of it; collects the differences."""

    def __init__(self, incident, record, scenario, run):
        self.incident, self.record, self.scenario, self.run = incident, record, scenario, run
        self.report, self.kill = incident.report, incident.victim
        self.named = {entry.get('field') for entry in record.get('missing', [])}
        self.missing = self.named | {
            name for name, leader in GOES_WITH.items() if leader in self.named
        }
        self.full = record.get('tier') == 'full'
        self.errors, self.notes = [], []

    def equal(self, name, want, got=None):
        """The record's field (or got) must be what the kernel says; absent only if named in
        missing."""
        if got is None:
            got = self.record.get(name)
        if got is None:
            if name not in self.missing:
                self.errors.append(f'{name} is absent and not named in missing (kernel: {want!r})')
        elif type(got) is not type(want) or got != want:
            self.errors.append(f'{name}: record {got!r}, kernel {want!r}')

    def near(self, name, want, got=None, unit=1, approximate=False, counters=1):
        """As equal(), but within a bound where a process may run meanwhile, or where the record
        itself says that its number is the approximate reading of a kernel that sums exactly. The
        bound is for one counter."""
        if got is None:
            got = self.record.get(name)
        bound = (2 if self.scenario.running else 1) * BOUND_PAGES * counters * PAGE // unit
        if (
            (self.scenario.running or approximate)
            and isinstance(got, int)
            and got != want
            and abs(got - want) <= bound
        ):
            why = 'approximate' if approximate else 'while running'
            self.notes.append(f'{name}: record {got}, kernel {want}: within {bound}, {why}')
            return
        self.equal(name, want, got)

    def victim(self):
        kill = self.kill
        self.equal('victim_pid', kill.pid)
        self.equal('victim_comm', as_text(kill.comm))
        self.equal('victim_uid', kill.uid)
        self.equal('victim_oom_score_adj', kill.adj)
        self.equal('victim_total_vm_bytes', kill.total_vm)
        rough = self.record.get('victim_counters_approximate', False) or self.woken(kill.pid)
        for kind in ('anon', 'file', 'shmem'):
            self.near(
                f'victim_{kind}_bytes',
                getattr(kill, kind),
                approximate=rough,
                counters=self.held_back(kind),
            )
        self.near('victim_pgtables_bytes', kill.pgtables)
        if row := self.row(kill.pid):
            self.near('victim_swap_bytes', row.swapents * PAGE)

    def held_back(self, kind):
        return FAULT_AROUND if kind != 'anon' and self.run.split_counters() else 1

    def woken(self, pid):
        """The kernel prints a victim's counters after it has sent the signal: one that is not the asker
        itself, or has other threads, may be on its way out by then, and have handed in what its
        threads had counted."""
        tid = self.report.trigger_tid if self.report else self.record.get('trigger_tid')
        return tid != pid

    def row(self, pid):
        rows = self.report.tasks if self.report else []
        return next((row for row in rows if row.tgid == pid), None)

    def limit(self):
        """Which limit, in whose cgroup, and how full."""
        report = self.report
        self.equal(
            'scope',
            SCOPES[report.constraint] if report and report.constraint else self.scenario.scope,
        )
        named = {one['field'] for one in self.record.get('missing', [])}
        if 'manual' not in named and self.record.get('manual', False) != self.scenario.manual:
            self.errors.append(f'manual: {self.record.get("manual")}')
        if self.scenario.scope != 'memcg':
            if 'limit_cgroup' in self.record:
                self.errors.append(
                    f'limit_cgroup {self.record["limit_cgroup"]!r} although no limit was hit'
                )
        elif self.scenario.limit:
            self.equal('limit_bytes', self.scenario.limit * MIB)
        if not report:
            return
        if report.oom_memcg is not None:
            self.equal('limit_cgroup', as_text(report.oom_memcg))
        elif report.stats_cgroup is not None:
            self.equal('limit_cgroup', as_text(report.stats_cgroup))
        if report.task_memcg is not None:
            self.equal('victim_cgroup', as_text(report.task_memcg))
        self.counters(report.counters)

    def counters(self, counters):
        if memory := counters.get('memory'):
            self.usage('usage_bytes', memory.usage)
            self.equal('limit_bytes', memory.limit)
            self.failcnt(memory.failcnt)
        if swap := counters.get('swap'):
            self.near('swap_usage_bytes', swap.usage)
            self.swap_limit('swap_limit_bytes', swap.limit)
        # On v1 the kernel counts memory and swap together.
        if both := counters.get('memory+swap'):
            self.usage('memsw_usage_bytes', both.usage)
            self.swap_limit('memsw_limit_bytes', both.limit)

    def usage(self, name, want, got=None):
        """The record's reading comes first, the kernel's print a moment later. In between what CPUs
        had charged ahead may be handed back, and the memory of an earlier victim at this limit.
        With tracepoints alone the reading comes at the mark, after the print."""
        if got is None:
            got = self.record.get(name)
        before = [i for i in self.run.log.incidents if i.scenario == self.scenario.name]
        before = before[: before.index(self.incident)]
        kills = [kill for i in before if self.same_limit(i) for kill in i.kills]
        held = sum(kill.anon + kill.file + kill.shmem + kill.pgtables + STACK for kill in kills)
        held += CPUS * BOUND_PAGES * PAGE
        if isinstance(got, int) and not self.full and 0 < want - got <= held:
            self.notes.append(f'{name}: record {got}, kernel {want}: up to {held} came back')
        elif isinstance(got, int) and 0 < got - want <= held:
            self.notes.append(f'{name}: record {got}, kernel {want}: up to {held} may come back')
        else:
            self.near(name, want, got)

    def same_limit(self, incident):
        return not incident.report or incident.report.oom_memcg == self.report.oom_memcg

    def failcnt(self, want):
        """Newer kernels print the event counter in its place."""
        if 'limits' not in self.record:
            return
        hit = next((level for level in self.record['limits'] if level.get('hit')), {})
        seen = hit.get('failcnt'), self.record.get('memory_events', {}).get('max')
        if not hit:
            self.errors.append('limits: none of them is the one that was hit')
        elif not self.scenario.running and want not in seen:
            self.errors.append(f'failcnt: record {seen}, kernel {want}')

    def swap_limit(self, name, limit):
        """No limit is no number."""
        if limit is not None:
            self.equal(name, limit)
        elif isinstance(self.record.get(name), int):
            self.errors.append(f'{name}: record {self.record[name]}, kernel: no limit')

    def trigger(self):
        report = self.report
        if report:
            self.equal('trigger_comm', as_text(report.trigger_comm))
            self.equal('order', report.order)
            self.equal('trigger_tid', report.trigger_tid)
            self.flags(report.gfp_flags)
            mask = self.record.get('gfp_mask')
            self.equal('gfp_mask', report.gfp_mask, mask if mask is None else int(mask, 16))
            self.equal('trigger_pid', self.run.tgid_of(self.scenario.name, report.trigger_tid))
            self.equal('trigger_oom_score_adj', report.trigger_adj)
            if report.trigger_uid is not None and 'trigger_uid' in self.record:
                self.equal('trigger_uid', report.trigger_uid)
            if report.nodemask and report.nodemask.isdigit():
                self.equal('nodemask', hex(1 << int(report.nodemask)))
        if self.full:
            self.equal('kernel_message', self.kill.message)
        pid = self.record.get('trigger_pid')
        if (
            self.scenario.trigger_is_victim is not None
            and self.kill
            and pid is not None
            and self.first_of_scenario()
        ):
            if (pid == self.kill.pid) != self.scenario.trigger_is_victim:
                self.errors.append(f'trigger_pid {pid}, victim {self.kill.pid}')

    def flags(self, want):
        """The same names; their order is a matter of the kernel's version."""
        got = self.record.get('gfp_flags')
        if got is not None and sorted(got.split('|')) == sorted(want.split('|')):
            return
        self.equal('gfp_flags', want)

    def first_of_scenario(self):
        return (
            next(i for i in self.run.log.incidents if i.scenario == self.scenario.name and i.kills)
            is self.incident
        )

    def total_pages(self):
        """What the kernel divided by, out of its report; None where the report does not say."""
        report = self.report
        if not report:
            return None
        swap = report.meminfo.get('Total swap', 0)
        if report.constraint == 'CONSTRAINT_MEMCG' and report.counters['memory'].limit is not None:
            total = report.counters['memory'].limit
            if self.scenario.swap:
                total += report.counters['swap'].limit
            return total // PAGE
        if report.constraint == 'CONSTRAINT_NONE':
            return report.meminfo['pages RAM'] - report.meminfo['pages reserved'] + swap // PAGE
        nodes = (
            report.nodemask
            if report.constraint == 'CONSTRAINT_MEMORY_POLICY'
            else report.mems_allowed
        )
        if nodes and nodes.isdigit() and int(nodes) in report.zone_present:
            return (report.zone_present[int(nodes)] + swap) // PAGE
        return None

    def badness(self):
        """The sum must be a sum, and the kernel's."""
        bad = self.record.get('badness')
        if bad is None:
            self.equal('badness', 'a sum')
            return
        if total := self.total_pages():
            self.equal('badness.total_pages', total, bad.get('total_pages'))
            self.equal('total_bytes', total * PAGE)
        adj = self.record.get('victim_oom_score_adj')
        if adj is not None and bad['adj_pages'] != adj * (bad['total_pages'] // 1000):
            self.errors.append(
                f'badness.adj_pages {bad["adj_pages"]} for adj {adj} of {bad["total_pages"]}'
            )
        parts = sum(
            bad[part] for part in ('rss_pages', 'swap_pages', 'pgtables_pages', 'adj_pages')
        )
        if bad['points'] != parts:
            self.errors.append(
                f'badness.points {bad["points"]} is not the sum of its parts, {parts}'
            )
        if self.scenario.weighed:
            self.weighed(bad)

    def weighed(self, bad):
        if row := self.row(self.kill.pid):
            # With tracepoints alone the victim is read at its mark: it was signalled by then.
            woken = not self.full and self.woken(self.kill.pid)
            bound = {'unit': PAGE, 'approximate': woken, 'counters': 1 + self.held_back('file')}
            self.near(
                'badness.points', row.points(bad['total_pages']), bad['points'], **bound
            )
            self.near('badness.rss_pages', row.rss, bad['rss_pages'], **bound)
        self.equal('victim_badness_pages', bad['points'])
        if self.full:
            self.near(
                'badness.kernel_points', bad['points'], bad.get('kernel_points', 'absent'), PAGE
            )
            if bad.get('rss_matches') == 'neither' and not self.scenario.running:
                self.errors.append('badness: neither reading of the RSS gives the kernel\'s points')

    def candidates(self):
        ours = self.record.get('candidates')
        if ours is None:
            if self.scenario.weighed:
                self.equal('candidates', 'a list')
            return
        points = [one['badness_pages'] for one in ours if 'badness_pages' in one]
        if points != sorted(points, reverse=True):
            self.errors.append(f'candidates are not best first: {points}')
        if any('badness_pages' in one for one in ours[len(points) :]):
            self.errors.append('candidates: the immune do not come last')
        if [one.get('rank') for one in ours] != list(range(1, len(ours) + 1)):
            self.errors.append('candidates: ranks are not 1, 2, 3...')
        census = self.record.get('candidates_at') == 'census'
        if self.scenario.weighed and self.full:
            self.chosen(ours)
        if self.report:
            moved = self.moved(ours)
            for one in ours:
                self.candidate(one, one['pid'] in moved)
            if not census:
                self.count(ours)

    def moved(self, candidates):
        """Whose size may be another one in the kernel's table: the tracer runs between the two
        readings, and by a census, just after the kill, those who took part in it have moved on."""
        moved = {one['pid'] for one in candidates if one['comm'] == 'oomsnoop'}
        if self.record.get('candidates_at') == 'census':
            moved |= {self.record.get('victim_pid'), self.record.get('trigger_pid')}
        return moved

    def is_dying(self, one):
        """Of a victim that is on its way out the kernel's walk over a cgroup is done; a census still
        finds its memory (7.3: the next one was killed with 8 MiB of the first still charged)."""
        earlier = [record for record in self.run.incidents_seen if record['ts'] < self.record['ts']]
        killed = {victim['pid'] for record in earlier for victim in record.get('victims', ())}
        return self.record.get('candidates_at') == 'census' and one['pid'] in killed

    def chosen(self, ours):
        best = ours[0] if ours else {}
        self.equal('candidates[0].pid', self.kill.pid, best.get('pid', 0))
        if bad := self.record.get('badness'):
            self.equal('candidates[0].badness_pages', bad['points'], best.get('badness_pages', 0))

    def candidate(self, one, moved):
        row = self.row(one['pid'])
        if not row:
            if 'immune' not in one and not self.is_dying(one):
                self.errors.append(
                    f'candidate {one["pid"]} ({one["comm"]}) is not in the kernel\'s table'
                )
            return
        name = f'candidate {row.tgid} '
        self.equal(name + 'oom_score_adj', row.adj, one['oom_score_adj'])
        self.equal(name + 'comm', as_text(row.comm), one['comm'])
        if moved or 'anon_bytes' not in one:
            return
        self.near(name + 'pgtables_bytes', row.pgtables_bytes, one['pgtables_bytes'])
        self.near(name + 'swap_bytes', row.swapents * PAGE, one['swap_bytes'])
        rss = one['anon_bytes'] + one['file_bytes'] + one['shmem_bytes']
        rough = one.get('counters_approximate', False)
        self.near(name + 'rss', row.rss * PAGE, rss, approximate=rough, counters=3)
        if row.anon is not None:
            for kind in ('anon', 'file', 'shmem'):
                self.near(
                    name + kind, getattr(row, kind) * PAGE, one[kind + '_bytes'], approximate=rough
                )
        total = self.total_pages()
        if total and 'badness_pages' in one:
            self.near(
                name + 'badness_pages',
                row.points(total),
                one['badness_pages'],
                PAGE,
                approximate=rough,
                # What it is the sum of.
                counters=3,
            )

    def count(self, ours):
        """All whom the kernel's table shows as eligible were weighed, and nobody else. One who was
        killed a moment ago may still be in the table, so only a scenario's first kill is held to
        this."""
        total = self.record.get('candidates_total', len(ours))
        eligible = {row.tgid for row in self.report.tasks if row.adj != -1000 and row.tgid != 1}
        listed = {one['pid'] for one in ours if 'immune' not in one}
        exact = self.first_of_scenario() and not self.scenario.running and total <= LISTED
        if (
            len(ours) != min(total, LISTED)
            or not listed <= eligible
            or exact
            and listed != eligible
        ):
            self.errors.append(
                f'candidates {sorted(listed)} of {total}, in the kernel\'s table {sorted(eligible)}'
            )
        self.equal('candidates_total', total)

    def victims(self):
        """Everybody who was killed, the silent ones too."""
        want = self.incident.pids | self.run.silent_victims(self.scenario.name)
        got = {one['pid'] for one in self.record.get('victims', [])}
        if got != want:
            self.errors.append(f'victims: record {sorted(got)}, killed {sorted(want)}')
        by_pid = {one['pid']: one for one in self.record.get('victims', [])}
        for kill in self.incident.kills:
            one = by_pid.get(kill.pid, {})
            if one.get('comm') != as_text(kill.comm):
                self.errors.append(
                    f'victims: {kill.pid} is {one.get("comm")!r}, kernel {as_text(kill.comm)!r}'
                )
            whys = ('chosen',) if kill.pid == self.kill.pid else ('group', 'already-exiting')
            if one.get('why') not in whys:
                self.errors.append(
                    f'victims: {kill.pid} why {one.get("why")!r}, should be {whys[0]}'
                )
            if 'anon_bytes' in one:
                self.member(kill, one)
        for pid in want - self.incident.pids:
            if by_pid.get(pid, {}).get('why') != 'shared-mm':
                self.errors.append(
                    f'victims: {pid} shared the mm, why is {by_pid.get(pid, {}).get("why")!r}'
                )

    def member(self, kill, one):
        """A victim's own numbers. The kernel prints those of a group one after the other, while
        they still run."""
        name = f'victims {kill.pid} '
        self.equal(name + 'uid', kill.uid, one['uid'])
        self.equal(name + 'oom_score_adj', kill.adj, one['oom_score_adj'])
        self.equal(name + 'total_vm_bytes', kill.total_vm, one['total_vm_bytes'])
        self.near(name + 'pgtables_bytes', kill.pgtables, one['pgtables_bytes'])
        for kind in ('anon', 'file', 'shmem'):
            self.near(
                name + kind,
                getattr(kill, kind),
                one[kind + '_bytes'],
                approximate=one.get('counters_approximate', False) or self.woken(kill.pid),
                counters=self.held_back(kind),
            )

    def honesty(self):
        """Unknown is not zero, nothing was lost, and the kernel's log does not contradict."""
        fields = EXPECTED + (EXPECTED_MEMCG if self.scenario.scope == 'memcg' else [])
        for name in fields:
            unweighed = not self.scenario.weighed and name in (
                'candidates',
                'candidates_total',
                'victim_badness_pages',
            )
            if name not in self.record and name not in self.missing and not unweighed:
                self.errors.append(f'{name} is absent and not named in missing')
        for name in sorted(self.named & self.record.keys()):
            self.errors.append(f'{name} is there and named in missing')
        if self.record.get('lost_events', 0):
            self.errors.append(f'lost_events {self.record["lost_events"]}')
        if self.record.get('kernel_log') == 'differs':
            self.errors.append('kernel_log: differs')
        if self.record.get('outcome') != 'killed':
            self.errors.append(f'outcome {self.record.get("outcome")!r}')

    def growth(self):
        """Who grew before, by the workloads' own accounts: the kernel's report says nothing of it."""
        if self.scenario.growth and self.run.lines:
            self.errors += growth.scenario_errors(
                self.record, self.run.accounts[self.scenario.name], self.scenario.growth
            )

    def verdicts(self):
        """What the scenario makes is what the record says, and says first; and nothing of what it excludes. The kills
        after the first one are of what that left."""
        scenario, ids = self.scenario, [verdict['id'] for verdict in self.record['verdicts']]
        untold = set() if self.full else NOT_IN_TRACEPOINTS
        if self.record.get('summary') != self.record['verdicts'][0]['claim']:
            self.errors.append(f'summary {self.record.get("summary")!r}')
        if not self.first_of_scenario():
            self.errors += [f'no verdict {one} among {ids}' for one in scenario.again if one not in ids]
            return
        self.errors += [f'no verdict {one} among {ids}' for one in scenario.must if one not in ids and one not in untold]
        if untold & set(scenario.first):
            return
        self.errors += [f'verdict {one} among {ids}' for one in scenario.never if one in ids]
        if scenario.first and ids[0] not in scenario.first:
            self.errors.append(f'the first verdict is {ids[0]}, not {scenario.first}')

    def parsed(self):
        """The importer, given the kernel's log alone, tells the same."""
        if self.run.parsed:
            parsed.check_kill(self, self.run.parsed)

    def groups(self):
        yield from (
            (name, getattr(self, name))
            for name in (
                'victim',
                'limit',
                'trigger',
                'badness',
                'candidates',
                'victims',
                'growth',
                'verdicts',
                'honesty',
                'parsed',
            )
        )


def no_victim_errors(record, scenario):
    """A report without a kill: no field may speak of a victim."""
    if record.get('outcome') != 'no-killable':
        yield f'outcome {record.get("outcome")!r}'
    for name in record:
        if name.startswith('victim_') or name in ('victims', 'badness') and record[name]:
            yield f'{name} is set although nobody was killed'
    if record.get('scope') != scenario.scope:
        yield f'scope {record.get("scope")!r}'
    ids = [verdict['id'] for verdict in record['verdicts']]
    if 'no-victim' not in ids[:2] or {'own-limit', 'ancestor-limit', 'victim-is-largest', 'group-kill'} & set(ids):
        yield f'verdicts {ids}'


def check_pair(results, run, number, incident, record, scenario):
    pair = Pair(incident, record, scenario, run)
    for group, check in pair.groups():
        before = len(pair.errors)
        try:
            check()
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            pair.errors.append(f'{group} cannot be read: {error!r}')
        results.add(f'{run.name}/{scenario.name}{number}/{group}', pair.errors[before:])
    # A number is compared twice: with the kernel's and with the importer's reading of it.
    for text in dict.fromkeys(pair.notes):
        results.note(f'{run.name}/{scenario.name}{number}: {text}')


def check_scenario(results, run, scenario):
    incidents = [i for i in run.log.incidents if i.scenario == scenario.name]
    kills = [i for i in incidents if i.kills]
    refused = [i for i in incidents if i.report and i.report.no_killable]
    errors = []
    if not scenario.kills[0] <= len(kills) <= scenario.kills[1]:
        errors.append(f'the kernel killed {len(kills)} times, expected {scenario.kills}')
    if not scenario.no_killable[0] <= len(refused) <= scenario.no_killable[1]:
        errors.append(f'{len(refused)} reports without a victim, expected {scenario.no_killable}')
    if not scenario.reportless and any(not i.report for i in kills):
        errors.append('the kernel dropped a report (its rate limit): the test is too fast')
    errors += [
        f'unknown line in the report: {text!r}'
        for i in incidents
        if i.report
        for text in i.report.unknown
    ]
    results.add(f'{run.name}/{scenario.name}/kernel', errors)
    found = [run.found(incident) for incident in kills]
    results.add(
        f'{run.name}/{scenario.name}/found',
        [
            f'no record of the kill of {i.victim.pid}'
            for i, record in zip(kills, found)
            if record is None
        ],
    )
    for number, (incident, record) in enumerate(zip(kills, found), 1):
        if record is not None:
            check_pair(
                results, run, f'.{number}' if len(kills) > 1 else '', incident, record, scenario
            )
    check_events(results, run, scenario, [record for record in found if record])
    check_refused(results, run, scenario, refused)


# The member of a level that tells what a file of cgroupfs tells. v1 shows its kills alone.
EVENT_FILES = {
    'memory.events': 'events',
    'memory.events.local': 'events_local',
    'memory.oom_control': 'events',
}


def count_errors(file, key, told, count, running):
    """A record's count against the file's. Whoever asks is refused once more after the kill, and
    another that runs may ask at the same time: those are counted by then, and not in the record."""
    later = key == 'max' or (running and key in ('oom', 'high'))
    if told == count or (later and told is not None and told < count):
        return
    yield f'{file} {key}: record {told}, cgroupfs {count}'


def check_events(results, run, scenario, records):
    """The events of every level of the last kill against the files, as they were read after it."""
    files = run.counted(scenario.name)
    if not files or not records:
        return
    errors = []
    for (cgroup, file), counts in files.items():
        level = next(
            (one for one in records[-1]['limits'] if one.get('cgroup', '').endswith(cgroup)), {}
        )
        told = level.get(EVENT_FILES[file], {})
        keys = counts.keys() & ({'oom_kill'} if file == 'memory.oom_control' else counts.keys())
        for key in keys & {'low', 'high', 'max', 'oom', 'oom_kill', 'oom_group_kill'}:
            for error in count_errors(file, key, told.get(key), counts[key], scenario.running):
                errors.append(f'{cgroup} {error}')
    if not any('oom_kill' in counts for counts in files.values()):
        errors.append('no file tells how often the kernel killed')
    results.add(f'{run.name}/{scenario.name}/events', errors)


def check_refused(results, run, scenario, refused):
    """The kernel repeats its report of an OOM without a victim as long as it lasts; one record of
    it is enough."""
    if not refused:
        return
    if run.records and run.records[0].get('tier') == 'tracepoint':
        # No tracepoint tells of a scan that finds nobody: the doctor says so.
        return
    records = run.records_without_victim(scenario.name, refused)
    errors = (
        [] if records or not scenario.no_killable[0] else ['no record of the OOM without a victim']
    )
    if len(records) > len(refused):
        errors.append(f'{len(records)} records for {len(refused)} reports')
    for record in records:
        errors += no_victim_errors(record, scenario)
    if run.parsed:
        errors += parsed.refused_errors(run, run.parsed, scenario, refused, records)
    results.add(f'{run.name}/{scenario.name}/no-victim', sorted(set(errors)))


def check_whole(results, run):
    """What concerns the run and no scenario: every line valid, nothing extra, the ends in place."""
    results.add(f'{run.name}/lines', run.line_errors())
    results.add(f'{run.name}/extra', [f'a record of no kill: {text}' for text in run.unclaimed()])
    results.add(f'{run.name}/hooks', run.hook_errors())
    results.add(f'{run.name}/order', run.order_errors())
    results.add(f'{run.name}/kills', run.kill_errors())
    results.add(f'{run.name}/accounts', run.account_errors())
    results.add(f'{run.name}/refusals', run.refusal_errors())
    results.add(f'{run.name}/stalls', run.stall_errors())
    results.add(f'{run.name}/end', run.end_errors())
    for text in run.facts():
        results.note(f'{run.name}: {text}')


def check_parsed(results, run, binary):
    """Reads the run's log with the importer; its records are then compared kill by kill."""
    told = parsed.Parsed(binary, run)
    told.set_clocks(run.find_all())
    run.parsed = told
    results.add(f'{run.name}/parsed', told.errors)
    results.add(f'{run.name}/parsed-lines', told.bad)


def check_run(results, directory, schema, bare, importer=None):
    run = Run(Path(directory), schema)
    if bare:
        run.records_from_kernel()
    if importer:
        check_parsed(results, run, importer)
    results.add(
        f'{run.name}/log',
        ['records of the kernel log were overwritten'] if run.log.overwritten else [],
    )
    release, mode = run.read('release'), run.read('mode').strip()
    ran = [SCENARIOS[name].on(release, mode) for name in run.scenarios]
    results.add(f'{run.name}/scenarios', [] if ran else ['no scenario was run'])
    for scenario in ran:
        check_scenario(results, run, scenario)
    check_whole(results, run)
    for text in run.parsed.notes() if run.parsed else ():
        results.note(f'{run.name}: {text}')


def main():
    top = Path(__file__).resolve().parents[2]
    importer = os.environ.get('OOMSNOOP_PARSE_BINARY', top / 'build' / 'oomsnoop')
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('directory', nargs='*')
    parser.add_argument(
        '--failed',
        action='append',
        default=[],
        metavar='NAME: WHY',
        help='a run that came to no end',
    )
    parser.add_argument(
        '--schema',
        type=Path,
        default=top / 'docs' / 'record-schema.json',
        help='validate each line against this JSON Schema',
    )
    parser.add_argument(
        '--importer',
        type=Path,
        default=importer,
        metavar='OOMSNOOP',
        help='read each log with its `parse`, too, and compare [build/oomsnoop]',
    )
    parser.add_argument(
        '--kernel-only',
        action='store_true',
        help='no tracer ran: check only that the kernel made what the scenarios promise',
    )
    parser.add_argument('-q', '--quiet', action='store_true', help='do not print what is ok')
    options = parser.parse_args()
    results = Results(quiet=options.quiet)
    for text in options.failed:
        name, _, why = text.partition(': ')
        results.add(f'{name}/run', [why])
    for directory in options.directory:
        check_run(
            results, directory, options.schema, options.kernel_only, options.importer
        )
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
