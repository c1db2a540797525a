#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""page_test.py [-q] [-k TEST] [BUILD]: the report page in a real browser (headless Chromium).
BUILD is the build's directory: its tests/page/make_page writes pages of made incidents, its oomsnoop
one of a real kill in a memory cgroup of its own. Needs root for that. Prints "ok NAME" and
"FAIL NAME: why" lines and a last line of sums."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import xml.dom.minidom
from contextlib import contextmanager
from pathlib import Path

import suite
from browser import Browser, pixels
from cgroup import Cgroup
from recording import Folder, Recording

TOP = Path(__file__).resolve().parents[2]
KINDS = ('plain', 'workers', 'hostile', 'points', 'bare', 'group', 'nobody', 'gaps', 'large')
PLOTTED = ('plain', 'workers', 'hostile', 'points', 'gaps', 'large')
PAPER = {'light': (255, 255, 255), 'dark': (18, 23, 29)}
# Of a victim's family, as page.css has it.
VICTIM = {'light': (213, 94, 0), 'dark': (240, 132, 44)}


class Pages:
    """The pages, made once, and what the browser logged since the last look."""

    def __init__(self, browser, build, directory):
        self.browser, self.build, self.directory = browser, build, directory

    def path(self, name):
        return os.path.join(self.directory, name)

    def make(self, kind, name=None):
        path = self.path(name or f'{kind}.html')
        subprocess.run([self.build / 'tests/page/make_page', kind, path], check=True)
        return path

    def open(self, name, width=1280, height=800, scheme='light'):
        """A page that is there with its chart drawn; returns what it complained of."""
        self.browser.log('browser')
        self.browser.log('performance')
        self.browser.size(width, height)
        self.browser.scheme(scheme)
        self.browser.open(self.path(name))
        return self.complaints(name)

    def complaints(self, name):
        errors = [
            f'{entry["level"]} {entry["message"][:200]}'
            for entry in self.browser.log('browser')
            if entry['level'] != 'DEBUG'
        ]
        for entry in self.browser.log('performance'):
            message = json.loads(entry['message'])['message']
            if message['method'] == 'Network.requestWillBeSent':
                url = message['params']['request']['url']
                # What the browser asks for its own first page comes late at times.
                if message['params']['documentURL'].startswith('chrome:'):
                    continue
                if url != f'file://{self.path(name)}':
                    errors.append(f'asks for {url[:200]}')
        return errors

    def run(self, script, *arguments):
        return self.browser.run(script, *arguments)

    def data(self):
        return self.run("return JSON.parse(document.getElementById('chart-data').textContent)")

    def scale(self):
        return self.run('const {min, max} = oomsnoopChart.scales.x; return [min, max]')

    def plot_box(self):
        """The plotting area in the window."""
        return self.run(
            """const over = oomsnoopChart.over;
            over.scrollIntoView({block: 'center'});
            const box = over.getBoundingClientRect();
            return [box.left, box.top, box.width, box.height]"""
        )


def differ(what, got, want):
    return [] if got == want else [f'{what} is {got!r}, not {want!r}']


def near(what, got, want, slack):
    return [] if abs(got - want) <= slack else [f'{what} is {got!r}, not about {want!r}']


# --- nothing leaves, nothing is refused ---


def test_quiet(pages):
    """No error, no warning, no request but for the page itself, no violation of the policy."""
    for kind in KINDS:
        for error in pages.open(f'{kind}.html'):
            yield f'{kind}: {error}'


def test_requests_would_be_seen(pages):
    """The same look at a page that does ask for something."""
    Path(pages.path('asks.html')).write_text(
        '<!DOCTYPE html><img src="http://127.0.0.1:9/x">', encoding='utf-8'
    )
    if not any('asks for http://127.0.0.1:9/x' in error for error in pages.open('asks.html')):
        yield 'a request was not seen'


