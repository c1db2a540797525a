#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""family_test.py [-q] [-k TEST] [BINARY]: `oomsnoop run`: that a command runs under it as it would without, and
that how it ended is told rightly. The command itself says what it saw; how it ended is known here.
Makes contained OOM kills in memory cgroups of its own. Needs root. Prints "ok NAME" and "FAIL NAME: why"
lines and a last line of sums."""
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import suite
from cgroup import EAT, V1, Cgroup, own
from cli_test import EX_USAGE, differ

TOP = Path(__file__).resolve().parents[2]
SCHEMA = TOP / 'docs' / 'record-schema.json'
TRAIN = TOP / 'tests' / 'workloads' / 'train.py'
EX_IOERR, EX_NOPERM = 74, 77
MIB = 1 << 20
# Nothing waits this long unless it fails.
PATIENCE = 120
NOBODY = [
    'setpriv',
    '--reuid=65534',
    '--regid=65534',
    '--clear-groups',
    '--inh-caps=-all',
    '--ambient-caps=-all',
    '--bounding-set=-all',
]
# Tells which signals reach it, one a line, until SIGUSR2.
LISTENER = """
import os, signal, sys
def tell(number, frame):
    os.write(1, b'%d\\n' % number)
    if number == signal.SIGUSR2:
        os._exit(0)
for number in (1, 2, 3, 10, 12, 15, 18, 28):
    signal.signal(number, tell)
os.write(1, b'ready\\n')
while True:
    signal.pause()
"""


class Command:
    """A command below `oomsnoop run --json`."""

    def __init__(self, binary, *arguments, wrap=(), **more):
        more.setdefault('stdin', subprocess.DEVNULL)
        self.process = subprocess.Popen(
            [*wrap, binary, 'run', '--json', *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **more,
        )

    def line(self):
        """The next line of the command's own."""
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            raise AssertionError('the command says nothing')
        return self.process.stdout.readline().strip().decode()

    def end(self):
        """(status, stdout, the records)"""
        try:
            out, err = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.err = err
        records = [json.loads(line) for line in err.splitlines() if line.startswith(b'{"v":1')]
        return self.process.returncode, out, records


def ended(binary, *arguments, **more):
    return Command(binary, *arguments, **more).end()


def all_ended(binary, *commands):
    """The same of several that run at once."""
    started = [Command(binary, *arguments) for arguments in commands]
    return [command.end() for command in started]


def ids(record):
    return [verdict['id'] for verdict in record['verdicts']]


def shape_errors(records):
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(json.loads(SCHEMA.read_text()))
    for record in records:
        for error in validator.iter_errors(record):
            yield f'{record["type"]}, {"/".join(map(str, error.path))}: {error.message[:200]}'


def run_errors(result, status, verdicts):
    """Status and verdicts of the last record; all of them are as the schema has it."""
    code, _, records = result
    yield from differ('status', code, status)
    yield from differ('types', [r['type'] for r in records].count('run'), 1)
    yield from shape_errors(records)
    run = records[-1]
    yield from differ('the last record', run['type'], 'run')
    yield from differ('verdicts', ids(run), verdicts)
    if status < 0:
        yield from differ('signal', run.get('signal'), signal.Signals(-status).name)
    else:
        yield from differ('exit_code', run.get('exit_code'), status)


def made_cgroups():
    """Right below our own, or on v2 beside it: elsewhere they are others'."""
    parent = own() if V1.is_dir() else own().parent
    return set(parent.glob('oomsnoop-run-*'))


# --- the command runs as it would without ---


def test_exit_status(binary):
    cases = [
        (('true',), 0),
        (('sh', '-c', 'exit 3'), 3),
        (('--', 'sh', '-c', 'exit 255'), 255),
        (('/nowhere/at/all',), 127),
        (('no-such-command-here',), 127),
        (('/etc/passwd',), 126),
        (('/etc',), 126),
        ((), EX_USAGE),
        (('--', ), EX_USAGE),
        (('--no-such-option', 'true'), EX_USAGE),
        (('--memory-max', 'much', 'true'), EX_USAGE),
        (('-o', '', 'true'), EX_USAGE),
    ]
    started = [(Command(binary, *arguments), arguments, want) for arguments, want in cases]
    for command, arguments, want in started:
        code, out, _ = command.end()
        yield from differ(f'{arguments}', (code, out), (want, b''))
        if want not in (0, 3, 255) and not command.err:
            yield f'{arguments}: nothing on stderr'
    # Options after the command are the command's.
    code, out, _ = ended(binary, 'echo', '-q', '--json')
    yield from differ('echo', (code, out), (0, b'-q --json\n'))


