#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kills_test.py [BINARY]: kills that are not the OOM killer's, really made: by a shell, by python, by timeout, of a process group,
by earlyoom, by the end of a pid namespace, by a full tmpfs. Who did it is known here, and must be told; what must not be told is
looked for, too. Prints "ok NAME" and "FAIL NAME: why" lines and a last line of sums."""
import json
import mmap
import os
import re
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

from cgroup import Cgroup, eat
from results import Results

TOP = Path(__file__).resolve().parents[2]
DOCS = TOP / 'docs' / 'capture.md'
SCHEMA = TOP / 'docs' / 'record-schema.json'
# Nothing waits this long unless it fails.
PATIENCE = 60
MANY = 100
PAGE = mmap.PAGESIZE


class Tracer:
    """A running tracer; its kill records come in while it runs."""

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
            record = json.loads(line) if line.startswith(b'{') else {}
            with self.heard:
                self.lines.append(line)
                self.records.append(record)
                self.heard.notify_all()

    def kills(self):
        return [record for record in self.records if record.get('type') == 'kill']

    def told(self, pid):
        """Records of kills in which it is a target."""
        return [
            record
            for record in self.kills()
            if pid in (record['target_pid'], *(t['pid'] for t in record.get('targets', ())))
        ]

    def wait(self, pid):
        with self.heard:
            if not self.heard.wait_for(lambda: self.told(pid), PATIENCE):
                raise AssertionError(f'the kill of {pid} is never told')
            return self.told(pid)[0]

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)
        self.listener.join(PATIENCE)
        return self.process.stderr.read()


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


def differ(record, **expected):
    """What is not as expected."""
    yield from (
        f'{key} is {record.get(key)!r} and not {value!r}'
        for key, value in expected.items()
        if record.get(key) != value
    )


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
    def __init__(self, binary):
        self.binary = binary
        self.foreign = Tracer(binary, '--json')
        self.everything = Tracer(binary, '--json', '--kills', 'all')
        self.text = Tracer(binary)
        self.results = Results()

    def absent(self, pid):
        """A kill made after it is told, it is not."""
        with Target() as marker:
            shell(f'kill -9 {marker.pid}')
            self.foreign.wait(marker.killed())
        return [f'{pid} is told by default'] if self.foreign.told(pid) else []

    # --- by hand ---

    def by_shell(self):
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
        self.text_lines(sender, target.pid)
        lines = b''.join(self.text.lines).decode()
        if f'KILL Not the OOM killer: bash (pid {sender})' not in lines:
            yield f'the text does not begin so: {lines[-800:]}'

    def text_lines(self, *pids):
        with self.text.heard:
            self.text.heard.wait_for(
                lambda: all(str(pid).encode() in b''.join(self.text.lines) for pid in pids),
                PATIENCE,
            )

    def by_python(self):
        with Target() as target:
            sender = python(f'import os; os.kill({target.pid}, 9)')
            record = self.foreign.wait(target.killed())
        yield from differ(record, sender_pid=sender, sender_kind='interpreter', code_name='SI_USER')
        yield from verdict(record, 'killed-by-process')

    def by_timeout(self):
        process = subprocess.Popen(
            ['timeout', '--foreground', '-s', 'KILL', '0.2', 'sleep', '600'])
        process.wait(PATIENCE)
        with self.everything.heard:
            self.everything.heard.wait_for(
                lambda: any(r['sender_pid'] == process.pid for r in self.everything.kills()),
                PATIENCE)
        records = [r for r in self.everything.kills() if r['sender_pid'] == process.pid]
        if not records:
            yield 'not told with --kills all'
            return
        yield from differ(records[0], sender_name='timeout', sender_kind='tool', target_is_child=True)
        yield from self.absent(records[0]['target_pid'])

    def own_child(self):
        with Target() as target:
            target.process.kill()
            record = self.everything.wait(target.killed())
        yield from differ(record, sender_pid=os.getpid(), target_is_child=True,
                          targets_descendants=1)
        yield from self.absent(target.pid)

    def itself(self):
        process = subprocess.Popen(['bash', '-c', 'kill -9 $$'])
        process.wait(PATIENCE)
        record = self.foreign.wait(process.pid)
        yield from differ(record, sender_pid=process.pid, target_pid=process.pid)
        if 'killed itself' not in record['verdicts'][0]['claim']:
            yield record['verdicts'][0]['claim']

    def own_parent(self):
        process = subprocess.Popen(['bash', '-c', 'bash -c "kill -9 \\$PPID"; true'])
        process.wait(PATIENCE)
        record = self.foreign.wait(process.pid)
        yield from differ(record, sender_ppid=process.pid)
        if 'its own parent' not in record['verdicts'][0]['claim']:
            yield record['verdicts'][0]['claim']

    def after_term(self):
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

    def term_alone(self):
        with Target() as target:
            target.process.terminate()
            target.process.wait(PATIENCE)
        yield from self.absent(target.pid)

    def handled(self):
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

    def group(self):
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

    def many(self):
        targets = [Target() for _ in range(MANY)]
        sender = shell('kill -9 ' + ' '.join(str(target.pid) for target in targets))
        for target in targets:
            target.killed()
        with self.foreign.heard:
            self.foreign.heard.wait_for(
                lambda: any(r['sender_pid'] == sender for r in self.foreign.kills()), PATIENCE)
        records = [r for r in self.foreign.kills() if r['sender_pid'] == sender]
        if sum(record['targets_total'] for record in records) != MANY:
            yield f'{[record["targets_total"] for record in records]} of {MANY}'

    # --- daemons ---

    def earlyoom(self):
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
        with self.foreign.heard:
            self.foreign.heard.wait_for(
                lambda: any(r.get('sender_name') == 'earlyoom' for r in self.foreign.kills()),
                PATIENCE)
        records = [r for r in self.foreign.kills() if r.get('sender_name') == 'earlyoom']
        if not records:
            yield 'never told'
            return
        yield from differ(records[0], sender_kind='oom-daemon', sender_file='earlyoom')
        yield from verdict(records[0], 'killed-by-oom-daemon')
        if not records[0]['verdicts'][0]['claim'].startswith('Not the OOM killer: earlyoom (pid '):
            yield records[0]['verdicts'][0]['claim']
        yield from self.impostor()

    def nohang(self):
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
        with self.foreign.heard:
            self.foreign.heard.wait_for(
                lambda: any(r.get('sender_name') == 'nohang' for r in self.foreign.kills()),
                PATIENCE)
        records = [r for r in self.foreign.kills() if r.get('sender_name') == 'nohang']
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

    def namespace(self):
        process = subprocess.Popen(
            ['unshare', '--pid', '--mount', '--mount-proc', '--fork', 'bash', '-c',
             'sleep 613 & until [[ $(</proc/$!/comm) == sleep ]]; do :; done; exec true'])
        process.wait(PATIENCE)
        with self.everything.heard:
            self.everything.heard.wait_for(self.namespace_ended, PATIENCE)
        if not self.namespace_ended():
            yield 'never told'
            return
        record = self.namespace_ended()[0]
        yield from differ(record, code_name='SI_KERNEL')
        yield from verdict(record, 'cgroup-killed')
        yield from self.absent(record['target_pid'])

    def namespace_ended(self):
        return [r for r in self.everything.kills() if r['manner'] == 'pid-namespace-end'
                and r.get('target_cmdline') == 'sleep 613']

    # --- memory ---

    def by_all(self, pid):
        """Each tracer looks for what is mapped by itself, at the same moment on the same CPU."""
        return [tracer.wait(pid) for tracer in (self.foreign, self.everything)]

    def full_tmpfs(self):
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

    def cut_file(self):
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

    def bad_address(self):
        process = subprocess.Popen(
            [sys.executable, '-I', '-S', '-c', 'import ctypes; ctypes.string_at(8)'])
        process.wait(PATIENCE)
        record = self.everything.wait(process.pid)
        yield from differ(record, signal='SIGSEGV', code_name='SEGV_MAPERR', fault_address='0x8')
        yield from self.absent(process.pid)

    def beside_oom(self):
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

    def valid(self):
        from jsonschema import Draft202012Validator

        validator = Draft202012Validator(json.loads(SCHEMA.read_text()))
        for tracer in (self.foreign, self.everything):
            for record in tracer.records:
                for error in validator.iter_errors(record):
                    yield f'{record.get("type")}, {"/".join(map(str, error.path))}: {error.message[:150]}'

    def totals(self):
        self.everything.end()
        self.foreign.end()
        self.text.end()
        stop = self.foreign.records[-1]
        yield from differ(stop, type='stop', other_kills=len(self.foreign.kills()))

    def run(self):
        for case in (
            self.by_shell, self.by_python, self.by_timeout, self.own_child, self.itself,
            self.own_parent, self.after_term, self.term_alone, self.handled, self.group, self.many,
            self.earlyoom, self.nohang, self.namespace, self.full_tmpfs, self.cut_file, self.bad_address,
            self.beside_oom, self.totals, self.valid,
        ):
            try:
                self.results.add(case.__name__.replace('_', ' '), list(case()))
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                self.results.add(case.__name__.replace('_', ' '), [repr(error)])


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


def stored(binary):
    """Recorded, a kill is in list, report and export, between the incidents, as it was told live."""
    with tempfile.TemporaryDirectory() as folder:
        file = f'{folder}/oom.db'
        tracer = Tracer(binary, 'record', '-o', file, '--also-print', '--cgroup',
                        f'/oomsnoop-cli-{os.getpid()}-*')
        with Cgroup('stored', 24) as cgroup:
            first = eat(cgroup, 64)
            with Target() as target:
                (Path(os.fsdecode(cgroup.path)) / 'cgroup.procs').write_text(str(target.pid))
                shell(f'kill -9 {target.pid}')
                target.killed()
            # It is told when nothing more comes of its sender: the next one must come after that.
            wait_for(lambda: b'KILL Not the OOM killer: ' in b''.join(tracer.lines))
            last = eat(cgroup, 64)
            wait_for(lambda: f'[{last}]'.encode() in b''.join(tracer.lines))
        said = tracer.end().decode()
        live = b''.join(tracer.lines).decode()
        yield from check_stored(binary, file, live, (first, target.pid, last), said)


def wait_for(test):
    deadline = time.monotonic() + PATIENCE
    while not test():
        if time.monotonic() > deadline:
            raise AssertionError('it never came')
        time.sleep(0.02)


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


def by_verdict(binary):
    """The live trace tells what has one of these verdicts, kills and incidents alike, and nothing else."""
    tracer = Tracer(binary, '--json', '--verdict', 'memory-fault', '--verdict', 'own-limit')
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


def off(binary):
    tracer = Tracer(binary, '--json', '--kills', 'off')
    with Target() as target:
        shell(f'kill -9 {target.pid}')
        target.killed()
    tracer.end()
    start = tracer.records[0]
    if tracer.kills():
        yield 'told with --kills off'
    if 'signal' in start['hooks'] or 'shared-mm' not in start['hooks']:
        yield f'hooks: {start["hooks"]}'


def main():
    binary = sys.argv[1] if len(sys.argv) > 1 else str(TOP / 'build' / 'oomsnoop')
    cases = Cases(binary)
    cases.run()
    for name, case in (('stored', stored), ('by-verdict', by_verdict), ('off', off)):
        try:
            cases.results.add(name, list(case(binary)))
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            cases.results.add(name, [repr(error)])
    return cases.results.finish()


if __name__ == '__main__':
    raise SystemExit(main())
