#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The oracle against cuts of real kernel logs, by literal numbers read off them by hand."""
import unittest
from pathlib import Path

import oracle

DATA = Path(__file__).resolve().parents[1] / 'data' / 'kmsg'
KIB = 1024


def parse(name):
    return oracle.parse_file(DATA / name)


def only(name):
    incidents = parse(name).incidents
    assert len(incidents) == 1, f'{name}: {len(incidents)} incidents'
    return incidents[0]


class Oracle(unittest.TestCase):
    def test_no_unknown_line_in_any_fixture(self):
        for path in sorted(DATA.iterdir()):
            with self.subTest(path.name):
                log = oracle.parse_file(path)
                self.assertTrue(log.incidents)
                for incident in log.incidents:
                    self.assertEqual(incident.report.unknown if incident.report else [], [])

    def test_memcg_kill_old_columns(self):
        incident = only('5.10-memcg.dmesg')
        report, kill = incident.report, incident.victim
        self.assertEqual(
            (report.constraint, report.oom_memcg, report.task_memcg),
            ('CONSTRAINT_MEMCG', '/a', '/a'),
        )
        self.assertEqual(
            (report.trigger_comm, report.gfp_mask, report.gfp_flags, report.order),
            ('hog', 0xCC0, 'GFP_KERNEL', 0),
        )
        self.assertEqual(report.counters['memory'], oracle.Counter(40960 * KIB, 40960 * KIB, 21))
        self.assertIsNone(report.counters['swap'].limit)
        self.assertEqual([row.comm for row in report.tasks], ['hog'])
        self.assertIsNone(report.tasks[0].anon)
        self.assertGreater(len(report.stats), 25)
        self.assertEqual(kill.pid, report.victim_pid)

    def test_group_prints_the_first_victim_twice(self):
        incident = only('5.10-group-victim-twice.dmesg')
        self.assertEqual([kill.pid for kill in incident.kills], [226, 226, 227, 228, 229, 230])
        self.assertEqual(incident.pids, {226, 227, 228, 229, 230})
        self.assertEqual(incident.group, '/c')
        self.assertEqual(incident.victim.anon, 12340 * KIB)

    def test_limit_on_the_parent(self):
        report = only('6.1-limit-on-parent.dmesg').report
        self.assertEqual((report.oom_memcg, report.task_memcg), ('/c2', '/c2/leaf'))

    def test_v1_counts_memory_and_swap_together(self):
        report = only('6.1-v1-memcg.dmesg').report
        self.assertEqual(set(report.counters), {'memory', 'memory+swap', 'kmem'})
        self.assertIsNone(report.counters['memory+swap'].limit)

    def test_global(self):
        incident = only('6.12-global.dmesg')
        report, kill = incident.report, incident.victim
        self.assertEqual(
            (report.constraint, report.global_oom, report.oom_memcg),
            ('CONSTRAINT_NONE', True, None),
        )
        self.assertEqual(
            report.meminfo['pages RAM'] - report.meminfo['pages reserved'], 65406 - 15784
        )
        self.assertEqual(report.meminfo['Total swap'], 0)
        row = next(row for row in report.tasks if row.tgid == 303)
        self.assertEqual((row.rss, row.anon, row.file, row.shmem), (37506, 37376, 0, 130))
        self.assertEqual(row.points(49622), 37506 + 348160 // 4096)
        self.assertEqual(
            (kill.pid, kill.total_vm, kill.anon, kill.shmem, kill.pgtables),
            (303, 922596 * KIB, 149504 * KIB, 520 * KIB, 340 * KIB),
        )

    def test_sysrq_is_manual(self):
        incident = only('6.12-sysrq.dmesg')
        self.assertTrue(incident.manual)
        self.assertEqual(incident.report.order, -1)
        self.assertTrue(incident.report.trigger_comm.startswith('kworker/'))

    def test_allocating_task(self):
        incident = only('7.3-allocating-task.kmsg')
        self.assertEqual(incident.victim.message, 'Out of memory (oom_kill_allocating_task)')
        self.assertEqual((incident.victim.pid, incident.victim.anon), (636, 371476 * KIB))
        self.assertEqual(incident.scenario, 'allocating-task')

    def test_no_killable(self):
        incident = only('6.1-no-killable.dmesg')
        self.assertTrue(incident.report.no_killable)
        self.assertEqual((incident.kills, incident.report.stats_cgroup), ([], '/f'))
        self.assertEqual({row.adj for row in incident.report.tasks}, {-1000})

    def test_protection_line(self):
        self.assertEqual(only('7.3-memcg.dmesg').report.protection, (0, 0))

    def test_reaper(self):
        log = parse('7.3-reaper.dmesg')
        self.assertEqual(len(log.reaped), 1)
        self.assertEqual(log.reaped[0][1], log.incidents[0].victim.pid)

    def test_panic(self):
        incident = only('6.12-panic-on-oom.console')
        self.assertTrue(incident.report.panic.startswith('Out of memory: compulsory panic_on_oom'))
        self.assertIsNone(incident.report.constraint)

    def test_cpuset_and_mempolicy(self):
        cpuset, policy = only('6.1-v1-cpuset.kmsg').report, only('7.3-mempolicy.kmsg').report
        self.assertEqual(
            (cpuset.constraint, cpuset.mems_allowed, cpuset.cpuset),
            ('CONSTRAINT_CPUSET', '1', 'node1'),
        )
        self.assertEqual(
            (policy.constraint, policy.nodemask, policy.mems_allowed),
            ('CONSTRAINT_MEMORY_POLICY', '1', '0-1'),
        )
        self.assertEqual(cpuset.zone_present[1], 262016 * KIB)

    def test_swap(self):
        incident = only('6.12-swap.kmsg')
        swap = incident.report.counters['swap']
        self.assertEqual((swap.usage, swap.limit), (24440 * KIB, 24576 * KIB))
        self.assertGreater(incident.report.tasks[0].swapents, 6000)

    def test_dropped_reports(self):
        log = parse('6.1-reports-dropped.kmsg')
        self.assertEqual(
            [incident.report is None for incident in log.incidents], [False] + [True] * 10
        )
        self.assertEqual({incident.scenario for incident in log.incidents}, {'twenty-in-a-row'})

    def test_hostile_names_come_through_byte_by_byte(self):
        first, second = parse('6.12-hostile-names.kmsg').incidents
        self.assertEqual(first.victim.comm, 'a\nb\x1b[31m"\xff\\\\,)x')
        self.assertEqual(first.report.victim_comm, first.victim.comm)
        self.assertEqual(
            first.report.task_memcg, '/t/hostile \x1b[31m "q" \\ \t\xff\xc3(,x\xc2\x9b'
        )
        self.assertEqual(
            oracle.as_text(first.report.task_memcg),
            '/t/hostile \x1b[31m "q" \\ \t\ufffd\ufffd(,x\x9b',
        )
        self.assertEqual(
            (second.victim.comm, second.report.victim_comm), (',pid=1,uid=7', ',pid=1,uid=7')
        )
        self.assertEqual(second.report.victim_pid, second.victim.pid)

    def test_unknown_line_is_noticed(self):
        text = (
            (DATA / '7.3-memcg.dmesg')
            .read_text()
            .replace('Memory cgroup min protection', 'Something new')
        )
        self.assertTrue(oracle.parse(text.encode()).incidents[0].report.unknown)

    def test_rubbish_is_refused(self):
        with self.assertRaises(ValueError):
            oracle.parse(b'hello\n')


if __name__ == '__main__':
    unittest.main()