def test_dies_alike(binary):
    names = ('TERM', 'INT', 'HUP', 'USR1', 'SEGV', 'ABRT', 'KILL', 'ALRM', 'PIPE')
    started = {
        name: Command(binary, 'sh', '-c', f'ulimit -c 0; kill -{name} $$') for name in names
    }
    for name, command in started.items():
        code, _, records = command.end()
        yield from differ(name, code, -getattr(signal, f'SIG{name}'))
        yield from differ(f'{name}: signal', records[-1].get('signal'), f'SIG{name}')
    shell = subprocess.run(
        ['bash', '-c', f'{binary} run sh -c "kill -9 \\$\\$"; echo $?'],
        capture_output=True,
        check=False,
    )
    yield from differ('$? in a shell', shell.stdout, b'137\n')
    if b'Killed' not in shell.stderr:
        yield f'the shell does not say Killed: {shell.stderr!r}'


def test_streams(binary):
    data = os.urandom(300_000)
    done = subprocess.run(
        [binary, 'run', 'sh', '-c', 'cat; echo mine >&2'],
        input=data,
        capture_output=True,
        check=False,
    )
    yield from differ('status', done.returncode, 0)
    if done.stdout != data:
        yield 'what went through stdin and stdout is not the same'
    if not done.stderr.startswith(b'mine\noomsnoop: '):
        yield f'stderr: {done.stderr[:200]!r}'
    quiet = subprocess.run(
        [binary, 'run', '-q', 'sh', '-c', 'echo mine >&2; exit 4'], capture_output=True, check=False
    )
    yield from differ('-q', (quiet.returncode, quiet.stdout, quiet.stderr), (4, b'', b'mine\n'))


def test_a_closed_stdout_is_closed(binary):
    """Whoever reads what it writes sees the end when the command closes it, not when it ends."""
    reader, writer = os.pipe()
    command = Command(binary, 'sh', '-c', 'echo $$; exec >&- 2>&-; read never', stdin=reader)
    os.close(reader)
    command.line()
    if command.process.stdout.read() != b'' or command.process.poll() is not None:
        yield 'stdout ends with the command only'
    os.close(writer)
    status, _, records = Command.end(command)
    yield from differ('status', (status, records[-1]['type']), (1, 'run'))


def test_standard_files_may_be_closed(binary):
    for closed in ('2>&-', '<&- >&- 2>&-'):
        done = subprocess.run(
            ['sh', '-c', f'exec "$0" run sh -c "exit 5" {closed}', binary],
            capture_output=True,
            check=False,
        )
        yield from differ(closed, (done.returncode, done.stdout, done.stderr), (5, b'', b''))
    seen = subprocess.run(
        ['sh', '-c', 'exec "$0" run ls /proc/self/fd >&- 2>&-', binary], capture_output=True, check=False
    )
    yield from differ('a closed stdout stays closed to the command', seen.returncode, 2)


def test_surroundings(binary):
    """What a process inherits is the same with and without."""
    script = (
        'grep -E "^(Sig[BIC]|Shd|Cap|NoNewPrivs|Uid|Gid|Groups|Seccomp)" /proc/self/status; ulimit -a; nice; pwd; '
        'cat /proc/self/oom_score_adj /proc/self/cgroup; ls /proc/self/fd; env | sort; '
        'ps -o pgid=,sid=,tty= -p $$ | tr -d " "; umask'
    )
    prepare = (
        'trap "" USR1 CHLD; ulimit -n 300; umask 027; export MARK=x; exec 7</dev/null; cd /tmp; '
        'echo 55 >/proc/self/oom_score_adj; exec nice -n 3 "$@"'
    )

    def look(*wrap):
        done = subprocess.run(
            ['sh', '-c', prepare, 'sh', *wrap, 'sh', '-c', script],
            capture_output=True,
            process_group=os.getpgid(0),
            check=False,
        )
        # The shell's own number in its group differs not, and `_` names the program.
        return [line for line in done.stdout.decode().splitlines() if not line.startswith('_=')]

    with_it, without = look(binary, 'run', '-q'), look()
    for one, other in zip(with_it, without):
        yield from differ('with it', one, other)
    yield from differ('lines', len(with_it), len(without))


