import { own } from '../api.js';
import { csvButton } from '../csv.js';
import { model, percent, usd } from '../format.js';
import { chart } from '../parts/chart.js';
import { announce, h, load, scroller, table } from '../parts/dom.js';
import { field, form, mistake, select } from '../parts/form.js';
import { duration, number, short } from '../parts/look.js';

export const title = 'Usage';
export const about = 'Usage of your requests. Days and hours are UTC.';

const hour = 3600000;
const dayLength = 24 * hour;
const spans = [['1', 'Last 24 hours'], ['7', 'Last 7 days'], ['30', 'Last 30 days'], ['90', 'Last 90 days'], ['', 'From … to …']];

// lastDays returns the period of the given number of days: whole days of UTC that end
// with today, or, by hours, that end with the current hour.
export function lastDays(days, by = 'day') {
  const now = Date.now();
  const end = Math.ceil(now / hour) * hour;
  return { from: new Date(by === 'hour' ? end - days * dayLength : (Math.floor(now / dayLength) - days + 1) * dayLength), to: new Date(end) };
}

export function show({ body, signal }) {
  const date = (at) => new Date(at).toISOString().slice(0, 10);
  const span = select(spans, '30', { onchange: () => mode() });
  const from = h('input', { type: 'date', value: date(Date.now() - 29 * dayLength) });
  const to = h('input', { type: 'date', value: date(Date.now()) });
  const by = select([['day', 'Days'], ['hour', 'Hours']], 'day');
  const dates = [field('From', from, { name: 'from' }), field('To', to, { name: 'to', hint: 'Including this day.' })];
  const result = h('div.flow');
  let range = null;

  const mode = () => {
    dates.forEach((d) => { d.hidden = span.value !== ''; });
    if (span.value === '1') by.value = 'hour';
  };
  const choose = () => {
    if (span.value) {
      range = { ...lastDays(Number(span.value), by.value), by: by.value };
    } else {
      if (!from.value) throw mistake('from', 'Enter a day.');
      if (!to.value) throw mistake('to', 'Enter a day.');
      range = { from: new Date(from.value), to: new Date(Date.parse(to.value) + dayLength), by: by.value };
    }
    if (range.to <= range.from) throw mistake('to', 'The end must be after the beginning.');
    if (range.by === 'hour' && range.to - range.from > 14 * dayLength) throw mistake('by', 'Hours are shown for at most 14 days.');
  };
  const query = () => ({ from: range.from.toISOString(), to: range.to.toISOString() });
  const refresh = () => load(result, async () => {
    const [report, keys] = await Promise.all([
      own('GET', 'usage', { signal, query: { ...query(), group: `provider,model,key,${range.by}` } }),
      own('GET', 'keychain-keys', { signal }),
    ]);
    announce(`${report.totals.requests} requests`);
    return draw(report, range, new Map(keys.keys.map((k) => [k.id, k.label || k.masked])), csv);
  });

  // csv returns the button that downloads one table, and the element for its errors.
  const csv = (group) => {
    const wrong = h('div.csvfailed');
    const get = () => own('GET', 'usage', { signal, query: { ...query(), group, format: 'csv' }, text: true });
    return [csvButton('button.quiet', `Download usage by ${group} as CSV`, `usage-by-${group}.csv`, get, wrong), wrong];
  };

  mode();
  body.append(h('div.filter', null, form([field('Period', span), ...dates, field('Group by', by, { name: 'by' })],
    [h('button', { type: 'submit' }, 'Show')], async () => { choose(); await refresh(); })), result);
  span.addEventListener('change', () => { if (span.value) body.querySelector('form').requestSubmit(); });
  by.addEventListener('change', () => body.querySelector('form').requestSubmit());
  choose();
  return refresh();
}

