#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rank_test.py [-q] [BINARY]: `oomsnoop rank` against the kernel itself: whom it names first is
whom the kernel kills, in contained OOM kills in memory cgroups of our own, and the sums are those
that the kernel shows. Needs root. Prints "ok NAME" and "FAIL NAME: why" lines and a last line of
sums."""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import suite
from cgroup import EAT, HOSTILE_COMM, V1, Cgroup

TOP = Path(__file__).resolve().parents[2]
SCHEMA = TOP / 'docs' / 'record-schema.json'
EX_USAGE, EX_IOERR = 64, 74
PAGE = os.sysconf('SC_PAGESIZE')
MIB_PAGES = (1 << 20) // PAGE
# Nothing here waits this long unless it fails.
PATIENCE = 60
NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
# Where every process runs alike, two of them are of one size to the page, and the kernel's counters
# of them are, too.
ALIKE = ['taskset', '-c', '0', 'setarch', '-R']

# The first thread ends; another one holds the memory and waits for the end of stdin.
LEADERLESS = """
import ctypes, sys, threading
def hold():
    held = bytearray(b'x') * (%d << 20)
    print('event=done', flush=True)
    sys.stdin.read()
threading.Thread(target=hold).start()
ctypes.CDLL(None).syscall(%d, 0)
"""
SYS_EXIT = {'x86_64': 60}.get(os.uname().machine, 93)

# A child that shares its parent's memory, and waits in vfork() for as long as it is let.
VFORKED = """
import ctypes, mmap, signal
CLONE_VM, CLONE_VFORK = 0x100, 0x4000
held = bytearray(b'x') * (%d << 20)
stack = mmap.mmap(-1, 1 << 16)
top = ctypes.addressof(ctypes.c_char.from_buffer(stack)) + (1 << 16)
libc = ctypes.CDLL(None)
print('event=done', flush=True)
libc.clone(libc.pause, ctypes.c_void_p(top), CLONE_VM | CLONE_VFORK | signal.SIGCHLD, None)
"""


class Domain(Cgroup):
    """A cgroup with a limit, or without, and maybe below another; whoever is in it is ours."""

    def __init__(self, name, mib, above=None):
        super().__init__(name, mib or 1)
        if above:
            self.path = above.path + b'/' + os.path.basename(self.path)
            self.shown = above.shown + self.shown
            self.limit = self.path + b'/' + os.path.basename(self.limit[0]), self.limit[1]
        self.unlimited = not mib
        self.above = above
        self.crowd = []

    def __enter__(self):
        if not self.unlimited:
            return super().__enter__()
        os.mkdir(self.path)
        return self

    def __exit__(self, *arguments):
        for process in self.crowd:
            process.kill()
        # Their children, too: what they hold open is read to its end below.
        super().__exit__(*arguments)
        for process in self.crowd:
            process.communicate()

    def run(self, words, ready, stdin=subprocess.DEVNULL):
        """A process in this cgroup that has said how far it is."""
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=stdin
        )
        self.crowd.append(process)
        for line in process.stdout:
            if ready in line:
                return process
        raise AssertionError(f'{words} ended before {ready!r}: {process.wait()}')

    def eat(self, mib, adj=0, wrap=(), comm='eat'):
        """An eater that has eaten."""
        return self.run(
            [*wrap, EAT, '-C', self.path, '-c', comm, '-j', str(adj), 'anon', str(mib)],
            b'event=done',
        )

    def python(self, script):
        join = f'echo $$ > {os.fsdecode(self.path)}/cgroup.procs; exec "$@"'
        words = ['sh', '-c', join, 'sh', sys.executable, '-c', script]
        return self.run(words, b'event=done', stdin=subprocess.PIPE)

    def fill(self, mib):
        """Cause an OOM kill by an eater that is small; the pid of the first that was killed."""
        with tempfile.TemporaryDirectory() as directory, KernelLog() as log:
            fifo = os.path.join(directory, 'fifo')
            os.mkfifo(fifo)
            words = [EAT, '-C', self.path, '-w', fifo, 'anon', str(mib)]
            self.run(words, b'event=ready')
            os.close(os.open(fifo, os.O_WRONLY))
            died = a_death()
            # The kernel may kill another one before the memory of the first has come back, and who
            # was to die first cannot be told from the dead. It tells its choice before the kill.
            return log.first_chosen((self.above or self).shown) or died


def give_up(number, frame):
    raise TimeoutError(f'nobody died within {PATIENCE} s')


class KernelLog:
    """What the kernel says from now on; nothing where its log may not be read."""

    def __enter__(self):
        try:
            self.fd = os.open('/dev/kmsg', os.O_RDONLY | os.O_NONBLOCK)
            os.lseek(self.fd, 0, os.SEEK_END)
        except OSError:
            self.fd = -1
        return self

    def __exit__(self, *_):
        if self.fd >= 0:
            os.close(self.fd)

    def first_chosen(self, limit):
        name = re.escape(limit.encode())
        pattern = re.compile(rb';oom-kill:.*,oom_memcg=' + name + rb',.*,pid=([0-9]+),')
        while self.fd >= 0:
            try:
                found = pattern.search(os.read(self.fd, 8192))
            except BlockingIOError:
                return None
            except BrokenPipeError:
                continue  # records were overwritten: on with the oldest that is left
            if found:
                return int(found[1])
        return None


def a_death():
    """One of our children that has ended, which is left to be waited for by its owner."""
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    try:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
    finally:
        signal.alarm(0)
    if ended.si_status != signal.SIGKILL:
        raise AssertionError(f'{ended.si_pid} ended with {ended.si_status}: nothing was killed')
    return ended.si_pid


def run(binary, *options, wrap=(), **more):
    done = subprocess.run(
        [*wrap, binary, 'rank', *options],
        capture_output='stdout' not in more,
        timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
        check=False,
        **more,
    )
    return done.returncode, done.stdout or b'', done.stderr or b''


def rank(binary, cgroup=None, *options, wrap=()):
    where = ['--cgroup', cgroup.shown] if cgroup else []
    code, out, err = run(binary, '--json', *where, *options, wrap=wrap)
    if code:
        raise AssertionError(f'status {code}: {err[:200]!r}')
    if not out.endswith(b'\n') or out.count(b'\n') != 1:
        raise AssertionError(f'not one line: {out[:200]!r}')
    return json.loads(out)


def differ(what, got, want):
    return [] if got == want else [f'{what} is {got!r}, not {want!r}']


def pids(ranking):
    return [one['pid'] for one in ranking['candidates']]


# --- the arithmetic, once more ---


def resident(candidate):
    """Pages of a candidate without its adjustment."""
    kinds = ('anon_bytes', 'file_bytes', 'shmem_bytes', 'swap_bytes', 'pgtables_bytes')
    return sum(candidate[kind] // PAGE for kind in kinds)


def score(candidate, total):
    """What /proc/PID/oom_score is made of; the kernel's division goes towards 0."""
    thousandths = (resident(candidate) + candidate['oom_score_adj'] * (total // 1000)) * 1000
    whole = abs(thousandths) // total * (1 if thousandths > 0 else -1)
    return max(0, (1000 + whole) * 2 // 3)


def sum_errors(ranking):
    total = ranking['total_bytes'] // PAGE
    host = (ranking['host_total_bytes'] + ranking['host_swap_total_bytes']) // PAGE
    previous = None
    for place, one in enumerate(ranking['candidates'], 1):
        yield from differ('rank', one['rank'], place)
        if 'immune' in one:
            continue
        points = resident(one) + one['oom_score_adj'] * (total // 1000)
        yield from differ(f'points of {one["pid"]}', one['badness_pages'], points)
        if previous is not None and previous < points:
            yield f'{one["pid"]} has more points than the one before it'
        previous = points
        if 'oom_score' in one and abs(one['oom_score'] - score(one, host)) > 1:
            yield f'oom_score of {one["pid"]} is {one["oom_score"]}, computed {score(one, host)}'
    if 'next_pid' in ranking:
        first, badness = ranking['candidates'][0], ranking['badness']
        yield from differ('next_pid', ranking['next_pid'], first['pid'])
        yield from differ('badness.points', badness['points'], first['badness_pages'])
        parts = ('rss_pages', 'swap_pages', 'pgtables_pages', 'adj_pages')
        yield from differ('the sum', sum(badness[part] for part in parts), badness['points'])
        yield from differ('badness.total_pages', badness['total_pages'], total)


def schema_errors(ranking):
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(json.loads(SCHEMA.read_text(encoding='utf-8')))
    yield from differ('first keys', list(ranking)[:5], ['v', 'type', 'ts', 'host', 'boot_id'])
    for error in validator.iter_errors(ranking):
        yield f'{"/".join(map(str, error.path))}: {error.message[:160]}'


# --- the prediction ---


def predicted(binary, domain, killer, mib=24, asked=None):
    """The ranking, and how it differs from what the kernel then does."""
    ranking = rank(binary, asked or domain)
    errors = [*sum_errors(ranking), *schema_errors(ranking)]
    errors += differ('limit_cgroup', ranking['limit_cgroup'], domain.shown)
    killed = killer.fill(mib)
    return ranking, errors + differ('killed', killed, ranking['next_pid'])


def test_the_biggest_dies(binary):
    with Domain('biggest', 128) as domain:
        crowd = [domain.eat(mib) for mib in (40, 60, 20)]
        ranking, errors = predicted(binary, domain, domain)
    yield from errors
    yield from differ('order', pids(ranking), [crowd[i].pid for i in (1, 0, 2)])


def test_the_adjusted_dies(binary):
    """The smallest, 500/1000 of the limit heavier: 20 + 64 MiB."""
    with Domain('adjusted', 128) as domain:
        crowd = [domain.eat(mib, adj) for mib, adj in ((40, 0), (60, 0), (20, 500))]
        ranking, errors = predicted(binary, domain, domain)
    yield from errors
    yield from differ('order', pids(ranking), [crowd[i].pid for i in (2, 1, 0)])
    yield from differ('adj_pages', ranking['badness']['adj_pages'], 500 * (128 * MIB_PAGES // 1000))


def test_a_little_adjustment_decides(binary):
    """50 MiB and 100/1000 of 128 MiB are 62.8 MiB: against 60. Relative to the machine's memory, as
    in oom_score, the same would hold for the smallest with 4/1000."""
    with Domain('little', 128) as domain:
        crowd = [domain.eat(mib, adj) for mib, adj in ((60, 0), (50, 100), (10, 4))]
        ranking, errors = predicted(binary, domain, domain)
    yield from errors
    yield from differ('order', pids(ranking), [crowd[i].pid for i in (1, 0, 2)])
    scores = {one['pid']: one['oom_score'] for one in ranking['candidates']}
    if scores[crowd[2].pid] < scores[crowd[0].pid]:
        yield f'oom_score ranks as points do here, so this shows nothing: {scores}'


def test_one_after_the_other(binary):
    """As many kills as there are processes, each foretold."""
    with Domain('one-by-one', 128) as domain:
        for mib, adj in ((40, 0), (60, 0), (20, 300)):
            domain.eat(mib, adj)
        for mib in (24, 56):
            _, errors = predicted(binary, domain, domain, mib)
            yield from errors
            for process in domain.crowd:
                process.poll()


def test_of_equals_the_last_dies(binary):
    with Domain('equals', 128) as domain:
        crowd = [domain.eat(mib, wrap=ALIKE) for mib in (38, 38, 38)]
        ranking, errors = predicted(binary, domain, domain)
    yield from errors
    yield from differ('ties', ranking['ties'], 2)
    yield from differ('order', pids(ranking), [one.pid for one in reversed(crowd)])


def test_a_limit_above(binary):
    """Asked for a cgroup without one: it is its parent's, and another child holds the victim."""
    with contextlib.ExitStack() as stack:
        above = stack.enter_context(Domain('above', 128))
        asked, other = (
            stack.enter_context(Domain(name, None, above)) for name in ('asked', 'other')
        )
        own, big = asked.eat(40), other.eat(75)
        ranking, errors = predicted(binary, above, asked, asked=asked)
        text = run(binary, '--cgroup', asked.shown)[1].decode()
    yield from errors
    yield from differ('cgroup', ranking['cgroup'], asked.shown)
    yield from differ('order', pids(ranking), [big.pid, own.pid])
    yield from differ(
        'cgroups', [one['cgroup'] for one in ranking['candidates']], [other.shown, asked.shown]
    )
    if 'has no limit of its own' not in ' '.join(text.split()):
        yield f'not said whose limit it is: {text!r}'


def test_a_first_thread_that_ended(binary):
    """Its memory is there still, and is weighed: /proc/PID/status shows none."""
    with Domain('leaderless', 128) as domain:
        small = domain.eat(40)
        big = domain.python(LEADERLESS % (65, SYS_EXIT))
        wait_for_dead_leader(big.pid)
        ranking, errors = predicted(binary, domain, domain)
    yield from errors
    yield from differ('order', pids(ranking), [big.pid, small.pid])


def wait_for_dead_leader(pid):
    """It says so before it ends: read on until the kernel shows it dead."""
    for _ in range(100000):
        if '\nState:\tZ' in Path(f'/proc/{pid}/status').read_text(encoding='latin-1'):
            return
        os.sched_yield()
    raise AssertionError('the first thread does not end')


def test_a_child_in_vfork(binary):
    """It shows its parent's memory, and the kernel passes it over."""
    with Domain('vfork', 128) as domain:
        small, big = domain.eat(40), domain.python(VFORKED % 60)
        children = Path(f'/proc/{big.pid}/task/{big.pid}/children')
        for _ in range(100000):
            if children.read_text(encoding='ascii'):
                break
            os.sched_yield()
        child = int(children.read_text(encoding='ascii'))
        ranking, errors = predicted(binary, domain, domain)
    yield from errors
    yield from differ('order', pids(ranking), [big.pid, small.pid, child])
    if 'vfork' not in ranking['candidates'][2].get('immune', ''):
        yield f'the child is {ranking["candidates"][2]}'


# --- against /proc ---


def status(pid):
    """What another reader makes of /proc/PID."""
    keys = {
        'RssAnon': 'anon_bytes',
        'RssFile': 'file_bytes',
        'RssShmem': 'shmem_bytes',
        'VmSwap': 'swap_bytes',
        'VmPTE': 'pgtables_bytes',
        'VmSize': 'total_vm_bytes',
    }
    ret = {}
    with open(f'/proc/{pid}/status', encoding='latin-1') as lines:
        for line in lines:
            key, _, value = line.partition(':')
            if key in keys:
                ret[keys[key]] = int(value.split()[0]) << 10
            elif key == 'Uid':
                ret['uid'] = int(value.split()[0])
            elif key == 'PPid':
                ret['ppid'] = int(value)
    for name in ('oom_score', 'oom_score_adj'):
        ret[name] = int(Path(f'/proc/{pid}/{name}').read_text(encoding='ascii'))
    return ret


def test_numbers_are_those_of_proc(binary):
    with Domain('numbers', 128) as domain:
        domain.eat(30, 17)
        domain.eat(5, 999)
        ranking = rank(binary, domain)
        for one in ranking['candidates']:
            for key, value in status(one['pid']).items():
                yield from differ(f'{key} of {one["pid"]}', one[key], value)
            yield from differ('cgroup', one['cgroup'], domain.shown)
        usage = ranking['usage_bytes']
        if not 35 << 20 < usage < 128 << 20:
            yield f'usage_bytes is {usage}'
        yield from differ('limit_bytes', ranking['limit_bytes'], 128 << 20)
    yield from differ('candidates', len(ranking['candidates']), 2)


def test_the_machine(binary):
    """Every process, and the first is who has the highest oom_score, which the kernel computes from
    the same points."""
    with Domain('machine', 512) as domain:
        # More than a thousandth of the machine ahead of all others by its adjustment.
        named = domain.eat(8, 1000)
        ranking = rank(binary, None, '-n', '0')
        scores = {one['pid']: one.get('oom_score', 0) for one in ranking['candidates']}
        yield from schema_errors(ranking)
        yield from differ('scope', ranking['scope'], 'global')
        if scores[ranking['next_pid']] != max(scores.values()):
            yield f'next is {ranking["next_pid"]}, not the highest of {scores}'
        if named.pid not in scores:
            yield 'not all processes are ranked'
        yield from differ('listed', len(ranking['candidates']), ranking['candidates_total'])
        for one in ranking['candidates']:
            if one['pid'] in (1, os.getpid()):
                yield from differ(f'uid of {one["pid"]}', one['uid'], status(one['pid'])['uid'])
            if one['pid'] == 1:
                yield from differ('pid 1', one.get('immune'), 'it is init')
    # Those that ran between the reading of their memory and of their score are passed over.
    wrong = [error for error in sum_errors(ranking) if not error.startswith('oom_score of')]
    yield from wrong


def test_without_root(binary):
    with Domain('unprivileged', 128) as domain:
        crowd = [domain.eat(20), domain.eat(10, 800)]
        mine, theirs = rank(binary, domain), rank(binary, domain, wrap=NOBODY)
    yield from differ('order', pids(theirs), [one.pid for one in reversed(crowd)])
    # The wall clock's distance from the one since boot is taken anew each time.
    for one in mine['candidates'] + theirs['candidates']:
        del one['started']
    yield from differ('candidates', theirs['candidates'], mine['candidates'])
    yield from differ('unreadable', theirs['unreadable'], 0)


def test_processes_that_proc_hides(binary):
    """They are counted, not left out in silence."""
    script = 'mount -t proc -o hidepid=2 proc /proc; exec "$@"'
    wrap = ['unshare', '-m', 'sh', '-ec', script, 'sh', *NOBODY]
    with Domain('hidepid', 128) as domain:
        domain.eat(20)
        ranking = rank(binary, domain, wrap=wrap)
        whole = rank(binary, None, wrap=wrap)
    yield from differ('unreadable', ranking['unreadable'], 1)
    yield from differ('candidates', ranking['candidates'], [])
    if 'hidden' not in ' '.join(ranking.get('notes', [])):
        yield f'notes are {ranking.get("notes")}'
    if 'hidepid' not in ' '.join(whole.get('notes', [])):
        yield f'of the machine: {whole.get("notes")}'


def test_kills_switched_off(binary):
    """Version 1 only: nobody is killed then, and that is said."""
    if not V1.is_dir():
        return
    with Domain('switched-off', 128) as domain:
        Path(os.fsdecode(domain.path), 'memory.oom_control').write_text('1', encoding='ascii')
        domain.eat(20)
        notes = ' '.join(rank(binary, domain)['notes'])
    if 'nobody is killed' not in notes:
        yield f'notes are {notes!r}'


# --- the command line ---


def test_text(binary):
    with Domain('text', 128) as domain:
        big = domain.eat(30, comm=HOSTILE_COMM)
        domain.eat(10)
        out = run(binary, '--cgroup', domain.shown)[1]
    lines = out.decode().splitlines()
    name = r'a\x0ab\x1b[31m"\xff\\,)x'
    if not lines[0].startswith(f'Next to be killed in {domain.shown}: {name}[{big.pid}], '):
        yield f'first line is {lines[0]!r}'
    if any(byte < 0x20 and byte != 0x0A or byte == 0x7F for byte in out):
        yield f'control characters in {out!r}'
    sums = [line for line in lines if ' anon + ' in line]
    yield from differ('lines with the sum', len(sums), 1)
    terms, _, whole = sums[0].replace(',', '').removesuffix(' pages').partition(' = ')
    yield from differ(
        'the sum', sum(int(term.split()[0]) for term in terms.split(' + ')), int(whole)
    )
    # The answer and the sum stand in one line each, however long the names and numbers.
    yield from (f'too wide: {line!r}' for line in lines[1:] if len(line) > 80 and line not in sums)


def test_how_many(binary):
    with Domain('how-many', 64) as domain:
        for _ in range(3):
            domain.eat(1)
        for options, shown in (([], 3), (['-n', '2'], 2), (['-n0'], 3), (['-n', '99'], 3)):
            ranking = rank(binary, domain, *options)
            yield from differ(f'{options}: shown', len(ranking['candidates']), shown)
            yield from differ(f'{options}: total', ranking['candidates_total'], 3)
        if b'and 2 more (-n 0 shows all)' not in run(binary, '-n1', '--cgroup', domain.shown)[1]:
            yield 'not said that there are more'


def test_names_of_cgroups(binary):
    """As the kernel names it, with a slash behind it, or as the file system does."""
    with Domain('names', 64) as domain:
        one = domain.eat(1)
        for name in (domain.shown, domain.shown + '//', os.fsdecode(domain.path)):
            code, out, err = run(binary, '--json', '--cgroup', name)
            yield from differ(f'{name}: status', (code, err), (0, b''))
            if not code:
                yield from differ(f'{name}: next_pid', json.loads(out).get('next_pid'), one.pid)


def test_nobody_there(binary):
    with Domain('empty', 64) as domain:
        ranking = rank(binary, domain)
        code, out, _ = run(binary, '--cgroup', domain.shown)
    yield from schema_errors(ranking)
    yield from differ('candidates', ranking['candidates'], [])
    yield from differ('status', code, 0)
    if not out.startswith(b'Nobody can be killed in '):
        yield f'text is {out!r}'


def test_bad_options(binary):
    for options in (
        ['--no-such-option'],
        ['nonsense'],
        ['-n'],
        ['-n', 'x'],
        ['-n', '-1'],
        ['-n', ' 1'],
        ['-n', '99999999999999999999'],
        ['--cgroup', ''],
        ['--cgroup', 'relative'],
        ['--json=1'],
    ):
        code, out, err = run(binary, *options)
        yield from differ(f'{options}: status, stdout', (code, out), (EX_USAGE, b''))
        if not err:
            yield f'{options}: nothing on stderr'


def test_no_such_cgroup(binary):
    for name in ('/no/such/cgroup', '/../..', '/sys/fs/cgroup/memory/nor/this', '/' + 'x' * 600):
        code, out, err = run(binary, '--cgroup', name)
        yield from differ(f'{name[:30]}: status, stdout', (code, out), (1, b''))
        if len(name) < 100 and name.encode() not in err:
            yield f'stderr does not name {name}: {err!r}'


def test_help(binary):
    code, out, err = run(binary, '--help')
    yield from differ('status, stderr', (code, err), (0, b''))
    if b'--cgroup' not in out:
        yield f'no help: {out!r}'


def test_outputs_that_break(binary):
    with open('/dev/full', 'wb') as full:
        code, _, err = run(binary, stdout=full, stderr=subprocess.PIPE)
    yield from differ('full: status', code, EX_IOERR)
    if not err:
        yield 'full: nothing on stderr'
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, 'wb') as gone:
        code, _, err = run(binary, stdout=gone, stderr=subprocess.PIPE)
    yield from differ('reader gone: status, stderr', (code, err), (0, b''))


if __name__ == '__main__':
    sys.exit(suite.main('rank', __doc__, suite.tests_of(globals())))