# --- signals ---


@contextmanager
def listener(binary, **more):
    command = Command(binary, sys.executable, '-I', '-S', '-c', LISTENER, **more)
    try:
        if command.line() != 'ready':
            raise AssertionError('not ready')
        yield command
    finally:
        if command.process.poll() is None:
            command.process.send_signal(signal.SIGUSR2)
        command.process.wait(PATIENCE)


def child_of(pid):
    """The command: the first child that is none of its own helpers."""
    for _ in range(PATIENCE * 100):
        for path in Path('/proc').glob('[0-9]*/stat'):
            try:
                head, _, rest = path.read_text().rpartition(')')
            except OSError:
                continue
            if int(rest.split()[1]) == pid and not head.partition('(')[2].startswith('oomsnoop'):
                return int(path.parent.name)
        time.sleep(0.01)
    raise AssertionError('it has no child')


def test_signals_to_itself(binary):
    with listener(binary) as command:
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP, signal.SIGINT, signal.SIGWINCH):
            command.process.send_signal(number)
            yield from differ('got', command.line(), str(int(number)))
        command.process.send_signal(signal.SIGUSR2)
        # Each once, and nothing after the last.
        status, out, records = command.end()
    yield from differ('the rest', (status, out), (0, b'12\n'))
    yield from differ('passed on', records[-1].get('passed_signal'), 'SIGUSR2')
    yield from differ('from', records[-1].get('passed_from_pid'), os.getpid())


def test_signals_to_the_group(binary):
    with listener(binary, process_group=0) as command:
        group = command.process.pid
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            os.killpg(group, number)
            yield from differ('got', command.line(), str(int(number)))
            # To it alone, and handled after what it got before: nothing came twice.
            command.process.send_signal(signal.SIGWINCH)
            yield from differ('next', command.line(), str(int(signal.SIGWINCH)))
        os.killpg(group, signal.SIGUSR2)
        status, out, _ = command.end()
    yield from differ('the rest', (status, out), (0, b'12\n'))


def state(pid):
    return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0]


def await_states(want, *pids):
    for _ in range(PATIENCE * 100):
        states = [state(pid) for pid in pids]
        if all(one in want for one in states):
            return
        time.sleep(0.01)
    raise AssertionError(f'states are {states}, not of {want}')


def test_stop_and_go_on(binary):
    """SIGTSTP to it alone stops the command, too; SIGCONT to it alone goes on with both."""
    # Of its own group: the kernel stops nobody of a group whose members have all lost their parents' session, as a
    # test's may have.
    command = Command(binary, 'sleep', '600', process_group=0)
    child = child_of(command.process.pid)
    command.process.send_signal(signal.SIGTSTP)
    await_states('T', command.process.pid, child)
    command.process.send_signal(signal.SIGCONT)
    await_states('SR', command.process.pid, child)
    command.process.send_signal(signal.SIGTERM)
    yield from run_errors(command.end(), -signal.SIGTERM, ['ended-by-signal'])


class Terminal:
    """An interactive shell on a terminal of its own."""

    def __init__(self):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(PS1='PROMPT:', TERM='dumb')
            os.execvp('bash', ['bash', '--norc', '--noprofile', '--noediting', '-i'])
        self.text = ''
        self.expect('PROMPT:')

    def expect(self, pattern):
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.text)):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise AssertionError(f'no {pattern!r} in {self.text!r}')
            self.text += os.read(self.fd, 4096).decode()
        self.text = self.text[found.end() :]
        return found

    def type(self, text):
        os.write(self.fd, text.encode())

    def expect_foreground(self):
        """The shell says what it continues before it gives the terminal away."""
        end = time.monotonic() + PATIENCE
        while os.tcgetpgrp(self.fd) == self.pid:
            if time.monotonic() > end:
                raise AssertionError('the shell keeps the terminal')
            time.sleep(0.01)

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def test_terminal(binary):
    terminal = Terminal()
    try:
        terminal.type('stty rows 33 cols 101\n')
        terminal.expect('PROMPT:')
        terminal.type(f'{binary} run -q sh -c "stty size; read line; echo got:\\$line:"\n')
        terminal.expect(r'33 101\r\n')
        terminal.type('word\n')
        terminal.expect('got:word:')
        terminal.expect('PROMPT:')
        terminal.type(f'{binary} run -q sh -c "echo run\\"\\"ning; exec sleep 600"\n')
        terminal.expect('running\r\n')
        terminal.type('\x1a')
        terminal.expect(r'Stopped')
        terminal.type('jobs; echo job\\s\n')
        terminal.expect(r'Stopped[^\n]*run')
        terminal.expect('jobs\r\n')
        terminal.type('fg\n')
        terminal.expect('sleep 600')
        terminal.expect_foreground()
        terminal.type('\x03')
        terminal.expect('PROMPT:')
        terminal.type('echo status:$?\n')
        status = terminal.expect(r'status:(\d+)').group(1)
        yield from differ('after Ctrl-C', status, '130')
    finally:
        terminal.close()


