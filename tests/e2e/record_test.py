#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record_test.py [-q] [-k PATTERN] [BINARY]: `oomsnoop record` on this machine: what is announced
is stored, whatever happens to the recorder, its disk and its file. Makes contained OOM kills in
memory cgroups of its own. Needs root. OOMSNOOP_KILL9 is how often the recorder is killed (40).
Prints "ok NAME" and "FAIL NAME: why" lines and a last line of sums."""
import json
import os
import random
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import suite
from cgroup import Cgroup, HOSTILE_COMM, eat
from cli_test import (
    EX_IOERR,
    EX_NOPERM,
    EX_USAGE,
    differ,
    in_own_mounts,
    records,
    run,
    status_errors,
    unsafe_bytes,
    without,
)
from recording import (
    Disk,
    Folder,
    Killer,
    PATIENCE,
    Recording,
    query,
    store_errors,
    victims,
    wait_until,
)
from workloads import Workload

TOP = Path(__file__).resolve().parents[2]
EX_DATAERR = 65
MIB = 1 << 20
# Kills in a store of 4 MiB until something of it is full: a few dozen do.
KILLS_MOST = 300


# --- what is stored ---


def test_announced(binary):
    """Whoever reads the announcement finds the incident, with another program, at once."""
    with Folder() as folder, Cgroup('announced', 16) as cgroup:
        file = folder / 'oom.db'
        with Recording(binary, file) as recording:
            recording.wait_said(f'oomsnoop: recording to {file}\n'.encode())
            pid = eat(cgroup, 32)
            recording.wait_stored(pid)
            yield from differ('stored', victims(file), recording.stored())
            yield from differ('runs that go on', query(file, 'SELECT ended_ns FROM run'), [(None,)])
            code, err = recording.end()
        yield from differ('status', code, 0)
        yield from differ('files', os.listdir(folder), ['oom.db'])
        if f'in {cgroup.shown}\n'.encode() not in err:
            yield f'the announcement does not name {cgroup.shown}: {err!r}'
        yield from differ('why', query(file, 'SELECT ended_why FROM run'), [('signal',)])
        if not query(file, 'SELECT 1 FROM run WHERE ended_ns >= began_ns'):
            yield 'the run has no end'
        yield from differ('mode of the file', oct(file.stat().st_mode & 0o777), '0o640')
        yield from store_errors(file, recording.stored())


def test_facts(binary):
    """The stored facts are those of the printed record."""
    with Folder() as folder, Cgroup('facts', 16) as cgroup:
        file, told = folder / 'oom.db', []
        with tempfile.TemporaryFile() as out:
            with Recording(binary, file, '--also-print', '--json', stdout=out) as recording:
                pid = eat(cgroup, 32, comm='facts', arguments=[b'one', b'two'])
                recording.wait_stored(pid)
                recording.end()
            out.seek(0)
            told = records(out.read())[1]
        yield from differ('records', len(told), 1)
        record = told[0]
        columns = 'victim_cmdline, victim_cgroup, time_ns, host_total_bytes, number'
        names = ('victim_cmdline', 'victim_cgroup', 'mono_ns', 'host_total_bytes', 'incident')
        stored = query(file, f'SELECT {columns} FROM incident')[0]
        yield from differ('incident', stored, tuple(record[name] for name in names))
        stored = query(file, 'SELECT pid, comm, anon_pages * 4096, oom_score_adj FROM victim')
        names = ('victim_pid', 'victim_comm', 'victim_anon_bytes', 'victim_oom_score_adj')
        yield from differ('victim', stored, [tuple(record[name] for name in names)])
        count = query(file, 'SELECT count(*) FROM candidate')[0][0]
        yield from differ('candidates', count, len(record['candidates']))


def printed(binary, file, *options):
    """What a recording of two kills prints."""
    with Cgroup('replay', 16) as cgroup, tempfile.TemporaryFile() as out:
        with Recording(binary, file, '--also-print', *options, stdout=out) as recording:
            pids = [eat(cgroup, 32), eat(cgroup, 32, comm='two')]
            recording.wait_stored(*pids)
            recording.end()
        out.seek(0)
        return out.read()


def test_replay(binary):
    """Live and reported, each incident is the same to the byte."""
    with Folder() as folder:
        out = printed(binary, folder / 'json.db', '--json')
        told = [line for line in out.splitlines() if json.loads(line)['type'] == 'oom']
        code, out, err = run(binary, 'report', '--json', '--last=2', folder / 'json.db')
        yield from differ('status', (code, err), (0, b''))
        yield from differ('lines', len(told), 2)
        for live, stored in zip(told, out.splitlines()):
            if live != stored:
                fields = json.loads(live), json.loads(stored)
                names = {key for one in fields for key in one}
                names = {key for key in names if fields[0].get(key) != fields[1].get(key)}
                yield f'records differ in {sorted(names) or "form"}'
        told = printed(binary, folder / 'text.db')
        code, out, err = run(binary, 'report', '--no-timeline', '--last=2', folder / 'text.db')
        yield from differ('status', (code, err), (0, b''))
        yield from differ('text', out, told)


def test_continues(binary):
    """A second run goes on in the same file, and the time between is a gap."""
    with Folder() as folder, Cgroup('continues', 16) as cgroup:
        file, pids, announced = folder / 'oom.db', [], {}
        for _ in range(2):
            with Recording(binary, file) as recording:
                pids.append(eat(cgroup, 32))
                recording.wait_stored(pids[-1])
                announced |= recording.stored()
        yield from differ('numbers', announced, dict(enumerate(pids, 1)))
        yield from store_errors(file, announced)
        yield from differ('runs', query(file, 'SELECT count(*) FROM run'), [(2,)])
        yield from differ('why', query(file, 'SELECT why FROM gap'), [(1,)])


def points_of(file, pid):
    return query(
        file,
        'SELECT t_ms, resident FROM process_point JOIN process ON process.id = process '
        'WHERE pid = ? ORDER BY t_ms',
        pid,
    )


def test_window(binary):
    """The minutes before come with an incident, by the workload's own account."""
    with Folder() as folder, Cgroup('window', 48) as cgroup:
        file = folder / 'oom.db'
        with Recording(binary, file, '--series', 'incidents') as recording:
            with Workload('grow', '-S', '-i', 100, 'anon', 64, cgroup=cgroup) as leak:
                leak.go().killed()
            recording.wait_stored(leak.pid)
            points = points_of(file, leak.pid)
            usage = query(
                file,
                'SELECT max(usage) FROM cgroup_point JOIN cgroup ON cgroup.id = cgroup '
                'WHERE path = ?',
                cgroup.shown,
            )[0][0]
            at_ms = query(file, 'SELECT time_ns FROM incident')[0][0] / 1e6
        told = [resident for _, resident in points]
    if len(told) < 4:
        yield f'{len(told)} points of a leak of 4 s: {points}'
        return
    # The kernel's counters are exact to some 64 pages per CPU.
    if any(later < early - MIB for early, later in zip(told, told[1:])):
        yield f'it only grew, but not by its points: {told}'
    if not 40 * MIB < told[-1] < 50 * MIB or not told[0] < 24 * MIB:
        yield f'from {told[0]} to {told[-1]} bytes, in a cgroup of 48 MiB'
    if not 45 * MIB < (usage or 0) <= 48 * MIB:
        yield f'usage of the cgroup rose to {usage}'
    if not -100 < at_ms - points[-1][0] < 2100:
        yield f'the last point is {at_ms - points[-1][0]} ms before the kill'