def test_policy_is_in_force(pages):
    """That it is quiet must not be since nothing is checked: what is not permitted is refused."""
    pages.open('plain.html')
    refused = pages.run(
        """window.ran = false;
        const seen = [];
        addEventListener('securitypolicyviolation', event => seen.push(event.effectiveDirective));
        const script = document.createElement('script');
        script.textContent = 'window.ran = true';
        document.body.append(script);
        const image = document.createElement('img');
        image.src = 'http://127.0.0.1:9/x';
        document.body.append(image);
        document.body.setAttribute('style', 'color: red');
        window.refused = seen;
        return window.ran"""
    )
    yield from differ('a script of another hash ran', refused, False)
    seen = pages.browser.call(
        'POST',
        '/execute/async',
        {
            'script': """const done = arguments[0];
            const look = () => window.refused.length >= 3 ? done(window.refused) : setTimeout(look, 10);
            look()""",
            'args': [],
        },
    )
    yield from differ('refused', sorted(seen), ['img-src', 'script-src-elem', 'style-src-attr'])


def test_hostile_names_are_text(pages):
    pages.open('hostile.html')
    yield from differ(
        'elements out of names',
        pages.run(
            "return document.querySelectorAll('img, i:not(.key), u, b[onload], svg[onload]').length"
        ),
        0,
    )
    text = pages.run('return document.body.innerText')
    for name in (
        '</script><img>',
        '<i>x</i>',
        '</title>',
        '<b onload="x()">&\'',
        '\\xe2\\x80\\xae',
    ):
        if name not in text:
            yield f'{name!r} is not to be read'
    if '\u202e' in text:
        yield 'a mark that turns text around'
    legend = pages.run("return document.querySelector('.u-legend').textContent")
    if '</script>\\x1b\\xe2\\x80\\xae[31402]' not in legend:
        yield f'the legend has {legend[:120]!r}'


# --- the chart ---


def test_plot_has_the_numbers(pages):
    """What is drawn is what stands in the page: times, usage, and the sums of the stack."""
    for kind in PLOTTED:
        pages.open(f'{kind}.html')
        data = pages.data()
        drawn = pages.run('return oomsnoopChart.data')
        yield from differ(f'{kind}: times', drawn[0], data['times_s'])
        if 'usage_bytes' in data:
            yield from differ(f'{kind}: usage', drawn[-1], data['usage_bytes'])
        layers = [layer['bytes'] for layer in data['layers']]
        for number in range(len(layers)):
            want = [sum(values) for values in zip(*layers[: number + 1])]
            yield from differ(f'{kind}: stack {number}', drawn[len(layers) - number], want)
        yield from differ(
            f'{kind}: canvas',
            pages.run("return document.querySelectorAll('#plot canvas').length"),
            1,
        )
        shown = pages.run("return getComputedStyle(document.getElementById('still')).display")
        yield from differ(f'{kind}: the static chart', shown, 'none')


def test_no_plot_without_series(pages):
    for kind in ('bare', 'nobody', 'group'):
        pages.open(f'{kind}.html')
        yield from differ(
            kind, pages.run("return document.querySelectorAll('figure, canvas').length"), 0
        )


def test_hover_tells_the_values(pages):
    pages.open('workers.html')
    data = pages.data()
    left, top, width, height = pages.plot_box()
    before = pages.run("return document.querySelector('.u-legend').innerText")
    pages.browser.pointer((left + width / 2, top + height / 2))
    at = pages.run('return oomsnoopChart.cursor.idx')
    rows = pages.run(
        """return [...document.querySelectorAll('.u-legend tr')].map(row =>
            [row.querySelector('.u-label').textContent, row.querySelector('.u-value').textContent])"""
    )
    yield from near('the instant', data['times_s'][at], -30, 0.6)
    values = dict(rows)
    for layer in data['layers']:
        name = layer['name'] + (f' ({layer["members"]} processes)' if layer['members'] > 1 else '')
        yield from differ(name, values.get(name), iec(layer['bytes'][at]))
    yield from differ('in use', values.get('in use'), iec(data['usage_bytes'][at]))
    yield from differ(
        'first of the legend',
        [row[0] for row in rows[:3]][1:],
        ['in use', 'python3[31402] (17 processes)'],
    )
    if 'in use' not in before or iec(data['usage_bytes'][-1]) not in before:
        yield f'without a pointer the legend does not tell the values at the kill: {before!r}'


def iec(size):
    """As base/units.h tells sizes."""
    for shift, unit in ((40, 'TiB'), (30, 'GiB'), (20, 'MiB'), (10, 'KiB')):
        value = size / (1 << shift)
        if value >= 1:
            return f'{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}'
    return f'{size} B' if size else '0'