# --- what is told ---


def test_who_killed_it(binary):
    """From outside, by a shell and by python; from within."""
    waits = ('--attach-first', '--', 'sh', '-c', 'echo ready; exec sleep 600')
    by_shell, by_python = Command(binary, *waits), Command(binary, *waits)
    inside = Command(binary, '--attach-first', 'sh', '-c', 'sleep 600 & kill -9 $!; wait $!')
    timed = Command(binary, '--attach-first', 'timeout', '-s', 'KILL', '0.2', 'sleep', '600')
    for command in (by_shell, by_python):
        command.line()
    shell = subprocess.Popen(['bash', '-c', f'kill -9 {child_of(by_shell.process.pid)}; exit 0'])
    shell.wait()
    python = subprocess.Popen(
        [sys.executable, '-I', '-S', '-c', f'import os; os.kill({child_of(by_python.process.pid)}, 9)']
    )
    python.wait()
    for command, sender in ((by_shell, shell), (by_python, python)):
        result = command.end()
        yield from run_errors(result, -signal.SIGKILL, ['killed-by-process'])
        kills = [record for record in result[2] if record['type'] == 'kill']
        yield from differ('sender', [kill['sender_pid'] for kill in kills], [sender.pid])
        yield from differ('target', [kill['target_pid'] for kill in kills], [result[2][-1]['pid']])
        if f'(pid {sender.pid})' not in result[2][-1]['verdicts'][0]['claim']:
            yield f'the sender is not named: {result[2][-1]["verdicts"][0]["claim"]}'
    yield from run_errors(inside.end(), 137, ['shell-told-of-child', 'killed-by-process'])
    # Some end with the status, some by the signal themselves.
    status, _, records = timed.end()
    told = {137: 'shell-told-of-child', -signal.SIGKILL: 'killed-by-process'}
    yield from differ('timeout', ids(records[-1])[0], told[status])


def test_oom(binary):
    before = made_cgroups()
    own, child = (
        Command(binary, '--attach-first', '--memory-max', '64M', '--', *command)
        for command in (
            [EAT, 'anon', '200'],
            ['sh', '-c', f'{EAT} anon 200; status=$?; echo status=$status; exit $status'],
        )
    )
    result, told = own.end(), child.end()
    yield from run_errors(result, -signal.SIGKILL, ['oom-killed'])
    yield from run_errors(told, 137, ['oom-killed', 'shell-told-of-child'])
    if b'status=137' not in told[1]:
        yield f'the shell was not told: {told[1][-200:]!r}'
    for _, out, records in (result, told):
        run = records[-1]
        (oom,) = (record for record in records if record['type'] == 'oom')
        eater = int(re.search(rb'pid=(\d+)', out).group(1))
        yield from differ('victim', oom['victim_pid'], eater)
        yield from differ('limit', (oom['limit_cgroup'], oom['limit_bytes']), (run['cgroup'], 64 * MIB))
        yield from differ('limit', (run['limit_bytes'], run['peak_bytes']), (64 * MIB, 64 * MIB))
        yield from differ('measured', run['peak_measured'], 'cgroup')
        yield from differ('counted', run['cgroup_oom_kills'], 1)
        if f'[{eater}]' not in run['verdicts'][0]['claim']:
            yield f'it is not named: {run["verdicts"][0]["claim"]}'
    yield from differ('cgroups left', made_cgroups() - before, set())


