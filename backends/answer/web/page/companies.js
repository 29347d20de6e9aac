// The companies with the years of their documents, and the figures of one company over the years.
import { companies, company } from './api.js';
import { download } from './ask.js';
import { link } from './markdown.js';
import { chart } from './parts/chart.js';
import { h, load, scroller, table } from './parts/dom.js';
import { field, form } from './parts/form.js';
import { count, number } from './parts/look.js';

const page = (...content) => h('main.wrap.wide.flow', { id: 'main', tabindex: '-1' }, content);

// companiesPage returns the list of companies.
export function companiesPage(signal) {
  const name = h('input', { type: 'search', autocomplete: 'off' });
  const found = h('div');
  const list = () => load(found, () => rows(name.value.trim(), '', signal));
  list();
  return page(
    h('h1', null, 'Companies'),
    h('section.panel.filter', { 'aria-label': 'Search' }, form([field('Name', name)], [h('button', { type: 'submit' }, 'Search')], list)),
    found,
  );
}

const columns = [
  { title: 'Company', cell: (c) => h('a', { href: `#/companies/${c.id}` }, c.name) },
  { title: 'Ticker', cell: (c) => c.ticker || '–' },
  { title: 'Documents', number: true, cell: (c) => number(c.documents) },
  { title: 'Years', cell: (c) => spans(c.years) || '–' },
];

// rows returns a page of the list, with a button for the next one.
async function rows(name, after, signal) {
  const { companies: found, next } = await companies(name, after, signal);
  const more = h('div');
  if (next) {
    more.append(h('button.quiet', { type: 'button', onclick: () => load(more, () => rows(name, next, signal)) }, 'More'));
  }
  const empty = name ? 'No company matches.' : 'There are no documents of companies yet. Add some with: tollgate answer ingest <folder>.';
  return [table(after ? `Companies after ${after}` : 'Companies', columns, found, empty), more];
}

// spans formats years, latest first, such as "2025–2021, 2018".
export function spans(years) {
  const runs = [];
  for (const year of years) {
    if (runs.at(-1)?.at(-1) === year + 1) runs.at(-1).push(year);
    else runs.push([year]);
  }
  return runs.map((run) => (run.length > 1 ? `${run[0]}–${run.at(-1)}` : `${run[0]}`)).join(', ');
}

const statements = { income: 'Income statement', comprehensive: 'Comprehensive income', balance: 'Balance sheet', cash_flow: 'Cash flows', equity: 'Equity' };

// drawn lists the measures for charts. The first of them with enough figures are drawn.
const drawn = ['revenue', 'net_income', 'operating_cash_flow', 'total_assets'];
const mostYears = 8;

// companyPage returns the page of a company: its documents and figures.
export function companyPage(id, signal) {
  const body = h('div.flow');
  load(body, async () => {
    const held = await company(id, signal);
    const years = yearsOf(held.measures);
    return [
      h('nav.path', { 'aria-label': 'Path' }, h('ol', null, h('li', null, h('a', { href: '#/companies' }, 'Companies')), h('li', null, held.name))),
      h('div.head', null, h('h1', null, held.name), years.length > 0 && h('div.do', null, h('button.quiet', { type: 'button', onclick: () => saveTable(held, years) }, 'Download CSV'))),
      h('p.lead', null, [held.ticker, held.cik && `CIK ${held.cik}`, count(held.documents, 'document'), spans(held.years)].filter(Boolean).join(' · ')),
      charts(held.measures, years),
      ...sections(held.measures, years),
      h('div', null, h('h2', null, 'Documents'), table('Documents', [
        { title: 'Document', cell: (d) => link(d.title, d.url) ?? d.title },
        { title: 'Form', cell: (d) => d.form || d.kind },
        { title: 'Period', cell: (d) => (d.fiscal ? `${d.quarter ? `Q${d.quarter} ` : ''}${d.fiscal}` : '–') },
      ], held.list)),
    ];
  });
  return page(body);
}

// annual returns the figure of a measure for a fiscal year.
const annual = (measure, year) => measure.figures.find((f) => f.year === year && !f.quarter && [0, 12, undefined].includes(f.months));

