// Charts over time as SVG: stacked bars, or lines. Colours are CSS classes (series-1 …).
// A table with the same numbers follows each chart.
import { h, s, scroller, table, uid } from './dom.js';

const height = 190;
const margin = { top: 10, right: 8, bottom: 24, left: 58 };

// chart returns a chart of rows. Each row has a label. The value of a series for a row is
// series.value(row), and tone is the number of its colour. write formats a value.
export function chart(title, rows, series, { write, lines = false, wide = false }) {
  // A narrow window gets a narrower drawing, so that its texts are not scaled down.
  const narrow = innerWidth <= 640;
  const width = narrow ? 320 : wide ? 1000 : 480;
  const sums = rows.map((row) => (lines ? Math.max(0, ...series.map((x) => x.value(row) ?? 0)) : series.reduce((sum, x) => sum + (x.value(row) ?? 0), 0)));
  const top = ceiling(Math.max(0, ...sums));
  const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
  const y = (value) => margin.top + inner.height * (1 - value / top);
  const step = inner.width / Math.max(1, rows.length);
  const id = uid('chart');
  const svg = s('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-labelledby': id, preserveAspectRatio: 'none' }, s('title', { id }, `${title}: ${summary(rows, sums, write)}`));
  for (const part of [0, 0.5, 1]) {
    svg.append(
      s('line.grid', { x1: margin.left, x2: width - margin.right, y1: y(top * part), y2: y(top * part) }),
      s('text.axis', { x: margin.left - 8, y: y(top * part) + 4, 'text-anchor': 'end' }, write(top * part)),
    );
  }
  const every = Math.ceil(rows.length / (narrow ? 4 : 7));
  rows.forEach((row, i) => {
    if (i % every === 0) svg.append(s('text.axis', { x: margin.left + step * (i + 0.5), y: height - 6, 'text-anchor': 'middle' }, row.label));
  });
  if (lines) series.forEach((x, n) => svg.append(...line(rows, x, `series-${x.tone ?? n + 1}`, step, y)));
  else rows.forEach((row, i) => svg.append(...bars(row, i, series, step, y)));
  rows.forEach((row, i) => svg.append(s('rect.hover', { x: margin.left + step * i, y: margin.top, width: step, height: inner.height },
    s('title', null, `${row.title ?? row.label}\n${series.map((x) => `${x.name}: ${write(x.value(row))}`).join('\n')}`))));
  return h(wide ? 'figure.chart.wide' : 'figure.chart', null,
    h('figcaption', null, h('h3', null, title),
      series.length > 1 && h('ul.legend', null, series.map((x, n) => h('li', null, h(`span.swatch.series-${x.tone ?? n + 1}`), x.name)))),
    svg,
    h('details', null, h('summary', null, 'As a table'), scroller(`${title}, all times`, table(title,
      [{ title: 'Time', cell: (row) => row.title ?? row.label }, ...series.map((x) => ({ title: x.name, number: true, cell: (row) => write(x.value(row)) }))],
      rows.filter((row) => series.some((x) => x.value(row)))))));
}

function bars(row, i, series, step, y) {
  const gap = Math.min(step * 0.25, 6);
  let below = 0;
  return series.flatMap((x, n) => {
    const value = x.value(row) ?? 0;
    if (!value) return [];
    const from = y(below);
    below += value;
    const size = Math.max(from - y(below), 1);
    return [s(`rect.series-${x.tone ?? n + 1}`, { x: margin.left + step * i + gap / 2, y: from - size, width: Math.max(step - gap, 1), height: size, rx: step > 12 ? 2 : 0 })];
  });
}

// line draws a series as a line with gaps where there is no value. A single point becomes a dot.
function line(rows, x, kind, step, y) {
  const runs = [[]];
  rows.forEach((row, i) => {
    const value = x.value(row);
    if (value == null) runs.push([]);
    else runs.at(-1).push([margin.left + step * (i + 0.5), y(value)]);
  });
  return runs.filter((run) => run.length).flatMap((run) => [
    run.length > 1 && s(`polyline.${kind}`, { points: run.map((p) => p.join(',')).join(' ') }),
    ...(rows.length <= 62 || run.length === 1 ? run.map(([cx, cy]) => s(`circle.${kind}`, { cx, cy, r: 3 })) : []),
  ].filter(Boolean));
}

// ceiling returns the smallest of 1, 2, 5 or 10 times a power of ten that is at least value.
function ceiling(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= value * 0.999);
}

function summary(rows, sums, write) {
  const peak = Math.max(0, ...sums);
  if (!peak) return 'nothing in this period';
  const at = rows[sums.indexOf(peak)];
  return `at most ${write(peak)}, ${at.title ?? at.label}`;
}