def test_137_by_itself(binary):
    one, grown, other = all_ended(
        binary,
        ('--attach-first', 'sh', '-c', 'exit 137'),
        ('--attach-first', 'sh', '-c', 'sleep 0.1; (exit 9); true & wait; exit 137'),
        ('--attach-first', 'sh', '-c', 'exit 143'),
    )
    yield from run_errors(one, 137, ['exited-by-itself'])
    yield from run_errors(grown, 137, ['exited-by-itself'])
    yield from run_errors(other, 143, ['exited-by-itself'])
    yield from differ('processes', (one[2][-1]['processes'], grown[2][-1]['processes'] > 2), (1, True))


def test_seed_story(binary):
    """A parent with a large data set and 16 loaders that read it, in the way of PyTorch."""
    before = made_cgroups()
    status, out, records = ended(
        binary,
        *('--attach-first', '--memory-max', '256M', '--'),
        *(sys.executable, TRAIN, '48', '16', '24'),
    )
    run = records[-1]
    yield from run_errors((status, out, records), -signal.SIGKILL, ['died-for-workers', 'oom-killed'])
    pid = int(re.search(rb'pid=(\d+)', out).group(1))
    claim = run['verdicts'][0]['claim']
    pattern = (
        rf'.+\[{pid}\] died for its workers: it and the (\d+) processes it forked hold (about all|[\d.]+ MiB) '
        r'of the 256 MiB in use, (?:up to )?([\d.]+) MiB of it private copies made in the last [\d.]+ \w+; '
        r'it was picked since its [\d,]+ points are the most of 17\.'
    )
    found = re.fullmatch(pattern, claim)
    if not found:
        yield f'the sentence: {claim}'
        return
    yield from differ('workers', int(found.group(1)), 16)
    if found.group(2) != 'about all' and float(found.group(2).split()[0]) < 200:
        yield f'they hold {found.group(2)} only'
    # Beside the data set, the parent's batches and 17 interpreters there is nothing but copies.
    if not 60 <= float(found.group(3)) <= 200:
        yield f'{found.group(3)} MiB of copies'
    yield from differ('pid', run['pid'], pid)
    yield from differ('cgroups left', made_cgroups() - before, set())


def test_peak(binary):
    """One process to a mebibyte; a family whose pages are shared, counted once."""
    single, shared = all_ended(
        binary,
        [sys.executable, '-I', '-S', '-c', 'import time; x = b"x" * (100 << 20); time.sleep(1)'],
        [
            sys.executable,
            *('-I', '-S', '-c'),
            'import os, time\nx = b"x" * (100 << 20)\n[os.fork() for _ in range(3)]\ntime.sleep(1.5)',
        ],
    )
    run = single[2][-1]
    if not 100 * MIB <= run['peak_bytes'] <= 120 * MIB:
        yield f'one process: {run["peak_bytes"]} by {run["peak_measured"]}'
    run = shared[2][-1]
    yield from differ('processes', run['peak_processes'], 8)
    if not 8 * 100 * MIB <= run['peak_rss_bytes'] <= 8 * 120 * MIB:
        yield f'RSS of eight: {run["peak_rss_bytes"]}'
    # Where there was no time to sum up Pss that is said, and RSS is told.
    if run['peak_measured'] != 'rss-sum' and not 100 * MIB <= run['peak_bytes'] <= 150 * MIB:
        yield f'Pss of eight: {run["peak_bytes"]}'


def test_daemons(binary):
    """What a command leaves behind lives on, is counted, and holds nobody up."""
    before = made_cgroups()
    script = 'setsid sh -c "echo \\$\\$; exec sleep 600 >&- 2>&-" & while ! test -s "$0"; do sleep 0.01; done'
    with tempfile.NamedTemporaryFile() as file:
        begun = time.monotonic()
        results = []
        for options in ((), ('--memory-max', '64M')):
            with open(file.name, 'w', encoding='ascii') as out:
                command = subprocess.Popen(
                    [binary, 'run', '--json', *options, 'sh', '-c', script, file.name],
                    stdout=out,
                    stderr=subprocess.PIPE,
                )
                err = command.communicate(timeout=PATIENCE)[1]
            daemon = int(Path(file.name).read_text())
            lives = Path(f'/proc/{daemon}').exists()
            os.kill(daemon, signal.SIGKILL)
            results.append((command.returncode, lives, json.loads(err.splitlines()[-1])))
    if time.monotonic() - begun > 60:
        yield 'it waited for the daemon'
    for status, lives, run in results:
        yield from differ('status, lives, alive', (status, lives, run['alive']), (0, True, 1))
        yield from shape_errors([run])
    yield from differ('left', results[1][2].get('cgroup_left'), True)
    for path in made_cgroups() - before:
        if not str(path).endswith(results[1][2]['cgroup']):
            yield f'{path} is left, too'
        for _ in range(1000):
            try:
                path.rmdir()
                break
            except OSError:
                time.sleep(0.01)