def test_series(binary):
    """With no incident at all, unless it is not wanted."""
    for which, wanted in (('all', True), ('incidents', False)):
        with Folder() as folder, Cgroup('series', 64) as cgroup:
            file = folder / 'oom.db'
            with Workload('grow', '-S', 'anon', 24, cgroup=cgroup) as holder:
                holder.go().wait('done')
                with Recording(binary, file, '--series', which) as recording:
                    if wanted:
                        wait_until('points of it', lambda: points_of(file, holder.pid))
                    else:
                        eat(cgroup, 96)
                        wait_until('an incident', lambda: victims(file))
                    recording.end()
                held = [resident for _, resident in points_of(file, holder.pid)]
        if wanted and not 24 * MIB <= held[-1] < 28 * MIB:
            yield f'held is {held}'


def test_without_recorder(binary):
    with Folder() as folder, Cgroup('without', 16) as cgroup:
        file = folder / 'oom.db'
        with Recording(binary, file, '--without', 'recorder') as recording:
            recording.wait_stored(eat(cgroup, 32))
        yield from store_errors(file, recording.stored())
        yield from differ('points', query(file, 'SELECT count(*) FROM process_point'), [(0,)])


def test_filter(binary):
    """What does not pass the filters is not stored."""
    with Folder() as folder, Cgroup('filter', 16) as cgroup:
        file = folder / 'oom.db'
        with Recording(binary, file, '--comm', 'wanted') as recording:
            eat(cgroup, 32, comm='other')
            pid = eat(cgroup, 32, comm='wanted')
            recording.wait_stored(pid)
        yield from differ('stored', victims(file), {1: pid})


