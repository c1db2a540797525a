#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks of growth themselves: right records pass, and every lie about who grew is found."""
import copy
import unittest

import growth
from growth import MIB, SLACK, parts_of
from scenarios import read_account

LEAK = '''
pid=10 event=start mode=anon
pid=10 event=ready
pid=10 event=grown bytes=1048576 ms=0
pid=10 event=grown bytes=41943040 ms=500
pid=10 event=done mode=anon bytes=41943040 ms=510 rss=41943040 swap=0 held=42991616
'''
PUSHER = '''
pid=20 event=start mode=anon
pid=20 event=ready
pid=20 event=touched bytes=4194304
'''
COW = '''
pid=30 event=start mode=copy
pid=30 event=ready
pid=30 event=touched bytes=16777216
pid=31 event=worker number=0
pid=32 event=worker number=1
pid=31 event=worked bytes=16777216 rss=278528 anon=0 private_dirty=16777216 copied=16777216
pid=32 event=worked bytes=16777216 rss=278528 anon=0 private_dirty=16777216 copied=16777216
pid=30 event=done workers=2 bytes=16777216
'''
WRITER = '''
pid=40 event=start mode=write
pid=40 event=ready
pid=40 event=grown bytes=37748736 ms=600
pid=40 event=done mode=write bytes=37748736 ms=700 rss=61440 swap=0 held=900000
'''
KILLED = '''
pid=50 event=start mode=anon
pid=50 event=ready
pid=50 event=grown bytes=1048576 ms=0
pid=50 event=grown bytes=46137344 ms=6600
pid=50 event=grown bytes=47185920 ms=6750
'''


def process(pid, delta, cow=0, **more):
    return {
        'pid': pid,
        'comm': 'grow',
        'started': '2026-01-01T00:00:00.000000000Z',
        'delta_bytes': delta,
        'cow_bytes': cow,
        'held_bytes': max(delta, 0),
        'state': 'alive',
    } | more