function yearsOf(measures) {
  const years = new Set(measures.flatMap((m) => m.figures.filter((f) => !f.quarter && [0, 12, undefined].includes(f.months)).map((f) => f.year)));
  return [...years].sort((a, b) => b - a).slice(0, mostYears);
}

// scaleOf returns the number by which the figures of a measure are divided for display.
function scaleOf(measure) {
  if (!['money', 'shares'].includes(measure.unit)) return 1;
  const largest = Math.max(0, ...measure.figures.map((f) => Math.abs(f.value)));
  return largest >= 1e6 ? 1e6 : 1;
}

const digits = new Intl.NumberFormat('en', { maximumFractionDigits: 2 });
const units = { '%': ' %', x: ' x' };

// written formats a value in the unit of its measure.
const written = (measure, value) => (value == null ? '–' : digits.format(value / scaleOf(measure)) + (units[measure.unit] ?? ''));

// named returns the name of a measure with the unit of its figures.
function named(measure) {
  const of = [measure.unit === 'shares' ? 'shares' : measure.currency, scaleOf(measure) > 1 && 'millions'].filter(Boolean).join(' ');
  return [measure.name.charAt(0).toUpperCase() + measure.name.slice(1), of && h('span.small.muted', null, ` ${of}`)];
}

function sections(measures, years) {
  if (!years.length) return [h('p.empty', null, 'Its documents contain no figures of whole years.')];
  const groups = Map.groupBy(measures.filter((m) => years.some((y) => annual(m, y))), (m) => statements[m.statement] ?? 'Other figures');
  return [...groups].map(([title, list]) => {
    const held = years.filter((y) => list.some((m) => annual(m, y)));
    return h('div', null, h('h2', null, title), scroller(title, h('table', null,
      h('caption.hidden', null, `${title}, by fiscal year`),
      h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Fiscal year'), held.map((y) => h('th.number', { scope: 'col' }, y)))),
      h('tbody', null, list.map((m) => h('tr', null, h('th', { scope: 'row' }, named(m)), held.map((y) => h('td.number', null, cell(m, annual(m, y))))))))));
  });
}

// cell returns a figure as a link to its source.
function cell(measure, figure) {
  if (!figure) return '–';
  const where = `${figure.title}${figure.page ? `, page ${figure.page}` : ''}`;
  const address = figure.page && /^https?:/.test(figure.url) && !figure.url.includes('#') ? `${figure.url}#page=${figure.page}` : figure.url;
  const shown = link(written(measure, figure.value), address) ?? h('span', null, written(measure, figure.value));
  shown.title = `${figure.text}: ${where}`;
  return [shown, figure.others && h('abbr.small.warn', { title: `Other documents say ${figure.others.join(', ')}` }, ' differs')];
}

// charts returns the charts of the first measures with figures for two years or more.
function charts(measures, years) {
  const pictures = drawn.map((key) => measures.find((m) => m.metric === key)).filter(Boolean).map((m) => {
    const points = [...years].reverse().map((y) => ({ label: String(y), value: annual(m, y)?.value ?? null }));
    const known = points.filter((p) => p.value != null);
    if (known.length < 2 || known.some((p) => p.value < 0)) return null;
    return chart(m.name.charAt(0).toUpperCase() + m.name.slice(1), points, [{ name: m.name, value: (p) => p.value }], { write: (v) => written(m, v) });
  }).filter(Boolean);
  return pictures.length > 0 && h('div', null, h('h2', null, 'Over the years'), h('div.panel.charts', null, pictures));
}

// saveTable downloads the figures of the years as a CSV file.
function saveTable(held, years) {
  const quoted = (text) => `"${String(text ?? '').replaceAll('"', '""')}"`;
  const lines = [['Measure', 'Unit', 'Currency', ...years].map(quoted)];
  for (const m of held.measures) {
    if (years.some((y) => annual(m, y))) lines.push([...[m.name, m.unit, m.currency].map(quoted), ...years.map((y) => annual(m, y)?.value ?? '')]);
  }
  download(`${held.ticker || held.id}.csv`, 'text/csv', `${lines.map((line) => line.join(',')).join('\r\n')}\r\n`);
}