def test_drag_zooms_and_double_click_goes_back(pages):
    pages.open('plain.html')
    left, top, width, height = pages.plot_box()
    middle = top + height / 2
    yield from differ('the scale', pages.scale(), [-300, 0])
    pages.browser.pointer(
        (left + width * 0.5, middle),
        'down',
        (left + width * 0.6, middle),
        (left + width * 0.75, middle),
        'up',
    )
    low, high = pages.scale()
    yield from near('the lower end', low, -150, 2)
    yield from near('the upper end', high, -75, 2)
    x, y = left + width * 0.5, middle
    pages.browser.pointer((x, y), 'down', 'up', 'down', 'up')
    yield from differ('the scale after a double click', pages.scale(), [-300, 0])


def test_wheel_zooms_with_control_only(pages):
    pages.open('plain.html')
    left, top, width, height = pages.plot_box()
    x, y = left + width * 0.5, top + height / 2
    pages.browser.wheel(x, y, -100, control=True)
    low, high = pages.scale()
    yield from near('the lower end', low, -270, 2)
    yield from near('the upper end', high, -30, 2)
    pages.browser.wheel(x, y, 100, control=True)
    pages.browser.wheel(x, y, 100, control=True)
    yield from differ('the scale at its widest', pages.scale(), [-300, 0])
    pages.browser.wheel(x, y, -100)
    yield from differ('the scale after a plain wheel', pages.scale(), [-300, 0])


def test_ranges_by_keyboard(pages):
    pages.open('plain.html')
    pages.run("document.querySelectorAll('.tools button')[1].focus()")
    pages.browser.keys('\ue007')
    yield from differ('the scale', pages.scale(), [-60, 0])
    pressed = pages.run(
        "return [...document.querySelectorAll('.tools button')].map(b => b.getAttribute('aria-pressed'))"
    )
    yield from differ('pressed', pressed, ['false', 'true', 'false'])


def test_plot_follows_the_window_and_the_scheme(pages):
    pages.open('workers.html')
    wide = pages.run('return oomsnoopChart.width')
    pages.browser.pointer((0, 0))
    pages.browser.size(700, 800)
    narrow = pages.browser.call(
        'POST',
        '/execute/async',
        {
            'script': """const done = arguments[1], look = () => oomsnoopChart.width < arguments[0]
                ? done(oomsnoopChart.width) : requestAnimationFrame(look);
            look()""",
            'args': [wide],
        },
    )
    if narrow > 700:
        yield f'the chart is {narrow} wide in a window of 700'
    pages.browser.size(1280, 800)
    pages.browser.scheme('dark')
    errors, _ = picture_errors(pages.browser.screenshot(), 'dark')
    yield from errors


# --- tables ---


def cells(pages, caption, title):
    """A column as shown, by the caption of its table and the column's title."""
    return pages.run(
        """const table = [...document.querySelectorAll('table')].find(t => t.caption?.textContent === arguments[0]);
        const at = [...table.tHead.rows[0].cells].findIndex(c => c.textContent === arguments[1]);
        return [...table.tBodies[0].rows].map(row => row.cells[at].textContent)""",
        caption,
        title,
    )


def click_head(pages, caption, title):
    return pages.run(
        """const table = [...document.querySelectorAll('table')].find(t => t.caption?.textContent === arguments[0]);
        const head = [...table.tHead.rows[0].cells].find(c => c.textContent === arguments[1]);
        head.querySelector('button').click();
        return [head.getAttribute('aria-sort'), table.querySelectorAll('[aria-sort]').length]""",
        caption,
        title,
    )


def test_tables_sort_by_number_both_ways(pages):
    pages.open('plain.html')
    first = cells(pages, 'Candidates', 'anon')
    yield from differ('anon, largest first', first[0], '961\u00a0MiB')
    yield from differ('sort', click_head(pages, 'Candidates', 'anon'), ['descending', 1])
    yield from differ(
        'descending',
        cells(pages, 'Candidates', 'pid'),
        ['31415', '31416', '31417', '31402', '31440', '31399', '31400'],
    )
    yield from differ('sort', click_head(pages, 'Candidates', 'anon'), ['ascending', 1])
    # As text 35.2 MiB would come before 480 KiB.
    yield from differ(
        'ascending',
        cells(pages, 'Candidates', 'pid'),
        ['31400', '31399', '31440', '31402', '31417', '31416', '31415'],
    )
    yield from differ('sort', click_head(pages, 'Candidates', 'points'), ['descending', 1])
    yield from differ('what has no points is last', cells(pages, 'Candidates', 'pid')[-1], '31399')
    yield from differ('sort', click_head(pages, 'Candidates', 'points'), ['ascending', 1])
    yield from differ('and last, too', cells(pages, 'Candidates', 'pid')[-1], '31399')
    yield from differ('sort', click_head(pages, 'Candidates', 'name'), ['ascending', 1])
    names = cells(pages, 'Candidates', 'name')
    yield from differ('names', names, sorted(names))