# --- what is printed ---


def test_silent(binary):
    with Folder() as folder, Cgroup('silent', 16) as cgroup, tempfile.TemporaryFile() as out:
        file = folder / 'oom.db'
        with Recording(binary, file, '-q', '--json', '--max-events', '1', stdout=out) as recording:
            pid = eat(cgroup, 32)
            code, err = recording.end(None)
        out.seek(0)
        yield from differ('stdout', out.read(), b'')
        yield from differ('status', code, 0)
        yield from differ('stderr with -q', err, b'')
        yield from differ('stored', victims(file), {1: pid})
        yield from differ('why', query(file, 'SELECT ended_why FROM run'), [('max-events',)])


def test_no_stdout(binary):
    """A service may have none."""
    with Folder() as folder, Cgroup('no-stdout', 16) as cgroup:
        wrap = ['sh', '-c', 'exec "$@" >&-', 'sh']
        with Recording(binary, folder / 'oom.db', wrap=wrap) as recording:
            recording.wait_stored(eat(cgroup, 32))
            yield from differ('status', recording.end()[0], 0)


def test_reader_gone(binary):
    """Who has read enough of what is printed does not end the recording."""
    with Folder() as folder, Cgroup('reader-gone', 16) as cgroup:
        file = folder / 'oom.db'
        reader, writer = os.pipe()
        with Recording(binary, file, '--also-print', stdout=writer) as recording:
            os.close(writer)
            os.close(reader)
            pids = [eat(cgroup, 32), eat(cgroup, 32)]
            recording.wait_stored(*pids)
            recording.wait_said(b'the recording goes on')
            code, err = recording.end()
        yield from differ('status', code, 0)
        yield from differ('said so often', err.count(b'the recording goes on'), 1)
        yield from differ('stored', list(victims(file).values()), pids)


def test_no_standard_files(binary):
    """None of them is open: what it says must not go into the store."""
    with Folder() as folder, Cgroup('no-files', 16) as cgroup:
        file = folder / 'oom.db'
        wrap = ['sh', '-c', 'exec "$@" <&- >&- 2>&-', 'sh']
        with Recording(binary, file, wrap=wrap) as recording:
            pid = eat(cgroup, 32)
            wait_until('the incident', lambda: victims(file) == {1: pid})
            yield from differ('status', recording.end()[0], 0)
        yield from store_errors(file, {1: pid})
        if b'oomsnoop: ' in file.read_bytes():
            yield 'its messages are in the store'


def test_stdout_full(binary):
    with Folder() as folder, Cgroup('stdout-full', 16) as cgroup, open('/dev/full', 'wb') as full:
        file = folder / 'oom.db'
        with Recording(binary, file, '--also-print', stdout=full) as recording:
            pid = eat(cgroup, 32)
            recording.wait_stored(pid)
            code, _ = recording.end()
        yield from differ('status', code, EX_IOERR)
        yield from differ('stored', victims(file), {1: pid})


