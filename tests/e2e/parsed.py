# SPDX-License-Identifier: Apache-2.0
"""What `oomsnoop parse` makes of the very log that was caught beside the live records: its records
must be theirs.

Each parsed incident is held against two witnesses. The oracle's reading of the same lines: equal,
number by number, since both read one text. And the live record of the same kill: every field that
both have, equal or within the bounds that hold between a record and the kernel's print of the same
kill (bounds.py). What only one of them can know is listed once per run, as a note; what a log
always tells must be there."""
import json
import statistics
import subprocess

import fake
from bounds import BOUND_PAGES, CLOCKS_APART, CLOCKS_DRIFT
from oracle import PAGE, as_text

PATIENCE = 120
# Fields that both have and that say something else by their nature.
INCOMPARABLE = {
    'incident': 'each run numbers its own',
    'source': 'the difference itself',
    'missing': 'what each of them cannot know',
    'mono_ns': 'mono_us says it',
    'total_computed': 'the log shows what makes the ceiling, the tracer reads the ceiling',
    'composition': 'the log has it of the kill, the tracer reads it just after',
    'composition_at': 'the same',
    'host_free_bytes': 'the same, of the machine',
    'host_swap_free_bytes': 'the same',
}
# Verdicts that rest on what the log tells: one side may not have one that the other has not. The
# others rest on the history before the kill, on the machine's memory (which a report of a cgroup's
# limit does not print), on who forked whom, or on the composition, which is of another moment.
VERDICTS = {
    'own-limit',
    'ancestor-limit',
    'host-exhausted',
    'node-bound',
    'operator-request',
    'limit-lowered',
    'victim-is-largest',
    'victim-not-largest',
    'swap-heavy',
    'no-victim',
    'group-kill',
    'repeated',
}
# They compare candidates, which the tracer has only where the kernel weighed them.
NEED_CANDIDATES = {'victim-is-largest', 'victim-not-largest'}
# What the line of a kill tells on all kernels that are tested, what a report does, and what the
# report of a cgroup's limit does: present, or named in missing.
KILL_TELLS = '''
outcome victim_pid victim_comm victim_uid victim_anon_bytes victim_file_bytes victim_shmem_bytes
victim_pgtables_bytes victim_total_vm_bytes victim_oom_score_adj victims victims_total
kernel_message scope mono_us verdicts
'''.split()
REPORT_TELLS = '''
trigger_tid trigger_comm trigger_oom_score_adj order gfp_mask gfp_flags manual victim_tid
victim_swap_bytes victim_cgroup candidates candidates_total candidates_at mems_allowed
'''.split()
LIMIT_TELLS = '''
limit_cgroup limit_bytes usage_bytes limits composition composition_at
'''.split()
# memory.stat's own names, of version 2...
STAT = {
    'anon': 'anon_bytes',
    'file': 'file_bytes',
    'shmem': 'shmem_bytes',
    'slab': 'slab_bytes',
    'kernel': 'kernel_bytes',
    'kernel_stack': 'kernel_stack_bytes',
    'pagetables': 'pagetables_bytes',
    'sec_pagetables': 'sec_pagetables_bytes',
    'percpu': 'percpu_bytes',
    'vmalloc': 'vmalloc_bytes',
    'sock': 'sock_bytes',
    'file_dirty': 'file_dirty_bytes',
    'file_writeback': 'file_writeback_bytes',
    'swapcached': 'swapcached_bytes',
}
# ...and of version 1, where the children's are in.
STAT_V1 = {
    'total_rss': 'anon_bytes',
    'total_cache': 'file_bytes',
    'total_shmem': 'shmem_bytes',
    'total_dirty': 'file_dirty_bytes',
    'total_writeback': 'file_writeback_bytes',
}
# Parts of the kernel's memory, for kernels that print no sum of it.
KERNEL = [
    'slab_bytes',
    'kernel_stack_bytes',
    'pagetables_bytes',
    'percpu_bytes',
    'vmalloc_bytes',
]
# What the counters' lines are in a level.
COUNTERS = {
    'memory': ('usage_bytes', 'max_bytes'),
    'swap': ('swap_usage_bytes', 'swap_max_bytes'),
    'memory+swap': ('memsw_usage_bytes', 'memsw_limit_bytes'),
    'kmem': ('kmem_usage_bytes', None),
}
# The tracer remembers so many kills of one cgroup.
REMEMBERED = 16
# What stands in lines that a newline in a name can break.
BROKEN = {'candidates', 'kernel', 'missing', 'trigger_comm', 'trigger_pid', 'trigger_tid'}
BROKEN |= {'trigger_uid', 'victim_comm', 'victims', 'verdicts'}
MEMORY = ('anon_bytes', 'file_bytes', 'shmem_bytes')


