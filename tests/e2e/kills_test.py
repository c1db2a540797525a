#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kills_test.py [-q] [-k TEST] [BINARY]: kills that are not the OOM killer's, really made: by a shell, by python, by timeout, of a process group,
by earlyoom, by the end of a pid namespace, by a full tmpfs. Who did it is known here, and must be told; what must not be told is
looked for, too. Prints "ok NAME" and "FAIL NAME: why" lines and a last line of sums."""
import json
import mmap
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import suite
from cgroup import Cgroup, eat
from tracer import PATIENCE, Tracer, differ, end_all

TOP = Path(__file__).resolve().parents[2]
DOCS = TOP / 'docs' / 'capture.md'
SCHEMA = TOP / 'docs' / 'record-schema.json'
MANY = 100
PAGE = mmap.PAGESIZE


class Kills(Tracer):
    """A tracer, of which kills alone count."""

    def kills(self):
        return [record for record in self.records if record['type'] == 'kill']

    def told(self, pid):
        return [record for record in super().told(pid) if record['type'] == 'kill']

    def seen(self, test, enough=bool):
        """The kills that pass a test, once they are enough: one is, if nothing else is said."""
        with self.heard:
            self.heard.wait_for(lambda: enough(list(filter(test, self.kills()))), PATIENCE)
            return list(filter(test, self.kills()))


class Target:
    """with Target() as target: a process that does nothing until it is killed."""

    def __init__(self, *command, **options):
        self.process = subprocess.Popen(command or ['sleep', '600'], **options)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()

    def killed(self):
        status = self.process.wait(PATIENCE)
        if status != -signal.SIGKILL:
            raise AssertionError(f'it ended with {status}')
        return self.pid


def shell(text):
    """What a shell of its own does; its pid."""
    process = subprocess.Popen(['bash', '-c', text], stderr=subprocess.DEVNULL)
    process.wait(PATIENCE)
    return process.pid


def python(text):
    process = subprocess.Popen([sys.executable, '-I', '-S', '-c', text])
    process.wait(PATIENCE)
    return process.pid


# Who or what killed: one of them is given, and no other.
KILLERS = {
    'shm-full', 'killed-by-oom-daemon', 'cgroup-killed', 'killed-by-kernel', 'memory-fault', 'killed-by-process',
}


def verdict(record, name):
    found = [v for v in record['verdicts'] if v['id'] == name]
    given = [v['id'] for v in record['verdicts']]
    if record['summary'] != record['verdicts'][0]['claim']:
        yield f'summary {record["summary"]!r}'
    if len(KILLERS & set(given)) != 1 or not KILLERS.issuperset(set(given) - {'cleanup-after-oom'}):
        yield f'verdicts {given}'
    if not found:
        yield f'no {name} among {[v["id"] for v in record["verdicts"]]}'
    elif not found[0]['evidence']:
        yield f'{name} without evidence'


class Cases:
    """Three tracers that run all the time; the last tests end them."""

    def __init__(self, binary):
        self.binary = binary
        self.foreign = Kills(binary, '--json')
        self.everything = Kills(binary, '--json', '--kills', 'all')
        self.text = Kills(binary)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end_all(self.foreign, self.everything, self.text)

    def absent(self, pid):
        """A kill made after it is told, it is not."""
        with Target() as marker:
            shell(f'kill -9 {marker.pid}')
            self.foreign.wait(marker.killed())
        return [f'{pid} is told by default'] if self.foreign.told(pid) else []

    # --- by hand ---

    def test_by_shell(self):
        with Target() as target:
            sender = shell(f'kill -9 {target.pid}')
            record = self.foreign.wait(target.killed())
        yield from differ(
            record, signal='SIGKILL', code_name='SI_USER', manner='each', result='delivered',
            to_process=True, sender_pid=sender, sender_comm='bash', sender_kind='shell',
            sender_uid=os.getuid(), sender_ppid=os.getpid(), sender_file='bash',
            sender_cmdline=f'bash -c kill -9 {target.pid}', target_comm='sleep',
            target_cmdline='sleep 600', target_ppid=os.getpid(), targets_total=1,
            target_is_child=False, target_is_descendant=False, kill_argument=target.pid,
        )
        # It may be gone before the link is looked at.
        if record.get('sender_exe', shutil.which('bash')) != shutil.which('bash'):
            yield f'sender_exe is {record["sender_exe"]}'
        yield from verdict(record, 'killed-by-process')
        if record['target_anon_bytes'] + record['target_file_bytes'] < PAGE:
            yield 'the target held nothing'
        claim = f'Not the OOM killer: bash (pid {sender}) sent SIGKILL to sleep (pid {target.pid})'
        yield from differ(record['verdicts'][0], claim=claim, confidence='certain')
        for pid in (sender, target.pid):
            self.text.wait_text(str(pid).encode())
        lines = b''.join(self.text.lines).decode()
        if f'KILL Not the OOM killer: bash (pid {sender})' not in lines:
            yield f'the text does not begin so: {lines[-800:]}'

    def test_by_python(self):
        with Target() as target:
            sender = python(f'import os; os.kill({target.pid}, 9)')
            record = self.foreign.wait(target.killed())
        yield from differ(record, sender_pid=sender, sender_kind='interpreter', code_name='SI_USER')
        yield from verdict(record, 'killed-by-process')

    def test_by_timeout(self):
        process = subprocess.Popen(
            ['timeout', '--foreground', '-s', 'KILL', '0.2', 'sleep', '600'])
        process.wait(PATIENCE)
        records = self.everything.seen(lambda r: r['sender_pid'] == process.pid)
        if not records:
            yield 'not told with --kills all'
            return
        yield from differ(records[0], sender_name='timeout', sender_kind='tool', target_is_child=True)
        yield from self.absent(records[0]['target_pid'])

    def test_own_child(self):
        with Target() as target:
            target.process.kill()
            record = self.everything.wait(target.killed())
        yield from differ(record, sender_pid=os.getpid(), target_is_child=True,
                          targets_descendants=1)
        yield from self.absent(target.pid)

    def test_itself(self):
        process = subprocess.Popen(['bash', '-c', 'kill -9 $$'])
        process.wait(PATIENCE)
        record = self.foreign.wait(process.pid)
        yield from differ(record, sender_pid=process.pid, target_pid=process.pid)
        if 'killed itself' not in record['verdicts'][0]['claim']:
            yield record['verdicts'][0]['claim']

    def test_own_parent(self):
        process = subprocess.Popen(['bash', '-c', 'bash -c "kill -9 \\$PPID"; true'])
        process.wait(PATIENCE)
        record = self.foreign.wait(process.pid)
        yield from differ(record, sender_ppid=process.pid)
        if 'its own parent' not in record['verdicts'][0]['claim']:
            yield record['verdicts'][0]['claim']

    def test_after_term(self):
        deaf = 'trap "" TERM; echo deaf; while :; do sleep 600; done'
        with Target('bash', '-c', deaf, stdout=subprocess.PIPE, start_new_session=True) as target:
            target.process.stdout.readline()
            sender = shell(f'kill -TERM {target.pid}; sleep 0.4; kill -9 {target.pid}')
            record = self.foreign.wait(target.killed())
            # What it was waiting for.
            shell(f'kill -9 -{target.pid}')
        yield from differ(record, sigterm_pid=sender, sigterm_count=1, sender_pid=sender)
        if not 400 <= record.get('sigterm_ms_before', 0) < 30000:
            yield f'SIGTERM {record.get("sigterm_ms_before")} ms before'

    def test_term_alone(self):
        with Target() as target:
            target.process.terminate()
            target.process.wait(PATIENCE)
        yield from self.absent(target.pid)

    def test_handled(self):
        """A fault that a handler takes kills nobody."""
        text = ('import ctypes, faulthandler, os, signal; libc = ctypes.CDLL(None); '
                'f = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda n: os._exit(7)); '
                'libc.signal(11, f); ctypes.string_at(8)')
        process = subprocess.Popen([sys.executable, '-I', '-S', '-c', text])
        if process.wait(PATIENCE) != 7:
            yield f'it ended with {process.returncode}'
        yield from self.absent(process.pid)
        if self.everything.told(process.pid):
            yield 'it is told'

    # --- many ---

    def test_group(self):
        script = 'sleep 600 & sleep 600 & sleep 600 & echo ready; wait'
        with Target('bash', '-c', script, stdout=subprocess.PIPE, start_new_session=True) as leader:
            leader.process.stdout.readline()
            sender = shell(f'kill -9 -{leader.pid}')
            record = self.foreign.wait(leader.killed())
        yield from differ(record, manner='process-group', targets_total=4, sender_pid=sender,
                          target_pgid=leader.pid, kill_argument=-leader.pid)
        if len(record.get('targets', ())) != 4:
            yield f'{len(record.get("targets", ()))} targets are named'
        if len(self.foreign.told(leader.pid)) != 1:
            yield 'told more than once'

    def test_many(self):
        targets = [Target() for _ in range(MANY)]
        sender = shell('kill -9 ' + ' '.join(str(target.pid) for target in targets))
        for target in targets:
            target.killed()
        # A shell that was held up for long begins another record.
        records = self.foreign.seen(
            lambda r: r['sender_pid'] == sender,
            lambda found: sum(record['targets_total'] for record in found) >= MANY)
        if sum(record['targets_total'] for record in records) != MANY:
            yield f'{[record["targets_total"] for record in records]} of {MANY}'

    # --- daemons ---

    def test_earlyoom(self):
        """In a pid namespace of its own it can kill nobody else."""
        program = find_daemon('earlyoom', 'usr/bin/earlyoom')
        script = (f'sleep 600 & victim=$!; {program} -m 99,99 -s 100,100 -r 0 --prefer "^sleep$" '
                  '>/dev/null 2>&1 & wait $victim')
        process = subprocess.Popen(
            ['unshare', '--pid', '--mount', '--mount-proc', '--fork', '--kill-child', 'bash', '-c',
             script], stderr=subprocess.DEVNULL)
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()
        records = self.foreign.seen(lambda r: r.get('sender_name') == 'earlyoom')
        if not records:
            yield 'never told'
            return
        yield from differ(records[0], sender_kind='oom-daemon', sender_file='earlyoom')
        yield from verdict(records[0], 'killed-by-oom-daemon')
        if not records[0]['verdicts'][0]['claim'].startswith('Not the OOM killer: earlyoom (pid '):
            yield records[0]['verdicts'][0]['claim']
        yield from self.impostor()

    def test_nohang(self):
        """A Python program is known by its script. It acts on no more than half of memory: in a mount
        namespace of its own it is told of less."""
        program = find_daemon('nohang', 'usr/sbin/nohang')
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / 'conf').write_text(nohang_settings(program))
            script = (f'sed "s/^\\(MemAvailable\\|MemFree\\):.*/\\1: 1024 kB/" /proc/meminfo >{folder}/meminfo; '
                      f'mount --bind {folder}/meminfo /proc/meminfo; sleep 600 & victim=$!; '
                      f'{sys.executable} {program} --monitor --config {folder}/conf '
                      '>/dev/null 2>&1 & wait $victim')
            process = subprocess.Popen(
                ['unshare', '--pid', '--mount', '--mount-proc', '--fork', '--kill-child', 'bash',
                 '-c', script], stderr=subprocess.DEVNULL)
            try:
                process.wait(PATIENCE)
            finally:
                process.kill()
        records = self.foreign.seen(lambda r: r.get('sender_name') == 'nohang')
        if not records:
            yield 'never told'
            return
        yield from differ(records[0], sender_kind='oom-daemon', target_comm='sleep')
        yield from verdict(records[0], 'killed-by-oom-daemon')
        # By a script that anybody may call so.
        yield from differ(records[0]['verdicts'][0], confidence='likely')

    def impostor(self):
        """Its name alone does not make a process what it seems."""
        with tempfile.TemporaryDirectory() as folder, Target() as target:
            path = Path(folder) / 'other'
            shutil.copy(shutil.which('bash'), path)
            text = f'printf earlyoom >/proc/$$/comm; kill -9 {target.pid}'
            subprocess.run([path, '-c', text], check=True)
            record = self.foreign.wait(target.killed())
        yield from differ(record, sender_comm='earlyoom', sender_kind='process')

    def test_namespace(self):
        process = subprocess.Popen(
            ['unshare', '--pid', '--mount', '--mount-proc', '--fork', 'bash', '-c',
             'sleep 613 & until [[ $(</proc/$!/comm) == sleep ]]; do :; done; exec true'])
        process.wait(PATIENCE)
        records = self.everything.seen(
            lambda r: r['manner'] == 'pid-namespace-end' and r.get('target_cmdline') == 'sleep 613')
        if not records:
            yield 'never told'
            return
        record = records[0]
        yield from differ(record, code_name='SI_KERNEL')
        yield from verdict(record, 'cgroup-killed')
        yield from self.absent(record['target_pid'])

    # --- memory ---

    def by_all(self, pid):
        """Each tracer looks for what is mapped by itself, at the same moment on the same CPU."""
        return [tracer.wait(pid) for tracer in (self.foreign, self.everything)]

    def test_full_tmpfs(self):
        folder = tempfile.mkdtemp()
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1M', 'oomsnoop-test', folder], check=True)
        try:
            text = (f'import mmap; f = open("{folder}/batch", "wb+"); f.truncate(2 << 20); '
                    'm = mmap.mmap(f.fileno(), 2 << 20)\n'
                    'for at in range(0, 2 << 20, 4096): m[at] = 1')
            process = subprocess.Popen([sys.executable, '-I', '-S', '-c', text])
            if process.wait(PATIENCE) != -signal.SIGBUS:
                yield f'it ended with {process.returncode}'
            records = self.by_all(process.pid)
        finally:
            subprocess.run(['umount', folder], check=True)
            os.rmdir(folder)
        for record in records:
            yield from differ(record, signal='SIGBUS', code_name='BUS_ADRERR', manner='fault',
                              fault_file='batch', fault_fs='tmpfs', tmpfs_max_bytes=1 << 20,
                              tmpfs_used_bytes=1 << 20, fault_file_bytes=2 << 20)
            yield from verdict(record, 'shm-full')

    def test_cut_file(self):
        with tempfile.NamedTemporaryFile() as file:
            text = (f'import mmap; f = open("{file.name}", "rb+"); f.truncate(8192); '
                    'm = mmap.mmap(f.fileno(), 8192); f.truncate(0); m[5000]')
            process = subprocess.Popen([sys.executable, '-I', '-S', '-c', text])
            process.wait(PATIENCE)
            records = self.by_all(process.pid)
        for record in records:
            yield from differ(record, signal='SIGBUS', fault_file_bytes=0, fault_offset_bytes=5000)
            yield from verdict(record, 'memory-fault')
            if 'beyond the end' not in record['verdicts'][0]['claim']:
                yield record['verdicts'][0]['claim']

    def test_bad_address(self):
        process = subprocess.Popen(
            [sys.executable, '-I', '-S', '-c', 'import ctypes; ctypes.string_at(8)'])
        process.wait(PATIENCE)
        record = self.everything.wait(process.pid)
        yield from differ(record, signal='SIGSEGV', code_name='SEGV_MAPERR', fault_address='0x8')
        yield from self.absent(process.pid)

    def test_beside_oom(self):
        """The OOM killer's own signal is none; a kill after it in the same cgroup tells of it."""
        with Cgroup('kills', 24) as cgroup:
            victim = eat(cgroup, 64)
            with Target() as target:
                (Path(os.fsdecode(cgroup.path)) / 'cgroup.procs').write_text(str(target.pid))
                shell(f'kill -9 {target.pid}')
                record = self.foreign.wait(target.killed())
        if self.everything.told(victim):
            yield 'what the OOM killer sent is told as a kill of somebody else'
        yield from differ(record, oom_kill_pid=victim, limit_bytes=24 << 20,
                          limit_cgroup=cgroup.shown, target_cgroup=cgroup.shown)
        if not 0 < record.get('oom_kill_ms_before', 0) < 60000:
            yield f'{record.get("oom_kill_ms_before")} ms before'
        if not any(r.get('type') == 'oom' and r.get('victim_pid') == victim
                   for r in self.everything.records):
            yield 'the OOM kill itself is not told'

    def test_totals(self):
        self.everything.end()
        self.foreign.end()
        self.text.end()
        stop = self.foreign.records[-1]
        yield from differ(stop, type='stop', other_kills=len(self.foreign.kills()))

    def test_valid(self):
        from jsonschema import Draft202012Validator

        validator = Draft202012Validator(json.loads(SCHEMA.read_text()))
        for tracer in (self.foreign, self.everything):
            for record in tracer.records:
                for error in validator.iter_errors(record):
                    yield f'{record.get("type")}, {"/".join(map(str, error.path))}: {error.message[:150]}'


