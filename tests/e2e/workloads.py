# SPDX-License-Identifier: Apache-2.0
"""A workload of tests/workloads, run here: what it says is read while it runs, and it starts when
it is told to."""
import errno
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from scenarios import read_account

PROGRAMS = Path(__file__).resolve().parents[2] / 'build' / 'tests' / 'workloads'
# Nothing waits this long unless it fails.
PATIENCE = 60


class Workload:
    """with Workload('grow', 'anon', 40, cgroup=cgroup) as leak: leak.go(); leak.wait('done').

    It waits for go(); `fifos` are further options that take a fifo, opened by go(OPTION). At the
    end of the block it is killed if it still runs."""

    def __init__(self, program, *arguments, cgroup=None, fifos=''):
        self.directory = tempfile.mkdtemp()
        self.fifos = {}
        options = [b'-C', cgroup.path] if cgroup else []
        for option in 'w' + fifos:
            self.fifos[option] = os.path.join(self.directory, option)
            os.mkfifo(self.fifos[option])
            options += [b'-' + option.encode(), os.fsencode(self.fifos[option])]
        self.steps = []
        self.heard = threading.Condition()
        self.over = False
        self.process = subprocess.Popen(
            [os.fsencode(PROGRAMS / program), *options, *map(self.argument, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )
        self.pid = self.process.pid
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.wait('ready')

    @staticmethod
    def argument(word):
        return word if isinstance(word, bytes) else str(word).encode('latin-1')

    def read(self):
        for line in self.process.stdout:
            with self.heard:
                self.steps += read_account(line.decode('latin-1'))
                self.heard.notify_all()
        with self.heard:
            self.over = True
            self.heard.notify_all()

    def said(self, event):
        return [step for step in self.steps if step.get('event') == event]

    def wait(self, event, count=1):
        """Until it (or its children) said so that often; what it said."""
        with self.heard:
            self.heard.wait_for(lambda: self.over or len(self.said(event)) >= count, PATIENCE)
            found = self.said(event)
        if len(found) < count:
            raise AssertionError(f'{self.process.args[0]!r} never said {event}: {self.steps[-3:]}')
        return found

    def wait_end(self):
        """Until it is gone, with all that had its output; its exit status."""
        self.reader.join(PATIENCE)
        return self.process.wait(PATIENCE)

    def killed(self):
        """Until the OOM killer has taken it."""
        status = self.wait_end()
        if status != -signal.SIGKILL:
            raise AssertionError(f'{self.process.args[0]!r} ended with {status}: {self.steps[-3:]}')
        return self

    def go(self, option='w'):
        """Let it begin. Its open of the fifo may be a moment away."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                os.close(os.open(self.fifos[option], os.O_WRONLY | os.O_NONBLOCK))
                return self
            except OSError as error:
                if error.errno != errno.ENXIO or time.monotonic() > deadline or self.over:
                    raise
            time.sleep(0.005)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join(PATIENCE)
        shutil.rmtree(self.directory, ignore_errors=True)
