# SPDX-License-Identifier: Apache-2.0
"""Tests of what `oomsnoop list`, `report` and `export` make of a file: another user's, one that is
written to, damaged, hostile or no store at all. Run by report_test.py."""
import json
import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from cgroup import Cgroup, eat
from cli_test import differ, run, status_errors, unsafe_bytes
from recording import Folder, Recording
from reporting import ALL, COMMANDS, EX_DATAERR, EX_NOPERM, NOBODY, capture, listed, ok

DOCS = Path(__file__).resolve().parents[2] / 'docs' / 'capture.md'


def test_nobody(binary):
    """Neither root nor BPF nor a right to write: a file that somebody sent."""
    case = capture(binary)
    with Folder() as folder:
        store = Path(shutil.copy(case.text_store, folder / 'oom.db'))
        store.chmod(0o444)
        folder.chmod(0o555)
        told, err = ok(binary, 'report', '--no-timeline', *ALL, store, wrap=NOBODY)
        yield from differ('stderr', err, b'')
        yield from differ('the same text', told == case.text, True)
        for words in (('list',), ('export', '--series'), ('report', '--html', '-'), ('report',)):
            out, _ = ok(binary, *words, store, wrap=NOBODY)
            yield from differ(f'{words} says something', bool(out), True)
        yield from differ('files', os.listdir(folder), ['oom.db'])


def test_documented_queries(binary):
    """What docs/capture.md tells people to ask works as it stands there, and has an answer."""
    case = capture(binary)
    questions = re.findall(r'```sql\n(.*?)```', DOCS.read_text(encoding='utf-8'), re.DOTALL)
    yield from differ('questions', len(questions), 12)
    with closing(sqlite3.connect(f'file:{case.text_store}?mode=ro', uri=True)) as db:
        answers = [db.execute(question).fetchall() for question in questions]
        kills = [row[1] for row in db.execute('SELECT time, victim_pid FROM incidents ORDER BY time')]
    for question, answer in zip(questions, answers):
        # Nothing was lost in this capture, the recorder ran all the time, and the OOM killer was the only one that
        # killed; kills_test.py asks the last one where others did, refused_test.py the one before.
        if bool(answer) == any(view in question for view in ('FROM gaps', 'FROM kills', 'FROM refusals')):
            yield f'{len(answer)} rows: {question}'
    yield from differ('who died', [row[2] for row in answers[0]], kills)


def test_while_it_is_written(binary):
    with Folder() as folder, Cgroup('live', 16) as cgroup:
        file = folder / 'oom.db'
        pids = []
        for run_number in range(2):
            with Recording(binary, file) as recording:
                pids.append(eat(cgroup, 32))
                recording.wait_stored(pids[-1])
                found = [line['victim_pid'] for line in listed(binary, file)]
                yield from differ('listed', found, pids)
                # Who may not write beside it reads what is in the file itself, and is told so: what
                # this run has stored is in the log until it ends.
                file.chmod(0o644)
                for end in ('-wal', '-shm'):
                    os.chmod(f'{file}{end}', 0o600)
                folder.chmod(0o755)
                code, out, err = run(binary, 'list', '--json', file, wrap=NOBODY)
                found = [json.loads(line).get('victim_pid') for line in out.splitlines()]
                yield from differ(f'run {run_number}: status', code, 0)
                yield from differ(f'run {run_number}: old ones', found, pids[:-1])
                if b'oom.db-wal could not be read' not in err:
                    yield f'run {run_number}: the log is not named: {err!r}'


def test_unreadable(binary):
    case = capture(binary)
    with Folder() as folder:
        folder.chmod(0o755)
        files = {
            'missing': None,
            'text': b'not a database\n' * 100,
            'garbage': os.urandom(100000),
            'half a header': case.text_store.read_bytes()[:60],
            'a header alone': case.text_store.read_bytes()[:100] + bytes(4000),
        }
        for name, content in files.items():
            if content is not None:
                (folder / name).write_bytes(content)
        with closing(sqlite3.connect(folder / 'foreign')) as db, db:
            db.execute('CREATE TABLE incident(id INTEGER PRIMARY KEY, comm TEXT)')
        newer = Path(shutil.copy(case.text_store, folder / 'newer'))
        with closing(sqlite3.connect(newer)) as db, db:
            db.execute('PRAGMA user_version = 99')
        secret = Path(shutil.copy(case.text_store, folder / 'secret'))
        secret.chmod(0o600)
        (folder / 'folder').mkdir()
        for command in COMMANDS:
            for name in (*files, 'foreign', 'newer', 'folder'):
                result = run(binary, command, folder / name)
                yield from (
                    f'{command} {name}: {error}'
                    for error in status_errors(result, EX_DATAERR, names=str(folder / name))
                )
            if b'newer oomsnoop' not in run(binary, command, newer)[2]:
                yield f'{command}: not said that a newer one is needed'
            result = run(binary, command, secret, wrap=NOBODY)
            yield from status_errors(result, EX_NOPERM, names=str(secret))


