#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""journal_test.py [-q] [BINARY]: `oomsnoop parse --journal` on journals that systemd-journal-remote makes out of real kernel logs:
the same records as from the same entries in a file; boots, times, folders, files, damage, rights, a machine without libsystemd.
Needs root, for mount namespaces. Prints "ok NAME" and "FAIL NAME: why" lines and a last line of sums."""
import argparse
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

from results import Results

TOP = Path(__file__).resolve().parents[2]
LOGS = TOP / 'tests' / 'data' / 'kmsg'
REMOTE = '/lib/systemd/systemd-journal-remote'
EX_USAGE, EX_DATAERR, EX_UNAVAILABLE, EX_NOPERM = 64, 65, 69, 77
PATIENCE = 60
STAMP = re.compile(rb'^(?:\d+,\d+,(\d+),[^;]*;|(?:<\d+>)?\[ *(\d+)\.(\d+)\] ?)')
MACHINE = '11111111111111111111111111111111'
BOOTS = ['a' * 32, 'b0b0b0b0c1c1d2d2e3e3f4f4a5a5b6b6', 'c' * 32]
HOUR_US = 3600 * 1000000
# Realtime of each boot's zero.
ZEROS_US = [1700000000 * 1000000 + i * 24 * HOUR_US for i in range(3)]
NAMES = ['6.1-group.kmsg', '6.12-hostile-names.kmsg', '7.3-memcg.dmesg']


def entries(name):
    """(microseconds, text) of each record of a log."""
    us = 0
    for line in (LOGS / name).read_bytes().splitlines():
        found = STAMP.match(line)
        if found:
            us = int(found[1]) if found[1] else int(found[2]) * 1000000 + int(found[3])
            line = line[found.end():]
            if found[1]:
                line = re.sub(rb'\\x([0-9a-f]{2})', lambda hexed: bytes([int(hexed[1], 16)]), line)
        elif line.startswith(b' '):
            continue  # a field of /dev/kmsg's
        yield us, line


def field(name, value):
    if all(32 <= byte < 127 for byte in value):
        return name + b'=' + value + b'\n'
    return name + b'\n' + struct.pack('<Q', len(value)) + value + b'\n'


def export(name, number=0, transport=b'kernel', machine=MACHINE, host=b'node'):
    """A log as a boot's entries, in the journal's export format."""
    out = []
    for index, (us, text) in enumerate(entries(name)):
        out.append(b'__CURSOR=s=1;i=%x\n__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n' % (
            index + 1, ZEROS_US[number] + us, us))
        for key, value in ((b'_BOOT_ID', BOOTS[number].encode()), (b'_MACHINE_ID', machine.encode()),
                           (b'_HOSTNAME', host), (b'_TRANSPORT', transport), (b'PRIORITY', b'4'),
                           (b'SYSLOG_IDENTIFIER', b'kernel'), (b'_SOURCE_MONOTONIC_TIMESTAMP', b'%d' % us),
                           (b'MESSAGE', text)):
            out.append(field(key, value))
        out.append(b'\n')
    return b''.join(out)


def journal(path, data):
    """A journal file of these entries."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([REMOTE, '-o', str(path), '-'], input=data, capture_output=True, timeout=PATIENCE, check=False)
    if done.returncode or not path.exists():
        raise SystemExit(f'{REMOTE}: {done.stderr.decode()}')
    return path


class Run:
    def __init__(self, binary, *args, stdin=b'', wrap=(), zone='UTC'):
        done = subprocess.run([*wrap, binary, 'parse', '--json', *map(str, args)], input=stdin, capture_output=True,
                              timeout=PATIENCE, env={**os.environ, 'TZ': zone}, check=False)
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr.decode()

    def records(self):
        return [json.loads(line) for line in self.out.splitlines()]

    def victims(self):
        return [(record.get('boot_id', '').replace('-', ''), record.get('victim_pid')) for record in self.records()]


def expect(run, status=0, says='', victims=None):
    if run.status != status:
        yield f'status {run.status}, not {status}: {run.err}'
    if says not in run.err:
        yield f'does not say {says!r}: {run.err!r}'
    if victims is not None and run.victims() != victims:
        yield f'{run.victims()}, not {victims}'


def parsed(binary, data):
    return Run(binary, '-', stdin=data)


