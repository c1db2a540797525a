#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""parse_page_test.py [-q] [BINARY]: pages of `oomsnoop parse --html` on logs of real kernels
(tests/data/kmsg), and which incidents of a log are told. Needs no root. Prints "ok NAME" and
"FAIL NAME: why" lines and a last line of sums."""
import argparse
import html
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

from results import Results

TOP = Path(__file__).resolve().parents[2]
LOGS = TOP / 'tests' / 'data' / 'kmsg'
EX_USAGE, EX_IOERR, EX_NOPERM = 64, 74, 77
PATIENCE = 60
GLUE = str.maketrans('\u00a0', ' ')


def parse(binary, *args, stdin=b'', **more):
    return subprocess.run(
        [binary, 'parse', *map(str, args)],
        input=stdin,
        stdout=more.pop('stdout', subprocess.PIPE),
        stderr=subprocess.PIPE,
        timeout=PATIENCE,
        env={**os.environ, 'TZ': 'UTC'},
        **more,
    )


def all_logs():
    return b''.join(path.read_bytes() + b'\n' for path in sorted(LOGS.iterdir()))


def as_text(page):
    """What a reader sees, without the raw record."""
    page = re.sub(r'<(style|script|pre)\b.*?</\1>', '', page, flags=re.S)
    return html.unescape(re.sub(r'<[^>]+>', ' ', page)).translate(GLUE)


def page_of(binary, *args, **more):
    run = parse(binary, '--html', '-', *args, **more)
    return run, as_text(run.stdout.decode())


def expect(what, got, want):
    if got != want:
        yield f'{what}: {got!r}, not {want!r}'


def expect_in(what, text, *wanted):
    text = re.sub(r'\s+', ' ', text)
    for want in wanted:
        if want not in text:
            yield f'{what}: no {want!r}'


def test_every_log_has_a_page(binary):
    """It is whole, asks for nothing, and says what the text says first."""
    for path in sorted(LOGS.iterdir()):
        run, text = page_of(binary, path)
        yield from expect(f'{path.name}: status', run.returncode, 0)
        page = run.stdout.decode()
        yield from expect(f'{path.name}: end', page[-8:], '</html>\n')
        if re.search(r'\b(src|href)=|@import|1970-01', page):
            yield f'{path.name}: it refers to something, or is of 1970'
        told = parse(binary, '--last', '--text', '--width', '1000', path).stdout.decode()
        # "[87.122162] KILLED hog[186]: its cgroup…"; the tag stands apart on the page.
        head = r'^(\[.*?\]|\S+) (NOBODY KILLED:|[A-Z]+(?: KILLED:)?) *'
        first = re.sub(head, '', told.split('\n')[0])
        yield from expect_in(path.name, text, re.sub(r'\s+', ' ', first.translate(GLUE)))
        yield from expect_in(path.name, text, 'a kernel log', 'What is missing')


def test_a_limit(binary):
    """Nothing of the machine is told, since the kernel does not."""
    _, text = page_of(binary, LOGS / '6.1-v1-memcg.dmesg')
    yield from expect_in(
        'page', text, 'KILLED hog[186]', '40.0 MiB memory limit', '/a', 'resident', 'host_total_bytes'
    )
    for absent in ('the host has', 'What filled the machine', 'Where there was room', 'all RAM'):
        if absent in text:
            yield f'there is {absent!r}'


def test_the_machine(binary):
    """Zones with their arithmetic: 772 - 140 - 676 KiB."""
    _, text = page_of(binary, LOGS / '6.12-global.dmesg')
    yield from expect_in(
        'page',
        text,
        'Where there was room',
        '0 DMA 15.0 MiB 772 KiB 140 KiB 676 KiB 0 -44.0 KiB no room',
        'What filled the machine',
        'anonymous memory and tmpfs 163 MiB',
    )


def test_ends(binary):
    """A panic and a kill of nobody are told as such."""
    _, text = page_of(binary, LOGS / '6.12-panic-on-oom.console')
    yield from expect_in('panic', text, 'PANIC', 'stopped in place of killing')
    _, text = page_of(binary, LOGS / '6.1-no-killable.dmesg')
    yield from expect_in('nobody', text, 'NOBODY KILLED', 'Why nobody')


def test_the_last_one_has_its_page(binary):
    """Of many it is the last, or the last of those asked for; the others are named."""
    log = all_logs()
    records = [json.loads(line) for line in parse(binary, '--json', stdin=log).stdout.splitlines()]
    run, text = page_of(binary, stdin=log)
    yield from expect('status', run.returncode, 0)
    number = records[-1]['incident']
    yield from expect_in('last', text, f'incident {number} ', 'Other incidents of this log')
    group = [one['incident'] for one in records if one['victims_total'] > 1][-1]
    run, text = page_of(binary, '--verdict', 'group-kill', stdin=log)
    yield from expect_in('last group', text, f'incident {group} ')
    run, text = page_of(binary, '--incident', '3', stdin=log)
    yield from expect_in('the third', text, 'incident 3 ')
    if 'Other incidents' in text:
        yield 'others are named where one was asked for'


def test_which_are_told(binary):
    """Filters and --last take from the records what they should, in order."""
    log = all_logs()
    whole = parse(binary, '--json', stdin=log).stdout.splitlines()
    records = [json.loads(line) for line in whole]

    def told(*args):
        return parse(binary, '--json', *args, stdin=log).stdout.splitlines()

    yield from expect('--last 3', told('--last', '3'), whole[-3:])
    yield from expect('--last', told('--last'), whole[-1:])
    yield from expect('--last of more', told('--last=9999'), whole)
    yield from expect('--incident', told('--incident', '2'), whole[1:2])
    comm = records[0]['victim_comm']
    yield from expect(
        '--comm',
        told('--comm', comm),
        [
            line
            for line, one in zip(whole, records)
            if any(victim.get('comm') == comm for victim in one.get('victims', []))
        ],
    )
    scoped = [line for line, one in zip(whole, records) if one.get('scope') == 'global']
    yield from expect('there are global ones', bool(scoped), True)
    yield from expect('--scope', told('--scope', 'global'), scoped)
    yield from expect('--scope --last', told('--scope', 'global', '--last=1'), scoped[-1:])
    text = parse(binary, '--text', '--last=2', stdin=log).stdout.decode()
    if text.startswith('\n') or text.count('\n\n') != 1:
        yield 'two texts are not parted by one empty line'
    run = parse(binary, '--scope', 'global', stdin=log)
    yield from expect_in(
        'stderr', run.stderr.decode(), f'{len(scoped)} of {len(records)} incidents are as asked for'
    )


def test_nothing_for_a_page(binary):
    """Status 1, a word, and what was there before stays."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / 'page.html'
        out.write_text('before')
        run = parse(binary, '--html', out, stdin=b'nothing of the kind\n')
        yield from expect('status', run.returncode, 1)
        yield from expect_in('stderr', run.stderr.decode(), 'no incident to make a page of')
        yield from expect('file', out.read_text(), 'before')
        run = parse(binary, '--html', out, '--comm', 'nobody-is-called-so', stdin=all_logs())
        yield from expect('status with a filter', run.returncode, 1)
        yield from expect('file with a filter', out.read_text(), 'before')
        run = parse(binary, '--html', out, LOGS / '7.3-memcg.dmesg')
        yield from expect('status at last', run.returncode, 0)
        yield from expect('what goes to stdout', run.stdout, b'')
        yield from expect('file at last', out.read_text()[:15], '<!DOCTYPE html>')
        yield from expect('files', sorted(os.listdir(folder)), ['page.html'])