class Parsed:
    """The importer's records of a run's log, by the incident that the oracle found at the same
    place: both tell the incidents of a log in its order."""

    def __init__(self, binary, run):
        self.errors, self.by_incident = [], {}
        self.log_tells, self.live_tells, self.both_tell = set(), set(), set()
        self.offset = None
        self.records = list(self.parse(binary, run.directory / 'kmsg'))
        self.bad = schema_errors(run, self.records)
        self.pair(run.log.incidents)
        if (run.directory / 'dmesg').exists():
            self.form(list(self.parse(binary, run.directory / 'dmesg')), run.log.incidents)

    def parse(self, binary, path):
        done = subprocess.run(
            [binary, 'parse', '--json', path], capture_output=True, timeout=PATIENCE, check=False
        )
        if done.returncode:
            self.errors.append(f'ended with {done.returncode}: {done.stderr.decode()[:300]}')
        for number, line in enumerate(done.stdout.decode('utf-8', 'replace').splitlines(), 1):
            try:
                yield json.loads(line)
            except ValueError as error:
                self.errors.append(f'line {number} is not JSON: {error}')

    def pair(self, incidents):
        # Who was gone when the kernel came to kill it has a report, and no line of its own.
        want = [i.victim.pid if i.kills else i.report and i.report.victim_pid for i in incidents]
        got = [record.get('victim_pid') for record in self.records]
        if want != got:
            self.errors.append(
                f'{len(got)} incidents, the log has {len(want)}; they part at number '
                f'{next((n for n, pair in enumerate(zip(want, got), 1) if pair[0] != pair[1]), 0)}'
            )
            return
        self.by_incident = {id(i): record for i, record in zip(incidents, self.records)}

    def form(self, others, incidents):
        """The same buffer as `dmesg -r` prints it makes the same records. There a newline in a name
        breaks its line, and the parts that this leaves can only be guessed at."""
        if len(others) != len(self.records):
            self.errors.append(f'{len(others)} incidents in dmesg, {len(self.records)} in kmsg')
        for incident, one, other in zip(incidents, self.records, others):
            keys = {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}
            if '\n' in incident.names:
                keys -= BROKEN
            if keys:
                self.errors.append(f'in dmesg {one.get("victim_pid")} has another {sorted(keys)}')

    def of(self, incident):
        return self.by_incident.get(id(incident))

    def set_clocks(self, pairs):
        """pairs: (incident, live record). By how much the records' clock is ahead of the log's."""
        apart = [
            record['mono_us'] / 1e6 - incident.report.stamp
            for incident, record in pairs
            if incident.report and record and 'mono_us' in record
        ]
        self.offset = statistics.median(apart) if apart else None
        if self.offset is not None and abs(self.offset) > CLOCKS_APART:
            self.errors.append(f'the clocks of log and records are {self.offset:.3f} s apart')

    def notes(self):
        for who, fields in (('log', self.log_tells), ('tracer', self.live_tells)):
            if only := fields - self.both_tell:
                yield f'only the {who} tells: {" ".join(sorted(only))}'


def schema_errors(run, records):
    if not run.schema or not run.schema.exists():
        return []
    # Imported late: the comparison's own tests do without it.
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(json.loads(run.schema.read_text()))
    return [
        f'{"/".join(map(str, error.path))}: {error.message[:200]}'
        for record in records
        for error in validator.iter_errors(record)
    ]


