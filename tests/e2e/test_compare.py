#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The comparison itself: right records pass, and a record with any one number changed is found
out."""
import contextlib
import copy
import io
import json
import tempfile
import unittest
import weakref
from pathlib import Path

import compare
import fake
from results import Results
from run import Run
from scenarios import SCENARIOS

DATA = Path(__file__).resolve().parents[1] / 'data' / 'kmsg'
# Fields that the kernel's report cannot vouch for.
UNCHECKED = {
    'v',
    'type',
    'ts',
    'host',
    'boot_id',
    'mono_us',
    'victim_started',
    'victim_ppid',
    'tier',
    'closed',
    'lost_events',
}


class Case:
    """A run directory made of one fixture, with records that can be spoiled."""

    def __init__(self, fixture, scenario, account=''):
        self.temp = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        weakref.finalize(self, self.temp.cleanup)
        self.path = Path(self.temp.name)
        mark = f'13,1,1,-;oomsnoop-test: begin {scenario}\n'
        log = (DATA / fixture).read_bytes()
        (self.path / 'kmsg').write_bytes(log if log.startswith(b'13,') else mark.encode() + log)
        (self.path / 'scenarios.tsv').write_text(f'{scenario}\tbegin\t1\n')
        (self.path / f'work.{scenario}').write_text(account)
        run = Run(self.path)
        self.records = fake.records(run.log, run)
        for number, record in enumerate(self.kills()):
            judge(record, SCENARIOS[scenario], number)

    def kills(self):
        return [record for record in self.records if record.get('outcome') == 'killed']

    def failures(self, records):
        """The names of the checks that fail with these records."""
        (self.path / 'oomsnoop.ndjson').write_text(
            ''.join(json.dumps(record) + '\n' for record in records)
        )
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            compare.check_run(Results(quiet=True), self.path, None, bare=False)
        return [line for line in output.getvalue().splitlines() if line.startswith('FAIL')]


def judge(record, scenario, number):
    """As the scenario expects it; every part of it counts."""
    wanted = scenario.again if number else (*scenario.first[:1], *scenario.must)
    ids = list(dict.fromkeys(wanted)) or ['own-limit']
    record['verdicts'] = [{'id': one} for one in ids]
    record['verdicts'][0]['claim'] = record['summary'] = 'It did.'


def leaves(value, path=()):
    """Paths of all numbers and strings in a record."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, path + (key,))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, path + (index,))
    else:
        yield path, value


def spoil(record, path, value):
    record = copy.deepcopy(record)
    place = record
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = wrong(value)
    return record


def wrong(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        # More than what may come back to a cgroup between two readings.
        return value + (1 << 30)
    return '0x7' if value.startswith('0x') else value + '!'


class Compare(unittest.TestCase):
    CASES = [
        ('7.3-mempolicy.kmsg', 'mempolicy'),
        ('6.1-v1-cpuset.kmsg', 'cpuset'),
        ('6.12-swap.kmsg', 'swap'),
        ('6.12-hostile-names.kmsg', 'hostile'),
        ('6.12-global.dmesg', 'global'),
        ('6.12-sysrq.dmesg', 'sysrq'),
    ]

    def test_right_records_pass(self):
        for fixture, scenario in self.CASES + [
            ('7.3-allocating-task.kmsg', 'allocating-task'),
            ('6.1-group.kmsg', 'group'),
        ]:
            with self.subTest(fixture):
                case = Case(fixture, scenario)
                self.assertEqual(case.failures(case.records), [])

    def test_every_wrong_value_is_found(self):
        for fixture, scenario in self.CASES:
            case = Case(fixture, scenario)
            record = case.records[1]
            for path, value in leaves(record):
                if path[0] in UNCHECKED or path[0] == 'kernel_log':
                    continue
                with self.subTest(fixture=fixture, field=path):
                    spoiled = [case.records[0], spoil(record, path, value)] + case.records[2:]
                    self.assertTrue(case.failures(spoiled))

    def test_every_absent_field_is_found_unless_it_is_named(self):
        case = Case('6.12-swap.kmsg', 'swap')
        for name in compare.EXPECTED + compare.EXPECTED_MEMCG:
            with self.subTest(name):
                record = {key: value for key, value in case.records[1].items() if key != name}
                self.assertTrue(case.failures([case.records[0], record, case.records[2]]))
                # A record without its victim's pid can be joined to nothing.
                if name != 'victim_pid':
                    record['missing'] = [{'field': name, 'why': 'a test'}]
                    self.assertEqual(case.failures([case.records[0], record, case.records[2]]), [])

    def test_what_older_kernels_do(self):
        pipes = SCENARIOS['pipes']
        self.assertIn('kernel-memory-held', pipes.on('5.10.0-32-cloud-amd64', 'v2').never)
        for release, version in (('5.18.0', 'v2'), ('7.3.4', 'v2'), ('5.10.0', 'v1'), ('', '')):
            self.assertEqual(pipes.on(release, version), pipes)

    def test_missing_and_extra_records(self):
        case = Case('6.12-hostile-names.kmsg', 'hostile')
        start, first, second, stop = case.records
        self.assertTrue(case.failures([start, first, stop]))
        self.assertTrue(case.failures([start, first, second, second, stop]))
        self.assertTrue(case.failures([start, first, second]))

    def test_order(self):
        case = Case('6.12-hostile-names.kmsg', 'hostile')
        start, first, second, stop = case.records
        swapped = first | {'mono_us': second['mono_us']}, second | {'mono_us': first['mono_us']}
        self.assertTrue(any('/order' in line for line in case.failures([start, *swapped, stop])))

    def test_group_members(self):
        case = Case('6.1-group.kmsg', 'group')
        record = copy.deepcopy(case.records[1])
        record['victims'].pop()
        self.assertTrue(case.failures([case.records[0], record, case.records[2]]))

    def test_a_bound_is_used_only_where_something_runs(self):
        for fixture, scenario, found in (
            ('6.1-group.kmsg', 'group', False),
            ('6.12-swap.kmsg', 'swap', True),
        ):
            case = Case(fixture, scenario)
            record = case.records[1] | {
                'victim_anon_bytes': case.records[1]['victim_anon_bytes'] + 8192
            }
            self.assertEqual(bool(case.failures([case.records[0], record, case.records[2]])), found)

    def test_broken_lines(self):
        case = Case('6.12-swap.kmsg', 'swap')
        self.assertTrue(case.failures(case.records[:2] + [{'type': 'oom'}] + case.records[2:]))

    def test_lies_about_loss_and_log(self):
        case = Case('6.12-swap.kmsg', 'swap')
        for lie in (
            {'lost_events': 1},
            {'kernel_log': 'differs'},
            {'tier': 'tracepoint', 'badness': None},
            {'outcome': 'no-killable'},
        ):
            with self.subTest(lie):
                self.assertTrue(
                    case.failures([case.records[0], case.records[1] | lie, case.records[2]])
                )


if __name__ == '__main__':
    unittest.main()