def test_pages_that_cannot_be_written(binary):
    """The right status, and no half of a page."""
    log = LOGS / '7.3-memcg.dmesg'
    run = parse(binary, '--html', '/nonexistent/x.html', log)
    yield from expect('no folder', run.returncode, EX_IOERR)
    yield from expect_in('no folder', run.stderr.decode(), '/nonexistent/x.html: No such file')
    with open('/dev/full', 'wb') as full:
        run = parse(binary, '--html', '-', log, stdout=full)
    yield from expect('full', run.returncode, EX_IOERR)
    yield from expect_in('full', run.stderr.decode(), 'No space left')
    # Stdout is not needed for a page elsewhere.
    with tempfile.TemporaryDirectory() as folder, open('/dev/full', 'wb') as full:
        run = parse(binary, '--html', Path(folder) / 'x.html', log, stdout=full)
        yield from expect('stdout full', run.returncode, 0)


def test_wrong_use(binary):
    for args in (
        ('--last=0',),
        ('--last=10001',),
        ('--scope=x',),
        ('--verdict=x',),
        ('--incident=0',),
        ('--cgroup=x',),
    ):
        run = parse(binary, *args)
        yield from expect(f'{args}: status', run.returncode, EX_USAGE)
        yield from expect(f'{args}: stdout', run.stdout, b'')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('-q', action='store_true', help='failures and sums only')
    parser.add_argument('binary', nargs='?', default=TOP / 'build' / 'oomsnoop', type=Path)
    args = parser.parse_args()
    results = Results(args.q)
    for name, test in list(globals().items()):
        if name.startswith('test_'):
            results.add(name[5:].replace('_', '-'), list(test(args.binary)))
    return results.finish()


if __name__ == '__main__':
    raise SystemExit(main())