def same_flags(a, b):
    return sorted(a.split('|')) == sorted(b.split('|'))


def is_exact(path, a, b):
    """Strictly: 1 is neither True nor 1.0."""
    if path == 'gfp_flags':
        return same_flags(a, b)
    return type(a) is type(b) and a == b


# --- against the log itself ---


def log_errors(told, incident, tgid):
    """The oracle reads the same lines: all that both tell is equal."""
    want = fake.killed(incident, [], tgid)
    # What the log does not tell, and what is held against it row by row below.
    skip = {'trigger_pid', 'badness', 'victim_badness_pages', 'total_bytes', 'missing'}
    skip |= {'candidates', 'candidates_total', 'limits', 'victims'}
    for key in sorted(want.keys() & told.keys() - skip):
        if not is_exact(key, told[key], want[key]):
            yield f'{key}: parsed {told[key]!r}, the log {want[key]!r}'
    if told.get('victims_total') != len(incident.pids):
        yield f'victims_total: parsed {told.get("victims_total")}, the log {len(incident.pids)}'
    yield from victims_errors(told, want['victims'], incident.report)
    if incident.report:
        if told.get('manual') is not incident.manual:
            yield f'manual: parsed {told.get("manual")}, the log {incident.manual}'
        yield from rows_errors(told, incident.report)
        yield from composition_errors(told, incident.report)
        yield from levels_errors(told, incident)
        yield from zones_errors(told, incident.report)
    yield from stamp_errors(told, incident)
    yield from kind_errors(told)


def victims_errors(told, want, report):
    """Each line of a kill; what that does not have is in the victim's row of the table."""
    by_pid = {one['pid']: one for one in told.get('victims', [])}
    rows = {row.tgid: row for row in report.tasks} if report else {}
    for one in want:
        got, row = by_pid.pop(one['pid'], {}), rows.get(one['pid'])
        if row:
            one = one | {'tid': row.pid, 'swap_bytes': row.swapents * PAGE}
            if one['why'] == 'chosen':
                own = {'victim_tid': row.pid, 'victim_swap_bytes': row.swapents * PAGE}
                yield from dict_errors('', told, own)
        yield from dict_errors(f'victims {one["pid"]} ', got, one)
    if by_pid:
        yield f'victims {sorted(by_pid)}: not in the log'


def dict_errors(name, told, want):
    for key, value in want.items():
        if not is_exact(key, told.get(key), value):
            yield f'{name}{key}: parsed {told.get(key)!r}, the log {value!r}'


def rows_errors(told, report):
    """A candidate for each row of the table, with all that the row tells."""
    if told.get('candidates_total', 0) != len(report.tasks):
        yield f'candidates_total {told.get("candidates_total")}, the table has {len(report.tasks)}'
    rows = {row.tgid: row for row in report.tasks}
    listed = told.get('candidates', [])
    if [one['rank'] for one in listed] != list(range(1, len(listed) + 1)):
        yield f'candidates: ranks {[one["rank"] for one in listed]}'
    for one in listed:
        row = rows.pop(one['pid'], None)
        if not row:
            yield f'candidate {one["pid"]} is not in the table'
            continue
        want = {
            'tid': row.pid,
            'comm': as_text(row.comm),
            'uid': row.uid,
            'oom_score_adj': row.adj,
            'swap_bytes': row.swapents * PAGE,
            'pgtables_bytes': row.pgtables_bytes,
            'total_vm_bytes': row.total_vm * PAGE,
        }
        if row.anon is None:
            want['rss_bytes'] = row.rss * PAGE
        else:
            for key, pages in zip(MEMORY, (row.anon, row.file, row.shmem)):
                want[key] = pages * PAGE
        # A victim's own line is later than its row, and more.
        yield from dict_errors(f'candidate {row.tgid} ', one, want)


