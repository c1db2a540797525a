# SPDX-License-Identifier: Apache-2.0
"""Tests of `oomsnoop report --html` and `--svg`: where the page goes, and what is left when it
cannot. Run by report_test.py."""
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
from contextlib import closing
from pathlib import Path

from cli_test import differ, run, status_errors
from recording import Disk, Folder
from reporting import EX_IOERR, EX_NOPERM, NOBODY, capture, ok


def test_pages(binary):
    case = capture(binary)
    with Folder() as folder:
        page, chart = folder / 'page.html', folder / 'chart.svg'
        words = ('report', '--comm', 'second', '--html', page, '--svg', chart, case.text_store)
        out, err = ok(binary, *words, umask=0o027)
        yield from differ('stdout', out, b'')
        yield from differ('stderr', err, b'')
        yield from differ('files', sorted(os.listdir(folder)), ['chart.svg', 'page.html'])
        yield from differ('mode', oct(page.stat().st_mode & 0o777), '0o640')
        text = page.read_bytes()
        if b'second' not in text or not text.startswith(b'<!') or b'<svg' not in chart.read_bytes():
            yield f'no page: {text[:100]!r}'
        yield from differ('to stdout', ok(binary, *words[:3], '--html', '-', words[-1])[0] == text, True)
        # As told: the last of those asked for.
        last, _ = ok(binary, 'report', '--html', '-', case.text_store)
        yield from differ('the last', last == text, True)


def test_page_takes_the_place(binary):
    """Whatever is there stays until the new page is whole; links and modes stay, too."""
    case = capture(binary)
    with Folder() as folder:
        real, link = folder / 'real.html', folder / 'link.html'
        real.write_text('old')
        real.chmod(0o604)
        link.symlink_to(real)
        ok(binary, 'report', '--html', link, case.text_store)
        yield from differ('a link still', link.is_symlink(), True)
        yield from differ('mode', oct(real.stat().st_mode & 0o777), '0o604')
        if not real.read_bytes().startswith(b'<!'):
            yield 'the page is not where the link points'
        yield from differ('files', sorted(os.listdir(folder)), ['link.html', 'real.html'])


def test_page_to_a_pipe(binary):
    case = capture(binary)
    with Folder() as folder:
        fifo = folder / 'fifo'
        os.mkfifo(fifo)
        got = []
        reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()), daemon=True)
        reader.start()
        ok(binary, 'report', '--html', fifo, case.text_store)
        reader.join(30)
        yield from differ('a page', bool(got) and got[0].startswith(b'<!'), True)
        yield from differ('a fifo still', fifo.is_fifo(), True)


def test_page_disk_full(binary):
    case = capture(binary)
    with Disk(1) as disk:
        page = disk.path / 'page.html'
        page.write_text('old')
        disk.fill()
        for option in ('--html', '--svg'):
            code, out, err = run(binary, 'report', option, page, case.text_store)
            yield from differ(f'{option}: status', code, EX_IOERR)
            if b'No space left' not in err or b'page.html' not in err:
                yield f'{option}: not said: {err!r}'
        yield from differ('the old page', page.read_text(), 'old')
        yield from differ('files', sorted(os.listdir(disk.path)), ['filler', 'page.html'])


def test_page_nowhere(binary):
    case = capture(binary)
    with Folder() as folder:
        locked = folder / 'locked'
        locked.mkdir(0o555)
        folder.chmod(0o755)
        store = Path(shutil.copy(case.text_store, folder / 'oom.db'))
        store.chmod(0o644)
        for words, want, wrap in (
            ((folder,), EX_IOERR, ()),
            ((folder / 'no' / 'such'), EX_IOERR, ()),
            ((locked / 'page'), EX_NOPERM, NOBODY),
            (('/dev/full'), EX_IOERR, ()),
        ):
            path = words[0] if isinstance(words, tuple) else words
            result = run(binary, 'report', '--html', path, store, wrap=wrap)
            yield from (f'{path}: {error}' for error in status_errors(result, want, names=str(path)))
        yield from differ('files', sorted(os.listdir(locked)), [])
        # A page of nothing is none.
        page = folder / 'page'
        result = run(binary, 'report', '--html', page, '--comm', 'nobody', store)
        yield from status_errors(result, 1, names='no incident matches')
        yield from differ('no page', page.exists(), False)


def test_page_without_series(binary):
    """What the record itself tells of the usage is drawn."""
    case = capture(binary)
    store = case.copy()
    with closing(sqlite3.connect(store)) as db, db:
        for table in ('process_point', 'cgroup_point'):
            db.execute(f'DELETE FROM {table}')
    with Folder() as folder:
        page, chart = folder / 'page.html', folder / 'chart.svg'
        ok(binary, 'report', '--svg', chart, store)
        if not re.search(r'limit 48\.0.MiB', chart.read_text()):
            yield f'no limit in the chart: {chart.read_text()[:300]!r}'
        ok(binary, 'report', '--html', page, store)
        yield from differ('files', sorted(os.listdir(folder)), ['chart.svg', 'page.html'])
    # The text has the picture in the incident still.
    out, _ = ok(binary, 'report', '--comm', 'second', store)
    if b' kill 48.0 MiB ' not in out:
        yield f'no timeline: {out[-600:]!r}'


def interrupted(binary, folder, store, number):
    """Ended by a signal as soon as something new is in the folder; what became of it. Each of its writes is held up, so
    that it cannot be done before."""
    before = set(os.listdir(folder))
    process = subprocess.Popen(
        # With -D what is traced is our child, and not the tracer.
        ['strace', '-D', '-o', '/dev/null', '-e', 'inject=write:delay_enter=1s']
        + [binary, 'report', '-q', '--html', folder / 'page.html', store],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and set(os.listdir(folder)) == before:
        pass
    process.send_signal(number)
    return process.wait()


def test_interrupted(binary):
    """Ended while a page is written: no half of it is left."""
    case = capture(binary)
    with Folder() as folder:
        page = folder / 'page.html'
        for number in (signal.SIGINT, signal.SIGTERM):
            page.write_text('old')
            status = interrupted(binary, folder, case.text_store, number)
            yield from differ(f'{number.name}: files', os.listdir(folder), ['page.html'])
            yield from differ(f'{number.name}: status', status, -number)
            yield from differ(f'{number.name}: old page', page.read_text()[:20], 'old')


def test_page_too_large(binary):
    """A limit on the size of files is an error as others are, and no signal."""
    case = capture(binary)
    with Folder() as folder:
        page = folder / 'page.html'
        words = ('sh', '-c', 'ulimit -f 128; exec "$@"', 'sh', binary, 'report', '-q')
        result = run(*words, '--html', page, case.text_store)
        yield from status_errors(result, EX_IOERR, names='page.html')
        yield from differ('files', os.listdir(folder), [])