def test_stderr_stuck(binary):
    """Nobody reads what it announces: it goes on storing."""
    with Folder() as folder, Cgroup('stuck', 16) as cgroup:
        file = folder / 'oom.db'
        reader, writer = os.pipe()
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen(
                [binary, 'record', '-o', file, '--cgroup', cgroup.shown, '--ready-fd', '1'],
                stdout=out,
                stderr=writer,
                stdin=subprocess.DEVNULL,
            )
            wait_until('READY', lambda: os.fstat(out.fileno()).st_size)
        os.set_blocking(writer, False)
        try:
            while True:
                os.write(writer, b'x' * 4096)
        except BlockingIOError:
            os.set_blocking(writer, True)
        pids = [eat(cgroup, 32), eat(cgroup, 32)]
        wait_until('both stored', lambda: list(victims(file).values()) == pids)
        os.close(writer)
        os.close(reader)
        process.terminate()
        yield from differ('status', process.wait(PATIENCE), 0)


def test_thread(binary):
    """The thread that writes takes no signal, has no more rights than the loop, and is in no hurry.
    """
    with Folder() as folder, Recording(binary, folder / 'oom.db') as recording:
        tasks = Path(f'/proc/{recording.process.pid}/task')
        names = sorted(tasks.iterdir(), key=lambda path: int(path.name))
        yield from differ('threads', len(names), 2)
        rights = []
        for path in names:
            lines = (path / 'status').read_text(encoding='ascii').splitlines()
            status = dict(line.split(':', 1) for line in lines)
            rights.append(status['CapEff'].strip())
            blocked = int(status['SigBlk'], 16)
            nice = int((path / 'stat').read_text(encoding='latin-1').rpartition(')')[2].split()[16])
        yield from differ('rights', rights[1], rights[0])
        yield from differ('nice', nice, 0)
        # All but SIGKILL, SIGSTOP, and the two that the C library keeps for itself.
        wanted = (1 << 64) - 1
        for number in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
            wanted &= ~(1 << (number - 1))
        yield from differ('blocked signals', hex(blocked & wanted), hex(wanted))


def test_hostile(binary):
    with Folder() as folder, Cgroup('hostile\033[31m"\377', 16) as cgroup:
        file = folder / 'oom\n\033[31m.db'
        with Recording(binary, file) as recording:
            pid = eat(cgroup, 32, comm=HOSTILE_COMM, arguments=[b'new\nline', b'\033]0;t\007'])
            recording.wait_stored(pid)
            _, err = recording.end()
        yield from unsafe_bytes(err)
        strange = [line for line in err.splitlines() if not line.startswith(b'oomsnoop: ')]
        if strange:
            yield f'lines out of a name: {strange}'
        comm = query(file, 'SELECT CAST(comm AS BLOB) FROM victim')[0][0]
        yield from differ('comm', comm, b'a\nb\x1b[31m"\xff\\,)x')


# --- what goes wrong at the start ---


def refused(binary, file, status, word, **more):
    result = run(binary, 'record', '--timeout', '1', *(('-o', file) if file else ()), **more)
    yield from (f'{file}: {error}' for error in status_errors(result, status, names=word))


def test_bad_options(binary):
    for options in (
        ['--no-such-option'],
        ['nonsense'],
        ['-o', ''],
        ['--output'],
        ['--max-size', '4095KiB'],
        ['--max-size', 'x'],
        ['--max-size', '0'],
        ['--max-size', '-1'],
        ['--keep', 'x'],
        ['--keep', '-1d'],
        ['--keep', ''],
        ['--series', 'some'],
        ['--series', ''],
        ['--also-print=1'],
        ['--growth'],
        ['--warn', '90%'],
        ['--pid', '0'],
        ['--timeout', 'soon'],
    ):
        yield from (
            f'{options}: {error}'
            for error in status_errors(run(binary, 'record', *options), EX_USAGE)
        )