def record(processes, rest=0, **more):
    """A record of a kill two minutes after all of them began, a minute of it in the window."""
    whole = sum(one['delta_bytes'] + one['cow_bytes'] for one in processes) + rest
    return {
        'ts': '2026-01-01T00:02:00.123456789Z',
        'window_ms': 60000,
        'limit_cgroup': '/t',
        'usage_bytes': whole + 4096,
        'growth': {
            'delta_bytes': whole,
            'unattributed_bytes': rest,
            'kind': 'steady',
            'bytes_per_s': MIB,
            'series_bytes': [4096, whole // 2, whole + 4096],
        },
        'growth_cgroups': [{'cgroup': '/t', 'delta_bytes': whole, 'own_delta_bytes': whole}],
        'growth_processes': processes,
    } | more


def parts(*accounts):
    return [part for account in accounts for part in parts_of(read_account(account.strip()))]


class Accounts(unittest.TestCase):
    def test_done(self):
        (part,) = parts(LEAK)
        self.assertEqual((part.grown, part.before), ((40 * MIB, 40 * MIB), MIB))

    def test_killed_midway(self):
        (part,) = parts(KILLED)
        self.assertEqual(part.grown, (45 * MIB, 46 * MIB))

    def test_copies(self):
        by_pid = {part.pid: part for part in parts(COW)}
        self.assertEqual(by_pid[31].copied, 16 * MIB)
        self.assertEqual(by_pid[31].grown, (278528, 278528))
        self.assertEqual((by_pid[30].copied, by_pid[30].grown), (0, (16 * MIB,) * 2))

    def test_written(self):
        (part,) = parts(WRITER)
        self.assertEqual((part.cached, part.least), ((36 * MIB,) * 2, 36 * MIB + 61440))

    def test_silent_eater(self):
        (part,) = parts('pid=1 event=start mode=anon')
        self.assertEqual(part.grown, (0, 4 * MIB))


class Records(unittest.TestCase):
    def assert_found(self, errors, word):
        errors = list(errors)
        self.assertTrue(any(word in error for error in errors), errors)

    def right(self):
        return record([process(10, 40 * MIB), process(20, 5 * MIB)], rest=MIB)

    def test_right_one_passes(self):
        self.assertEqual(list(growth.record_errors(self.right(), parts(LEAK, PUSHER))), [])
        self.assertEqual(list(growth.domain_errors(self.right(), 4096)), [])
        self.assertEqual(list(growth.series_errors(self.right())), [])
        self.assertEqual(list(growth.rest_errors(self.right(), 0)), [])
        self.assertEqual(list(growth.kind_errors(self.right(), 'steady', rate=MIB)), [])

    def test_no_growth_at_all(self):
        self.assert_found(growth.record_errors({'missing': []}, parts(LEAK)), 'no growth')

    def test_wrong_order(self):
        spoiled = self.right()
        spoiled['growth_processes'].reverse()
        self.assert_found(growth.record_errors(spoiled, parts(LEAK, PUSHER)), 'the first of')

    def test_culprit_left_out(self):
        spoiled = record([process(20, 5 * MIB)], rest=41 * MIB)
        self.assert_found(growth.record_errors(spoiled, parts(LEAK, PUSHER)), '10 is not in')

    def test_bounds(self):
        for change, found in ((SLACK - 1, False), (SLACK + 1, True), (-SLACK - 1, True)):
            spoiled = record([process(10, 40 * MIB + change), process(20, 5 * MIB)])
            errors = list(growth.record_errors(spoiled, parts(LEAK, PUSHER)))
            self.assertEqual(bool(errors), found, (change, errors))

    def test_both_numbers_are_told(self):
        spoiled = record([process(10, 30 * MIB), process(20, 5 * MIB)])
        (error,) = growth.record_errors(spoiled, parts(LEAK, PUSHER))
        self.assertIn(str(30 * MIB), error)
        self.assertIn(str(40 * MIB), error)

    def test_born_within_the_window(self):
        """Then it grew by what it held before, too."""
        young = {'started': '2026-01-01T00:01:30.000000000Z'}
        for delta, found in (
            (41 * MIB, False),
            (41 * MIB + SLACK + 1, True),
            (41 * MIB - SLACK - 1, True),
        ):
            made = record([process(10, delta, **young)])
            errors = list(growth.delta_errors(made, parts(LEAK)[0]))
            self.assertEqual(bool(errors), found, (delta, errors))

    def test_sum(self):
        spoiled = self.right()
        spoiled['growth']['unattributed_bytes'] += 4096
        self.assert_found(growth.record_errors(spoiled, parts(LEAK, PUSHER)), 'not the whole')

    def test_copies(self):
        workers = [process(31, 278528, 16 * MIB), process(32, 278528, 16 * MIB)]
        accounts = [part for part in parts(COW) if part.copied]
        self.assertEqual(list(growth.record_errors(record(workers), accounts)), [])
        for cow, bound, found in (
            (15 * MIB, False, True),
            (15 * MIB, True, True),
            (17 * MIB, False, True),
            (17 * MIB, True, False),
            (30 * MIB, True, False),
            (0, True, True),
        ):
            spoiled = copy.deepcopy(workers)
            spoiled[1] |= {'cow_bytes': cow} | ({'cow_upper_bound': True} if bound else {})
            errors = list(growth.record_errors(record(spoiled), accounts))
            self.assertEqual(bool(errors), found, (cow, bound, errors))

    def test_copies_that_were_none(self):
        (part,) = parts(LEAK)
        spoiled = record([process(10, 40 * MIB, 2 * MIB)])
        self.assert_found(growth.record_errors(spoiled, [part]), 'cow_bytes')

    def test_cached(self):
        good = record([process(40, 61440, cached_bytes=36 * MIB)], rest=36 * MIB)
        self.assertEqual(list(growth.record_errors(good, parts(WRITER))), [])
        self.assertEqual(list(growth.rest_errors(good, 36 * MIB)), [])
        for cached in (0, 30 * MIB):
            good['growth_processes'][0]['cached_bytes'] = cached
            self.assert_found(growth.record_errors(good, parts(WRITER)), 'cached_bytes')

    def test_rest(self):
        self.assert_found(growth.rest_errors(self.right(), 36 * MIB), 'unattributed_bytes')
        spoiled = record([process(10, 40 * MIB)], rest=-16 * MIB)
        self.assert_found(growth.rest_errors(spoiled, 0), 'unattributed_bytes')

    def test_domain(self):
        self.assert_found(growth.domain_errors(self.right(), 20 * MIB), 'growth.delta_bytes')
        elsewhere = self.right() | {'limit_cgroup': '/u'}
        self.assert_found(growth.domain_errors(elsewhere), 'does not name')
        spoiled = self.right()
        spoiled['growth_cgroups'][0]['delta_bytes'] += 1
        self.assert_found(growth.domain_errors(spoiled), 'growth_cgroups')

    def test_kind_and_rate(self):
        self.assert_found(growth.kind_errors(self.right(), 'spike'), 'growth.kind')
        self.assert_found(growth.kind_errors(self.right(), 'steady', rate=2 * MIB), 'bytes_per_s')

    def test_series(self):
        for series in ([], [4096], [4096, 5, 46 * MIB - 2 * SLACK], [0, 46 * MIB + 4096]):
            spoiled = self.right()
            spoiled['growth']['series_bytes'] = series
            self.assert_found(growth.series_errors(spoiled), 'series_bytes')

    def test_counting(self):
        good = record([], fault_counting=[{'from_ms': -900.5, 'to_ms': -1.0}])
        self.assertEqual(list(growth.counting_errors(good)), [])
        self.assert_found(growth.counting_errors(record([])), 'absent')
        for lie in ({'from_ms': 1}, {'to_ms': -1000}, {'to_ms': 5}, {'from_ms': -70000}):
            span = good['fault_counting'][0] | lie
            self.assert_found(growth.counting_errors(good | {'fault_counting': [span]}), 'window')

    def test_swap_is_in_no_usage(self):
        """Then the sum cannot be made of what a record tells."""
        made = record([process(10, 40 * MIB)])
        made['growth']['delta_bytes'] -= 16 * MIB
        self.assert_found(growth.sum_errors(made), 'not the whole')
        self.assertEqual(list(growth.sum_errors(made | {'swap_usage_bytes': 16 * MIB})), [])

    def test_those_that_ended(self):
        """They gave back what they held at the beginning; one that began within, nothing."""
        old = process(40, 4096, held_bytes=MIB + 4096, state='exited')
        young = process(41, 2 * MIB, held_bytes=2 * MIB, state='exited', began=True)
        made = record([process(10, 40 * MIB)], rest=MIB)
        made['growth_processes'] += [old, young]
        self.assert_found(growth.sum_errors(made), 'not the whole')
        made['growth']['delta_bytes'] -= MIB
        self.assertEqual(list(growth.sum_errors(made)), [])

    def test_families(self):
        members = [part for part in parts(COW) if part.copied]
        family = {'root_pid': 30, 'members': 3, 'exited': 0, 'cow_bytes': 32 * MIB}
        good = {'families': [family]}
        self.assertEqual(list(growth.family_errors(good, 30, members)), [])
        self.assert_found(growth.family_errors(good, 31, members), 'does not name')
        for lie in (
            {'members': 2},
            {'exited': 1},
            {'cow_bytes': 16 * MIB},
            {'cow_bytes': 48 * MIB},
        ):
            self.assert_found(
                growth.family_errors({'families': [family | lie]}, 30, members), next(iter(lie))
            )

    def test_moment(self):
        early, late = '2026-01-01T00:00:59.999999999Z', '2026-01-01T00:01:00.000000001Z'
        self.assertAlmostEqual(growth.moment(late) - growth.moment(early), 0, places=3)
        self.assertAlmostEqual(growth.moment(late) % 60, 0, places=3)


if __name__ == '__main__':
    unittest.main()