class Case:
    """The journals that the tests read."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.parts = [export(name, number) for number, name in enumerate(NAMES)]
        self.directory = folder / 'all'
        self.file = journal(self.directory / 'system.journal', b''.join(self.parts))
        self.victims = [parsed(binary, part).victims() for part in self.parts]
        self.all = sum(self.victims, [])

    def run(self, *args, **more):
        return Run(self.binary, '--journal', *args, **more)


# --- the same as a file ---


def test_same(case):
    """Byte for byte what the same entries as a file give."""
    for name in sorted(path.name for path in LOGS.iterdir()):
        data = export(name)
        path = journal(case.folder / 'each' / f'{name}.journal', data)
        run, want = case.run('--file', path), parsed(case.binary, data)
        if run.status or run.out != want.out:
            yield f'{name}: status {run.status}, {run.out[:300]} and not {want.out[:300]}'
        # Another way to the same: the log as the kernel gave it, which tells no wall clock, host or boot.
        if name.endswith('.kmsg'):
            plain = Run(case.binary, LOGS / name)
            kept = [{key: value for key, value in record.items()
                     if key in ('victim_pid', 'victim_comm', 'trigger_comm', 'limit_cgroup', 'limit_bytes', 'mono_us', 'scope',
                                'candidates_count', 'victim_anon_bytes', 'outcome')} for record in plain.records()]
            for record, want_record in zip(run.records(), kept):
                for key, value in want_record.items():
                    if record.get(key) != value:
                        yield f'{name}: {key} is {record.get(key)!r}, not {value!r}'
            if len(kept) != len(run.records()):
                yield f'{name}: {len(run.records())} records, not {len(kept)}'


def test_hosts(case):
    """Two machines in a folder of folders, as on a collector's disk."""
    other = MACHINE.replace('1', '2')
    folder = case.folder / 'hosts'
    journal(folder / MACHINE / 'system.journal', export(NAMES[0], 0))
    journal(folder / other / 'system.journal', export(NAMES[2], 2, machine=other, host=b'second'))
    yield from expect(case.run('--directory', folder), victims=case.victims[0] + case.victims[2])
    yield from expect(case.run('-D', folder / other), victims=case.victims[2])


def test_others_words(case):
    """A program's line is none of the kernel's, whatever it says."""
    path = journal(case.folder / 'quoted' / 'system.journal', export(NAMES[0], transport=b'stdout'))
    yield from expect(case.run('--file', path), says='no OOM kill', victims=[])


def test_static(case):
    """The build without a shared library cannot load one. It says so, and reads what journalctl writes."""
    run = Run(case.binary + '-static', '--journal', '-D', case.directory)
    yield from expect(run, EX_UNAVAILABLE, 'journalctl', [])
    yield from expect(Run(case.binary + '-static', '-', stdin=b''.join(case.parts)), victims=case.all)


# --- boots and times ---


def test_boots(case):
    where = ('-D', case.directory)
    yield from expect(case.run(*where), victims=case.all)
    dashed = re.sub('(.{8})(.{4})(.{4})(.{4})(.{12})', r'\1-\2-\3-\4-\5', BOOTS[1]).upper()
    for boot, number in (('--boot', 2), ('--boot=0', 2), ('--boot=-1', 1), ('--boot=-2', 0), ('--boot=1', 0), ('--boot=3', 2),
                         (f'--boot={BOOTS[1]}', 1), (f'--boot={dashed}', 1)):
        for error in expect(case.run(*where, boot), victims=case.victims[number]):
            yield f'{boot}: {error}'
    for boot in ('--boot=-3', '--boot=4', '--boot=' + 'd' * 32):
        for error in expect(case.run(*where, boot), EX_DATAERR, 'no such boot', []):
            yield f'{boot}: {error}'
    for boot in ('--boot=', '--boot=one', '--boot=1x', '--boot=' + 'a' * 31, '--boot=' + 'a' * 33):
        for error in expect(case.run(*where, boot), EX_USAGE, '--boot', []):
            yield f'{boot}: {error}'