def test_help(binary):
    code, out, err = run(binary, 'record', '--help')
    yield from differ('status', code, 0)
    yield from differ('stderr', err, b'')
    for word in (b'--max-size', b'--also-print', b'--cgroup', b'Usage: oomsnoop record'):
        if word not in out:
            yield f'--help does not say {word!r}'


def test_bad_paths(binary):
    with Folder() as folder:
        yield from refused(binary, folder / 'nowhere' / 'oom.db', EX_IOERR, 'No such file')
        yield from refused(binary, folder, EX_IOERR, str(folder))
        yield from refused(binary, folder / ('x' * 300), EX_IOERR, 'too long')
        (folder / 'file').write_bytes(b'')
        yield from refused(binary, folder / 'file' / 'oom.db', EX_IOERR, 'Not a directory')
        yield from differ('left behind', os.listdir(folder), ['file'])
    yield from refused(binary, '/dev/null', EX_IOERR, '/dev/null')


def test_read_only(binary):
    with Disk(8, 'ro') as disk:
        yield from refused(binary, disk.path / 'oom.db', EX_IOERR, 'Read-only')
    with Folder() as folder:
        os.chown(folder, 65534, 65534)
        folder.chmod(0o555)
        wrap = without('dac_override')
        yield from refused(binary, folder / 'oom.db', EX_NOPERM, 'ermi', wrap=wrap)


def test_disk_full_at_start(binary):
    with Disk(8) as disk:
        disk.fill()
        yield from refused(binary, disk.path / 'oom.db', EX_IOERR, 'full')


def test_not_a_store(binary):
    with Folder() as folder:
        text, other, newer = (folder / name for name in ('text', 'other.db', 'newer.db'))
        text.write_bytes(b'This is a text, and nobody wants to lose it.\n' * 100)
        with closing(sqlite3.connect(other)) as database:
            database.execute('CREATE TABLE important (thing)')
            database.commit()
        with Recording(binary, newer) as recording:
            recording.end()
        with closing(sqlite3.connect(newer)) as database:
            database.execute('PRAGMA user_version = 99')
            database.commit()
        for file in (text, other, newer):
            before = file.read_bytes()
            yield from refused(binary, file, EX_DATAERR, file.name)
            if file.read_bytes() != before:
                yield f'{file.name} was changed'


def test_default_file(binary):
    wrap = in_own_mounts('mount -t tmpfs none /var/lib')
    with Cgroup('default', 16) as cgroup:
        with Recording(binary, None, wrap=wrap) as recording:
            root = Path(f'/proc/{recording.process.pid}/root/var/lib/oomsnoop')
            pid = eat(cgroup, 32)
            recording.wait_stored(pid)
            yield from differ('mode', oct(root.stat().st_mode & 0o777), '0o750')
            # It cannot be opened from here: SQLite takes its real path, which is ours.
            if not (root / 'oom.db').read_bytes().startswith(b'SQLite format 3'):
                yield 'no store there'


def test_two_recorders(binary):
    with Folder() as folder, Cgroup('two', 16) as cgroup:
        file = folder / 'oom.db'
        with Recording(binary, file) as recording:
            yield from refused(binary, file, 1, 'another recorder')
            (folder / 'link.db').symlink_to(file)
            yield from refused(binary, folder / 'link.db', 1, 'another recorder')
            pid = eat(cgroup, 32)
            recording.wait_stored(pid)
            yield from differ('status of the first', recording.end()[0], 0)
        yield from differ('stored', victims(file), {1: pid})


# --- what goes wrong later ---


