#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""systemd_kills.py DIR: what oomsnoop told in run-systemd's guest, of which DIR holds what came, against what was done there:
who killed, how, and what must not be told of it. Prints "ok NAME" and "FAIL NAME: why" lines and a last line of sums."""
import json
import sys
from pathlib import Path

from kills_test import SCHEMA
from results import Results
from tracer import differ


class Guest:
    def __init__(self, directory):
        self.directory = Path(directory)
        lines = (self.directory / 'oomsnoop.ndjson').read_bytes().splitlines()
        self.records = [json.loads(line) for line in lines]
        words = [line.split() for line in (self.directory / 'done').read_text().splitlines()]
        self.done = {name: int(number) for name, number in words}

    def kills(self, pid):
        return [
            record
            for record in self.records
            if record['type'] == 'kill'
            and pid in (record['target_pid'], *(one['pid'] for one in record.get('targets', ())))
        ]

    def ooms(self, pid):
        return [
            record
            for record in self.records
            if record['type'] == 'oom'
            and pid in (record['victim_pid'], *(one['pid'] for one in record.get('victims', ())))
        ]


def ids(record):
    return [one['id'] for one in record['verdicts']]


def one_kill(guest, name, unit):
    """(the record, errors): it was told once, and not as an OOM kill."""
    pid = guest.done[name]
    records = guest.kills(pid)
    if len(records) != 1:
        return None, [f'{len(records)} records of the kill of {pid}']
    errors = list(differ(records[0], target_unit=unit))
    if guest.ooms(pid):
        errors.append('told as an OOM kill')
    return records[0], errors


def by_manager(guest, name, unit):
    record, errors = one_kill(guest, name, unit)
    yield from errors
    if not record:
        return
    yield from differ(record, sender_pid=1, sender_kind='service-manager', sender_name='systemd',
                      sigterm_pid=1)
    if record.get('sigterm_ms_before', 0) < 900:
        yield f'SIGTERM {record.get("sigterm_ms_before")} ms before'


def service_stop(guest):
    yield from by_manager(guest, 'service-stop', 'deaf.service')
    for record in guest.kills(guest.done['service-stop']):
        if ids(record) != ['cgroup-killed']:
            yield f'verdicts {ids(record)}'


def scope_stop(guest):
    yield from by_manager(guest, 'scope-stop', 'handmade.scope')
    for record in guest.kills(guest.done['scope-stop']):
        if ids(record) != ['cgroup-killed']:
            yield f'verdicts {ids(record)}'


def policy_stop(guest):
    """The OOM killer took one, and systemd what was left."""
    yield from by_manager(guest, 'policy-stop', 'policy-stop.service')
    for record in guest.kills(guest.done['policy-stop']):
        if ids(record)[0] != 'cleanup-after-oom' or 'killed-by-process' in ids(record):
            yield f'verdicts {ids(record)}'
        if not any(guest.ooms(record.get('oom_kill_pid'))):
            yield f'the OOM kill of {record.get("oom_kill_pid")} is not told'


def policy_kill(guest):
    """The OOM killer took both, and nobody else any."""
    pid = guest.done['policy-kill']
    if len(guest.ooms(pid)) != 1:
        yield f'{len(guest.ooms(pid))} OOM kills of {pid}'
    for record in guest.ooms(pid):
        if 'group-kill' not in ids(record):
            yield f'verdicts {ids(record)}'
    if guest.kills(pid):
        yield 'told as a kill by somebody else'


def oomd(guest):
    record, errors = one_kill(guest, 'oomd', 'pressed-eater.service')
    yield from errors
    if not record:
        return
    yield from differ(record, sender_kind='oom-daemon', sender_name='systemd-oomd',
                      sender_file='systemd-oomd', sender_uid=990)
    if ids(record) != ['killed-by-oom-daemon'] or record['verdicts'][0]['confidence'] != 'certain':
        yield f'verdicts {record["verdicts"]}'
    claim = record['verdicts'][0]['claim']
    if not claim.startswith('Not the OOM killer: systemd-oomd (pid ') or 'memory pressure of' not in claim:
        yield f'the claim is {claim}'
    # What it was asked to kill from on.
    if record.get('cgroup_pressure_full_percent', 0) < 5:
        yield f'at a pressure of {record.get("cgroup_pressure_full_percent")} %'
    print(f'note {claim}')


def only_these(guest):
    """Whoever is told was killed on purpose."""
    units = {'deaf.service', 'handmade.scope', 'policy-stop.service', 'pressed-eater.service'}
    for record in guest.records:
        if record['type'] == 'kill' and record.get('target_unit') not in units:
            yield f'told, too: {record["verdicts"][0]["claim"]}'


def valid(guest):
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(json.loads(SCHEMA.read_text()))
    for record in guest.records:
        for error in validator.iter_errors(record):
            yield f'{record.get("type")}, {"/".join(map(str, error.path))}: {error.message[:150]}'
    if guest.done.get('tracer') != 0:
        yield f'the tracer ended with {guest.done.get("tracer")}'


def main():
    guest, results = Guest(sys.argv[1]), Results()
    for test in (service_stop, scope_stop, policy_stop, policy_kill, oomd, only_these, valid):
        try:
            errors = list(test(guest))
        except (LookupError, OSError, ValueError) as error:
            errors = [repr(error)]
        results.add(f'systemd/{test.__name__.replace("_", "-")}', errors)
    return results.finish()


if __name__ == '__main__':
    raise SystemExit(main())