def composition_errors(told, report):
    """What filled the limit's cgroup, as the kernel printed it at the kill."""
    names = STAT_V1 if any(name.startswith('total_') for name in report.stats) else STAT
    got = told.get('composition', {})
    want = {key: report.stats[name] for name, key in names.items() if name in report.stats}
    if not want or 'memory' not in report.counters:
        return
    want['usage_bytes'] = report.counters['memory'].usage
    named = sum(got.get(key, 0) for key in ('anon_bytes', 'file_bytes', 'sock_bytes'))
    named += got.get('hugetlb_bytes', 0)
    named += got['kernel_bytes'] if 'kernel_bytes' in got else sum(got.get(key, 0) for key in KERNEL)
    want['unexplained_bytes'] = max(0, want['usage_bytes'] - named)
    yield from dict_errors('composition ', got, want)


def levels_errors(told, incident):
    """The level that was hit has the numbers of the counters' lines, and the group's is marked."""
    counters = incident.report.counters
    for level in told.get('limits', []):
        group = as_text(incident.group) if incident.group else None
        yield from dict_errors(
            f'limits {level["cgroup"]} ',
            {'oom_group': level.get('oom_group', False)},
            {'oom_group': level['cgroup'] == group},
        )
        if not level.get('hit'):
            continue
        if told.get('limit_oom_group', False) != (level['cgroup'] == group):
            yield f'limit_oom_group: parsed {told.get("limit_oom_group")}, the log {group!r}'
        want = {}
        for name, (usage, limit) in COUNTERS.items():
            if counter := counters.get(name):
                want |= {usage: counter.usage, limit: counter.limit}
        want.pop(None, None)
        yield from dict_errors('limits ', level, want)


def zones_errors(told, report):
    """All zones of the machine, by what of each node is present."""
    present = {}
    for zone in told.get('zones', []):
        present[zone['node']] = present.get(zone['node'], 0) + zone['present_bytes']
    if present != report.zone_present:
        yield f'zones: present {present}, the log {report.zone_present}'


def stamp_errors(told, incident):
    """To the microsecond, which is what the log's stamps have."""
    stamp = incident.victim.stamp if incident.kills else incident.report.stamp
    if told.get('mono_us') != round(stamp * 1e6):
        yield f'mono_us: parsed {told.get("mono_us")}, the log {round(stamp * 1e6)}'


def kind_of(path):
    """What kind of cgroup a path names, for those that the scenarios make."""
    for tail in ('service', 'scope', 'slice'):
        if path.endswith('.' + tail):
            return tail
    return 'cgroup'


def kind_errors(told):
    places = [('limit_kind', told.get('limit_cgroup'), told.get('limit_kind'))]
    places += [
        ('limits kind', level.get('cgroup'), level.get('kind')) for level in told.get('limits', [])
    ]
    for name, path, kind in places:
        want = kind_of(path) if path else None
        if kind != want:
            yield f'{name} of {path}: parsed {kind!r}, by its name {want!r}'


# --- against the live record ---