def test_kill9(binary):
    """At any moment, in a loop of kills with their series: the file is sound, and what was
    announced is in it."""
    rounds = int(os.environ.get('OOMSNOOP_KILL9', '40'))
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    announced, without_any = {}, 0
    with Folder() as folder, Cgroup('kill9', 8) as cgroup, Killer(cgroup) as killer:
        file = folder / 'oom.db'
        for number in range(rounds):
            starting = moments.random() < 0.25
            recording = Recording(binary, file, wait=not starting)
            # The moment is the test's subject; nothing is waited for.
            time.sleep(moments.uniform(0, 1.5 if starting else 0.4))
            recording.end(signal.SIGKILL)
            recording.process.stderr.close()
            fresh = recording.stored()
            without_any += not fresh
            repeated = set(fresh) & set(announced)
            if repeated:
                yield f'round {number} of seed {seed}: numbers given twice: {repeated}'
            announced |= fresh
            for error in store_errors(file, announced) if file.exists() else ():
                yield f'round {number} of seed {seed}: {error}'
        # It goes on after all of that.
        with Recording(binary, file) as recording:
            recording.wait_for('an incident', recording.stored)
            yield from differ('status in the end', recording.end()[0], 0)
            announced |= recording.stored()
        yield from store_errors(file, announced)
        runs = query(file, 'SELECT count(*), count(ended_ns) FROM run')[0]
    if killer.error:
        yield f'no more kills: {killer.error}'
    yield from differ('runs with an end', runs[1], 1)
    if len(announced) < rounds or without_any > rounds * 3 // 4:
        yield f'{len(announced)} incidents, in {without_any} of {rounds} rounds none: too few'
    for pid in announced.values():
        if pid not in killer.pids:
            yield f'{pid} was not killed'


def kill_until(recording, cgroup, word):
    """Kills until it says so; their pids."""
    pids = []
    while word not in recording.err:
        if len(pids) == KILLS_MOST:
            raise AssertionError(f'{KILLS_MOST} kills, and it never said {word!r}')
        pid = eat(cgroup, 32)
        pids.append(pid)
        recording.wait_for(
            f'neither {pid} nor {word!r}',
            lambda pid=pid: pid in recording.stored().values() or word in recording.err,
        )
    return pids


def told_by(out):
    """Pids in what was printed so far."""
    text = os.pread(out.fileno(), os.fstat(out.fileno()).st_size, 0)
    lines = [json.loads(line) for line in text.rpartition(b'\n')[0].splitlines()]
    return [line['victim_pid'] for line in lines if line['type'] == 'oom']


def test_disk_full(binary):
    """What is printed is not held up, and all of it is stored once there is room."""
    options = ('--also-print', '--json', '--max-size', '4MiB')
    with Disk(6) as disk, Cgroup('full', 16) as cgroup, tempfile.TemporaryFile() as out:
        file = disk.path / 'oom.db'
        with Recording(binary, file, *options, stdout=out) as recording:
            pids = [eat(cgroup, 32)]
            recording.wait_stored(*pids)
            disk.fill()
            pids += kill_until(recording, cgroup, b'cannot write to')
            for _ in range(3):
                pids.append(eat(cgroup, 32))
                wait_until('the printed record', lambda: pids[-1] in told_by(out))
            missing = set(pids) - set(recording.stored().values())
            if len(missing) < 3:
                yield f'only {missing} are not stored while the disk is full'
            disk.make_room()
            recording.wait_said(b'can be written to again')
            recording.wait_stored(*pids)
            code, err = recording.end()
        yield from differ('status', code, 0)
        yield from differ('printed', told_by(out), pids)
        yield from differ('stored', list(victims(file).values()), pids)
        yield from differ('said so often', err.count(b'cannot write to'), 1)
        yield from store_errors(file, recording.stored())


def test_disk_full_to_the_end(binary):
    with Disk(6) as disk, Cgroup('full-end', 16) as cgroup:
        file = disk.path / 'oom.db'
        with Recording(binary, file, '--max-size', '4MiB') as recording:
            recording.wait_stored(eat(cgroup, 32))
            disk.fill()
            kill_until(recording, cgroup, b'cannot write to')
            begun = time.monotonic()
            code, err = recording.end()
            took = time.monotonic() - begun
        yield from differ('status', code, EX_IOERR)
        if not re.search(rb'lost: [1-9]\d* incidents', err):
            yield f'it does not say what is lost: {err[-400:]!r}'
        if not 9 < took < 20:
            yield f'its end took {took:.1f} s'
        yield from store_errors(file, recording.stored())


