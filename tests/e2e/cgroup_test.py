#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cgroup_test.py [-q] [-k TEST] [BINARY]: what oomsnoop tells without any right, from the files of its own
cgroup: in a container of runc's here, as uid 1000 without capabilities, and in a guest with cgroup
v2. Held against what the workloads say they took and how they ended, and against the kernel's log.
Makes contained OOM kills in memory cgroups of its own. Needs root. Prints "ok NAME" and "FAIL NAME:
why" lines and a last line of sums."""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import oracle
import suite
from cli_test import differ
from containers import Bundle
from kmsg_test import Log
from results import Results
from scenarios import MIB, read_account

TOP = Path(__file__).resolve().parents[2]
SCHEMA = TOP / 'docs' / 'record-schema.json'
GUEST = '6.12'
AT_ONCE = 4
# Whose limit it was, where that can be seen.
OTHER_LIMITS = {'own-limit', 'ancestor-limit', 'host-exhausted', 'node-bound', 'zone-exhausted', 'limit-lowered', 'no-victim'}
# What a program of busybox's or ours holds beside what it says that it took: code, stack, libc.
BESIDE = 4 * MIB


def schema_errors(lines):
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(json.loads(SCHEMA.read_text()))
    for line in lines:
        for error in validator.iter_errors(line):
            yield f'{line["type"]}, {"/".join(map(str, error.path))}: {error.message[:200]}'
        if line['type'] == 'oom':
            for entry in line['missing']:
                if entry['field'] in line:
                    yield f'{entry["field"]} is there and named in missing'


def run_errors(lines, status, ooms):
    yield from schema_errors(lines)
    yield from differ('status', status, 0)
    yield from differ(
        'types', [line['type'] for line in lines], ['start'] + ['oom'] * ooms + ['stop']
    )
    yield from differ('tier', lines[0].get('tier'), 'cgroup')


def taken(account):
    """What a workload says that it had touched by its last word."""
    return max((int(step.get('bytes', 0)) for step in account), default=0)


def victim_errors(record, account, slack):
    """Its pid, its name, and what it held: no more than it took, and so much less at most as it took
    since the last look."""
    yield from differ('victim_pid', record.get('victim_pid'), int(account[0]['pid']))
    yield from differ('source', record['source'], 'cgroup')
    held = record.get('victim_anon_bytes', -1)
    took = taken(account)
    # The workload says what it had touched every so often; the step after that may have killed it.
    if not took - slack <= held <= took + slack + BESIDE:
        yield f'the victim held {held}, and had taken {took}'
    if not 0 <= record.get('victim_seen_before_ms', -1) <= 3000:
        yield f'victim_seen_before_ms is {record.get("victim_seen_before_ms")}'


def limit_errors(record, limit):
    hit = next((level for level in record['limits'] if level.get('hit')), {})
    yield from differ('scope', record.get('scope'), 'memcg')
    yield from differ('limit_bytes', record.get('limit_bytes'), limit)
    yield from differ('peak', hit.get('peak_bytes'), limit)


GROW = 'grow -i 60 -s 2048 anon 200 >/out/grow 2>&1; echo $? >/out/grow.status'


def test_child(binary):
    """The fall-back comes by itself, and says what was not permitted."""
    log = Log()
    with Bundle(binary) as box:
        status = box.watched(GROW)
        lines, account = box.lines(), box.account('grow')
        yield from differ('end of the workload', box.read('grow.status'), '137\n')
        yield from run_errors(lines, status, 1)
        record = lines[1]
        yield from victim_errors(record, account, 12 * MIB)
        yield from limit_errors(record, 48 * MIB)
        yield from differ('certainty', record['observed']['victim_certainty'] in ('certain', 'likely'), True)
        yield from differ('kills', record['observed']['kills'], 1)
        yield from differ('victim_comm', record['victim_comm'], 'grow')
        yield from differ('victim_uid', record['victim_uid'], 1000)
        yield from differ('victim_cmdline', record['victim_cmdline'], 'grow -i 60 -s 2048 anon 200')
        if record['growth']['delta_bytes'] < 24 * MIB:
            yield f'it grew by {record["growth"]["delta_bytes"]} only'
        error = box.read('stderr')
        for word in ('CAP_BPF', 'its own cgroup alone', 'cannot be known so', 'may be killed itself'):
            if word not in error:
                yield f'stderr does not tell "{word}": {error}'
        kernel = [one for one in log.incidents().values() if box.top.name in str(one.report and one.report.oom_memcg)]
        yield from differ('kills in the log', len(kernel), 1)
        if kernel:
            yield from differ('comm in the log', oracle.as_text(kernel[0].victim.comm), 'grow')
            told, held = kernel[0].victim.anon, record['victim_anon_bytes']
            if abs(told - held) > 12 * MIB:
                yield f'the victim held {held}, the log says {told}'


