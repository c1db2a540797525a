# SPDX-License-Identifier: Apache-2.0
"""Stores of real kills with what was told of them live, and what `list`, `report` and `export` say
of them."""
import json
import re
import shutil
from pathlib import Path

from jsonschema import Draft202012Validator

from cgroup import Cgroup, HOSTILE_COMM, eat
from cli_test import run
from recording import Folder, Recording, query
from workloads import Workload

TOP = Path(__file__).resolve().parents[2]
SCHEMA = TOP / 'docs' / 'record-schema.json'
EX_OOM, EX_USAGE, EX_DATAERR, EX_IOERR, EX_NOPERM = 3, 64, 65, 74, 77
NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
COMMANDS = ('list', 'report', 'export')
HOSTILE_ARGUMENTS = [b'new\nline', b'\033]0;title\007', b'bad\377utf', b'\xc2\x9b31m']
ALL = ('--since', '@0')


class Capture:
    """Kills of several kinds, told live and stored by two recorders at once, one that prints text
    and one that prints NDJSON."""

    def __init__(self, binary):
        self.folder = Folder()
        self.path = self.folder.__enter__()
        self.text_store, self.json_store = self.path / 'text.db', self.path / 'json.db'
        text, lines = self.path / 'text', self.path / 'json'
        with open(text, 'wb') as one, open(lines, 'wb') as other, Recording(
            binary, self.text_store, '--also-print', stdout=one
        ) as first, Recording(
            binary, self.json_store, '--also-print', '--json', stdout=other
        ) as second:
            self.pids = self.kill()
            for recording in (first, second):
                recording.wait_stored(*self.pids.values())
                code, err = recording.end()
                if code != 0:
                    raise AssertionError(f'record ended with {code}: {err[-300:]!r}')
        self.json = lines.read_bytes()
        self.incidents = [json.loads(line) for line in self.oom_lines()]
        self.text = self.in_order(text.read_bytes())
        self.numbers = {
            self.pids[name]: number
            for number, pid in query(
                self.text_store, 'SELECT incident, pid FROM victim WHERE n = 0'
            )
            for name in self.pids
            if self.pids[name] == pid
        }

    # A kill is told live when its victim is gone, a store is read by the time of the kill: where a
    # victim takes longer than the next one, the two differ.
    def oom_lines(self):
        lines = [line + b'\n' for line in self.json.splitlines()]
        kills = [line for line in lines if json.loads(line)['type'] == 'oom']
        return sorted(kills, key=lambda line: json.loads(line)['ts'])

    def in_order(self, text):
        order = [one['victim_pid'] for one in self.incidents]
        blocks = re.split(rb'\n\n(?=\d\d:\d\d:\d\d\.\d{3} )', text.removesuffix(b'\n'))
        blocks.sort(key=lambda block: order.index(int(re.search(rb'KILLED .*?\[(\d+)\]', block)[1])))
        return b'\n\n'.join(blocks) + b'\n'

    @staticmethod
    def kill():
        """{name: pid}, in order."""
        pids = {}
        with Cgroup('hostile\033[31m"\377', 16) as cgroup:
            pids['hostile'] = eat(cgroup, 32, comm=HOSTILE_COMM, arguments=HOSTILE_ARGUMENTS)
        with Cgroup('replay', 48) as cgroup:
            pids['first'] = eat(cgroup, 64, comm='first')
            # One worker after the other copies what it was forked with, until some die.
            with Workload('forkeat', '-a', '1000', 12, 4, 12, cgroup=cgroup) as workers:
                workers.go().wait_end()
            # Two processes on one address space: both die.
            with Workload('sharemm', 96, cgroup=cgroup) as shared:
                shared.go().wait_end()
            # Who asks is not who dies, whatever the workers did.
            with Workload('trigger', 32, 24, cgroup=cgroup) as asker:
                asker.go().wait_end()
            pids['second'] = eat(cgroup, 64, comm='second')
        return pids

    def copy(self, name='copy.db'):
        return Path(shutil.copy(self.text_store, self.path / name))

    def number(self, name):
        return self.numbers[self.pids[name]]

    def close(self):
        self.folder.__exit__()


CAPTURES = []


def capture(binary):
    if not CAPTURES:
        CAPTURES.append(Capture(binary))
    return CAPTURES[0]


def ok(binary, *words, **more):
    """stdout and stderr of a run that must succeed."""
    code, out, err = run(binary, *words, **more)
    if code != 0:
        raise AssertionError(f'{words}: status {code}: {err[:300]!r}')
    return out, err


def listed(binary, *words, **more):
    """The incidents that `list --json` names."""
    lines = [json.loads(line) for line in ok(binary, 'list', '--json', *words, **more)[0].splitlines()]
    return [line for line in lines if line['type'] == 'incident']


def comms(binary, *words):
    return [line.get('victim_comm') for line in listed(binary, *words)]


def schema_errors(out):
    validator = Draft202012Validator(json.loads(SCHEMA.read_text(encoding='utf-8')))
    for line in map(json.loads, out.splitlines()):
        first = list(line)[:4]
        if first[:3] != ['v', 'type', 'ts']:
            yield f'first keys {first}'
        for error in validator.iter_errors(line):
            yield f'{line["type"]}, {"/".join(map(str, error.path))}: {error.message[:160]}'