def test_size_limit(binary):
    """RLIMIT_FSIZE: an error like others, and no signal."""
    limit = 640 << 10
    with Folder() as folder, Cgroup('fsize', 16) as cgroup:
        file = folder / 'oom.db'
        wrap = ['prlimit', f'--fsize={limit}:{resource.RLIM_INFINITY}'.replace('-1', 'unlimited')]
        with Recording(binary, file, wrap=wrap) as recording:
            pids = kill_until(recording, cgroup, b'cannot write to')
            pid = recording.process.pid
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            recording.wait_stored(*pids)
            yield from differ('status', recording.end()[0], 0)
        yield from store_errors(file, recording.stored())


def test_removed(binary):
    for replaced in (False, True):
        with Folder() as folder, Cgroup('removed', 16) as cgroup:
            file = folder / 'oom.db'
            with Recording(binary, file) as recording:
                recording.wait_stored(eat(cgroup, 32))
                for name in os.listdir(folder):
                    (folder / name).unlink()
                if replaced:
                    file.write_bytes(b'')
                recording.wait_said(b'removed or replaced')
                pid = eat(cgroup, 32)
                recording.wait_stored(pid)
                yield from differ('stored', list(victims(file).values()), [pid])
                code, err = recording.end()
            yield from differ('status', code, 0)
            yield from differ('said so often', err.count(b'removed or replaced'), 1)
            yield from differ('runs', query(file, 'SELECT ended_why FROM run'), [('signal',)])
            yield from store_errors(file, {})


def test_removed_folder(binary):
    with Folder() as folder, Cgroup('folder', 16) as cgroup:
        inner = folder / 'inner'
        inner.mkdir()
        with Recording(binary, inner / 'oom.db') as recording:
            recording.wait_stored(eat(cgroup, 32))
            inner.rename(folder / 'away')
            recording.wait_said(b'cannot write to')
            pid = eat(cgroup, 32)
            inner.mkdir()
            recording.wait_stored(pid)
            yield from differ('status', recording.end()[0], 0)
        yield from differ('stored', list(victims(inner / 'oom.db').values()), [pid])


def reading(file):
    """A reader in the middle of a transaction; how many incidents it sees."""
    store = sqlite3.connect(f'file:{file}?mode=ro', uri=True, isolation_level=None)
    store.execute('BEGIN')
    return store, lambda: store.execute('SELECT count(*) FROM incident').fetchone()[0]


def test_long_reader(binary):
    """A reader does not hold up the recorder, nor the other way round."""
    with Folder() as folder, Cgroup('reader', 16) as cgroup:
        file = folder / 'oom.db'
        with Recording(binary, file) as recording:
            pids = [eat(cgroup, 32)]
            recording.wait_stored(*pids)
            store, count = reading(file)
            yield from differ('seen before', count(), 1)
            pids += [eat(cgroup, 32), eat(cgroup, 32)]
            recording.wait_stored(*pids)
            yield from differ('seen meanwhile', count(), 1)
            store.execute('COMMIT')
            yield from differ('seen afterwards', count(), 3)
            store.close()
            yield from differ('status', recording.end()[0], 0)


def test_endless_reader(binary):
    """One that reads until the log is full: incidents wait in memory until it ends."""
    with Folder() as folder, Cgroup('endless', 16) as cgroup:
        file = folder / 'oom.db'
        with Recording(binary, file, '--max-size', '4MiB') as recording:
            recording.wait_stored(eat(cgroup, 32))
            store, count = reading(file)
            seen = count()
            pids = kill_until(recording, cgroup, b'cannot write to')
            used = sum(path.stat().st_size for path in folder.iterdir())
            yield from differ('seen', count(), seen)
            store.close()
            recording.wait_stored(*pids)
            yield from differ('status', recording.end()[0], 0)
        # -shm is no part of what is bounded.
        if used > 4 * MIB + 128 * 1024:
            yield f'file and log grew to {used} bytes'
        yield from differ('stored', list(victims(file).values())[-len(pids) :], pids)
        yield from store_errors(file, {})


if __name__ == '__main__':
    sys.exit(suite.main('record', __doc__, suite.tests_of(globals())))
