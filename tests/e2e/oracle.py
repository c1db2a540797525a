# SPDX-License-Identifier: Apache-2.0
"""The kernel's own account of its OOM kills, read strictly out of its log.

Every line of a report must be one that is known; what is not goes to Report.unknown, so that a new
kernel's new line is noticed and not skipped. Nothing here is shared with oomsnoop's own parser:
this one is the judge of that one.

Text is kept as str with one character per byte (latin-1), since names may hold any bytes; as_text()
makes of it what a record shows."""
import gzip
import re
from dataclasses import dataclass, field

PAGE = 4096


def as_text(raw):
    """What a record shows for a name of the kernel's: UTF-8, and U+FFFD for each byte that is
    none."""
    return raw.encode('latin-1').decode('utf-8', 'replace')


@dataclass
class Line:
    level: int  # 4 where the capture has none
    stamp: float
    text: str
    seq: int = 0


@dataclass
class Task:
    pid: int
    uid: int
    tgid: int
    total_vm: int
    rss: int
    pgtables_bytes: int
    swapents: int
    adj: int
    comm: str
    anon: int | None = None
    file: int | None = None
    shmem: int | None = None

    def points(self, total_pages):
        return (
            self.rss
            + self.swapents
            + self.pgtables_bytes // PAGE
            + self.adj * (total_pages // 1000)
        )


@dataclass
class Kill:
    """One "Killed process" line; sizes in bytes."""

    stamp: float
    message: str
    pid: int
    comm: str
    total_vm: int
    anon: int
    file: int
    shmem: int
    uid: int
    pgtables: int
    adj: int


@dataclass
class Counter:
    usage: int
    limit: int | None  # None: no limit
    failcnt: int


@dataclass
class Report:
    stamp: float
    trigger_comm: str
    gfp_mask: int
    gfp_flags: str
    order: int
    trigger_adj: int
    trigger_tid: int | None = None
    trigger_uid: int | None = None
    counters: dict = field(default_factory=dict)  # memory, swap | memory+swap, kmem
    stats_cgroup: str | None = None
    stats: dict = field(default_factory=dict)
    protection: tuple | None = None
    meminfo: dict = field(default_factory=dict)
    zone_present: dict = field(default_factory=dict)  # node -> bytes
    tasks: list = field(default_factory=list)
    columns: str | None = None
    constraint: str | None = None
    nodemask: str | None = None
    cpuset: str | None = None
    mems_allowed: str | None = None
    oom_memcg: str | None = None
    global_oom: bool = False
    task_memcg: str | None = None
    victim_comm: str | None = None
    victim_pid: int | None = None
    victim_uid: int | None = None
    no_killable: bool = False
    panic: str | None = None
    unknown: list = field(default_factory=list)


@dataclass
class Incident:
    """One OOM event: a report (none where the kernel's rate limit dropped it) and the kills that
    followed."""

    scenario: str | None
    report: Report | None = None
    kills: list = field(default_factory=list)
    group: str | None = None
    manual: bool = False

    @property
    def victim(self):
        return self.kills[0] if self.kills else None

    @property
    def pids(self):
        return {kill.pid for kill in self.kills}

    @property
    def names(self):
        """Of all processes that it tells of, in one text."""
        rows = self.report.tasks if self.report else []
        first = self.report.trigger_comm if self.report else ''
        return first + ''.join(one.comm for one in (*self.kills, *rows))


@dataclass
class Log:
    incidents: list = field(default_factory=list)
    reaped: list = field(default_factory=list)  # (stamp, pid, comm, anon, file, shmem)
    unable: list = field(default_factory=list)  # (stamp, pid, comm)
    skipped: list = field(default_factory=list)  # already exiting: (stamp, pid)
    suppressed: int = 0
    overwritten: bool = False


# The ways the lines come: /dev/kmsg, and dmesg -r or (without the level) the console.
KMSG = re.compile(r'^(\d+),(\d+),(\d+),[^;]*;(.*)$', re.S)
RAW = re.compile(r'^(?:<(\d+)>)?\[ *(\d+\.\d+)\](?:\[ *[TC]\d+\])? ?(.*)$', re.S)
ESCAPE = re.compile(r'\\x([0-9a-f]{2})')


def read_lines(data):
    """Lines out of the bytes of a /dev/kmsg or a dmesg -r capture. Returns (lines, overwritten)."""
    lines, overwritten = [], False
    for raw in data.decode('latin-1').split('\n'):
        kmsg, dmesg = KMSG.match(raw), RAW.match(raw)
        if kmsg:
            text = ESCAPE.sub(lambda m: chr(int(m[1], 16)), kmsg[4])
            lines.append(Line(int(kmsg[1]) & 7, int(kmsg[3]) / 1e6, text, int(kmsg[2])))
        elif dmesg:
            lines.append(Line(int(dmesg[1] or 4) & 7, float(dmesg[2]), dmesg[3]))
        elif raw.startswith('# records were overwritten'):
            overwritten = True
        elif raw and not re.match(r' [A-Z]+=', raw):
            raise ValueError(f'not a line of a kernel log: {raw[:100]!r}')
    return lines, overwritten


def read_file(path):
    opener = gzip.open if str(path).endswith('.gz') else open
    with opener(path, 'rb') as log:
        return log.read()


MARK = re.compile(r'^oomsnoop-test: (begin|end) (\S+)$')
HEADER = re.compile(
    r'^(?P<comm>.*) invoked oom-killer: gfp_mask=(?P<mask>0x[0-9a-f]+|0)\((?P<flags>[^)]*)\), '
    r'order=(?P<order>-?\d+), oom_score_adj=(?P<adj>-?\d+)$',
    re.S,
)
CPU = re.compile(
    r'^CPU: \d+ (?:UID: (?P<uid>\d+) )?PID: (?P<pid>\d+) '
    r'Comm: (?P<comm>.*) (?:Not tainted|Tainted: )',
    re.S,
)
COUNTER = re.compile(
    r'^(memory|swap|memory\+swap|kmem): usage (\d+)kB, limit (\d+)kB, failcnt (\d+)$'
)
STATS = re.compile(r'^Memory cgroup stats for (.*):$', re.S)
STAT = re.compile(r'^([a-z0-9_]+) (\d+)$')
PROTECTION = re.compile(r'^Memory cgroup min protection (\d+)kB -- low protection (\d+)kB$')
TASKS = 'Tasks state (memory values in pages):'
COLUMNS = {
    '[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name': (
        'pid',
        'uid',
        'tgid',
        'total_vm',
        'rss',
        'pgtables_bytes',
        'swapents',
        'adj',
    ),
    '[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents '
    'oom_score_adj name': (
        'pid',
        'uid',
        'tgid',
        'total_vm',
        'rss',
        'anon',
        'file',
        'shmem',
        'pgtables_bytes',
        'swapents',
        'adj',
    ),
}
SUMMARY = re.compile(
    r'^oom-kill:constraint=(?P<constraint>CONSTRAINT_[A-Z_]+),'
    r'nodemask=(?P<nodemask>\(null\)|[\d,-]*),cpuset=(?P<cpuset>.*),mems_allowed=(?P<mems>[\d,-]*),'
    r'(?:(?P<all>global_oom)|oom_memcg=(?P<oom>.*)),'
    r'task_memcg=(?P<task>.*),task=(?P<comm>.*),pid=(?P<pid>\d+),uid=(?P<uid>\d+)$',
    re.S,
)
MESSAGES = (
    'Memory cgroup out of memory',
    'Out of memory',
    'Out of memory (oom_kill_allocating_task)',
)
KILL = re.compile(
    r'^(?P<message>' + '|'.join(map(re.escape, MESSAGES)) + r'): Killed process (?P<pid>\d+) '
    r'\((?P<comm>.*)\) total-vm:(?P<vm>\d+)kB, anon-rss:(?P<anon>\d+)kB, file-rss:(?P<file>\d+)kB, '
    r'shmem-rss:(?P<shmem>\d+)kB, UID:(?P<uid>\d+) pgtables:(?P<pgtables>\d+)kB '
    r'oom_score_adj:(?P<adj>-?\d+)$',
    re.S,
)
GROUP = re.compile(r'^Tasks in (.*) are going to be killed due to memory\.oom\.group set$', re.S)
NO_KILLABLE = 'Out of memory and no killable processes...'
SYSRQ = 'sysrq: Manual OOM execution'
REAPED = re.compile(
    r'^oom_reaper: reaped process (\d+) \((.*)\), now anon-rss:(\d+)kB, file-rss:(\d+)kB, '
    r'shmem-rss:(\d+)kB$',
    re.S,
)
UNABLE = re.compile(r'^oom_reaper: unable to reap pid:(\d+) \((.*)\)$', re.S)
SKIPPED = re.compile(
    r'^.*: OOM victim (\d+) \((.*)\) is already exiting\. Skip killing the task$', re.S
)
SUPPRESSED = re.compile(r'^oom_kill_process: (\d+) callbacks suppressed$')
PANIC = re.compile(
    r'^Kernel panic - not syncing: (Out of memory: .*|System is deadlocked on memory)$'
)
# Lines of a global report's Mem-Info whose numbers are of use, and those that are merely known.
MEMINFO = re.compile(r'^(Free swap|Total swap) += (\d+)kB$')
PAGES = re.compile(r'^(\d+) pages (RAM|reserved)$')
ZONE = re.compile(r'^Node (\d+) \S+ free:\d+kB .* present:(\d+)kB managed:(\d+)kB ')
KNOWN = re.compile(
    r'^(Mem-Info:|Node \d+ |lowmem_reserve\[\]:|active_anon:| '
    r'(active_file|unevictable|slab_reclaimable|mapped|'
    r'sec_pagetables|kernel_misc_reclaimable|free):|\d+ (total pagecache pages|pages in swap cache|'
    r'pages HighMem/MovableOnly|pages cma reserved|pages hwpoisoned)|Swap cache stats:|'
    r'Unreclaimable slab info:|Name +Used +Total$|\S+ +\d+KB +\d+KB$)'
)
# Other talk of the kernel's that may fall into a report without being a part of it.
INTRUDER = re.compile(
    r'^(Huh VM_FAULT_OOM leaked out|clocksource:|hrtimer:|oom_kill_process: |sched: |random: |'
    r'perf: interrupt took too long|workqueue: )'
)
# The biggest page counter, in the kernel's kB: no limit (v2), and v1's rounding of it.
NO_LIMIT_KB = (1 << 63) // 1024 - 8


class Parser:
    def __init__(self):
        self.log = Log()
        self.scenario = None
        self.incident = None  # the one that still takes lines
        self.stage = None  # where in its report: stack, counters, stats, meminfo, tasks, done
        self.manual = False

    def feed(self, line):
        for handle in (self.mark, self.header, self.kill, self.aftermath):
            if handle(line):
                return
        if self.incident and self.incident.report and self.stage != 'done':
            self.report_line(self.incident.report, line)

    def mark(self, line):
        mark = MARK.match(line.text)
        if mark:
            self.scenario = mark[2] if mark[1] == 'begin' else None
            self.incident = None
        return mark

    def header(self, line):
        head = HEADER.match(line.text)
        if not head:
            return False
        report = Report(
            line.stamp,
            head['comm'],
            int(head['mask'], 0),
            head['flags'],
            int(head['order']),
            int(head['adj']),
        )
        self.incident = Incident(self.scenario, report, manual=self.manual)
        self.log.incidents.append(self.incident)
        self.stage, self.manual = 'stack', False
        return True

    def kill(self, line):
        m = KILL.match(line.text)
        if not m:
            return False
        kib = {key: int(m[key]) * 1024 for key in ('vm', 'anon', 'file', 'shmem', 'pgtables')}
        kill = Kill(
            line.stamp,
            m['message'],
            int(m['pid']),
            m['comm'],
            kib['vm'],
            kib['anon'],
            kib['file'],
            kib['shmem'],
            int(m['uid']),
            kib['pgtables'],
            int(m['adj']),
        )
        # A second line belongs to the same incident only in a group kill; else its report was
        # dropped.
        if not self.incident or self.incident.kills and not self.incident.group:
            self.incident = Incident(self.scenario)
            self.log.incidents.append(self.incident)
        self.incident.kills.append(kill)
        self.stage = 'done'
        return True

    def aftermath(self, line):
        text = line.text
        if m := GROUP.match(text):
            self.incident.group = m[1]
        elif m := REAPED.match(text):
            self.log.reaped.append(
                (line.stamp, int(m[1]), m[2]) + tuple(int(m[i]) * 1024 for i in (3, 4, 5))
            )
        elif m := UNABLE.match(text):
            self.log.unable.append((line.stamp, int(m[1]), m[2]))
        elif m := SKIPPED.match(text):
            self.log.skipped.append((line.stamp, int(m[1])))
        elif m := SUPPRESSED.match(text):
            self.log.suppressed += int(m[1])
        elif text == SYSRQ:
            self.manual = True
        elif (m := PANIC.match(text)) and self.incident:
            self.incident.report.panic = m[1]
            self.stage = 'done'
        else:
            return False
        return True

    def report_line(self, report, line):
        # A multi-line record (memory.stat before 6.12) comes whole from /dev/kmsg, line by line
        # from dmesg.
        for text in line.text.split('\n') if self.stage in ('stats', 'meminfo') else [line.text]:
            if (
                not self.part(report, text)
                and not (self.stage == 'stack' and line.level == 4)
                and not INTRUDER.match(text)
            ):
                report.unknown.append(text)

    def part(self, report, text):
        if m := CPU.match(text):
            report.trigger_tid, report.trigger_uid = int(m['pid']), m['uid'] and int(m['uid'])
            return m['comm'] == report.trigger_comm
        if m := COUNTER.match(text):
            limit = None if int(m[3]) >= NO_LIMIT_KB else int(m[3]) * 1024
            report.counters[m[1]] = Counter(int(m[2]) * 1024, limit, int(m[4]))
            self.stage = 'counters'
        elif m := STATS.match(text):
            report.stats_cgroup, self.stage = m[1], 'stats'
        elif m := PROTECTION.match(text):
            report.protection, self.stage = (int(m[1]) * 1024, int(m[2]) * 1024), 'protection'
        elif text == 'Mem-Info:':
            self.stage = 'meminfo'
        elif text == TASKS:
            self.stage = 'tasks'
        elif text == NO_KILLABLE:
            report.no_killable, self.stage = True, 'done'
        elif m := SUMMARY.match(text):
            self.summary(report, m)
        elif self.stage == 'stats' and (m := STAT.match(text)):
            report.stats[m[1]] = int(m[2])
        elif self.stage == 'meminfo':
            return self.meminfo(report, text)
        elif self.stage == 'tasks':
            return self.task(report, text)
        else:
            return False
        return True

    @staticmethod
    def summary(report, m):
        report.constraint, report.nodemask, report.cpuset = (
            m['constraint'],
            m['nodemask'],
            m['cpuset'],
        )
        report.mems_allowed, report.global_oom, report.oom_memcg = (
            m['mems'],
            bool(m['all']),
            m['oom'],
        )
        report.task_memcg, report.victim_comm = m['task'], m['comm']
        report.victim_pid, report.victim_uid = int(m['pid']), int(m['uid'])

    @staticmethod
    def meminfo(report, text):
        if m := MEMINFO.match(text):
            report.meminfo[m[1]] = int(m[2]) * 1024
        elif m := PAGES.match(text):
            report.meminfo['pages ' + m[2]] = int(m[1])
        elif m := ZONE.match(text):
            report.zone_present[int(m[1])] = (
                report.zone_present.get(int(m[1]), 0) + int(m[2]) * 1024
            )
        else:
            return KNOWN.match(text)
        return True

    @staticmethod
    def task(report, text):
        if text in COLUMNS:
            report.columns = text
            return True
        names = COLUMNS.get(report.columns)
        row = names and re.match(
            r'^\[ *(\d+)\]' + r' +(-?\d+)' * (len(names) - 1) + r' (.*)$', text, re.S
        )
        if not row:
            return False
        values = dict(zip(names, map(int, row.groups()[:-1])))
        report.tasks.append(Task(comm=row[len(names) + 1], **values))
        return True


def parse(data):
    """The Log of a capture's bytes."""
    parser = Parser()
    lines, parser.log.overwritten = read_lines(data)
    for line in lines:
        parser.feed(line)
    return parser.log


def parse_file(path):
    return parse(read_file(path))
