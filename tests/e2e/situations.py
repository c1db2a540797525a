#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""situations [BINARY]: the ten situations in which people most often read a kernel's report wrong, written in the kernel's own
format with numbers that agree with each other, and what `oomsnoop parse` says of each: one screen, kept in tests/golden, with the
words that it must not lack, and the verdicts that must be given, which first, and which must not. GOLDEN_UPDATE=1 writes the screens anew: read the difference."""
import json
import os
import subprocess
import sys
from pathlib import Path

from results import Results

TOP = Path(__file__).resolve().parents[2]
GOLDEN = TOP / 'tests' / 'golden'
SCREEN = 50  # lines
NO_LIMIT = 9007199254740988
GIB = 1 << 20  # in kB


class Report:
    """One report of a kernel from 5.0 to 6.6, line by line. Sizes in kB, but rows, which are pages."""

    def __init__(self, asker='python3', pid=4711, order=0, gfp='0xcc0(GFP_KERNEL)', adj=0):
        self.lines = [
            f'{asker} invoked oom-killer: gfp_mask={gfp}, order={order}, oom_score_adj={adj}',
            f'CPU: 3 PID: {pid} Comm: {asker} Not tainted 6.1.0-13-amd64 #1  Debian 6.1.55-1',
            'Call Trace:',
            ' <TASK>',
            ' dump_stack_lvl+0x44/0x5c',
            ' dump_header+0x4a/0x211',
            ' oom_kill_process.cold+0xb/0x10',
            ' out_of_memory+0x1fd/0x4c0',
        ]
        self.rows = []

    def trace(self, *functions):
        self.lines += [f' {function}+0x1c2/0x520' for function in functions] + [' </TASK>']
        return self

    def usage(self, memory, limit, swap=0, swap_limit=NO_LIMIT, failcnt=371):
        self.lines += [
            f'memory: usage {memory}kB, limit {limit}kB, failcnt {failcnt}',
            f'swap: usage {swap}kB, limit {swap_limit}kB, failcnt 0',
        ]
        return self

    def stats(self, path, **bytes_of):
        keys = ('anon', 'file', 'kernel', 'kernel_stack', 'pagetables', 'sock', 'vmalloc', 'shmem', 'file_dirty',
                'file_writeback', 'slab')
        self.lines.append(f'Memory cgroup stats for {path}:')
        self.lines += [f'{key} {bytes_of.get(key, 0) * 1024}' for key in keys]
        return self

    def memory(self, *lines):
        self.lines += ['Mem-Info:', *lines]
        return self

    def row(self, pid, name, anon, *, swap=0, adj=0, uid=1000, tables=40):
        self.rows.append((pid, uid, anon + 3000, anon, tables * 4096, swap, adj, name))
        return self

    def killed(self, scope, victim, *, path='', limit='', nodes='(null)', text='', others=()):
        self.lines += [
            'Tasks state (memory values in pages):',
            '[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name',
        ]
        rows = {row[0]: row for row in self.rows}
        for pid, uid, vm, rss, tables, swap, adj, name in self.rows:
            self.lines.append(f'[{pid:7d}] {uid:5d} {pid:5d} {vm:8d} {rss:8d} {tables:8d} {swap:8d}         {adj:5d} {name}')
        place = f'oom_memcg={limit}' if limit else 'global_oom'
        name, uid = rows[victim][7], rows[victim][1]
        self.lines.append(
            f'oom-kill:constraint={scope},nodemask={nodes},cpuset=/,mems_allowed=0-1,{place},task_memcg={path},'
            f'task={name},pid={victim},uid={uid}'
        )
        text = text or ('Memory cgroup out of memory' if limit else 'Out of memory')
        self.lines.append(self.dead(text, rows[victim]))
        if others:
            self.lines.append(f'Tasks in {path} are going to be killed due to memory.oom.group set')
            self.lines += [self.dead(text, rows[pid]) for pid in (victim, *others)]
        return self

    @staticmethod
    def dead(text, row):
        pid, uid, vm, rss, tables, _, adj, name = row
        return (
            f'{text}: Killed process {pid} ({name}) total-vm:{vm * 4}kB, anon-rss:{rss * 4}kB, file-rss:0kB, '
            f'shmem-rss:0kB, UID:{uid} pgtables:{tables // 1024}kB oom_score_adj:{adj}'
        )

    def text(self):
        return ''.join(f'[ 7384.{12 + i:06d}] {line}\n' for i, line in enumerate(self.lines))


CHARGE = ('mem_cgroup_out_of_memory', 'try_charge_memcg', 'charge_memcg', '__handle_mm_fault')
FAULT = ('__alloc_pages_slowpath', '__alloc_pages', '__handle_mm_fault')


def ram(total, free):
    """What is told of a machine of so many kB."""
    return (
        f'active_anon:{total // 5} inactive_anon:1000 isolated_anon:0',
        ' active_file:300 inactive_file:200 isolated_file:0',
        ' unevictable:0 dirty:10 writeback:0',
        ' slab_reclaimable:9000 slab_unreclaimable:14000',
        ' mapped:2000 shmem:500 pagetables:6000',
        f' free:{free // 4} free_pcp:0 free_cma:0',
    )


def tail(total, swap=0, swap_free=0, highmem=0):
    return (
        f'Free swap  = {swap_free}kB',
        f'Total swap = {swap}kB',
        f'{total // 4} pages RAM',
        f'{highmem // 4} pages HighMem/MovableOnly',
        '0 pages reserved',
    )


def innocent_by_adj():
    report = Report('java', 501).trace(*CHARGE).usage(4 * GIB, 4 * GIB).stats('/app', anon=4 * GIB - 9000, kernel=9000)
    report.row(500, 'java', 950000, adj=-900).row(620, 'logrotate', 20000, adj=1000)
    return report.killed('CONSTRAINT_MEMCG', 620, path='/app', limit='/app')


def swap_held():
    report = Report('worker', 710).trace(*FAULT).memory(*ram(8 * GIB, 50000), *tail(8 * GIB, 8 * GIB, 40))
    report.row(700, 'postgres', 300000).row(710, 'worker', 9000, swap=1900000, tables=3900)
    return report.killed('CONSTRAINT_NONE', 710, path='/system.slice/worker.service')


def ancestor():
    pod = '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod7d2f0b9e_8f39_4c2a_9a61_1f6f7ad1c0aa.slice'
    path = f'{pod}/cri-containerd-9f3c2a.scope'
    report = Report('node', 811).trace(*CHARGE).usage(GIB, GIB).stats(pod, anon=GIB - 4000, kernel=4000)
    report.row(801, 'pause', 60, adj=-998).row(811, 'node', 200000, adj=872)
    return report.killed('CONSTRAINT_MEMCG', 811, path=path, limit=pod)


def group():
    path = '/kubepods.slice/pod1.slice/cri-containerd-77.scope'
    report = Report('uwsgi', 902).trace(*CHARGE).usage(GIB, GIB).stats(path, anon=GIB - 4000, kernel=4000)
    report.row(900, 'uwsgi', 40000).row(901, 'uwsgi', 98000).row(902, 'uwsgi', 110000)
    return report.killed('CONSTRAINT_MEMCG', 902, path=path, limit=path, others=(900, 901))


def limit_lowered():
    path = '/job_17'
    report = Report('slurmstepd', 99, adj=-1000).trace('mem_cgroup_out_of_memory', 'memory_max_write', 'kernfs_fop_write_iter')
    report.usage(11 * GIB, 8 * GIB).stats(path, anon=GIB, file=10 * GIB - 8000, shmem=10 * GIB - 8000, kernel=8000)
    report.row(1000, 'python3', 240000)
    return report.killed('CONSTRAINT_MEMCG', 1000, path=path, limit=path)


def dirty_cache():
    path = '/backup'
    report = Report('dd', 1101, gfp='0x101c4a(GFP_NOFS|__GFP_HARDWALL|__GFP_MOVABLE|__GFP_WRITE)').trace(*CHARGE[:3], 'generic_perform_write')
    report.usage(GIB // 4, GIB // 4).stats(path, anon=2000, file=250000, file_dirty=240000, file_writeback=8000, kernel=8000)
    report.row(1101, 'dd', 450)
    return report.killed('CONSTRAINT_MEMCG', 1101, path=path, limit=path)


def lowmem():
    report = Report('nfsd', 1201, order=2, gfp='0xcc0(GFP_KERNEL)').trace(*FAULT)
    report.memory(
        *ram(8 * GIB, 5 * GIB),
        'Normal free:3500kB boost:0kB min:3700kB low:4600kB high:5500kB reserved_highatomic:0KB active_anon:0kB '
        'inactive_anon:0kB active_file:40kB inactive_file:60kB unevictable:0kB writepending:0kB present:880000kB '
        'managed:860000kB mlocked:0kB bounce:0kB free_pcp:0kB local_pcp:0kB free_cma:0kB',
        'lowmem_reserve[]: 0 56000 56000',
        'HighMem free:5200000kB boost:0kB min:512kB low:8000kB high:15000kB reserved_highatomic:0KB active_anon:900000kB '
        'inactive_anon:0kB active_file:0kB inactive_file:0kB unevictable:0kB writepending:0kB present:7400000kB '
        'managed:7400000kB mlocked:0kB bounce:0kB free_pcp:0kB local_pcp:0kB free_cma:0kB',
        'lowmem_reserve[]: 0 0 0',
        'Normal: 875*4kB (U) 0*8kB 0*16kB 0*32kB 0*64kB 0*128kB 0*256kB 0*512kB 0*1024kB 0*2048kB 0*4096kB = 3500kB',
        *tail(8 * GIB, highmem=7400000),
    )
    report.row(1200, 'mysqld', 180000).row(1201, 'nfsd', 0)
    return report.killed('CONSTRAINT_NONE', 1200, path='/system.slice/mysql.service')


def mempolicy():
    zone = (
        'present:16777216kB managed:16500000kB mlocked:0kB bounce:0kB free_pcp:0kB local_pcp:0kB free_cma:0kB'
    )
    report = Report('solver', 1301, gfp='0x140dca(GFP_HIGHUSER_MOVABLE|__GFP_COMP|__GFP_ZERO)').trace(*FAULT)
    report.memory(
        *ram(32 * GIB, 14 * GIB),
        f'Node 0 Normal free:44000kB boost:0kB min:45000kB low:61000kB high:77000kB reserved_highatomic:0KB {zone}',
        'lowmem_reserve[]: 0 0 0',
        f'Node 1 Normal free:14600000kB boost:0kB min:45000kB low:61000kB high:77000kB reserved_highatomic:0KB {zone}',
        'lowmem_reserve[]: 0 0 0',
        *tail(32 * GIB),
    )
    report.row(1300, 'httpd', 40000).row(1301, 'solver', 3900000)
    return report.killed('CONSTRAINT_MEMORY_POLICY', 1301, path='/user.slice', nodes='0')


def sysrq():
    report = Report('kworker/1:2', 1400, order=-1)
    report.lines.insert(0, 'sysrq: Manual OOM execution')
    report.trace('moom_callback', 'process_one_work', 'worker_thread')
    report.memory(*ram(8 * GIB, 3 * GIB), *tail(8 * GIB)).row(1402, 'firefox', 600000).row(1403, 'vim', 3000)
    return report.killed('CONSTRAINT_NONE', 1402, path='/user.slice')


def immune_eater():
    report = Report('sshd', 1501).trace(*FAULT).memory(*ram(16 * GIB, 60000), *tail(16 * GIB))
    report.row(1500, 'agent', 3700000, adj=-1000, uid=0).row(1501, 'sshd', 900, uid=0).row(1502, 'nginx', 30000)
    return report.killed('CONSTRAINT_NONE', 1502, path='/system.slice/nginx.service')


# Name: (the log, what its screen must say, the first verdict, others that must be given, and those that must not).
SITUATIONS = {
    'innocent-by-adj': (
        innocent_by_adj,
        ('KILLED logrotate[620]', 'java[500] held more', 'oom_score_adj 1000 first of 2'),
        'victim-not-largest',
        {'own-limit'},
        {'victim-is-largest', 'fork-family'},
    ),
    'swap-held': (
        swap_held,
        ('KILLED worker[710]', 'swap'),
        'host-exhausted',
        {'swap-heavy', 'victim-is-largest'},
        {'victim-not-largest', 'zone-exhausted'},
    ),
    'ancestor': (ancestor, ('KILLED node[811]', 'its pod hit'), 'ancestor-limit', {'victim-is-largest'}, {'own-limit'}),
    'group': (
        group,
        ('KILLED uwsgi[902]', 'memory.oom.group'),
        'fork-family',
        {'group-kill', 'own-limit', 'victim-is-largest'},
        {'ancestor-limit', 'victim-not-largest'},
    ),
    'limit-lowered': (
        limit_lowered,
        ('KILLED python3[1000]', '8.00 GiB', '11.0 GiB'),
        'limit-lowered',
        {'tmpfs-held', 'own-limit'},
        {'kernel-memory-held', 'fork-family', 'no-process-holds-it'},
    ),
    'dirty-cache': (
        dirty_cache,
        ('KILLED dd[1101]', 'file pages that wait to be written'),
        'page-cache-dirty',
        {'own-limit', 'victim-is-largest'},
        {'tmpfs-held', 'kernel-memory-held', 'limit-lowered'},
    ),
    'lowmem': (
        lowmem,
        ('KILLED mysqld[1200]', 'no zone', 'order 2'),
        'zone-exhausted',
        {'victim-is-largest'},
        {'host-exhausted', 'own-limit', 'node-bound'},
    ),
    'mempolicy': (
        mempolicy,
        ('KILLED solver[1301]', 'node'),
        'node-bound',
        {'victim-is-largest'},
        {'host-exhausted', 'zone-exhausted', 'own-limit'},
    ),
    'sysrq': (
        sysrq,
        ('firefox[1402]', 'sysrq'),
        'operator-request',
        {'victim-is-largest'},
        {'host-exhausted', 'zone-exhausted', 'own-limit'},
    ),
    'immune-eater': (
        immune_eater,
        ('KILLED nginx[1502]', 'agent[1500]', '-1000'),
        'victim-not-largest',
        {'host-exhausted'},
        {'victim-is-largest', 'zone-exhausted', 'no-victim'},
    ),
}


def verdict_errors(binary, name):
    build, _, first, must, never = SITUATIONS[name]
    done = subprocess.run(
        [binary, 'parse', '--json', '-q'], input=build().text().encode(), capture_output=True, check=True
    )
    record = json.loads(done.stdout)
    ids = [verdict['id'] for verdict in record['verdicts']]
    if ids[0] != first or not must <= set(ids) or never & set(ids):
        yield f'verdicts {ids}; wanted: first {first}, with {sorted(must)}, without {sorted(never)}'
    if record['summary'] != record['verdicts'][0]['claim']:
        yield f'summary {record["summary"]!r}'


def errors_of(binary, name):
    build, words = SITUATIONS[name][:2]
    done = subprocess.run(
        [binary, 'parse', '--text', '--width', '80', '--color', 'never', '-q'],
        input=build().text().encode(),
        capture_output=True,
        check=True,
        env={**os.environ, 'TZ': 'UTC'},
    )
    screen = done.stdout.decode()
    golden = GOLDEN / f'situation-{name}.txt'
    if os.environ.get('GOLDEN_UPDATE'):
        golden.write_text(screen, encoding='utf-8')
    if screen != golden.read_text(encoding='utf-8'):
        yield f'not as {golden}: {screen}'
    flat = ' '.join(screen.split())
    yield from (f'{word!r} is not said' for word in words if word not in flat)
    if screen.count('\n') > SCREEN or max(map(len, screen.splitlines())) > 80:
        yield f'{screen.count(chr(10))} lines: more than a screen'
    if done.stderr:
        yield f'stderr: {done.stderr!r}'


def main():
    binary = sys.argv[1] if len(sys.argv) > 1 else str(TOP / 'build' / 'oomsnoop')
    results = Results(False)
    for name in SITUATIONS:
        results.add(f'situations/{name}', [*errors_of(binary, name), *verdict_errors(binary, name)])
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