def test_every_column_sorts(pages):
    pages.open('large.html')
    count = pages.run(
        """let count = 0;
        for (const table of document.querySelectorAll('table.sortable')) {
            const rows = table.tBodies[0].rows.length;
            for (const button of table.querySelectorAll('th button')) {
                button.click();
                button.click();
                count += table.tBodies[0].rows.length === rows && button.parentNode.hasAttribute('aria-sort');
            }
        }
        return [count, document.querySelectorAll('th button').length]"""
    )
    yield from differ('columns that sort', count[0], count[1])
    if count[1] < 40:
        yield f'only {count[1]} columns have a button'
    yield from pages.complaints('large.html')


def test_sort_by_keyboard(pages):
    pages.open('plain.html')
    pages.run("document.querySelector('#candidates th:nth-child(4) button').focus()")
    pages.browser.keys('\ue007')
    sort = pages.run(
        "return document.querySelector('#candidates th:nth-child(4)').getAttribute('aria-sort')"
    )
    yield from differ('aria-sort', sort, 'descending')


# --- how it looks ---


def picture_errors(png, scheme, *, chart=True):
    """(errors, share of pixels that are not paper): a picture has ink on paper, and the victim's colour."""
    _, _, rows = pixels(png)
    counts = {}
    for row in rows:
        for pixel in row:
            counts[pixel] = counts.get(pixel, 0) + 1
    total = sum(counts.values())
    ink = 1 - counts.get(PAPER[scheme], 0) / total
    errors = []
    if len(counts) < 50:
        errors.append(f'{len(counts)} colours')
    if not 0.05 < ink < 0.95:
        errors.append(f'{ink:.0%} is not paper')
    if chart and counts.get(VICTIM[scheme], 0) < total * 0.01:
        errors.append(f"the victim's colour on {counts.get(VICTIM[scheme], 0)} of {total} pixels")
    return errors, ink


def test_first_screen(pages):
    """1280 × 800 without scrolling: the sentence, the four facts, the whole chart."""
    for scheme in ('light', 'dark'):
        for kind in ('plain', 'workers', 'large'):
            pages.open(f'{kind}.html', scheme=scheme)
            errors, _ = picture_errors(pages.browser.screenshot(), scheme)
            yield from (f'{kind}, {scheme}: {error}' for error in errors)
            bottom = pages.run(
                "return document.querySelector('#plot canvas').getBoundingClientRect().bottom"
            )
            if bottom > 800:
                yield f'{kind}: the chart ends at {bottom}'
            shown = pages.run(
                "return [...document.querySelectorAll('.card h2')].map(h => h.textContent)"
            )
            yield from differ(
                f'{kind}: facts', shown, ['Who died', 'Which limit', 'Why that one', 'How it grew']
            )


def test_narrow_window(pages):
    """400 wide: nothing sticks out; tables scroll in their own boxes."""
    for kind in KINDS:
        for scheme in ('light', 'dark'):
            pages.open(f'{kind}.html', 400, 800, scheme)
            width = pages.run('return document.scrollingElement.scrollWidth')
            if width > 400:
                yield f'{kind}: {width} wide in a window of 400'
        errors, _ = picture_errors(pages.browser.screenshot(), 'dark', chart=False)
        yield from (f'{kind}: {error}' for error in errors)
    pages.open('plain.html', 400, 800)
    boxes = pages.run(
        "return [...document.querySelectorAll('.box')].filter(b => b.scrollWidth > b.clientWidth).length"
    )
    if boxes < 3:
        yield f'only {boxes} tables scroll'


