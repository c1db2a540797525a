#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`oomsnoop parse` on real logs, and the comparison of it with live records: right ones pass, and any
one number changed is found out.

The logs are what guests caught. Their parse is kept in tests/golden/parsed: after a wanted change run
with GOLDEN_UPDATE=1 and read the difference before it is committed."""
import copy
import json
import os
import subprocess
import unittest
from pathlib import Path

import compare
import parsed
from test_compare import Case, leaves, wrong
from run import Run
from scenarios import SCENARIOS

TESTS = Path(__file__).resolve().parents[1]
DATA = TESTS / 'data' / 'kmsg'
GOLDEN = TESTS / 'golden' / 'parsed'
BINARY = os.environ.get('OOMSNOOP_PARSE_BINARY', TESTS.parent / 'build' / 'oomsnoop')
# Which log, and the scenario that made it.
LOGS = {
    '5.10-adj-minus.kmsg': 'adj-minus',
    '6.1-thread.kmsg': 'thread',
    '6.1-v1-workers.kmsg': 'workers',
    '6.12-adj-plus.kmsg': 'adj-plus',
    '7.3-pid-reuse.kmsg': 'pid-reuse',
    '6.1-group.kmsg': 'group',
    '6.1-v1-cpuset.kmsg': 'cpuset',
    '6.12-hostile-names.kmsg': 'hostile',
    '6.12-global.dmesg': 'global',
    '6.12-swap.kmsg': 'swap',
    '6.12-sysrq.dmesg': 'sysrq',
    '7.3-allocating-task.kmsg': 'allocating-task',
    '7.3-mempolicy.kmsg': 'mempolicy',
}
# What neither the oracle nor a record made of its reading can vouch for.
UNVOUCHED = {
    'v',
    'type',
    'kernel',
    'page_size',
    'mono_ns',
    'incident',
    'source',
    'missing',
    'mems_allowed',
    'candidates_count',
    'zones',
    'verdicts',
    'earlier_kills',
    'limit_inferred',
    'total_computed',
    'swap_usage_bytes',
    'trigger_uid',
    'candidates_at',
    'composition_at',
    'host_total_bytes',
    'host_free_bytes',
    'host_swap_total_bytes',
    'host_swap_free_bytes',
    'host_hugetlb_bytes',
}


def parse(path):
    done = subprocess.run([BINARY, 'parse', '--json', path], capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Golden(unittest.TestCase):
    maxDiff = None

    def test_real_logs(self):
        for log in LOGS:
            path = GOLDEN / (Path(log).stem + '.json')
            with self.subTest(log):
                got = parse(DATA / log)
                if os.environ.get('GOLDEN_UPDATE'):
                    path.write_text(json.dumps(got, indent=1, ensure_ascii=True) + '\n')
                self.assertEqual(got, json.loads(path.read_text()))


class Told:
    """A log, its parse, and records made of the oracle's reading in place of live ones."""

    def __init__(self, log):
        self.case = Case(log, LOGS[log])
        # What the tests of the other comparison do not need of such records.
        for record in self.case.records:
            for level in record.get('limits', []):
                level['cgroup'] = record['limit_cgroup']
            # What the scenario expects need not be what the log shows.
            record.pop('verdicts', None)
            record.pop('summary', None)
        (self.case.path / 'oomsnoop.ndjson').write_text(
            ''.join(json.dumps(record) + '\n' for record in self.case.records)
        )
        self.run = Run(self.case.path)
        self.parsed = parsed.Parsed(BINARY, self.run)
        self.parsed.set_clocks(self.run.find_all())

    def errors(self, index=None, record=None):
        """All differences, with one parsed record in another's place."""
        scenario = SCENARIOS[next(iter(self.run.scenarios))]
        errors = list(self.parsed.errors)
        for at, (incident, live) in enumerate(self.run.find_all()):
            told = self.parsed.by_incident.get(id(incident))
            if at == index:
                self.parsed.by_incident[id(incident)] = record
            pair = compare.Pair(incident, live, scenario, self.run)
            try:
                parsed.check_kill(pair, self.parsed)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                pair.errors.append(repr(error))
            errors += pair.errors
            self.parsed.by_incident[id(incident)] = told
        return errors


class Comparison(unittest.TestCase):
    def test_right_parses_pass(self):
        for log in LOGS:
            with self.subTest(log):
                self.assertEqual(Told(log).errors(), [])

    def test_every_wrong_value_is_found(self):
        for log in LOGS:
            told = Told(log)
            record = told.parsed.records[0]
            for path, value in leaves(record):
                if path[0] in UNVOUCHED:
                    continue
                with self.subTest(log=log, field=path):
                    spoiled = copy.deepcopy(record)
                    place = spoiled
                    for key in path[:-1]:
                        place = place[key]
                    place[path[-1]] = wrong(value)
                    self.assertTrue(told.errors(0, spoiled))

    def test_what_a_log_always_tells_may_not_go(self):
        told = Told('6.12-swap.kmsg')
        record = told.parsed.records[0]
        for name in parsed.KILL_TELLS + parsed.REPORT_TELLS + parsed.LIMIT_TELLS:
            with self.subTest(name):
                short = {key: value for key, value in record.items() if key != name}
                self.assertTrue(told.errors(0, short))

    def test_incidents_too_many_or_too_few(self):
        told = Told('7.3-pid-reuse.kmsg')
        for records in (told.parsed.records[:1], told.parsed.records * 2):
            again = Told('7.3-pid-reuse.kmsg').parsed
            again.records = records
            again.pair(told.run.log.incidents)
            self.assertTrue(again.errors)

    def test_verdicts(self):
        told = Told('6.12-swap.kmsg')
        record = told.parsed.records[0]
        for live in told.run.incidents_seen:
            live['verdicts'] = copy.deepcopy(record['verdicts'])
        self.assertEqual(told.errors(), [])
        for verdicts in (
            record['verdicts'] + [{'id': 'ancestor-limit'}],
            [one for one in record['verdicts'] if one['id'] != 'own-limit'],
        ):
            self.assertTrue(told.errors(0, record | {'verdicts': verdicts}))

    def test_clocks(self):
        told = Told('6.12-swap.kmsg')
        told.parsed.offset += 3
        self.assertTrue(told.errors())

    def test_a_binary_that_fails(self):
        case = Case('6.12-swap.kmsg', 'swap')
        self.assertTrue(parsed.Parsed('/bin/false', Run(case.path)).errors)


if __name__ == '__main__':
    unittest.main()
