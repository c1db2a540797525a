// SPDX-License-Identifier: Apache-2.0
// What the report page can do beyond being read: tables that sort, a chart that zooms.
(() => {
'use strict';

// --- units, as in the rest of the page ---

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

function bytesText(bytes) {
	if (bytes === null || bytes === undefined)
		return '–';
	if (bytes < 1024)
		return bytes === 0 ? '0' : `${bytes} B`;
	let value = bytes;
	let unit = -1;
	do {
		value /= 1024;
		unit++;
	} while (value >= 1023.5 && unit + 1 < UNITS.length);
	return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${UNITS[unit]}`;
}

function timeText(seconds) {
	const size = Math.abs(seconds);
	const sign = seconds < 0 ? '-' : seconds > 0 ? '+' : '';
	if (size >= 600)
		return `${sign}${+(size / 60).toFixed(1)} min`;
	return size === 0 ? '0' : `${sign}${+size.toFixed(size < 10 ? 2 : 1)} s`;
}

// --- tables ---

function valueOf(row, column) {
	const cell = row.cells[column];
	if (!cell)
		return null;
	if (cell.dataset.v !== undefined)
		return Number(cell.dataset.v);
	return cell.classList.contains('no') ? null : cell.textContent;
}

// What is not known stays last, whichever way it is sorted.
function compare(a, b, down) {
	if (a === null || b === null)
		return (a === null) - (b === null);
	const order = typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b));
	return down ? -order : order;
}

function sortBy(table, column) {
	const head = table.tHead.rows[0].cells[column];
	const now = head.getAttribute('aria-sort');
	// Of numbers the largest is looked for, of names the first.
	const down = now ? now === 'ascending' : head.classList.contains('n');
	const body = table.tBodies[0];
	const rows = [...body.rows].map(row => [valueOf(row, column), row]);
	rows.sort((a, b) => compare(a[0], b[0], down));
	for (const other of table.tHead.rows[0].cells)
		other.removeAttribute('aria-sort');
	head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
	body.append(...rows.map(row => row[1]));
}

for (const table of document.querySelectorAll('table.sortable')) {
	if (table.tBodies[0].rows.length < 2)
		continue;
	[...table.tHead.rows[0].cells].forEach((head, column) => {
		if (head.textContent === '')
			return;
		const button = document.createElement('button');
		button.type = 'button';
		button.append(...head.childNodes);
		button.addEventListener('click', () => sortBy(table, column));
		head.append(button);
	});
}

// Paper shows what was folded; afterwards it is folded again.
const folded = [];
addEventListener('beforeprint', () => {
	for (const details of document.querySelectorAll('details:not([open]):not(.raw)')) {
		details.open = true;
		folded.push(details);
	}
});
addEventListener('afterprint', () => {
	while (folded.length > 0)
		folded.pop().open = false;
});

// --- chart ---

const holder = document.getElementById('chart-data');
const place = document.getElementById('plot');
if (!holder || !place || typeof uPlot === 'undefined')
	return;
const data = JSON.parse(holder.textContent);
const layers = data.layers;
const LIMIT_IN_SIGHT = 4;

function color(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Every layer on top of those below it; the last one is the outermost.
function stacked() {
	const sum = new Array(data.times_s.length).fill(0);
	return layers.map(layer => layer.bytes.map((bytes, i) => sum[i] += Math.max(bytes ?? 0, 0)));
}

// uPlot fills from a series down to the axis: the outermost is drawn first.
function series() {
	const list = [];
	layers.map((layer, i) => i).reverse().forEach(i => list.push({
		label: layers[i].members > 1 && !layers[i].name.startsWith('all others')
			? `${layers[i].name} (${layers[i].members} processes)` : layers[i].name,
		stroke: () => color('paper'),
		width: 0.75,
		pxAlign: 0,
		fill: () => color(`k${layers[i].key}`),
		points: { show: false },
		value: (plot, value, s, at) => bytesText(at === null || at === undefined
			? layers[i].bytes[killIndex] : layers[i].bytes[at]),
	}));
	if (data.swap_bytes)
		list.push(line('swap', 'swap', data.swap_bytes, [3, 3]));
	if (data.usage_bytes)
		list.push(line('in use', 'ink', data.usage_bytes, []));
	return list;
}

function line(label, name, values, dash) {
	return {
		label,
		stroke: () => color(name),
		width: 2,
		pxAlign: 0,
		dash,
		points: { show: false },
		value: (plot, value, s, at) => bytesText(at === null || at === undefined ? values[killIndex] : values[at]),
	};
}

let killIndex = 0;
data.times_s.forEach((time, i) => {
	if (time <= 0)
		killIndex = i;
});

function columns() {
	const list = [data.times_s, ...stacked().reverse()];
	if (data.swap_bytes)
		list.push(data.swap_bytes);
	if (data.usage_bytes)
		list.push(data.usage_bytes);
	return list;
}

function byteSplits(plot, axis, min, max) {
	let step = 1;
	while (max / step > 7)
		step *= 2;
	const list = [];
	for (let at = 0; at <= max; at += step)
		list.push(at);
	return list;
}

const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

function timeSplits(plot, axis, min, max) {
	const room = Math.max(3, Math.min(12, Math.floor(plot.width / 80)));
	const step = STEPS.find(each => (max - min) / each <= room) ?? 86400;
	const list = [];
	for (let n = Math.ceil(min / step); n * step <= max; n++)
		list.push(n * step);
	return list;
}

function tickText(seconds, step) {
	if (Math.abs(seconds) < step / 1e6)
		return '0';
	const unit = step >= 3600 ? [3600, 'h'] : step >= 60 ? [60, 'min'] : [1, 's'];
	return `${seconds > 0 ? '+' : ''}${+(seconds / unit[0]).toFixed(1)} ${unit[1]}`;
}

function heightOf(plot, min, max) {
	let most = max ?? 0;
	if (data.limit_bytes && data.limit_bytes <= most * LIMIT_IN_SIGHT)
		most = Math.max(most, data.limit_bytes);
	return [0, Math.max(most, 4096) * 1.07];
}

// --- marks ---

function inside(plot, draw) {
	const { ctx, bbox } = plot;
	ctx.save();
	ctx.beginPath();
	ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
	ctx.clip();
	draw(ctx, bbox);
	ctx.restore();
}

function spans(plot, ctx, bbox, list, name) {
	ctx.fillStyle = color(name);
	for (const [from, to] of list) {
		const left = plot.valToPos(from, 'x', true);
		ctx.fillRect(left, bbox.top, Math.max(plot.valToPos(to, 'x', true) - left, 1), bbox.height);
	}
}

function under(plot) {
	inside(plot, (ctx, bbox) => spans(plot, ctx, bbox, data.armed, 'armed'));
}

function label(ctx, text, x, y, ink) {
	ctx.font = `600 ${12 * devicePixelRatio}px ${getComputedStyle(document.body).fontFamily}`;
	ctx.lineWidth = 3 * devicePixelRatio;
	ctx.lineJoin = 'round';
	ctx.textBaseline = 'alphabetic';
	ctx.strokeStyle = color('paper');
	ctx.strokeText(text, x, y);
	ctx.fillStyle = ink;
	ctx.fillText(text, x, y);
}

function over(plot) {
	inside(plot, (ctx, bbox) => {
		const unit = devicePixelRatio;
		spans(plot, ctx, bbox, data.gaps, 'gap');
		ctx.fillStyle = color('strip');
		for (const [from, to] of data.armed) {
			const left = plot.valToPos(from, 'x', true);
			ctx.fillRect(left, bbox.top + bbox.height - 3 * unit, plot.valToPos(to, 'x', true) - left, 3 * unit);
		}
		if (data.limit_bytes && data.limit_bytes <= plot.scales.y.max) {
			const y = plot.valToPos(data.limit_bytes, 'y', true);
			ctx.strokeStyle = color('hot');
			ctx.lineWidth = 1.5 * unit;
			ctx.setLineDash([7 * unit, 4 * unit]);
			ctx.beginPath();
			ctx.moveTo(bbox.left, y);
			ctx.lineTo(bbox.left + bbox.width, y);
			ctx.stroke();
			ctx.setLineDash([]);
			ctx.textAlign = 'left';
			label(ctx, `limit ${bytesText(data.limit_bytes)}`, bbox.left + 6 * unit, y - 5 * unit, color('hot'));
		}
		const x = plot.valToPos(0, 'x', true);
		ctx.strokeStyle = color('ink');
		ctx.lineWidth = 2 * unit;
		ctx.beginPath();
		ctx.moveTo(x, bbox.top);
		ctx.lineTo(x, bbox.top + bbox.height);
		ctx.stroke();
		ctx.textAlign = 'right';
		label(ctx, 'kill', x - 6 * unit, bbox.top + 14 * unit, color('ink'));
	});
}

// --- zoom ---

const [first, last] = data.span_s;

function show(plot, from, to) {
	const least = Math.max((last - first) / 5000, 0.01);
	if (to - from < least)
		return;
	plot.setScale('x', { min: Math.max(from, first), max: Math.min(to, last) });
}

// With ctrl (which is what pinching on a touchpad sends), so that the page itself can still be scrolled.
function wheel(plot) {
	plot.over.addEventListener('wheel', event => {
		if (!event.ctrlKey && !event.metaKey)
			return;
		event.preventDefault();
		const { min, max } = plot.scales.x;
		const at = plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, 'x');
		const factor = event.deltaY < 0 ? 0.8 : 1.25;
		show(plot, at - (at - min) * factor, at + (max - at) * factor);
	}, { passive: false });
	plot.over.addEventListener('dblclick', () => show(plot, first, last));
}

const ranges = [['all', first, last]];
for (const [name, seconds] of [['last minute', 60], ['last 10 s', 10]]) {
	if (seconds < (last - first) * 0.8)
		ranges.push([name, Math.max(Math.min(0, last) - seconds, first), last]);
}
const buttons = [];

function tools() {
	const bar = document.createElement('div');
	bar.className = 'tools';
	for (const [name, from, to] of ranges) {
		const button = document.createElement('button');
		button.type = 'button';
		button.textContent = name;
		button.addEventListener('click', () => show(window.oomsnoopChart, from, to));
		buttons.push([button, from, to]);
		bar.append(button);
	}
	bar.append('drag or ctrl + wheel: zoom; double click: back');
	return bar;
}

function press(plot) {
	const { min, max } = plot.scales.x;
	for (const [button, from, to] of buttons)
		button.setAttribute('aria-pressed', String(Math.abs(min - from) < 1e-6 && Math.abs(max - to) < 1e-6));
}

// --- all of it ---

// What is in use first, then the largest first: the other way round than it has to be drawn.
function legend(plot) {
	const rows = [...plot.root.querySelectorAll('.u-legend tr')];
	const [time, ...others] = rows;
	time.parentNode.append(...others.reverse());
}

function width() {
	return Math.max(place.clientWidth, 280);
}

function build(target) {
	const axis = { stroke: () => color('soft'), grid: { stroke: () => color('grid'), width: 1 }, ticks: { show: false } };
	axis.font = `12px ${getComputedStyle(document.body).fontFamily}`;
	const plot = new uPlot({
		width: width(),
		height: 300,
		legend: { live: true },
		cursor: { drag: { x: true, y: false, setScale: true }, bind: { click: () => null, dblclick: () => null }, points: { show: false } },
		scales: {
			x: { time: false, range: (each, min, max) => [Math.max(min ?? first, first), Math.min(max ?? last, last)] },
			y: { range: heightOf },
		},
		series: [{ label: 'time', value: (each, value) => timeText(value ?? 0) }, ...series()],
		axes: [
			{ ...axis, size: 30, splits: timeSplits, values: (each, list) => list.map(at => tickText(at, list.length > 1 ? list[1] - list[0] : 1)) },
			{ ...axis, size: 78, splits: byteSplits, values: (each, list) => list.map(bytesText) },
		],
		hooks: { drawClear: [under], draw: [over], setScale: [press], ready: [wheel, legend] },
	}, columns(), target);
	show(plot, first, last);
	return plot;
}

const area = document.createElement('div');
place.append(tools(), area);
document.getElementById('chart').classList.add('plotted');
window.oomsnoopChart = build(area);
press(window.oomsnoopChart);
addEventListener('resize', () => window.oomsnoopChart.setSize({ width: width(), height: 300 }));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
	const { min, max } = window.oomsnoopChart.scales.x;
	window.oomsnoopChart.destroy();
	window.oomsnoopChart = build(area);
	show(window.oomsnoopChart, min, max);
});
})();