def test_two_at_once(binary):
    """Two that are killed one right after the other; and sometimes a third, while their memory is not back."""
    script = '''
grow -i 60 -s 1024 anon 19 >/out/a 2>&1 & A=$!
grow -i 60 -s 1024 anon 18 >/out/b 2>&1 & B=$!
until grep -q done /out/a && grep -q done /out/b; do usleep 20000; done
eat -j 500 anon 20 >/out/c 2>&1 & C=$!
eat -j 500 anon 20 >/out/d 2>&1 & D=$!
wait $C $D
for PID in $A $B; do grep -q "State:.[^Z]" /proc/$PID/status || echo $PID >>/out/more; done
'''
    with Bundle(binary) as box:
        status = box.watched(script)
        lines = box.lines()
        records = [line for line in lines if line['type'] == 'oom']
        yield from run_errors(lines, status, len(records))
        killed = {int(box.account(name)[0]['pid']) for name in 'cd'}
        killed |= {int(pid) for pid in box.read('more').split()}
        yield from differ('kills', sum(one['observed']['kills'] for one in records), len(killed))
        yield from differ('victims', sum(one['victims_total'] for one in records), len(killed))
        named = {one['pid'] for record in records for one in record.get('victims', [])}
        unseen = sum(one['observed']['unseen'] for one in records)
        if len(named & killed) + unseen < len(killed):
            yield f'killed {killed}, named {named}, {unseen} unseen'
        for record in records:
            if named - killed and record['observed']['victim_certainty'] != 'possible':
                yield f'{named - killed} is named and was not killed: {record["observed"]}'


def test_end_by_itself(binary):
    """What it held is gone, and the kernel killed nobody."""
    script = '''
grow -i 20 -s 4096 anon 30 >/out/grow 2>&1 & A=$!
until grep -q done /out/grow; do usleep 20000; done
kill -9 $A; wait $A
eat -x anon 20 >/out/eat 2>&1
'''
    with Bundle(binary) as box:
        status = box.watched(script)
        lines = box.lines()
        yield from run_errors(lines, status, 0)
        yield from differ('incidents', lines[-1]['incidents'], 0)


def test_not_seen(binary):
    """It lives too briefly to be met by any look."""
    with Bundle(binary) as box:
        status = box.watched('eat -S anon 64 >/out/eat 2>&1; echo $? >/out/eat.status', '--json --settle 300ms')
        lines = box.lines()
        yield from differ('end of the workload', box.read('eat.status'), '137\n')
        yield from run_errors(lines, status, 1)
        record = lines[1]
        yield from differ('kills', record['observed']['kills'], 1)
        ids = [verdict['id'] for verdict in record['verdicts']]
        possible = record['observed']['victim_certainty'] == 'possible'
        wanted = {'victim-uncertain'} if possible else {'victim-not-seen'} if record['observed']['unseen'] else set()
        yield from differ('verdicts', {'victim-uncertain', 'victim-not-seen'} & set(ids), wanted)
        if record['observed']['unseen'] == 1:
            yield from differ('victim', record.get('victim_pid'), None)
        elif record['observed']['victim_certainty'] != 'possible':
            # As no more than possible somebody small may be named, who ended by himself meanwhile.
            yield from differ('victim', record.get('victim_pid'), box.account('eat')[0]['pid'])


def test_namespace_and_text(binary):
    """With a cgroup namespace there is no path to be told, and as text."""
    with Bundle(binary, cgroup_namespace=True) as box:
        status = box.watched(GROW, '--max-events 1', end='')
        text = ' '.join(box.read('records').split())
        yield from differ('status', status, 0)
        for word in ('KILLED grow', 'the files of its own cgroup alone', 'last seen', '48.0 MiB'):
            if word not in text:
                yield f'not told: {word}: {text}'


def above_errors(record, victim):
    """The limit was that of a cgroup which cannot be seen: it is told that it was none of those that can."""
    ids = [verdict['id'] for verdict in record['verdicts']]
    yield from differ('victim', record.get('victim_pid'), victim)
    yield from differ('first verdict', ids[0], 'limit-not-here')
    yield from differ('others', OTHER_LIMITS & set(ids), set())
    yield from differ('told of a limit', {'scope', 'limit_cgroup', 'limit_bytes'} & record.keys(), set())
    if 'scope' not in [entry['field'] for entry in record['missing']]:
        yield 'scope is not named in missing'