class Against:
    """A parsed record and the live one of the same kill. `pair` (compare.Pair) has the live record,
    the bounds and the place where differences go."""

    def __init__(self, pair, told, parsed):
        self.pair, self.told, self.parsed = pair, told, parsed
        self.live = pair.record

    def check(self):
        both = self.told.keys() & self.live.keys()
        self.parsed.log_tells |= self.told.keys()
        self.parsed.live_tells |= self.live.keys()
        self.parsed.both_tell |= both
        for key in sorted(both - INCOMPARABLE.keys()):
            self.field(key)

    def field(self, key):
        special = getattr(self, 'field_' + key, None)
        if special:
            special()
        elif key in ('usage_bytes', 'memsw_usage_bytes') and self.pair.report:
            self.pair.usage(key, self.told[key])
        elif key.startswith('victim_') and key.removeprefix('victim_') in (
            *MEMORY,
            'pgtables_bytes',
            'swap_bytes',
        ):
            self.memory('', key, self.told[key], self.live[key], self.live.get('victim_pid'))
        elif key == 'swap_usage_bytes':
            self.pair.near(key, self.told[key])
        else:
            self.exact(key, self.told[key], self.live[key])

    def exact(self, name, told, live):
        if not is_exact(name.rpartition(' ')[2], told, live):
            self.pair.errors.append(f'{name}: parsed {told!r}, live {live!r}')

    def memory(self, name, key, told, live, pid, rough=None):
        """The kernel's line of a victim, and a row of the table, come a moment after the record."""
        kind = key.removeprefix('victim_').removesuffix('_bytes')
        if rough is None:
            rough = self.live.get('victim_counters_approximate', False) or self.pair.woken(pid)
        counters = self.pair.held_back(kind) if key.endswith(MEMORY) else 1
        self.pair.near(
            name + key,
            told,
            live,
            approximate=rough and key.endswith(MEMORY),
            counters=counters,
        )

    def field_mono_us(self):
        """The tracer is called between the first line of the report and the last."""
        incident, offset = self.pair.incident, self.parsed.offset
        if not incident.report or offset is None:
            return
        live = self.live['mono_us'] / 1e6 - offset
        begin, end = incident.report.stamp, self.told['mono_us'] / 1e6
        if not begin - CLOCKS_DRIFT <= live <= end + CLOCKS_DRIFT:
            self.pair.errors.append(
                f'mono_us: the report is from {begin} to {end}, live {live:.6f} by the same clock'
            )

    def field_limit_inferred(self):
        """With tracepoints alone the tracer infers what the kernel prints."""
        if self.pair.full:
            self.exact('limit_inferred', self.told['limit_inferred'], self.live['limit_inferred'])

    def field_limits(self):
        """The log tells of no level but the victim's, the limit's, and their names between."""
        live = {level.get('cgroup'): level for level in self.live['limits']}
        for level in self.told['limits']:
            name = f'limits {level.get("cgroup")} '
            other = live.get(level.get('cgroup'))
            if other is None:
                self.pair.errors.append(f'{name}: the live record has no such level')
                continue
            for key in level.keys() & other.keys():
                if key.endswith('usage_bytes'):
                    self.pair.usage(name + key, level[key], other[key])
                else:
                    self.exact(name + key, level[key], other[key])
            if level.get('hit') and not other.get('hit'):
                self.pair.errors.append(f'{name}: hit by the log alone')
        if [one.get('cgroup') for one in self.told['limits'] if one.get('hit')] != [
            self.told.get('limit_cgroup')
        ]:
            self.pair.errors.append('limits: not one of them, the limit\'s, is the one that was hit')

    def silent(self):
        """Victims of which the log has no word: who shared the memory of the one chosen."""
        return self.pair.run.silent_victims(self.pair.scenario.name)

    def field_victims_total(self):
        want = self.live['victims_total'] - len(self.silent())
        self.exact('victims_total', self.told['victims_total'], want)

    def field_victims(self):
        live = {one['pid']: one for one in self.live['victims'] if one['pid'] not in self.silent()}
        told = {one['pid']: one for one in self.told['victims']}
        if live.keys() != told.keys():
            self.pair.errors.append(f'victims: parsed {sorted(told)}, live {sorted(live)}')
        for pid in live.keys() & told.keys():
            rough = live[pid].get('counters_approximate', False) or self.pair.woken(pid)
            self.process(f'victims {pid} ', told[pid], live[pid], rough)

    def process(self, name, told, live, rough):
        for key in told.keys() & live.keys() - {'rank', 'badness_pages', 'why'}:
            if key in (*MEMORY, 'pgtables_bytes', 'swap_bytes'):
                self.memory(name, key, told[key], live[key], told['pid'], rough)
            else:
                self.exact(name + key, told[key], live[key])
        # Who was dying already is killed in its group all the same, and the log says no more.
        if told.get('why') != live.get('why') and (told.get('why'), live.get('why')) != (
            'group',
            'already-exiting',
        ):
            self.pair.errors.append(f'{name}why: parsed {told.get("why")}, live {live.get("why")}')

    def weighed(self):
        """Whom the live record lists and the table can: init is weighed, but never printed."""
        return [
            one for one in self.live.get('candidates', []) if one.get('immune') != 'it is init'
        ]

    def is_census(self):
        return self.live.get('candidates_at') == 'census'

    def field_candidates_at(self):
        if not self.is_census():
            self.exact('candidates_at', self.told['candidates_at'], self.live['candidates_at'])

    def field_candidates_total(self):
        """A process that an earlier kill of this limit is about to end may be printed and not
        weighed; compare.py holds the weighed against the table."""
        init = len(self.live.get('candidates', [])) - len(self.weighed())
        total = self.live['candidates_total'] - init
        exact = self.pair.first_of_scenario() and not self.pair.scenario.running
        if self.is_census() or (not exact and self.told['candidates_total'] >= total):
            return
        self.exact('candidates_total', self.told['candidates_total'], total)

    def field_candidates(self):
        told = {one['pid']: one for one in self.told['candidates']}
        live = self.weighed()
        moved = self.pair.moved(live)
        for one in live:
            other = told.get(one['pid'])
            if not other:
                if 'immune' not in one and not self.is_census():
                    self.pair.errors.append(f'candidate {one["pid"]} {one["comm"]}: not parsed')
            elif one['pid'] not in moved:
                rough = one.get('counters_approximate', False)
                self.candidate(f'candidate {one["pid"]} ', other, one, rough)
        if self.pair.full and not self.is_census():
            self.order([one for one in live if one['pid'] in told.keys() - moved], told)

    def candidate(self, name, told, live, rough):
        self.process(name, told, live, rough)
        if 'rss_bytes' in told and 'anon_bytes' in live:
            total = sum(live[key] for key in MEMORY)
            self.pair.near(name + 'rss', told['rss_bytes'], total, approximate=rough, counters=3)
        if 'badness_pages' in told and 'badness_pages' in live:
            self.pair.near(
                name + 'badness_pages',
                told['badness_pages'],
                live['badness_pages'],
                PAGE,
                approximate=rough,
                counters=1 + self.pair.held_back('file'),
            )

    def order(self, live, told):
        """Best first, for both: where the points are apart, and apart by more than the bound where
        something runs."""
        slack = 2 * BOUND_PAGES if self.pair.scenario.running else 0
        for better, worse in zip(live, live[1:]):
            points = better.get('badness_pages'), worse.get('badness_pages')
            if None in points or points[0] - points[1] <= slack:
                continue
            if told[better['pid']]['rank'] > told[worse['pid']]['rank']:
                self.pair.errors.append(
                    f'candidates {better["pid"]} {worse["pid"]}: the other way round in the parse'
                )

    def field_badness(self):
        told, live = self.told['badness'], self.live['badness']
        self.exact('badness total_pages', told['total_pages'], live['total_pages'])
        self.exact('badness adj_pages', told['adj_pages'], live['adj_pages'])
        counters = 1 + self.pair.held_back('file')
        for part in ('rss_pages', 'swap_pages', 'pgtables_pages', 'points'):
            rough = not self.pair.full and self.pair.woken(self.live['victim_pid'])
            self.pair.near(
                'badness ' + part, told[part], live[part], PAGE, approximate=rough, counters=counters
            )

    def field_victim_badness_pages(self):
        """badness.points, which is held against the live one there."""
        points = self.told.get('badness', {}).get('points')
        self.exact('victim_badness_pages', self.told['victim_badness_pages'], points)

    def field_earlier_kills(self):
        """Kills of this limit. Of one whose report the kernel dropped the log does not tell the
        limit: the importer then counts those of the same name."""
        if not self.pair.report:
            return
        told, live = self.told['earlier_kills'], self.live['earlier_kills']
        told = min(told, REMEMBERED)
        if self.pair.scenario.reportless and told <= live:
            return
        if told != live and self.out_of_order():
            self.pair.notes.append(f'earlier_kills: {live} were told before, {told} came before')
            return
        self.exact('earlier_kills', told, live)

    def out_of_order(self):
        """The tracer tells a kill when all of it is over, and counts the kills that it has told:
        where a later victim is gone first, the two have each other's number."""
        stamps = [
            record['mono_us']
            for record in self.pair.run.incidents_seen
            if record.get('limit_cgroup') == self.live.get('limit_cgroup')
            and record.get('outcome') == 'killed'
        ]
        return stamps != sorted(stamps)

    def field_summary(self):
        """Each side has its own first verdict: told_errors()."""

    def field_verdicts(self):
        told = {verdict['id'] for verdict in self.told['verdicts']}
        live = {verdict['id'] for verdict in self.live['verdicts']}
        apart = (told ^ live) & VERDICTS
        # Who runs while the kernel weighs and prints may be the largest in one reading alone.
        both = 'candidates' in self.live and 'candidates' in self.told
        if not both or self.is_census() or self.pair.scenario.running:
            apart -= NEED_CANDIDATES
        if not self.pair.report:
            # The report would have told the limit.
            apart = (told - live) & VERDICTS
        if self.pair.scenario.reportless or self.out_of_order():
            apart -= {'repeated'}
        if self.pair.scenario.manual and not self.pair.full:
            # With tracepoints alone nothing tells that sysrq asked.
            apart -= {'operator-request', 'host-exhausted'}
        if apart:
            self.pair.errors.append(
                f'verdicts: parsed {sorted(told & apart)}, live {sorted(live & apart)}'
            )


