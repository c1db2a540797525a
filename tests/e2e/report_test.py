#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report_test.py [-q] [BINARY]: `oomsnoop list`, `report` and `export` on stores of real kills: what
was told live is told again, byte for byte; what is asked for is what comes; a damaged, foreign or
read-only file, a full disk and a closed pipe get a clear word and the right status. Makes contained
OOM kills in memory cgroups of its own. Needs root. Prints "ok NAME" and "FAIL NAME: why" lines and a
last line of sums."""
import json
import os
import pty
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path

import report_pages
import report_stores
import suite
from cgroup import Cgroup, eat
from cli_test import differ, run, status_errors, unsafe_bytes
from recording import Folder, Recording
from reporting import (
    ALL,
    CAPTURES,
    COMMANDS,
    EX_IOERR,
    EX_OOM,
    EX_USAGE,
    capture,
    comms,
    listed,
    ok,
    schema_errors,
)

TOP = Path(__file__).resolve().parents[2]
MIB = 1 << 20


# --- replay ---


def test_replay_text(binary):
    """Live and reported text are the same bytes, of every kind of kill."""
    case = capture(binary)
    told, err = ok(binary, 'report', '--no-timeline', *ALL, case.text_store)
    yield from differ('stderr', err, b'')
    yield from differ('reported text is that told live', told == case.text, True)
    yield from differ('NDJSON recorder: kills', told.count(b'KILLED'), len(case.incidents))
    # The other recorder saw the same kills and printed no text; its store gives one all the same.
    other, _ = ok(binary, 'report', '--no-timeline', *ALL, case.json_store)
    yield from differ('kills in its text', other.count(b'KILLED'), len(case.incidents))
    victims = [len(one['victims']) for one in case.incidents]
    if max(victims) < 2 or len(victims) < 5:
        yield f'too plain to show anything: victims {victims}'
    if not any('cow_bytes' in one for line in case.incidents for one in line['growth_processes']):
        yield 'nobody copied anything'


def test_replay_json(binary):
    case = capture(binary)
    want = b''.join(case.oom_lines())
    for command in (('report', '--json', *ALL), ('export',)):
        told, err = ok(binary, *command, case.json_store)
        yield from differ(f'{command}: stderr', err, b'')
        yield from differ(f'{command}: the same bytes', told == want, True)
        yield from schema_errors(told)


def test_elsewhere(binary):
    """On another machine, at another time: names and sizes of this one must not come in."""
    case = capture(binary)
    script = 'mount -t tmpfs none /proc/sys/kernel; mount -t tmpfs none /sys/fs/cgroup; exec "$@"'
    wrap = ['unshare', '-m', '-u', 'sh', '-ec', 'hostname elsewhere; ' + script, 'sh']
    told, _ = ok(binary, 'report', '--no-timeline', *ALL, case.text_store, wrap=wrap)
    yield from differ('the same text', told == case.text, True)


def test_each_alone(binary):
    """One by one they are the same as all at once."""
    case = capture(binary)
    numbers = [str(line['number']) for line in listed(binary, case.text_store)]
    alone = [
        ok(binary, 'report', '--no-timeline', '--incident', number, case.text_store)[0]
        for number in numbers
    ]
    yield from differ('joined by blank lines', b'\n'.join(alone) == case.text, True)


# --- list ---


def test_list(binary):
    case = capture(binary)
    out, err = ok(binary, 'list', case.text_store)
    lines = out.decode().splitlines()
    yield from differ('stderr', err, b'')
    yield from differ('header', lines[0].split(), ['no.', 'time', 'killed', 'held', 'limit', 'verdict', 'where'])
    yield from differ('lines', len(lines), 1 + len(case.incidents))
    for line, incident in zip(lines[1:], case.incidents):
        when = datetime.fromisoformat(incident['ts'][:19]).replace(tzinfo=timezone.utc).astimezone()
        want = (when.strftime('%Y-%m-%d %H:%M:%S'), f'[{incident["victim_pid"]}]')
        yield from (f'no {word} in {line!r}' for word in want if word not in line)
    if case.incidents[1]['limit_cgroup'] not in lines[2] or ' 48.0 MiB ' not in lines[2]:
        yield f'no limit in {lines[2]!r}'
    for option in ('--no-header', '-q'):
        bare, _ = ok(binary, 'list', option, case.text_store)
        yield from differ(option, bare, b''.join(line.encode() + b'\n' for line in lines[1:]))


def test_list_json(binary):
    case = capture(binary)
    out, _ = ok(binary, 'list', '--json', case.json_store)
    yield from schema_errors(out)
    lines = [json.loads(line) for line in out.splitlines()]
    same = ('ts', 'boot_id', 'incident', 'outcome', 'scope', 'limit_cgroup', 'limit_bytes', 'victim_pid')
    for line, incident in zip(lines, case.incidents, strict=True):
        for name in same:
            yield from differ(name, line[name], incident[name])
        ids = [verdict['id'] for verdict in incident['verdicts']]
        yield from differ('verdict_ids', line['verdict_ids'], ids)
        held = sum(
            incident[f'victim_{kind}_bytes'] for kind in ('anon', 'file', 'shmem', 'swap')
        )
        yield from differ('victim_held_bytes', line['victim_held_bytes'], held)


def test_list_width(binary):
    case = capture(binary)
    for width in ('40', '60', '80', '120'):
        out, _ = ok(binary, 'list', '--width', width, case.text_store)
        widest = max(len(line) for line in out.decode().splitlines())
        if widest > int(width):
            yield f'{widest} columns with --width {width}'


def test_list_zone(binary):
    case = capture(binary)
    out, _ = ok(binary, 'list', case.text_store, env=os.environ | {'TZ': 'XYZ-5:30'})
    when = datetime.fromisoformat(case.incidents[0]['ts'][:19]).timestamp()
    local = datetime.utcfromtimestamp(when - datetime.utcfromtimestamp(0).timestamp() + 5.5 * 3600)
    if local.strftime(' %Y-%m-%d %H:%M:%S ').encode() not in out:
        yield f'no {local} in {out[:300]!r}'


def test_gaps(binary):
    """What lies between two runs is no quiet time."""
    with Folder() as folder, Cgroup('gaps', 16) as cgroup:
        file = folder / 'oom.db'
        pids = []
        for _ in range(2):
            with Recording(binary, file) as recording:
                pids.append(eat(cgroup, 32))
                recording.wait_stored(pids[-1])
        lines = ok(binary, 'list', file)[0].decode().splitlines()
        yield from differ('lines', len(lines), 4)
        if not re.fullmatch(r'-- not recording for .+ --', lines[2]):
            yield f'no gap between the incidents: {lines}'
        for name, words, want in (
            ('--last', ('--last',), 0),
            ('--last 2', ('--last', '2'), 1),
            ('--incident', ('--incident', '1'), 0),
            ('--until', ('--until', '2001-01-01'), 0),
        ):
            out, _ = ok(binary, 'list', *words, file)
            yield from differ(f'gaps with {name}', out.count(b'-- not recording'), want)
        for command in (('list', '--json'), ('export', '--series')):
            out, _ = ok(binary, *command, file)
            yield from schema_errors(out)
            gaps = [line for line in map(json.loads, out.splitlines()) if line['type'] == 'gap']
            yield from differ(f'{command}: gaps', [gap['why'] for gap in gaps], ['not-running'])
            if gaps and not gaps[0]['ts'] < gaps[0]['until']:
                yield f'the gap ends before it begins: {gaps[0]}'


# --- which ---


def test_filters(binary):
    case = capture(binary)
    hostile = case.incidents[0]['victim_comm']
    everything = [one.get('victim_comm') for one in case.incidents]
    replay = case.incidents[1]['limit_cgroup']
    with_verdict = [
        one['victim_comm']
        for one in case.incidents
        if any(verdict['id'] == 'copy-on-write' for verdict in one['verdicts'])
    ]
    for words, want in (
        ((), everything),
        (('--comm', 'first'), ['first']),
        (('--comm', '*[!a-z]*'), [comm for comm in everything if re.search('[^a-z]', comm)]),
        (('--comm', 'fir'), []),
        (('--pid', str(case.pids['second'])), ['second']),
        (('--pid', '1'), []),
        (('--cgroup', replay), everything[1:]),
        (('--cgroup', replay[:-1]), []),
        (('--cgroup', '*-hostile*'), [hostile]),
        (('--pod', 'replay'), everything[1:]),
        (('--pod', '0b5e4f3c-8a77-4c1e-9d2a-6f1d7c1b2a90'), []),
        (('--scope', 'memcg'), everything),
        (('--scope', 'global'), []),
        (('--scope', 'global', '--scope', 'memcg'), everything),
        (('--verdict', 'copy-on-write'), with_verdict),
        (('--verdict', 'no-victim'), []),
        (('--incident', str(case.number('second'))), ['second']),
        (('--incident', '9999'), []),
        (('--last',), everything[-1:]),
        (('--last', '2'), everything[-2:]),
        (('--last=2',), everything[-2:]),
        (('--last', '99'), everything),
        (('--last', '2', '--comm', 'first'), ['first']),
        (('--last', '--cgroup', '*-hostile*'), [hostile]),
        (('--comm', 'first', '--cgroup', '*-hostile*'), []),
    ):
        yield from (
            f'{" ".join(words)}: {error}'
            for error in differ('comms', comms(binary, *words, case.text_store), want)
        )
    if not with_verdict:
        yield 'no verdict of copy-on-write, so the filter shows nothing'


def test_filters_are_shared(binary):
    """The same selection in all three."""
    case = capture(binary)
    words = ('--comm', 'first', case.json_store)
    want = case.oom_lines()[1]
    yield from differ('report', ok(binary, 'report', '--json', *words)[0], want)
    yield from differ('export', ok(binary, 'export', *words)[0], want)


def test_victims_beside_the_first(binary):
    """Any victim may be the one asked for."""
    case = capture(binary)
    both = next(one for one in case.incidents if len(one['victims']) > 1)
    second = str(both['victims'][1]['pid'])
    found = [line['victim_pid'] for line in listed(binary, '--pid', second, case.text_store)]
    if both['victim_pid'] not in found:
        yield f'--pid {second} finds {found}'


def test_times(binary):
    case = capture(binary)
    pids = [one['victim_pid'] for one in case.incidents]
    stamps = [one['ts'] for one in case.incidents]
    later = datetime.fromisoformat(stamps[1][:26]).replace(tzinfo=timezone.utc)
    for words, want in (
        (('--since', stamps[1]), pids[1:]),
        (('--until', stamps[1]), pids[:2]),
        (('--since', stamps[1], '--until', stamps[1]), pids[1:2]),
        (('--since', '1h'), pids),
        (('--since', '1 hour ago', '--until', 'now'), pids),
        (('--until', 'yesterday'), []),
        (('--since', f'@{later.timestamp() + 3600:.0f}'), []),
        (('--until', f'@{later.timestamp() - 3600:.0f}'), []),
    ):
        found = [line['victim_pid'] for line in listed(binary, *words, case.json_store)]
        yield from (f'{words}: {error}' for error in differ('pids', found, want))
    # As it is printed in a report.
    text = re.search(rb', (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}),', case.text)[1].decode()
    yield from differ(
        f'--since {text!r}', len(listed(binary, '--since', text, case.json_store)), len(pids)
    )


def test_nothing_matches(binary):
    case = capture(binary)
    for command, words in (
        ('list', ('--comm', 'nobody')),
        ('list', ('--json', '--comm', 'nobody')),
        ('report', ('--comm', 'nobody')),
        ('report', ('--fail-on-oom', '--comm', 'nobody')),
        ('export', ('--comm', 'nobody')),
    ):
        out, err = ok(binary, command, *words, case.text_store)
        yield from differ(f'{command} {words}: stdout', out, b'')
        if b'no incident matches' not in err:
            yield f'{command} {words}: not said: {err!r}'


def test_bad_options(binary):
    for words in (
        (),
        ('one', 'two'),
        ('--no-such-option', 'file'),
        ('--since', 'soon', 'file'),
        ('--since', '', 'file'),
        ('--until', '2026-02-30', 'file'),
        ('--since', '2h', '--until', '3h', 'file'),
        ('--cgroup', '', 'file'),
        ('--cgroup', 'relative', 'file'),
        ('--comm', '', 'file'),
        ('--pid', '0', 'file'),
        ('--pid', 'x', 'file'),
        ('--pod', '', 'file'),
        ('--pod', 'a/b', 'file'),
        ('--scope', 'container', 'file'),
        ('--verdict', 'fork-famly', 'file'),
        ('--incident', '0', 'file'),
        ('--incident', '-1', 'file'),
        ('--incident', 'x', 'file'),
        ('--last=0', 'file'),
        ('--last=x', 'file'),
    ):
        for command in COMMANDS:
            result = run(binary, command, *words)
            yield from (f'{command} {words}: {error}' for error in status_errors(result, EX_USAGE))
    for words in (
        ('list', '--width', '10', 'file'),
        ('list', '--color', 'red', 'file'),
        ('report', '--json', '--html', 'x', 'file'),
        ('report', '--html', 'x', '--svg', 'x', 'file'),
        ('export', '--json', 'file'),
    ):
        yield from (f'{words}: {error}' for error in status_errors(run(binary, *words), EX_USAGE))


def test_help(binary):
    for command in COMMANDS:
        out, err = ok(binary, command, '--help')
        yield from differ(f'{command}: stderr', err, b'')
        yield from (
            f'{command}: no {word}'
            for word in ('FILE', '--since', '--last', 'Exit status')
            if word.encode() not in out
        )


# --- report ---


def test_the_last_alone(binary):
    case = capture(binary)
    out, err = ok(binary, 'report', '--no-timeline', case.text_store)
    yield from differ('the last one', case.text.endswith(b'\n\n' + out), True)
    if f'the last of {len(case.incidents)} incidents'.encode() not in err:
        yield f'not said how many there are: {err!r}'
    for words in (('-q',), ('--last',), ('--incident', str(case.number('second')))):
        again, err = ok(binary, 'report', '--no-timeline', *words, case.text_store)
        yield from differ(f'{words}: stderr', err, b'')
        yield from differ(f'{words}: the same', again == out, True)


def test_timeline(binary):
    case = capture(binary)
    plain, _ = ok(binary, 'report', '--no-timeline', '--comm', 'second', case.text_store)
    told, _ = ok(binary, 'report', '--comm', 'second', case.text_store)
    yield from differ('text first', told.startswith(plain), True)
    added = told[len(plain) :].decode()
    limit = re.search(r'^ +kill 4[78]\.\d MiB ', added, re.MULTILINE)
    if not limit:
        yield f'no usage of 48 MiB at the kill: {added!r}'
    rows = re.findall(r'^ +(?:usage +)?([-+][\d.]+ \w+|kill) +[\d.?]+ ', added, re.MULTILINE)
    if not 4 <= len(rows) <= 12:
        yield f'{len(rows)} moments: {added!r}'
    for word in ('events', 'the kernel killed second[', 'was gone; ', 'held by: '):
        if word not in added:
            yield f'no {word!r} in {added!r}'
    if max(len(line) for line in added.splitlines()) > 80:
        yield 'wider than 80 columns'


def test_width_and_colour(binary):
    case = capture(binary)
    out, _ = ok(binary, 'report', '--width', '50', *ALL, case.text_store)
    widest = max(len(line) for line in out.decode().splitlines())
    if widest > 50:
        yield f'{widest} columns with --width 50'
    colour = re.compile(rb'\033\[[0-9;]*m')
    for command in ('list', 'report'):
        plain, _ = ok(binary, command, *ALL, case.text_store)
        coloured, _ = ok(binary, command, '--color', 'always', *ALL, case.text_store)
        yield from differ(f'{command}: colour where none is wanted', b'\033' in plain, False)
        yield from differ(f'{command}: colour where it is', bool(colour.search(coloured)), True)
        yield from differ(f'{command}: but for colour', colour.sub(b'', coloured) == plain, True)


def on_terminal(binary, *words):
    main, side = pty.openpty()
    process = subprocess.Popen([binary, *words], stdout=side, stderr=side, stdin=subprocess.DEVNULL)
    os.close(side)
    seen = b''
    while True:
        try:
            chunk = os.read(main, 65536)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
    os.close(main)
    process.wait()
    return seen.replace(b'\r\n', b'\n')


def test_hostile(binary):
    case = capture(binary)
    words = ('--incident', str(case.number('hostile')), case.text_store)
    outputs = {command: ok(binary, command, *words)[0] for command in COMMANDS}
    outputs['list --json'] = ok(binary, 'list', '--json', *words)[0]
    outputs['export --series'] = ok(binary, 'export', '--series', *words)[0]
    colour = re.compile(rb'\033\[[0-9;]*[mK]')
    for command in ('list', 'report'):
        seen = on_terminal(binary, command, *words)
        outputs[f'{command} on a terminal'] = colour.sub(b'', seen)
    for name, out in outputs.items():
        yield from (f'{name}: {error}' for error in unsafe_bytes(out))
        yield from (
            f'{name}: a line out of a name: {line!r}'
            for line in out.splitlines()
            if line.startswith((b'b', b'line'))
        )
    yield from differ('list: lines', outputs['list'].count(b'\n'), 2)


def test_fail_on_oom(binary):
    case = capture(binary)
    for words, want in (
        ((), EX_OOM),
        (('--comm', 'first'), EX_OOM),
        (('--json', '--last', '2'), EX_OOM),
        (('--since', '1h'), EX_OOM),
        (('--comm', 'nobody'), 0),
        (('--until', 'yesterday'), 0),
    ):
        code, _, err = run(binary, 'report', '--fail-on-oom', *words, case.text_store)
        yield from (f'{words}: {error}' for error in differ('status', code, want))
    # What only asked for a victim, and what is not told, are looked at, too.
    store = case.copy()
    with closing(sqlite3.connect(store)) as db, db:
        db.execute('UPDATE incident SET outcome = 2 WHERE id = (SELECT max(id) FROM incident)')
    for words, want in ((('--last',), 0), ((), EX_OOM), (('--html', os.devnull), EX_OOM)):
        code, _, err = run(binary, 'report', '--fail-on-oom', *words, store)
        yield from (f'last not killed, {words}: {error} {err!r}' for error in differ('status', code, want))


# --- export ---


def test_series(binary):
    """What the store holds of memory over time is what the kernel said at the kill."""
    case = capture(binary)
    out, err = ok(binary, 'export', '--series', case.json_store)
    yield from differ('stderr', err, b'')
    yield from schema_errors(out)
    head = b''.join(case.oom_lines())
    yield from differ('incidents first', out.startswith(head), True)
    points = [json.loads(line) for line in out[len(head) :].splitlines()]
    points = [line for line in points if line['type'] == 'series']
    kinds = {line['kind'] for line in points}
    yield from differ('kinds', kinds, {'process', 'cgroup', 'machine'})
    first = next(one for one in case.incidents if one['victim_pid'] == case.pids['first'])
    held = max(line['resident_bytes'] for line in points if line.get('pid') == case.pids['first'])
    want = sum(first[f'victim_{kind}_bytes'] for kind in ('anon', 'file', 'shmem'))
    if abs(held - want) > MIB:
        yield f'held at most {held} by its series, {want} by its record'
    used = max(
        line['usage_bytes']
        for line in points
        if line['kind'] == 'cgroup' and line.get('cgroup') == first['limit_cgroup']
    )
    if abs(used - first['limit_bytes']) > MIB:
        yield f'used at most {used} by its series, of {first["limit_bytes"]}'


def test_series_of_a_time(binary):
    case = capture(binary)
    since, until = case.incidents[1]['ts'], case.incidents[2]['ts']
    out, _ = ok(binary, 'export', '--series', '--since', since, '--until', until, case.json_store)
    stamps = [line['ts'] for line in map(json.loads, out.splitlines()) if line['type'] == 'series']
    if not stamps or min(stamps)[:23] < since[:23] or max(stamps)[:23] > until[:23]:
        yield f'{len(stamps)} points from {min(stamps, default=0)} to {max(stamps, default=0)}'
    out, err = ok(binary, 'export', '--series', '--until', 'yesterday', case.json_store)
    yield from differ('nothing of yesterday', out, b'')
    if b'no incident matches' not in err:
        yield f'not said: {err!r}'


# --- outputs that break ---


def test_stdout_full(binary):
    case = capture(binary)
    for words in (('list',), ('report',), ('export',), ('report', '--html', '-'), ('list', '--json')):
        with open('/dev/full', 'wb') as full:
            code, _, err = run(binary, *words, case.text_store, stdout=full, stderr=subprocess.PIPE)
        yield from differ(f'{words}: status', code, EX_IOERR)
        if b'stdout' not in err:
            yield f'{words}: not said: {err!r}'
        code, _, err = run('sh', '-c', 'exec "$@" >&-', 'sh', binary, *words, case.text_store)
        yield from differ(f'{words}, closed: status', code, EX_IOERR)
        if b'stdout' not in err:
            yield f'{words}, closed: not said: {err!r}'


def test_reader_gone(binary):
    """As with `| head -n1`."""
    case = capture(binary)
    for words in (
        ('list',),
        ('report', *ALL),
        ('report', '--json', *ALL),
        ('export', '--series'),
        ('report', '-q', '--html', '-'),
    ):
        reader, writer = os.pipe()
        os.close(reader)
        code, _, err = run(binary, *words, case.text_store, stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        yield from differ(f'{words}: status', code, 0)
        yield from differ(f'{words}: stderr', err, b'')


def main():
    try:
        return suite.main('report', __doc__, suite.tests_of(globals(), vars(report_pages), vars(report_stores)))
    finally:
        for one in CAPTURES:
            one.close()


if __name__ == '__main__':
    sys.exit(main())
