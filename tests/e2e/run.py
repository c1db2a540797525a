# SPDX-License-Identifier: Apache-2.0
"""One run of the scenarios: the kernel's log, the tracer's records and the workloads' accounts,
joined."""
import json

import fake
import oracle
from oracle import as_text
from scenarios import read_account, read_run


class Run:
    def __init__(self, directory, schema=None):
        self.directory = directory
        self.name = directory.resolve().name
        self.schema = schema
        self.scenarios = read_run(self.read('scenarios.tsv'))
        self.notes = [line.split('\t') for line in self.read('scenarios.tsv').splitlines()]
        self.log = oracle.parse_file(directory / 'kmsg')
        self.lines = self.read('oomsnoop.ndjson').splitlines()
        self.accounts = {name: read_account(self.read('work.' + name)) for name in self.scenarios}
        self.bad_lines = []
        self.records = list(self.parse())
        self.incidents_seen = [record for record in self.records if record.get('type') == 'oom']
        self.claimed = set()
        self.by_incident = {}
        self.parsed = None  # what the importer makes of the log

    def read(self, name):
        path = self.directory / name
        return path.read_text(errors='surrogateescape') if path.exists() else ''

    def parse(self):
        for number, line in enumerate(self.lines, 1):
            try:
                yield json.loads(line)
            except ValueError as error:
                self.bad_lines.append(f'line {number} is not JSON: {error}')

    def records_from_kernel(self):
        """For a run without a tracer: records made of the kernel's own words, so that the
        comparison can run."""
        self.records = fake.records(self.log, self)
        self.incidents_seen = [record for record in self.records if record['type'] == 'oom']

    def record_of(self, incident):
        """The first record not yet taken that tells of this victim: pids come back, so order
        counts."""
        for index, record in enumerate(self.incidents_seen):
            if index not in self.claimed and record.get('victim_pid') == incident.victim.pid:
                self.claimed.add(index)
                return record
        return None

    def find_all(self):
        """The record of every kill, in the log's order: [(incident, record or None)]."""
        for incident in self.log.incidents:
            if incident.kills and id(incident) not in self.by_incident:
                self.by_incident[id(incident)] = self.record_of(incident)
        return [(i, self.by_incident[id(i)]) for i in self.log.incidents if i.kills]

    def found(self, incident):
        self.find_all()
        return self.by_incident[id(incident)]

    def records_without_victim(self, scenario, refused):
        cgroups = {as_text(i.report.stats_cgroup) for i in refused if i.report.stats_cgroup}
        taken = []
        for index, record in enumerate(self.incidents_seen):
            if (
                index not in self.claimed
                and record.get('outcome') == 'no-killable'
                and record.get('limit_cgroup') in cgroups
            ):
                self.claimed.add(index)
                taken.append(record)
        return taken

    def unclaimed(self):
        """Records that belong to no kill of the kernel's. One that was dying already, of which the
        kernel says nothing, must be a process of ours."""
        ours = {step.get('pid') for account in self.accounts.values() for step in account}
        for index, record in enumerate(self.incidents_seen):
            dying = record.get('outcome') == 'already-exiting' and record['victim_pid'] in ours
            if index not in self.claimed and not dying:
                what = (record.get(key) for key in ('outcome', 'victim_pid', 'limit_cgroup'))
                yield ' '.join(map(str, what))

    def hook_errors(self):
        """A stock kernel takes the first choice of each purpose: that one was refused is a program
        of ours that it could not load, which the next choice would hide."""
        first = self.records[0] if self.records else {}
        hooks = first.get('hooks', {}) if first.get('type') == 'start' else {}
        if first.get('tier') != 'full' or '+' in self.name:
            return []
        return [f'{name}: {hook}' for name, hook in hooks.items() if hook.startswith('kprobe')]

    def split_counters(self):
        """Does this kernel keep resident set counters in part with each thread?"""
        release = self.read('release').split('.')
        return len(release) > 1 and (int(release[0]), int(release[1])) < (6, 2)

    def kill_errors(self):
        """What the scenario killed by somebody else's SIGKILL is one record of that manner, and no
        signal of the OOM killer's is one."""
        if not self.records or self.records[0].get('type') != 'start':
            return
        kills = [record for record in self.records if record.get('type') == 'kill']
        for name, manner, *pids in self.notes:
            if name != 'kills' or manner not in ('cgroup.kill', 'each', 'shm-full'):
                continue
            pids = sorted(map(int, pids))
            if manner == 'shm-full':
                told = [r for r in kills if r['target_pid'] in pids]
                # Before 5.19 nothing reads what each CPU counts.
                sure = 'shm-full' in [v['id'] for r in told for v in r['verdicts']]
                if len(told) != 1 or not (
                    sure or (self.name.startswith('5.') and 'full' in told[0]['summary'])
                ):
                    yield f'the tmpfs that {pids} found full is told as {[r["summary"] for r in told]}'
                continue
            found = [
                (record['manner'], record['targets_total'])
                for record in kills
                if sorted(t['pid'] for t in record.get('targets', ())) == pids
            ]
            if found != [(manner, len(pids))]:
                yield f'{manner} of {pids} is told as {found}'
        victims = {victim['pid'] for i in self.incidents_seen for victim in i.get('victims', ())}
        told = {record['target_pid'] for record in kills if record['manner'] == 'kernel'}
        if told & victims:
            yield f'the OOM killer killed {told & victims}, and the kernel as somebody else'

    def stall_errors(self):
        """What the scenario brought to a standstill is told once when it stands, with the files' own numbers, and once when it is
        let go; of what is merely reclaimed, and of what dies, no such thing is told."""
        told = [record for record in self.records if record.get('type') == 'stall']
        wanted = [note for note in self.notes if note[0] == 'stall' and note[1] == 'eater']
        states = [(record['cgroup'].rsplit('/', 1)[-1], record['state']) for record in told]
        if states != [('stall', 'stalled'), ('stall', 'ended')] * len(wanted):
            yield f'{len(wanted)} standstills are told as {states}'
        for (_, _, pid, _, passed), record in zip(wanted, told):
            if not int(passed):
                yield 'memory.high of the reader was never passed: that it is not told says nothing'
            if record['high_bytes'] != 16 << 20 or record['usage_bytes'] < record['high_bytes']:
                yield f"usage {record['usage_bytes']} of {record['high_bytes']}"
            if record['lasted_ms'] < 10000 or record['pressure_full_percent'] < 50:
                yield f"{record['lasted_ms']} ms, full {record['pressure_full_percent']} %"
            if [process['pid'] for process in record.get('processes', ())] != [int(pid)]:
                yield f"who holds it: {record.get('processes')}, not {pid}"
            if [verdict['id'] for verdict in record['verdicts']] != ['high-livelock']:
                yield f"verdicts {record['verdicts']}"

    def account_errors(self):
        """What `oomsnoop run` told of its commands."""
        exits = [int(note[3]) for note in self.notes if note[:2] == ['run', 'exit']]
        if not exits:
            return
        if exits != [137, 137]:
            yield f'oomsnoop run ended with {exits}'
        for name, wanted in (('oom', 'oom-killed'), ('alone', 'exited-by-itself')):
            lines = [line for line in self.read(f'run.{name}').splitlines() if line.startswith('{')]
            record = json.loads(lines[-1]) if lines else {}
            told = [verdict['id'] for verdict in record.get('verdicts', ())]
            if record.get('type') != 'run' or told != [wanted]:
                yield f'{name}: {record.get("type")} {told}, and not {wanted}'

    def refusal_errors(self):
        """What the scenario asked for and was not given is one record each, with the limit that it
        was; of what was given there is none."""
        first = self.records[0] if self.records else {}
        hook = first.get('hooks', {}).get('refused')
        if not hook:
            return
        # Kernels whose types tell too little: these two alone.
        seen = ('mmap', 'fork') if hook == 'fexit kernel_clone' else ('mmap', 'fork', 'brk', 'mremap')
        refusals = [record for record in self.records if record.get('type') == 'refusal']
        for note in self.notes:
            if note[0] != 'refused' or len(note) != 4 or note[1] == 'exit':
                continue
            _, cause, call, pid = note
            if call not in seen:
                cause = 'none'
            found = [(r.get('cause'), r['call']) for r in refusals if r['pid'] == int(pid)]
            if found != ([] if cause == 'none' else [(cause, call)]):
                yield f'{call} of {pid}, refused by {cause}, is told as {found}'

    def tgid_of(self, scenario, tid):
        """A thread's process, by the workload's own account; else they are the same."""
        return next(
            (step['pid'] for step in self.accounts[scenario] if step.get('tid') == tid), tid
        )

    def silent_victims(self, scenario):
        """Who shared the victim's memory and was killed without a word in the log."""
        pids = {step['pid'] for step in self.accounts[scenario]} if scenario == 'sharemm' else set()
        return set(pids) - {
            pid for i in self.log.incidents if i.scenario == scenario for pid in i.pids
        }

    def line_errors(self):
        errors = list(self.bad_lines)
        for raw, line in zip(self.lines, self.records):
            if any(ord(char) < 0x20 or 0xDC80 <= ord(char) <= 0xDCFF for char in raw):
                errors.append(f'control characters or broken UTF-8 in {raw[:80]!r}')
            if list(line)[:5] != ['v', 'type', 'ts', 'host', 'boot_id']:
                errors.append(f'first keys are {list(line)[:5]}')
        return errors + self.schema_errors()

    def schema_errors(self):
        if not self.schema or not self.lines:
            return []
        if not self.schema.exists():
            return [f'no schema at {self.schema}']
        # Imported late: the comparison's own tests do without it.
        from jsonschema import Draft202012Validator

        validator = Draft202012Validator(json.loads(self.schema.read_text()))
        return [
            f'{line.get("type")} line, {"/".join(map(str, error.path))}: {error.message[:200]}'
            for line in self.records
            for error in validator.iter_errors(line)
        ]

    def order_errors(self):
        """Records carry the kernel's order of the kills."""
        stamps = {}
        for record in self.incidents_seen:
            stamps.setdefault(record.get('victim_pid'), []).append(record.get('mono_us', 0))
        taken = {}
        times = []
        for incident in self.log.incidents:
            if incident.kills and (mine := stamps.get(incident.victim.pid)):
                index = taken.get(incident.victim.pid, 0)
                taken[incident.victim.pid] = index + 1
                if index < len(mine):
                    times.append((mine[index], incident.victim.pid))
        return [
            f'{b[1]} was killed after {a[1]}, the records say before'
            for a, b in zip(times, times[1:])
            if b[0] < a[0]
        ]

    def end_errors(self):
        if not self.lines:
            return []
        errors = []
        if not self.records or self.records[0].get('type') != 'start':
            errors.append('the first line is no start line')
        if not self.records or self.records[-1].get('type') != 'stop':
            errors.append('the last line is no stop line')
        errors += [
            f'oomsnoop ended with {note[2]}'
            for note in self.notes
            if note[:2] == ['tracer', 'exit'] and note[2] != '0'
        ]
        errors += [
            f'doctor ended with {note[2]}'
            for note in self.notes
            if note[0].startswith('doctor') and note[1] == 'exit' and note[2] != '0'
        ]
        return errors

    def counted(self, scenario):
        """What the files of cgroupfs said after the kill: {(cgroup, file): {key: count}}, cgroup
        below the run's own."""
        counted = {}
        for line in self.read('events.tsv').splitlines():
            name, cgroup, file, key, count = line.split('\t')
            if name == scenario:
                counted.setdefault((cgroup, file), {})[key] = int(count)
        return counted

    def facts(self):
        """Numbers worth a look: how long the start took, and how much memory the tracer held."""
        yield from (f'{note[0]} skipped: {note[2]}' for note in self.notes if note[1] == 'skipped')
        at = {note[1]: int(note[2]) for note in self.notes if note[0] == 'tracer'}
        if 'ready' in at:
            yield f'ready {(at["ready"] - at["start"]) * 10} ms after its start'
        status = [line.split() for line in self.read('oomsnoop.status').splitlines()]
        yield from (
            ' '.join(words)
            for words in status
            if words and words[0] in ('VmRSS:', 'VmHWM:', 'VmLck:')
        )
        for record in self.incidents_seen:
            if record.get('closed') not in ('exited', 'reaped', 'at-once', None):
                yield f'the record of {record.get("victim_pid")} was closed by {record["closed"]}'