def contrast(one, other):
    def light(color):
        parts = [
            c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4
            for c in color
        ]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast(pages):
    """Text on whatever is behind it: 4.5 to 1 at least."""
    script = """const channels = text => text.match(/[\\d.]+/g).map(Number);
        const behind = node => {
            for (; node; node = node.parentElement) {
                const color = channels(getComputedStyle(node).backgroundColor);
                if (color.length < 4 || color[3] === 1)
                    return color.slice(0, 3);
            }
            return null;
        };
        const seen = {};
        for (const node of document.querySelectorAll('body *:not(svg *, script, style)')) {
            if (![...node.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
                continue;
            const pair = [channels(getComputedStyle(node).color).slice(0, 3), behind(node)];
            seen[JSON.stringify(pair)] = node.tagName + '.' + node.className;
        }
        return Object.entries(seen)"""
    for scheme in ('light', 'dark'):
        for kind in ('gaps', 'nobody', 'hostile'):
            pages.open(f'{kind}.html', scheme=scheme)
            for pair, node in pages.run(script):
                ink, paper = json.loads(pair)
                if contrast(ink, paper) < 4.5:
                    yield f'{kind}, {scheme}: {node} {contrast(ink, paper):.1f} to 1'


def test_names_for_those_who_do_not_see(pages):
    pages.open('gaps.html')
    nameless = pages.run(
        """const list = [];
        for (const node of document.querySelectorAll('svg[role=img], [role=region], figure'))
            if (!node.getAttribute('aria-label')) list.push(node.outerHTML.slice(0, 60));
        for (const table of document.querySelectorAll('main table:not(.u-legend)'))
            if (!table.caption) list.push(table.outerHTML.slice(0, 60));
        for (const box of document.querySelectorAll('.box'))
            if (box.scrollWidth > box.clientWidth && box.tabIndex !== 0) list.push('box without a tab stop');
        return list"""
    )
    yield from differ('nameless', nameless, [])
    label = pages.run("return document.querySelector('svg.chart').getAttribute('aria-label')")
    if 'Memory over 5\u00a0min up to the kill' not in label or 'limit 16.0\u00a0GiB' not in label:
        yield f'the chart is called {label!r}'


# --- without scripts, on paper ---


def test_without_scripts(pages):
    """All is to be read, and the static chart takes the other one's place."""
    pages.browser.scripts(False)
    try:
        for scheme in ('light', 'dark'):
            pages.open('workers.html', scheme=scheme)
            errors, _ = picture_errors(pages.browser.screenshot(), scheme)
            yield from (f'{scheme}: {error}' for error in errors)
        document = pages.browser.devtools('DOM.getDocument')['root']['nodeId']

        def count(selector):
            found = pages.browser.devtools(
                'DOM.querySelectorAll', nodeId=document, selector=selector
            )
            return len(found['nodeIds'])

        yield from differ('canvases', count('canvas'), 0)
        yield from differ('buttons', count('button'), 0)
        yield from differ('static charts', count('#still svg.chart path.fv'), 1)
        chart = pages.browser.devtools(
            'DOM.getBoxModel',
            nodeId=pages.browser.devtools(
                'DOM.querySelector', nodeId=document, selector='svg.chart'
            )['nodeId'],
        )['model']
        if chart['height'] < 250 or chart['content'][1] > 800:
            yield f'the static chart is at {chart["content"][1]}, {chart["height"]} high'
    finally:
        pages.browser.scripts(True)


def paper(pages, name):
    pages.open(name)
    path = pages.path('paper.pdf')
    Path(path).write_bytes(pages.browser.pdf())
    text = subprocess.run(
        ['pdftotext', '-layout', path, '-'], capture_output=True, check=True
    ).stdout
    images = subprocess.run(['pdfimages', '-list', path], capture_output=True, check=True).stdout
    return text.decode().replace('\u00a0', ' '), images.decode().splitlines()[2:]


def test_paper(pages):
    """Printed: tables whole, the chart as lines and not as an image, what was folded open."""
    text, images = paper(pages, 'gaps.html')
    for piece in (
        'its cgroup hit its 16.0 GiB',
        'All that could have been chosen',
        'tensorboard',
        'oom_score_adj -1000',
        'Limits on the way up',
        'no hook for the reaper',
        'sort[401]: its cgroup hit its 2.00 GiB memory limit',
        'limit 16.0 GiB',
        '-300 s',
        'kill',
    ):
        if piece not in text:
            yield f'{piece!r} is not on paper'
    if '"victim_pid"' in text or 'double click' in text:
        yield 'the raw record, or what only a screen can do, is on paper'
    yield from differ('images', images, [])
    text, _ = paper(pages, 'large.html')
    for piece in ('32511', 'worker-63'):
        if piece not in text:
            yield f'{piece!r} of the folded table is not on paper'
    yield from differ(
        'folded again', pages.run("return document.querySelector('#victims details').open"), False
    )