function draw(report, range, keys, csv) {
  if (!report.totals.requests) return h('p.empty', null, 'No requests in this period. ', h('a', { href: '#/playground' }, 'Send one from the playground'), ', or choose another period.');
  const rows = timeline(report, range);
  const group = (name, lines, columns) => h('section.panel', { 'aria-label': `By ${name}` },
    h('div.head', null, h('h2', null, `By ${name}`), h('span.push'), csv(name)),
    scroller(`Usage by ${name}, all columns`, table(`Usage by ${name}`, [...columns, ...sums], lines, 'No requests in this period.')));
  return [
    tiles(report.totals),
    h('section.panel.charts', { 'aria-label': 'Charts' },
      h('div.head', null, h('h2', null, 'Over time'), h('span.push'), csv(range.by)),
      h('div.chartgrid', null,
        chart('Requests', rows, [
          { name: 'Succeeded', value: (r) => r.succeeded, tone: 1 }, { name: 'Cancelled', value: (r) => r.cancelled, tone: 3 }, { name: 'Failed', value: (r) => r.failed, tone: 4 },
        ], { write: short, wide: true }),
        chart('Tokens', rows, [{ name: 'In', value: (r) => r.input_tokens, tone: 1 }, { name: 'Out', value: (r) => r.output_tokens, tone: 2 }], { write: short }),
        chart('Cost', rows, [{ name: 'Cost', value: (r) => r.cost_usd, tone: 1 }], { write: usd }),
        chart('Mean latency', rows, [{ name: 'Total time', value: (r) => r.latency_ms_avg, tone: 1 }, { name: 'First token', value: (r) => r.first_token_ms_avg, tone: 2 }], { write: (ms) => (ms === 0 ? '0' : duration(ms)), lines: true }),
        chart('Failures', rows, [{ name: 'Failed requests', value: (r) => r.failed, tone: 4 }, { name: 'Failed attempts', value: (r) => r.failed_attempts, tone: 3 }], { write: short, lines: true }))),
    group('provider', report.by_provider, [{ title: 'Provider', class: 'strong', cell: (r) => r.provider || '(nobody)' }]),
    group('model', report.by_model, [{ title: 'Model', class: 'strong', cell: (r) => model(r) || '(nobody)' }]),
    group('key', report.by_key, [{ title: 'Key', class: 'strong', cell: (r) => keys.get(r.key_id) ?? r.key_id }]),
  ];
}

const sums = [
  { title: 'Requests', number: true, cell: (r) => number(r.requests) },
  { title: 'Cost', number: true, cell: (r) => usd(r.cost_usd) }, // early, so that phones show it without scrolling
  { title: 'Success', number: true, cell: (r) => percent(r.success_rate) },
  { title: 'Failed attempts', number: true, cell: (r) => number(r.failed_attempts) },
  { title: 'Tokens in', number: true, cell: (r) => short(r.input_tokens) },
  { title: 'Tokens out', number: true, cell: (r) => short(r.output_tokens) },
  { title: 'Latency', number: true, cell: (r) => duration(r.latency_ms_avg) },
];

// tiles returns the list of the totals.
export function tiles(t) {
  const tile = (name, value, note) => h('div.tile', null, h('dt', null, name), h('dd', null, value, note && h('span.small.muted', null, note)));
  return h('dl.tiles', null,
    tile('Requests', short(t.requests), t.failed ? `${number(t.failed)} failed` : null),
    tile('Success', percent(t.success_rate), t.failed_attempts ? `${number(t.failed_attempts)} attempts failed over` : null),
    tile('Tokens', short(t.total_tokens), `${short(t.input_tokens)} in, ${short(t.output_tokens)} out`),
    tile('Cost', usd(t.cost_usd), t.unpriced_requests ? `${number(t.unpriced_requests)} without a price` : null),
    tile('Latency', duration(t.latency_ms_avg), t.first_token_ms_avg == null ? null : `first token ${duration(t.first_token_ms_avg)}`));
}

const none = { succeeded: 0, failed: 0, cancelled: 0, failed_attempts: 0, input_tokens: 0, output_tokens: 0, cost_usd: 0, latency_ms_avg: null, first_token_ms_avg: null };

// timeline returns a row for each day or hour, including those without requests.
function timeline(report, range) {
  const size = range.by === 'hour' ? hour : dayLength;
  const found = new Map((report[`by_${range.by}`] ?? []).map((r) => [Date.parse(r[range.by]), r]));
  const rows = [];
  for (let at = Math.floor(range.from / size) * size; at < range.to && rows.length < 2000; at += size) {
    const text = new Date(at).toISOString();
    rows.push({
      ...none, ...found.get(at),
      label: range.by === 'hour' ? text.slice(11, 16) : text.slice(5, 10),
      title: range.by === 'hour' ? `${text.slice(0, 10)} ${text.slice(11, 16)} UTC` : text.slice(0, 10),
    });
  }
  return rows;
}