def test_limit_above(binary):
    """As in a pod: the namespace's own cgroup has no limit, and the hidden one around it has."""
    log = Log()
    with Bundle(binary, cgroup_namespace=True, above=True) as box:
        status = box.watched(GROW)
        lines = box.lines()
        yield from differ('end of the workload', box.read('grow.status'), '137\n')
        yield from run_errors(lines, status, 1)
        yield from above_errors(lines[1], box.account('grow')[0]['pid'])
        hit = [one.report.oom_memcg for one in log.incidents().values() if one.report and box.name in str(one.report.oom_memcg)]
        yield from differ('limit in the log', [oracle.as_text(path) for path in hit], [f'/{box.name}'])


def test_doctor(binary):
    """The quota by all its names, against the files that this test reads itself."""
    script = '''
grow -i 5 -s 4096 anon 24 >/out/grow 2>&1 & A=$!
until grep -q done /out/grow; do usleep 20000; done
/bin/oomsnoop doctor >/out/text; echo $? >/out/text.status
/bin/oomsnoop doctor --json >/out/json
cat /sys/fs/cgroup/memory/memory.usage_in_bytes >/out/usage
cat /sys/fs/cgroup/memory/memory.stat >/out/stat
cat /proc/meminfo >/out/meminfo
kill -9 $A
'''
    with Bundle(binary) as box:
        box.run(script)
        memory = json.loads(box.read('json'))['memory']
        first = box.read('text').splitlines()[0]
        yield from differ('exit status', box.read('text.status'), '77\n')
        yield from differ('first line', first[:22], 'You may use 48.0 MiB; ')
        yield from differ('allowed', memory['allowed_bytes'], 48 * MIB)
        yield from differ('fallback', json.loads(box.read('json'))['fallback'], 'cgroup')
        total = int(box.read('meminfo').split()[1]) * 1024
        yield from differ('host total', memory['host_total_bytes'], total)
        usage = int(box.read('usage'))
        if abs(memory['use']['usage_bytes'] - usage) > 8 * MIB:
            yield f'{memory["use"]["usage_bytes"]} is told to be in use, and {usage} is'
        stat = dict(line.split() for line in box.read('stat').splitlines())
        if abs(memory['use']['anon_bytes'] - int(stat['total_rss'])) > 4 * MIB:
            yield f'anon is {memory["use"]["anon_bytes"]}, memory.stat says {stat["total_rss"]}'
        if memory['use']['anon_bytes'] < 24 * MIB:
            yield 'what the workload took is not there'
        yield from differ('kills', memory['use']['oom_kill'], 0)


def test_source_by_name(binary):
    """bpf: nothing takes its place. record: a store is filled where the cgroup is asked for."""
    script = '''
/bin/oomsnoop --source bpf --timeout 1 2>/dev/null; echo $? >/out/bpf
/bin/oomsnoop record -o /out/oom.db --timeout 1 2>/dev/null; echo $? >/out/record
/bin/oomsnoop record -o /out/oom.db --source cgroup --max-events 1 --ready-fd 3 3>/out/ready 2>/out/stderr &
until grep -q READY /out/ready; do usleep 20000; done
grow -i 60 -s 2048 anon 200 >/out/grow 2>&1
wait
/bin/oomsnoop report /out/oom.db --json >/out/records
/bin/oomsnoop report /out/oom.db --html /out/page.html
'''
    with Bundle(binary) as box:
        box.run(script)
        yield from differ('bpf', box.read('bpf'), '77\n')
        yield from differ('record', box.read('record'), '77\n')
        record = json.loads(box.read('records').splitlines()[-1])
        yield from differ('source', record['source'], 'cgroup')
        yield from differ('victim', record['victim_pid'], box.account('grow')[0]['pid'])
        if 'the files of its own cgroup alone' not in box.read('page.html').replace('\xa0', ' '):
            yield 'the page does not tell its source'


# --- a guest with cgroup v2 ---


def beside(records, comm, limit_name):
    """The record of the tracer that ran beside it with all rights."""
    for record in records:
        if record.get('victim_comm') == comm and limit_name in record.get('limit_cgroup', ''):
            return record
    raise KeyError(f'no record of {comm} in {limit_name} by the tracer beside it')