def test_chart_file(pages):
    """The chart alone: well-formed, and it looks like one."""
    path = pages.make('svg', 'chart.svg')
    xml.dom.minidom.parse(path)
    for error in pages.open('chart.svg', 1100, 480):
        yield error
    errors, _ = picture_errors(pages.browser.screenshot(), 'light')
    yield from errors


# --- other builds and real kills ---


def test_build_without_npm(pages):
    """The page of a build that could not have uPlot: one line says so, and nothing else is missing."""
    tools = pages.path('tools')
    os.mkdir(tools)
    for tool in ('bash', 'cp', 'mv', 'touch', 'flock', 'rm', 'mkdir', 'dirname'):
        os.symlink(shutil.which(tool), os.path.join(tools, tool))
    fetched = pages.path('fetched')
    done = subprocess.run(
        [TOP / 'tools/page/fetch', fetched],
        env={'PATH': tools},
        capture_output=True,
        text=True,
        check=False,
    )
    yield from differ('status', done.returncode, 0)
    if done.stderr.count('\n') != 1 or 'no npm here' not in done.stderr:
        yield f'it says {done.stderr!r}'
    source, binary = pages.path('assets.c'), pages.path('make_page')
    page = TOP / 'user/sink/page'
    with open(source, 'w', encoding='utf-8') as out:
        subprocess.run(
            [TOP / 'tools/page/embed', page / 'page.css', page / 'page.js', fetched],
            stdout=out,
            check=True,
        )
    subprocess.run(
        [
            'cc',
            '-D_GNU_SOURCE',
            '-std=gnu17',
            '-Iuser',
            '-Ibpf',
            '-Itests/unit',
            '-o',
            binary,
            'tests/page/make_page.c',
            source,
            pages.build / 'liboomsnoop-pure.a',
            '-lcmocka',
            '-lsqlite3',
            '-ljansson',
            '-lz',
            '-lm',
        ],
        cwd=TOP,
        check=True,
    )
    subprocess.run([binary, 'plain', pages.path('without.html')], check=True)
    yield from pages.open('without.html')
    yield from differ('canvases', pages.run("return document.querySelectorAll('canvas').length"), 0)
    errors, _ = picture_errors(pages.browser.screenshot(), 'light')
    yield from errors
    yield from differ('sort', click_head(pages, 'Candidates', 'anon'), ['descending', 1])
    if 'The zoomable chart is uPlot' in Path(pages.path('without.html')).read_text(
        encoding='utf-8'
    ):
        yield 'the page speaks of uPlot all the same'


def test_embed_refuses_what_would_break_out(pages):
    page = TOP / 'user/sink/page'
    plot = pages.path('plot')
    os.mkdir(plot)
    for name, content in (('plot.css', ''), ('plot.txt', ''), ('plot.js', 'x = "</scRIPT>"')):
        Path(plot, name).write_text(content, encoding='utf-8')
    done = subprocess.run(
        [TOP / 'tools/page/embed', page / 'page.css', page / 'page.js', plot],
        capture_output=True,
        text=True,
        check=False,
    )
    yield from differ('status', done.returncode, 1)
    if 'plot.js' not in done.stderr:
        yield f'it says {done.stderr!r}'


LIMIT_MIB = 192