def find_daemon(package, path):
    """Not installed, since its package would start it: unpacked."""
    folder = TOP / 'build' / package
    program = folder / path
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(['apt-get', '-q', 'download', package], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run(['dpkg', '-x', str(next(folder.glob('*.deb'))), folder], check=True)
    return str(program)


def nohang_settings(program):
    """As Debian has them, but for when it acts; in a place of their own."""
    text = (Path(program).parents[2] / 'usr/share/nohang/nohang.conf').read_text()
    for key, value in (('hard_threshold_min_mem', '40 %'), ('soft_threshold_min_mem', '45 %'),
                       ('hard_threshold_min_swap', '100 %'), ('soft_threshold_min_swap', '100 %')):
        text = re.sub(f'(?m)^{key} *=.*$', f'{key} = {value}', text)
    return text


# --- a store ---


def test_stored(cases):
    """Recorded, a kill is in list, report and export, between the incidents, as it was told live."""
    with tempfile.TemporaryDirectory() as folder:
        file = f'{folder}/oom.db'
        tracer = Kills(cases.binary, 'record', '-o', file, '--also-print', '--cgroup',
                        f'/oomsnoop-cli-{os.getpid()}-*')
        with Cgroup('stored', 24) as cgroup:
            first = eat(cgroup, 64)
            with Target() as target:
                (Path(os.fsdecode(cgroup.path)) / 'cgroup.procs').write_text(str(target.pid))
                shell(f'kill -9 {target.pid}')
                target.killed()
            # It is told when nothing more comes of its sender: the next one must come after that.
            tracer.wait_text(b'KILL Not the OOM killer: ')
            last = eat(cgroup, 64)
            tracer.wait_text(f'[{last}]'.encode())
        said = tracer.end().decode()
        live = b''.join(tracer.lines).decode()
        yield from check_stored(cases.binary, file, live, (first, target.pid, last), said)


def output(binary, *words):
    return subprocess.run([binary, *words], check=True, capture_output=True, text=True).stdout


def check_stored(binary, file, live, pids, said):
    exported = [json.loads(line) for line in output(binary, 'export', file).splitlines()]
    order = [r['target_pid'] if r['type'] == 'kill' else r['victim_pid'] for r in exported]
    if order != list(pids):
        yield f'exported in this order: {order}, and not {pids}: {said[-300:]}'
        return
    yield from differ(exported[1], type='kill', oom_kill_pid=pids[0])
    lines = output(binary, 'list', '--no-header', file).splitlines()
    shown = [next((pid for pid in pids if f'[{pid}]' in line), None) for line in lines]
    if [pid for pid in shown if pid] != list(pids):
        yield f'listed in this order: {shown} of {lines}'
    if not any('killed-by-process' in line for line in lines):
        yield f'its verdict is not in the list: {lines}'
    report = output(binary, 'report', '--since', '1h', '--no-timeline', '--width', '80', file)
    if report != live:
        yield f'the report is not what was told live: {report!r} and {live!r}'
    yield from check_query(file, pids[1])
    only = output(binary, 'export', '--verdict', 'killed-by-process', file).splitlines()
    if len(only) != 1 or json.loads(only[0])['target_pid'] != pids[1]:
        yield f'--verdict finds {len(only)}'
    page = output(binary, 'report', '-q', '--incident', '1', '--html', '-', file)
    section = page.partition('<section id="kills"')[2].partition('</section>')[0]
    if f'(pid {pids[1]})' not in section or '<tr class="victim">' not in section:
        yield f'the page tells of kills: {section!r}'
    last = output(binary, 'report', '-q', '--json', file).splitlines()
    if [json.loads(line)['type'] for line in last] != ['oom']:
        yield f'without a wish it tells {len(last)}'


def check_query(file, pid):
    """What docs/capture.md tells people to ask has this one as its answer."""
    question = re.findall(r'```sql\n(.*?)```', DOCS.read_text(encoding='utf-8'), re.DOTALL)[-1]
    with closing(sqlite3.connect(f'file:{file}?mode=ro', uri=True)) as db:
        answers = db.execute(question).fetchall()
    if len(answers) != 1 or f'(pid {pid})' not in answers[0][1]:
        yield f'{question}: {answers}'


def test_by_verdict(cases):
    """The live trace tells what has one of these verdicts, kills and incidents alike, and nothing else."""
    tracer = Kills(cases.binary, '--json', '--verdict', 'memory-fault', '--verdict', 'own-limit')
    with Target() as target, Cgroup('verdict', 16) as cgroup:
        shell(f'kill -9 {target.pid}')
        target.killed()
        victim = eat(cgroup, 32)
        with tempfile.NamedTemporaryFile() as file:
            text = (f'import mmap; f = open("{file.name}", "rb+"); f.truncate(8192); '
                    'm = mmap.mmap(f.fileno(), 8192); f.truncate(0); m[5000]')
            process = subprocess.Popen([sys.executable, '-I', '-S', '-c', text])
            process.wait(PATIENCE)
        tracer.wait(process.pid)
    tracer.end()
    ids = [{v['id'] for v in record['verdicts']} for record in tracer.records if 'verdicts' in record]
    if not all(one & {'memory-fault', 'own-limit'} for one in ids):
        yield f'told: {ids}'
    if victim not in [record.get('victim_pid') for record in tracer.records]:
        yield 'the incident is not told'
    if tracer.told(target.pid):
        yield 'a kill by a process is told'


def test_off(cases):
    tracer = Kills(cases.binary, '--json', '--kills', 'off')
    with Target() as target:
        shell(f'kill -9 {target.pid}')
        target.killed()
    tracer.end()
    start = tracer.records[0]
    if tracer.kills():
        yield 'told with --kills off'
    if 'signal' in start['hooks'] or 'shared-mm' not in start['hooks']:
        yield f'hooks: {start["hooks"]}'


if __name__ == '__main__':
    sys.exit(suite.main('kills', __doc__, suite.tests_of(vars(Cases), globals()), Cases))