def guest_kill_errors(record, traced):
    """Pids here are those of the container; the tracer tells both."""
    yield from differ('pid', record.get('victim_pid'), traced['victim_container_pid'])
    yield from differ('limit', record.get('limit_bytes'), traced['limit_bytes'])
    yield from differ('inferred', record['limit_inferred'], False)
    yield from differ('kills', record['observed']['kills'], 1)
    if abs(record['victim_anon_bytes'] - traced['victim_anon_bytes']) > 16 * MIB:
        yield f'it held {record["victim_anon_bytes"]}, {traced["victim_anon_bytes"]} at the kill'


def guest_errors(out, name):
    """One container-like process of the guest: flat; with cgroups below, and a cgroup namespace or
    the machine's own root to be seen."""
    read = lambda what: (out / f'self-{name}.{what}').read_text()
    lines = [json.loads(line) for line in read('records').splitlines()]
    events = {key: int(value) for key, value in map(str.split, read('events').splitlines())}
    traced = [json.loads(line) for line in (out / 'oomsnoop.ndjson').read_text().splitlines()]
    comms = ['grow'] if name == 'flat' else ['grow', 'nested-eater']
    yield from run_errors(lines, int(read('status')), len(comms))
    ooms = [line for line in lines if line['type'] == 'oom']
    yield from differ('victims', [one.get('victim_comm') for one in ooms], comms)
    yield from victim_errors(ooms[0], read_account(read('work')), 16 * MIB)
    for record in ooms:
        yield from limit_errors(record, 48 * MIB)
        yield from guest_kill_errors(record, beside(traced, record['victim_comm'], f'self-{name}'))
    yield from differ('counted', ooms[-1]['observed']['kills_counted'], events['oom_kill'])
    top = f'/t/self-{name}' if name == 'host-root' else '/'
    yield from differ('limit_cgroup', ooms[0]['limit_cgroup'], top)
    below = [top] if name == 'flat' else [f'{top.rstrip("/")}/main', f'{top.rstrip("/")}/nested']
    yield from differ('victim_cgroup', [one['victim_cgroup'] for one in ooms], below)
    memory = json.loads(read('doctor'))['memory']
    yield from differ('quota', memory['allowed_bytes'], 48 * MIB)
    yield from differ('kills so far', memory['use']['oom_kill'], events['oom_kill'])
    if 'its own cgroup alone' not in read('stderr'):
        yield f'stderr: {read("stderr")}'


def guest_above_errors(out):
    """The tracer beside it sees the limit that cannot be seen from within."""
    read = lambda what: (out / f'self-above.{what}').read_text()
    lines = [json.loads(line) for line in read('records').splitlines()]
    traced = [json.loads(line) for line in (out / 'oomsnoop.ndjson').read_text().splitlines()]
    yield from run_errors(lines, int(read('status')), 1)
    seen = beside(traced, 'grow', 'self-above')
    yield from above_errors(lines[1], seen['victim_container_pid'])
    yield from differ('limit', seen['limit_cgroup'], '/t/self-above')
    yield from differ('first verdict beside', seen['verdicts'][0]['id'], 'ancestor-limit')


def guest():
    """[(name, errors)]"""
    out = Path(tempfile.mkdtemp())
    try:
        done = subprocess.run(
            [TOP / 'tests' / 'vm' / 'run-guest', GUEST, 'v2', out, 'self'],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        for name in ('flat', 'namespace', 'host-root', 'above'):
            errors = guest_above_errors(out) if name == 'above' else guest_errors(out, name)
            try:
                yield f'guest-v2-{name}', list(errors)
            except (OSError, ValueError, KeyError, IndexError) as error:
                yield f'guest-v2-{name}', [f'{error!r}; {done.stderr[-400:]!r}']
    finally:
        shutil.rmtree(out, ignore_errors=True)


def job(name, test, binary):
    """[(name, errors)]"""
    return list(test()) if test is guest else [(name, suite.check(test, binary))]


def main():
    parser = suite.arguments(__doc__)
    parser.add_argument(
        'binary', nargs='?', default=TOP / 'build' / 'oomsnoop-static', type=Path
    )
    options = parser.parse_args()
    if os.geteuid() != 0 or not options.binary.exists() or not shutil.which('runc'):
        print(f'cgroup_test: needs root, runc and {options.binary}', file=sys.stderr)
        return suite.EX_UNAVAILABLE
    tests = suite.chosen('cgroup', {'guest': guest, **suite.tests_of(globals())}, options)
    if not tests:
        return suite.EX_USAGE
    results = Results(options.quiet)
    # All of them wait more than they work: they run at once, the longest first.
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running = [pool.submit(job, *one, str(options.binary)) for one in tests.items()]
        for done in running:
            for name, errors in done.result():
                results.add(f'cgroup/{name}', errors)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