def told_errors(told, incident):
    """What a log always tells is there, or missing says why not. The summary is the first verdict's."""
    first = told['verdicts'][0]['claim'] if told.get('verdicts') else None
    if told.get('summary') != first:
        yield f'summary {told.get("summary")!r}, the first verdict {first!r}'
    wanted = list(KILL_TELLS) if incident.kills else ['outcome', 'scope', 'mono_us']
    if incident.report and incident.kills:
        wanted += REPORT_TELLS
        if incident.report.constraint == 'CONSTRAINT_MEMCG':
            wanted += LIMIT_TELLS
    named = {entry['field'] for entry in told.get('missing', [])}
    for key in wanted:
        if key not in told and key not in named:
            yield f'{key} is not parsed, and missing does not say why'
    yield from (f'{key} is there and named in missing' for key in sorted(named & told.keys()))


def check_kill(pair, parsed):
    """The parsed record of a kill, against the log and against the live record; differences go to
    the pair."""
    told = parsed.of(pair.incident)
    if told is None:
        # Counted once, for the whole run.
        return
    tgid = pair.report and pair.run.tgid_of(pair.scenario.name, pair.report.trigger_tid)
    pair.errors += told_errors(told, pair.incident)
    pair.errors += log_errors(told, pair.incident, tgid)
    Against(pair, told, parsed).check()