def real_capture(pages, folder):
    """Workers that copy what their parent holds until one is killed; the number of the incident and
    the victim's pid."""
    file = folder / 'real.osnp'
    with Cgroup('page', LIMIT_MIB) as cgroup, Recording(
        pages.build / 'oomsnoop', file
    ) as recording:
        workload = subprocess.Popen(
            [
                TOP / 'build/tests/workloads/cow',
                '-C',
                cgroup.path,
                '-s',
                '1024',
                '-i',
                '100',
                '48',
                '6',
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            recording.wait_for('a kill', recording.stored)
        finally:
            workload.kill()
            workload.wait()
        number, pid = next(iter(recording.stored().items()))
        recording.end()
        return file, cgroup.shown, number, pid


def report(pages, *options):
    return subprocess.run(
        [pages.build / 'oomsnoop', 'report', *options], capture_output=True, text=True, check=True
    ).stdout


def test_real_kill(pages):
    """Recorded here, reported as a page: the same facts as in the record, the family in the chart."""
    with Folder() as folder:
        file, cgroup, number, pid = real_capture(pages, folder)
        chosen = ('--incident', str(number), file)
        report(pages, '--html', pages.path('real.html'), *chosen)
        report(pages, '--svg', pages.path('real.svg'), *chosen)
        record = json.loads(report(pages, '--json', *chosen).splitlines()[0])
    yield from pages.open('real.html')
    headline = pages.run("return document.querySelector('h1').textContent").replace('\u00a0', ' ')
    if f'{record["victim_comm"]}[{pid}]' not in headline or f'{LIMIT_MIB} MiB' not in headline:
        yield f'the headline is {headline!r}'
    raw = json.loads(pages.run("return document.querySelector('pre').textContent"))
    yield from differ('the raw record', raw, record)
    data = pages.data()
    yield from differ('the limit', data['limit_bytes'], LIMIT_MIB << 20)
    yield from differ('times', pages.run('return oomsnoopChart.data[0]'), data['times_s'])
    families = [layer for layer in data['layers'] if layer['victim']]
    if len(families) != 1 or families[0]['members'] < 7:
        yield f'families of victims: {[(f["name"], f["members"]) for f in families]}'
    else:
        kill = max(i for i, time in enumerate(data['times_s']) if time <= 0)
        held = families[0]['bytes'][kill]
        # Before the passes catch up, and without what is no process's own.
        if not LIMIT_MIB * 0.6 < held / (1 << 20) < LIMIT_MIB * 1.1:
            yield f'the family holds {held / (1 << 20):.0f} MiB at the kill'
        yield from near('in use at the kill', data['usage_bytes'][kill] / (1 << 20), LIMIT_MIB, 8)
    if cgroup not in pages.run('return document.body.innerText'):
        yield f'{cgroup} is not told'
    for scheme in ('light', 'dark'):
        pages.browser.scheme(scheme)
        errors, _ = picture_errors(pages.browser.screenshot(), scheme)
        yield from (f'{scheme}: {error}' for error in errors)
    xml.dom.minidom.parse(pages.path('real.svg'))


def test_kills_of_others(pages):
    """Each with its claim to be read at once, and its evidence folded below it; text, not markup."""
    yield from pages.open('gaps.html')
    rows = pages.run(
        """return [...document.querySelectorAll('#kills tbody tr')].map(row =>
            [row.querySelector('summary').innerText, row.className, row.cells[1].innerText])"""
    )
    yield from differ('claims', [row[0] for row in rows], [
        f'Not the OOM killer: runc (pid {pid}) sent SIGKILL to <img src=x>' for pid in (700, 701)
    ])
    yield from differ('marked', [row[1] for row in rows], ['', 'victim'])
    yield from differ('when', [row[2].split()[-1] for row in rows], ['before', 'after'])
    evidence = """const item = document.querySelector('#kills li');
        return item.checkVisibility ? item.checkVisibility() : item.offsetParent !== null"""
    yield from differ('evidence is shown', pages.run(evidence), False)
    pages.run("document.querySelector('#kills summary').click()")
    yield from differ('evidence is shown once asked for', pages.run(evidence), True)
    pages.open('plain.html')
    yield from differ('none', pages.run("return document.getElementById('kills')"), None)


def test_sizes(pages):
    size = os.path.getsize(pages.path('large.html'))
    if size > 2 << 20:
        yield f'the largest page is {size} bytes'


@contextmanager
def made(build):
    """The pages of made incidents, and the browser."""
    with tempfile.TemporaryDirectory(prefix='oomsnoop-page-') as directory:
        browser = Browser(os.path.join(directory, 'profile'))
        try:
            pages = Pages(browser, build, directory)
            for kind in KINDS:
                pages.make(kind)
            yield pages
        finally:
            browser.close()


def main():
    parser = suite.arguments(__doc__)
    parser.add_argument('build', nargs='?', default=TOP / 'build', type=Path)
    options = parser.parse_args()
    tests = suite.chosen('page', suite.tests_of(globals()), options)
    if not tests:
        return suite.EX_USAGE
    with made(options.build.resolve()) as pages:
        return suite.run('page', tests, options, pages)


if __name__ == '__main__':
    sys.exit(main())