def test_refused(binary):
    """What was asked for and not given comes first where the command failed after it; else it is told beside."""
    ask = 'ulimit -v 500000; exec ' + sys.executable + ' -I -S -c "$0"'
    first = ('--attach-first', '--refused', 'on', 'sh', '-c')
    caught = 'try: bytearray(2 << 30)\nexcept MemoryError: pass\n'
    failed, went_on, aborted, given, off, child = all_ended(
        binary,
        (*first, ask, 'bytearray(2 << 30)'),
        (*first, ask, caught),
        (*first, ask, caught + 'import os; os.kill(os.getpid(), 6)'),
        (*first, ask, 'bytearray(1 << 20); raise SystemExit(1)'),
        ('--attach-first', '--refused', 'off', 'sh', '-c', ask, 'bytearray(2 << 30)'),
        (*first, f'({ask}); exit 5', 'bytearray(2 << 30)'),
    )
    yield from run_errors(failed, 1, ['allocation-refused'])
    run = failed[2][-1]
    claim = run['verdicts'][0]['claim']
    if f'(pid {run["pid"]}) was refused 2.00 GiB by mmap: ulimit -v ' not in claim or not claim.endswith(
        'nobody was killed; it ended with 1'
    ):
        yield claim
    yield from differ('records', [r['type'] for r in failed[2]], ['refusal', 'run'])
    yield from run_errors(went_on, 0, ['ended'])
    yield from run_errors(aborted, -signal.SIGABRT, ['ended-by-signal'])
    for name, result in (('went on', went_on), ('aborted', aborted)):
        evidence = result[2][-1]['verdicts'][0]['evidence']
        if not any('was refused 2.00 GiB' in line for line in evidence):
            yield f'{name}: {evidence}'
    for name, result in (('given', given), ('off', off)):
        yield from (f'{name}: {error}' for error in run_errors(result, 1, ['ended']))
        if any('refused' in line for v in result[2][-1]['verdicts'] for line in v['evidence']):
            yield f'{name}: refused'
        yield from differ(name, [r['type'] for r in result[2]], ['run'])
    yield from run_errors(child, 5, ['allocation-refused'])
    if not child[2][-1]['verdicts'][0]['claim'].endswith('; the command ended with 5'):
        yield child[2][-1]['verdicts'][0]['claim']


def test_ends_before_the_trace(binary):
    status, _, records = ended(binary, 'true')
    yield from differ('status', status, 0)
    yield from differ('watched', records[-1]['watched'], 'none')
    yield from differ('missing', [entry['field'] for entry in records[-1]['missing']], ['kills'])
    yield from shape_errors(records)


def test_the_text(binary):
    done = subprocess.run(
        [binary, 'run', '--attach-first', '--memory-max', '64M', EAT, 'anon', '200'],
        capture_output=True,
        check=False,
    )
    text = done.stderr.decode()
    if not text.startswith('oomsnoop: The OOM killer killed eat['):
        yield f'it begins with {text[:100]!r}'
    for part in ('\n ended ', '\n peak ', '\n limit ', ' KILLED eat[', '\n victim ', 'from its start on'):
        if part not in text:
            yield f'{part!r} is missing'
    long = [line for line in text.splitlines() if len(line) > 80]
    yield from differ('longer than a line', long, [])


# --- the store ---


def test_store(binary):
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / 'oom.db'
        result = ended(binary, '-o', store, '--memory-max', '64M', EAT, 'anon', '200')
        yield from run_errors(result, -signal.SIGKILL, ['oom-killed'])
        yield from differ('from the start', result[2][-1]['watched_from_start'], True)
        listed = subprocess.run([binary, 'export', store], capture_output=True, check=False)
        ooms = [json.loads(line) for line in listed.stdout.splitlines()]
        pids = [record['victim_pid'] for record in ooms if record['type'] == 'oom']
        yield from differ('stored', pids, [result[2][-1]['pid']])


