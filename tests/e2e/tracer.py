# SPDX-License-Identifier: Apache-2.0
"""A tracer that tells while a test runs: what it has told so far, and what it is waited for to tell."""
import json
import os
import select
import signal
import subprocess
import threading

# Nothing waits this long unless it fails.
PATIENCE = 60


class Tracer:
    """A running tracer; its lines and records come in while it runs."""

    def __init__(self, binary, *options):
        reader, writer = os.pipe()
        self.process = subprocess.Popen(
            [binary, *options, '--ready-fd', str(writer)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            pass_fds=[writer],
        )
        os.close(writer)
        self.lines, self.records = [], []
        self.heard = threading.Condition()
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()
        if not select.select([reader], [], [], PATIENCE)[0] or os.read(reader, 64) != b'READY\n':
            raise AssertionError(f'not ready: {self.process.stderr.read()!r}')
        os.close(reader)

    def listen(self):
        for line in self.process.stdout:
            with self.heard:
                self.lines.append(line)
                if line.startswith(b'{'):
                    self.records.append(json.loads(line))
                self.heard.notify_all()

    def told(self, pid):
        """What this process was refused, and kills in which it is a target."""
        return [
            record
            for record in self.records
            if pid in (record.get('pid'), record.get('target_pid'))
            or pid in (target['pid'] for target in record.get('targets', ()))
        ]

    def wait(self, pid):
        with self.heard:
            if not self.heard.wait_for(lambda: self.told(pid), PATIENCE):
                raise AssertionError(f'nothing is ever told of {pid}')
            return self.told(pid)[0]

    def wait_text(self, text):
        with self.heard:
            if not self.heard.wait_for(lambda: text in b''.join(self.lines), PATIENCE):
                raise AssertionError(f'never told: {text!r} in {b"".join(self.lines)[-800:]!r}')

    def end(self):
        """What it said on its standard error."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)
        self.listener.join(PATIENCE)
        return self.process.stderr.read()


def end_all(*tracers):
    """Those that still run."""
    for tracer in tracers:
        if tracer.process.poll() is None:
            tracer.end()


def differ(record, **expected):
    """What is not as expected."""
    yield from (
        f'{key} is {record.get(key)!r} and not {value!r}'
        for key, value in expected.items()
        if record.get(key) != value
    )