def refused_errors(run, parsed, scenario, refused, records):
    """Reports without a kill. The kernel repeats them as long as the OOM lasts and the tracer leaves
    repetitions out, so each live record is held against the parsed one that is nearest in time."""
    for incident in refused:
        if told := parsed.of(incident):
            yield from told_errors(told, incident)
            yield from stamp_errors(told, incident)
            place = fake.place(incident.report, told.get('trigger_pid'))
            place['outcome'] = 'no-killable'
            for key in sorted(place.keys() & told.keys() - {'limits', 'scope'}):
                if not is_exact(key, told[key], place[key]):
                    yield f'{key}: parsed {told[key]!r}, the log {place[key]!r}'
            yield from composition_errors(told, incident.report)
    told = [one for one in map(parsed.of, refused) if one]
    if not told:
        return
    offset = round((parsed.offset or 0) * 1e6)
    for record in records:
        nearest = min(told, key=lambda one: abs(one['mono_us'] + offset - record['mono_us']))
        late = abs(nearest['mono_us'] + offset - record['mono_us']) / 1e6
        if late > CLOCKS_DRIFT:
            yield f'no parsed report within {CLOCKS_DRIFT} s of the live record, but {late} s off'
        for key in REFUSED_BOTH:
            if key in nearest and key in record and not is_exact(key, nearest[key], record[key]):
                yield f'{key}: parsed {nearest[key]!r}, live {record[key]!r}'


# Who asks changes from one repetition to the next, and usage moves.
REFUSED_BOTH = '''
outcome scope limit_inferred manual limit_cgroup limit_bytes total_bytes limit_oom_group order
gfp_mask gfp_flags
'''.split()