def refused(binary, store, marker):
    done = subprocess.run(
        [binary, 'run', '-o', store, 'touch', marker], capture_output=True, check=False
    )
    yield from differ(f'{store}', (done.returncode, marker.exists()), (EX_IOERR, False))
    if b'oomsnoop: ' not in done.stderr:
        yield f'{store}: not said: {done.stderr!r}'


def test_store_that_cannot_be(binary):
    with tempfile.TemporaryDirectory() as folder:
        marker, small = Path(folder) / 'marker', Path(folder) / 'small'
        small.mkdir()
        yield from refused(binary, Path(folder) / 'nowhere' / 'oom.db', marker)
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=16k', 'small', small], check=True)
        try:
            yield from refused(binary, small / 'oom.db', marker)
        finally:
            subprocess.run(['umount', small], check=True)


# --- without rights ---


def test_no_rights(binary):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        marker = Path(folder) / 'marker'
        cases = {
            'true': (('true',), 0, ['ended']),
            '137': (('sh', '-c', 'exit 137'), 137, ['exited-unwatched']),
            'kill': (('sh', '-c', 'kill -9 $$'), -9, ['ended-by-signal']),
        }
        started = {name: Command(binary, *case[0], wrap=NOBODY) for name, case in cases.items()}
        for name, (_, status, verdicts) in cases.items():
            yield from (f'{name}: {error}' for error in run_errors(started[name].end(), status, verdicts))
        for options in (('--memory-max', '64M'), ('-o', Path(folder) / 'oom.db')):
            command = Command(binary, *options, 'touch', marker, wrap=NOBODY)
            status, out, _ = command.end()
            yield from differ(options[0], (status, out, marker.exists()), (EX_NOPERM, b'', False))
            if not command.err:
                yield f'{options[0]}: nothing is said'
        hidden = ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs x /sys/fs && exec "$@"', 'sh']
        result = ended(binary, 'sh', '-c', 'exit 3', wrap=[*hidden, *NOBODY])
        yield from run_errors(result, 3, ['ended'])
        missing = [entry['field'] for entry in result[2][-1].get('missing', ())]
        yield from differ('missing', missing, ['kills', 'cgroup_oom_kills'])


def test_pid_namespace(binary):
    """The trace knows the host's pids: nothing is said that rests on the family."""
    apart = ['unshare', '--pid', '--fork', '--mount-proc']
    one = Command(binary, '--attach-first', 'sh', '-c', 'exit 137', wrap=apart)
    limited = Command(
        binary,
        *('--attach-first', '--memory-max', '64M', 'sh', '-c', f'sleep 1; exec {EAT} anon 200'),
        wrap=apart,
    )
    yield from run_errors(one.end(), 137, ['exited-unwatched'])
    # The first process of a namespace cannot end itself by a signal.
    status, _, records = limited.end()
    yield from shape_errors(records)
    yield from differ('status', (status, records[-1]['signal']), (137, 'SIGKILL'))
    yield from differ('verdict', ids(records[-1])[0], 'oom-killed')


def test_no_rights_in_a_limit(binary):
    """The own cgroup's files tell of a kill, and who vanished."""
    with Cgroup('run', 64) as cgroup:
        path = (cgroup.path + b'/cgroup.procs').decode()
        inside = ['sh', '-c', 'echo $$ >"$0"; exec "$@"', path]
        status, out, records = ended(
            binary,
            *('--attach-first', 'sh', '-c', f'sleep 1; exec {EAT} anon 200'),
            wrap=[*inside, *NOBODY],
        )
    run = records[-1]
    yield from differ('status', (status, run['watched']), (-signal.SIGKILL, 'cgroup'))
    yield from shape_errors(records)
    yield from differ('verdict', ids(run)[0], 'oom-killed')
    yield from differ('counted', run['cgroup_oom_kills'], 1)
    if f'[{run["pid"]}]' not in run['verdicts'][0]['claim']:
        yield f'it is not named: {run["verdicts"][0]["claim"]}'


if __name__ == '__main__':
    sys.exit(suite.main('family', __doc__, suite.tests_of(globals())))
