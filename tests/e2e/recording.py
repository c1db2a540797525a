# SPDX-License-Identifier: Apache-2.0
"""A running `oomsnoop record`, what it says, and what is in its file."""
import os
import re
import select
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

from cgroup import eat

# Nothing waits this long unless it fails.
PATIENCE = 60
STORED = re.compile(rb'^oomsnoop: stored incident (\d+): KILLED .*?\[(\d+)\]', re.MULTILINE)


class Recording:
    """with Recording(BINARY, FILE, OPTION...) as recording: READY, unless wait=False. Ends with
    SIGTERM at the latest."""

    def __init__(self, binary, file, *options, stdout=subprocess.DEVNULL, wrap=(), wait=True):
        reader, writer = os.pipe()
        # Kills that others make meanwhile are none of these tests' business.
        ours = ('--cgroup', f'/oomsnoop-cli-{os.getpid()}-*')
        words = [*wrap, binary, 'record', '--ready-fd', str(writer), *ours]
        self.process = subprocess.Popen(
            [*words, *(('-o', file) if file else ()), *options],
            stdout=stdout,
            stderr=subprocess.PIPE,
            pass_fds=[writer],
            stdin=subprocess.DEVNULL,
        )
        os.close(writer)
        self.err = b''
        self.heard = threading.Condition()
        self.over = False
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()
        if wait and not select.select([reader], [], [], PATIENCE)[0]:
            raise AssertionError('no READY')
        self.ready = os.read(reader, 64) == b'READY\n' if wait else None
        os.close(reader)
        if wait and not self.ready:
            raise AssertionError(f'it ended with {self.end(None)}')

    def listen(self):
        while chunk := os.read(self.process.stderr.fileno(), 65536):
            with self.heard:
                self.err += chunk
                self.heard.notify_all()
        with self.heard:
            self.over = True
            self.heard.notify_all()

    def wait_for(self, what, check):
        with self.heard:
            self.heard.wait_for(lambda: self.over or check(), PATIENCE)
            if not check():
                raise AssertionError(f'{what} never came: {self.err[-600:]!r}')

    def wait_said(self, word):
        self.wait_for(word, lambda: word in self.err)

    def stored(self):
        """{number: pid of the victim} of what was announced."""
        return {int(number): int(pid) for number, pid in STORED.findall(self.err)}

    def wait_stored(self, *pids):
        self.wait_for(f'incident of {pids}', lambda: set(pids) <= set(self.stored().values()))

    def end(self, number=signal.SIGTERM):
        """(status, stderr) after a signal, or after it has ended by itself (number None)."""
        if number is not None and self.process.poll() is None:
            self.process.send_signal(number)
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = 'hangs'
        self.listener.join(PATIENCE)
        return status, self.err

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end()
        self.process.stderr.close()


class Folder:
    """with Folder() as path: a folder on a real file system, gone afterwards."""

    def __enter__(self):
        self.path = Path(tempfile.mkdtemp(dir='/var/tmp', prefix='oomsnoop-record-'))
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path)


class Disk:
    """with Disk(MIB) as disk: a small file system of our own at disk.path; disk.fill() until
    nothing goes on it any more, disk.make_room()."""

    def __init__(self, mib, *options):
        self.options = ','.join([f'size={mib}m', *options])

    def fill(self):
        with open(self.path / 'filler', 'ab', buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                return

    def make_room(self):
        (self.path / 'filler').unlink()

    def __enter__(self):
        self.path = Path(tempfile.mkdtemp())
        subprocess.run(['mount', '-t', 'tmpfs', '-o', self.options, 'none', self.path], check=True)
        return self

    def __exit__(self, *_):
        subprocess.run(['umount', '-l', self.path], check=True)
        self.path.rmdir()


class Killer:
    """with Killer(CGROUP): one kill after the other in it, until the end of the block."""

    def __init__(self, cgroup):
        self.cgroup = cgroup
        self.stop = threading.Event()
        self.pids = []
        self.error = None
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        try:
            while not self.stop.is_set():
                self.pids.append(eat(self.cgroup, 64))
        except (AssertionError, OSError) as error:
            self.error = error

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join(PATIENCE)


def query(file, sql, *values):
    """Rows, as any other program would read them, while a recorder may be writing."""
    with closing(sqlite3.connect(f'file:{file}?mode=ro', uri=True, timeout=PATIENCE)) as store:
        return store.execute(sql, values).fetchall()


def victims(file):
    """{number: pid of its first victim}"""
    return dict(query(file, 'SELECT incident, pid FROM victim WHERE n = 0'))


def store_errors(file, announced):
    """A file as a crash left it: looked at in a copy, so that the recorder itself finds its log as
    it was."""
    with tempfile.TemporaryDirectory() as directory:
        for end in ('', '-wal', '-journal'):
            if os.path.exists(f'{file}{end}'):
                shutil.copy(f'{file}{end}', f'{directory}/copy.db{end}')
        with closing(sqlite3.connect(f'{directory}/copy.db')) as store:
            check = store.execute('PRAGMA integrity_check').fetchall()
            if check != [('ok',)]:
                yield f'integrity_check: {check[:3]}'
            if not announced:
                return
            found = dict(store.execute('SELECT incident, pid FROM victim WHERE n = 0'))
            twice = store.execute(
                'SELECT run, number FROM incident GROUP BY run, number HAVING count(*) > 1'
            ).fetchall()
    for number, pid in announced.items():
        if found.get(number) != pid:
            yield f'incident {number} of {pid} was announced; stored is {found.get(number)}'
    if twice:
        yield f'stored twice: {twice}'


def wait_until(what, check):
    """For what tells nobody when it happens."""
    deadline = time.monotonic() + PATIENCE
    while not check():
        if time.monotonic() > deadline:
            raise AssertionError(f'never: {what}')
        time.sleep(0.02)