def test_empty_store(binary):
    with Folder() as folder:
        file = folder / 'oom.db'
        with Recording(binary, file):
            pass
        for command in COMMANDS:
            out, err = ok(binary, command, file)
            yield from differ(f'{command}: stdout', out, b'')
            if b'there is no incident in' not in err:
                yield f'{command}: not said: {err!r}'


def test_damaged_part(binary):
    """What is there is told, with a word on what is not."""
    case = capture(binary)
    store = case.copy()
    number = case.number('first')
    with closing(sqlite3.connect(store)) as db, db:
        db.execute("UPDATE victim SET comm = 'other' WHERE incident = ?", (number,))
        db.execute('DELETE FROM level WHERE incident = ?', (case.number('second'),))
    before = [one.get('victim_comm') for one in case.incidents]
    lines = listed(binary, store)
    yield from differ('incidents', len(lines), len(before))
    damaged = {line['number'] for line in lines if line.get('damaged')}
    yield from differ('damaged', damaged, {number, case.number('second')})
    for command in COMMANDS:
        code, out, err = run(binary, command, *ALL, store)
        yield from differ(f'{command}: status', code, 0)
        said = re.findall(rb'incident (\d+): a part of it cannot be read: .', err)
        yield from differ(f'{command}: said', {int(one) for one in said}, damaged)
        yield from unsafe_bytes(out)
    out, _ = ok(binary, 'report', '--incident', str(number), '--no-timeline', store)
    if b'KILLED other[' not in out:
        yield f'not told: {out[:100]!r}'
    out, _ = ok(binary, 'report', '--incident', str(number), '--html', '-', store)
    yield from differ('a page of it', out.startswith(b'<!'), True)


def written_over(store, evil):
    """Every text in it."""
    with closing(sqlite3.connect(store)) as db, db:
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            for _, column, kind, *_ in db.execute(f'PRAGMA table_info({table})').fetchall():
                # By its boot a series is found: that one must go on being one.
                if kind == 'TEXT' and column != 'boot_id' and not table.startswith('sqlite_'):
                    db.execute(f'UPDATE {table} SET {column} = ?', (evil,))


def test_hostile_store(binary):
    """Whoever made the file may have written anything anywhere. What fits nowhere is damage."""
    case = capture(binary)
    for evil in (b'\033[31m"\\\n\xff<o>', b'\033]0;x\007\033[2J"\\\n\r\xff</script><oops>' * 9):
        store = case.copy()
        written_over(store, evil)
        for words in (
            ('list',),
            ('list', '--json'),
            ('report', *ALL),
            ('report', '--json', *ALL),
            ('export',),
            ('export', '--series'),
            ('report', '--html', '-'),
            ('report', '--svg', '-'),
        ):
            code, out, err = run(binary, *words, store)
            yield from (f'{words}: {error} {err!r}' for error in differ('status', code, 0))
            yield from (f'{words}: {error}' for error in unsafe_bytes(out.replace(b'\t', b'')))
            yield from (f'{words}: stderr {error}' for error in unsafe_bytes(err))
            if '--json' in words or 'export' in words:
                lines = [json.loads(line) for line in out.splitlines()]
                yield from differ(f'{words}: lines', len(lines) >= len(case.incidents), True)
            if words[-1] == '-' and (b'<o>' in out or b'<oops>' in out):
                yield f'{words}: a tag out of a name'


def test_broken_bytes(binary):
    """Any byte may be wrong: it ends by itself, says what it can, and claims nothing else."""
    case = capture(binary)
    content = case.text_store.read_bytes()
    statuses = set()
    for turn in range(40):
        store = case.path / 'broken.db'
        broken = bytearray(content)
        if turn % 4 == 0:
            del broken[len(broken) * (turn + 1) // 41 :]
        else:
            for i in range(1 + turn):
                broken[(turn * 7919 + i * 104729) % len(broken)] ^= 0x55 + turn
        store.write_bytes(broken)
        for words in (('list',), ('report', *ALL), ('export', '--series'), ('report', '--html', '-')):
            code, out, err = run(binary, *words, store)
            statuses.add(code)
            if code not in (0, 1, EX_DATAERR):
                yield f'turn {turn}, {words}: status {code}: {err[-200:]!r}'
            if code and not err:
                yield f'turn {turn}, {words}: status {code} and not a word'
            yield from (f'turn {turn}, {words}: {error}' for error in unsafe_bytes(out.replace(b'\t', b'')))
            yield from (f'turn {turn}, {words}: stderr {error}' for error in unsafe_bytes(err))
    if not {0, EX_DATAERR} <= statuses:
        yield f'too little was broken, or too much: {statuses}'
