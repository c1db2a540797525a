# SPDX-License-Identifier: Apache-2.0
"""Records made out of the kernel's own reports: what a tracer that is right would write.

They let the comparison run where no tracer did, and the tests of the comparison spoil them one
field at a time to see that each lie is found."""
from oracle import PAGE, as_text

SCOPES = {
    None: 'memcg',
    'CONSTRAINT_NONE': 'global',
    'CONSTRAINT_MEMCG': 'memcg',
    'CONSTRAINT_CPUSET': 'cpuset',
    'CONSTRAINT_MEMORY_POLICY': 'mempolicy',
}
UNSEEN = [
    'trigger_pid',
    'trigger_tid',
    'trigger_comm',
    'order',
    'gfp_mask',
    'gfp_flags',
    'total_bytes',
    'badness',
    'candidates',
    'candidates_total',
    'victim_badness_pages',
    'victim_swap_bytes',
    'victim_cgroup',
    'limit_cgroup',
    'limit_bytes',
    'usage_bytes',
]


def start(record_type, stamp):
    return {
        'v': 1,
        'type': record_type,
        'ts': '2026-01-01T00:00:00.000000000Z',
        'host': 'guest',
        'boot_id': 'b',
        'mono_us': int(stamp * 1e6),
    }


def total_pages(report):
    """The same rule as the kernel's, with the swap that its report shows."""
    if report.constraint == 'CONSTRAINT_MEMCG':
        swap = report.counters.get('swap')
        used = swap.limit if swap and swap.limit is not None else 0
        return (report.counters['memory'].limit + used) // PAGE
    if report.constraint == 'CONSTRAINT_NONE':
        return (
            report.meminfo['pages RAM']
            - report.meminfo['pages reserved']
            + report.meminfo['Total swap'] // PAGE
        )
    nodes = (
        report.nodemask if report.constraint == 'CONSTRAINT_MEMORY_POLICY' else report.mems_allowed
    )
    return (report.zone_present[int(nodes)] + report.meminfo['Total swap']) // PAGE


def candidate(row, total):
    anon, file, shmem = (row.anon, row.file, row.shmem) if row.anon is not None else (row.rss, 0, 0)
    return {
        'pid': row.tgid,
        'comm': as_text(row.comm),
        'anon_bytes': anon * PAGE,
        'file_bytes': file * PAGE,
        'shmem_bytes': shmem * PAGE,
        'swap_bytes': row.swapents * PAGE,
        'pgtables_bytes': row.pgtables_bytes,
        'oom_score_adj': row.adj,
        'badness_pages': row.points(total),
    }


def place(report, tgid):
    record = {
        'scope': SCOPES[report.constraint],
        'order': report.order,
        'gfp_mask': hex(report.gfp_mask),
        'gfp_flags': report.gfp_flags,
        'trigger_oom_score_adj': report.trigger_adj,
        'trigger_comm': as_text(report.trigger_comm),
        'trigger_tid': report.trigger_tid,
        'trigger_pid': tgid,
    }
    if memory := report.counters.get('memory'):
        record |= {
            'limit_cgroup': as_text(report.oom_memcg or report.stats_cgroup),
            'usage_bytes': memory.usage,
            'limit_bytes': memory.limit,
        }
        record['limits'] = [{'hit': True, 'failcnt': memory.failcnt}]
    for kind, prefix in (('swap', 'swap'), ('memory+swap', 'memsw')):
        if counter := report.counters.get(kind):
            record[prefix + '_usage_bytes'] = counter.usage
            if counter.limit is not None:
                record[prefix + '_limit_bytes'] = counter.limit
    if report.nodemask and report.nodemask.isdigit():
        record['nodemask'] = hex(1 << int(report.nodemask))
    return record


def choice(report, victim):
    total = total_pages(report)
    rows = [row for row in report.tasks if row.adj != -1000 and row.tgid != 1]
    rows.sort(key=lambda row: (row.points(total), row.tgid == victim.pid), reverse=True)
    row = next(row for row in report.tasks if row.tgid == victim.pid)
    bad = {
        'rss_pages': row.rss,
        'swap_pages': row.swapents,
        'pgtables_pages': row.pgtables_bytes // PAGE,
        'adj_pages': row.adj * (total // 1000),
        'total_pages': total,
        'points': row.points(total),
    }
    if 'allocating' not in victim.message:
        bad['kernel_points'] = bad['points']
    candidates = [candidate(row, total) | {'rank': rank} for rank, row in enumerate(rows, 1)]
    return {
        'badness': bad,
        'candidates': candidates,
        'candidates_total': len(rows),
        'total_bytes': total * PAGE,
        'victim_badness_pages': bad['points'],
        'victim_swap_bytes': row.swapents * PAGE,
        'victim_cgroup': as_text(report.task_memcg),
    }


def victim(kill):
    return {
        'victim_pid': kill.pid,
        'victim_comm': as_text(kill.comm),
        'victim_uid': kill.uid,
        'victim_anon_bytes': kill.anon,
        'victim_file_bytes': kill.file,
        'victim_shmem_bytes': kill.shmem,
        'victim_pgtables_bytes': kill.pgtables,
        'victim_total_vm_bytes': kill.total_vm,
        'victim_oom_score_adj': kill.adj,
        'victim_started': 'then',
        'victim_ppid': 1,
    }


def killed(incident, silent, tgid):
    record = {
        'outcome': 'killed',
        'closed': 'exited',
        'tier': 'full',
        'kernel_log': 'agrees',
        'lost_events': 0,
    }
    if incident.manual:
        record['manual'] = True
    record |= victim(incident.victim) | {'kernel_message': incident.victim.message}
    seen = {}
    for number, kill in enumerate(incident.kills):
        seen.setdefault(
            kill.pid,
            {
                'pid': kill.pid,
                'comm': as_text(kill.comm),
                'why': 'group' if number else 'chosen',
                'uid': kill.uid,
                'anon_bytes': kill.anon,
                'file_bytes': kill.file,
                'shmem_bytes': kill.shmem,
                'oom_score_adj': kill.adj,
                'pgtables_bytes': kill.pgtables,
                'total_vm_bytes': kill.total_vm,
            },
        )
    record['victims'] = list(seen.values()) + [
        {'pid': pid, 'comm': '?', 'why': 'shared-mm'} for pid in silent
    ]
    if incident.report:
        return record | place(incident.report, tgid) | choice(incident.report, incident.victim)
    return record | {
        'scope': 'memcg',
        'missing': [{'field': name, 'why': 'no report'} for name in UNSEEN],
    }


def records(log, run):
    """All lines of a run, start to stop; run tells what the log does not."""
    lines = [start('start', 0)]
    for incident in log.incidents:
        stamp = incident.report.stamp if incident.report else incident.victim.stamp
        tgid = incident.report and run.tgid_of(incident.scenario, incident.report.trigger_tid)
        if incident.kills:
            lines.append(
                start('oom', stamp) | killed(incident, run.silent_victims(incident.scenario), tgid)
            )
        elif incident.report.no_killable:
            lines.append(
                start('oom', stamp) | {'outcome': 'no-killable'} | place(incident.report, tgid)
            )
    return lines + [start('stop', stamp if log.incidents else 0)]