def test_times(case):
    where = ('-D', case.directory)
    day = [zero // 1000000 + 12 * 3600 for zero in ZEROS_US]
    for args, numbers in ((('--since', f'@{day[0]}'), (1, 2)), (('--until', f'@{day[0]}'), (0,)),
                          (('--since', f'@{day[0]}', '--until', f'@{day[1]}'), (1,)), (('--since', f'@{day[2]}'), ()),
                          (('--since', '2023-11-15 00:00', '--until', '2023-11-15T23:59:59Z'), (1,)),
                          (('--boot=1', '--since', f'@{day[0]}'), ()), (('--since', '1h'), ())):
        for error in expect(case.run(*where, *args), victims=sum((case.victims[number] for number in numbers), [])):
            yield f'{args}: {error}'
    for args in (('--since', 'soon'), ('--until', 'x'), ('--since', '@20', '--until', '@10')):
        for error in expect(case.run(*where, *args), EX_USAGE, '--', []):
            yield f'{args}: {error}'


def test_times_within(case):
    """A report that began in time is whole though its lines are later; one that began before is not told by its half."""
    records = case.run('-D', case.directory, '--boot=1').records()
    first, begun = min(us for us, text in entries(NAMES[0]) if b'invoked' in text), ZEROS_US[0]
    whole = Run(case.binary, '--journal', '-D', case.directory, '--until', f'@{(begun + first + 1) / 1e6:.6f}')
    yield from () if whole.records() == records[:1] else (f'{len(whole.records())} records or not whole: {whole.err}',)
    later = Run(case.binary, '--journal', '-D', case.directory, '--boot=1', '--since', f'@{(begun + first + 1) / 1e6:.6f}')
    yield from expect(later, victims=case.victims[0][1:])


def test_usage(case):
    for args in (('--boot',), ('--since', '1h'), ('--until', 'now'), ('-D', '/tmp'), ('--file', 'x'), ('--journal', 'x.log'),
                 ('--journal', '-D', '/tmp', '--file', 'x')):
        for error in expect(Run(case.binary, *args), EX_USAGE, victims=[]):
            yield f'{args}: {error}'


# --- what is not there ---


def test_nothing_there(case):
    empty = case.folder / 'empty'
    empty.mkdir()
    yield from expect(case.run('-D', empty), EX_DATAERR, f'{empty}: no systemd journal is there', [])
    (empty / 'system.log').write_text('no journal')
    yield from expect(case.run('-D', empty), EX_DATAERR, 'no systemd journal is there', [])
    yield from expect(case.run('-D', '/nonexistent'), EX_DATAERR, '/nonexistent: No such file', [])
    yield from expect(case.run('--file', '/nonexistent'), EX_DATAERR, '/nonexistent: No such file', [])
    yield from expect(case.run('-D', case.file), EX_DATAERR, 'Not a directory', [])
    yield from expect(case.run('--file', case.directory), EX_DATAERR, f'{case.directory}: ', [])
    # What can be read is told.
    yield from expect(case.run('--file', '/nonexistent', '--file', case.file), EX_DATAERR, 'No such file', case.all)


def test_damaged(case):
    folder = case.folder / 'damaged'
    shutil.copytree(case.directory, folder)
    whole = case.file.read_bytes()
    for name, data in (('text', b'This is no journal.\n' * 1000), ('none', b''), ('cut', whole[:len(whole) // 3]),
                       ('head', b'\xff' * 64 + whole[64:])):
        path = folder / f'{name}.journal'
        path.write_bytes(data)
        for error in expect(case.run('-D', folder), EX_DATAERR, f'{path}: no journal file, or a damaged one', case.all):
            yield f'{name}: {error}'
        for error in expect(case.run('--file', path), EX_DATAERR, str(path), []):
            yield f'{name} alone: {error}'
        path.unlink()


def test_damaged_inside(case):
    """Any 4 KiB of the file overwritten: never a crash; if kills are missing, that is said."""
    whole = case.file.read_bytes()
    path = case.folder / 'inside.journal'
    said = 0
    end = max(index for index in range(0, len(whole), 4096) if whole[index:index + 4096].strip(b'\0'))
    for start in range(4096, end, max(4096, end // 60 // 4096 * 4096)):
        path.write_bytes(whole[:start] + b'\xa5' * 4096 + whole[start + 4096:])
        run = case.run('--file', path)
        said += run.status == EX_DATAERR
        if run.status not in (0, EX_DATAERR):
            yield f'at {start}: status {run.status}: {run.err}'
        elif run.status == 0 and len(run.victims()) < len(case.all) - len(case.victims[1]):
            yield f'at {start}: {run.victims()} and no word: {run.err}'
    yield from () if said else ('no damage was said at all',)


def test_rights(case):
    """Somebody without rights reads what he may, and is told what he may not."""
    where = Path(tempfile.mkdtemp(prefix='oomsnoop-journal-'))
    try:
        where.chmod(0o755)
        shutil.copytree(case.directory, where / 'all')
        (where / 'all').chmod(0o755)
        secret = where / 'all' / 'system.journal'
        other = where / 'all' / 'system@1.journal'
        shutil.copy(journal(case.folder / 'one.journal', case.parts[2]), other)
        shutil.copy(case.binary, where / 'oomsnoop')
        (where / 'oomsnoop').chmod(0o755)
        secret.chmod(0o600)
        other.chmod(0o644)
        nobody = ('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups')
        run = Run(str(where / 'oomsnoop'), '--journal', '-D', where / 'all', wrap=nobody)
        yield from expect(run, EX_NOPERM, f'{secret}: Permission denied', case.victims[2])
        other.unlink()
        run = Run(str(where / 'oomsnoop'), '--journal', '-D', where / 'all', wrap=nobody)
        yield from expect(run, EX_NOPERM, 'systemd-journal', [])
        (where / 'all').chmod(0o700)
        run = Run(str(where / 'oomsnoop'), '--journal', '-D', where / 'all', wrap=nobody)
        yield from expect(run, EX_NOPERM, 'Permission denied', [])
    finally:
        shutil.rmtree(where)


# --- this machine ---


def inside(script):
    """A command in a mount namespace of its own, after a script."""
    return ('unshare', '--mount', '--propagation', 'private', 'bash', '-ec', script + '\nexec "$@"', 'bash')


def test_this_machine(case):
    """Where journald writes, and the boot that goes on, without options that say where."""
    boot = Path('/proc/sys/kernel/random/boot_id').read_text().strip().replace('-', '')
    data = case.parts[0] + case.parts[1].replace(BOOTS[1].encode(), boot.encode())
    path = journal(case.folder / 'here' / 'system.journal', data)
    identity = case.folder / 'machine-id'
    identity.write_text(MACHINE + '\n')
    places = f'''
        [[ -e /etc/machine-id ]] || {{ mount -t tmpfs none /etc; }}
        [[ -e /etc/machine-id ]] || touch /etc/machine-id
        mount --bind {identity} /etc/machine-id
        mkdir -p /tmp/.oomsnoop-none
        mount -t tmpfs none /var/log
        mount -t tmpfs none /run
        '''
    written = inside(places + f'mkdir -p /var/log/journal/{MACHINE}; cp {path} /var/log/journal/{MACHINE}/system.journal')
    yield from expect(case.run(wrap=written), victims=case.victims[0] + [(boot, pid) for _, pid in case.victims[1]])
    yield from expect(case.run('--boot', wrap=written), victims=[(boot, pid) for _, pid in case.victims[1]])
    volatile = inside(places + f'mkdir -p /run/log/journal/{MACHINE}; cp {path} /run/log/journal/{MACHINE}/system.journal')
    yield from expect(case.run('--boot=-1', wrap=volatile), victims=case.victims[0])
    another = inside(places + f'mkdir -p /run/log/journal/{MACHINE}; cp {case.file} /run/log/journal/{MACHINE}/system.journal')
    yield from expect(case.run('--boot', wrap=another), EX_DATAERR, 'no such boot', [])
    yield from expect(case.run(wrap=inside(places)), EX_DATAERR, 'this machine: no systemd journal is there', [])


def test_no_library(case):
    """As on a machine without systemd: of no use, but said, in both builds; files need none."""
    library = subprocess.run(['ldconfig', '-p'], capture_output=True, text=True, check=True).stdout
    paths = sorted(set(re.findall(r'libsystemd\.so\.0 .*=> (\S+)', library)))
    hidden = inside(''.join(f'mount --bind /dev/null "$(readlink -f {path})"\n' for path in paths))
    yield from () if paths else ('there is none here, either',)
    for binary in (case.binary, case.binary + '-static'):
        run = Run(binary, '--journal', '-D', case.directory, wrap=hidden)
        yield from expect(run, EX_UNAVAILABLE, 'libsystemd.so.0', [])
        yield from expect(Run(binary, '-', stdin=case.parts[0], wrap=hidden), victims=case.victims[0])


TESTS = {
    'the same as of a file': test_same,
    'two machines': test_hosts,
    "others' words": test_others_words,
    'the static build': test_static,
    'boots': test_boots,
    'times': test_times,
    'times within a report': test_times_within,
    'usage': test_usage,
    'nothing there': test_nothing_there,
    'damaged files': test_damaged,
    'damage inside': test_damaged_inside,
    'rights': test_rights,
    'this machine': test_this_machine,
    'no library': test_no_library,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('-q', '--quiet', action='store_true')
    parser.add_argument('binary', nargs='?', default=str(TOP / 'build' / 'oomsnoop'))
    options = parser.parse_args()
    results = Results(options.quiet)
    with tempfile.TemporaryDirectory() as folder:
        case = Case(os.path.abspath(options.binary), Path(folder))
        for name, test in TESTS.items():
            results.add(name, test(case))
    return results.finish()


if __name__ == '__main__':
    raise SystemExit(main())
