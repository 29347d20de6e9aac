import { call } from '../api.js';
import { model, percent, usd } from '../format.js';
import { chart } from '../parts/chart.js';
import { h, load, scroller, table } from '../parts/dom.js';
import { field, form, select } from '../parts/form.js';
import { duration, number, short } from '../parts/look.js';
import { at, link } from './view.js';

export const title = 'Gateway';
export const about = 'Spending, failures and latency of all users. Days and hours are UTC.';

const hour = 3600000;
const day = 24 * hour;
const date = (time) => new Date(time).toISOString().slice(0, 10);

const team = (l) => l.team || (l.team_id ? `${l.team_id} (removed)` : '(no team)');

export function show({ body, signal }) {
  const span = select([['2', 'Today and yesterday'], ['7', 'Last 7 days'], ['30', 'Last 30 days']], '7');
  const result = h('div.flow');
  const refresh = () => load(result, async () => {
    const from = date((Math.floor(Date.now() / day) - Number(span.value) + 1) * day);
    const by = span.value === '2' ? 'hour' : 'day';
    const spent = (what) => call('GET', at('spending'), { signal, query: { from, by: `${by},${what}` } });
    const [all, models, teams] = await Promise.all([call('GET', at('overview'), { signal, query: { from } }), spent('model'), spent('team')]);
    return draw(all, by, models.data, teams.data);
  });
  body.append(h('div.filter', null, form([field('Period', span)], [h('button', { type: 'submit' }, 'Show')], refresh)), result);
  span.addEventListener('change', () => body.querySelector('form').requestSubmit());
  return refresh();
}

function draw(all, by, models, teams) {
  const tile = (name, value, note) => h('div.tile', null, h('dt', null, name), h('dd', null, value, note && h('span.small.muted', null, note)));
  const money = h('dl.tiles', null, tile('Spent today', usd(all.spend.today)), tile('This month', usd(all.spend.this_month)),
    tile('Forecast for the month', usd(all.spend.month_end), 'from the last 7 days'));
  const t = all.totals;
  if (!t.requests && !models.length) return [money, h('p.empty', null, 'No requests in this period.')];
  const rows = timeline(all, by);
  return [
    money,
    h('dl.tiles', null, tile('Requests', short(t.requests), t.failed ? `${number(t.failed)} failed` : null), tile('Errors', percent(t.error_rate)),
      tile('Latency p50', duration(t.latency_ms_p50), 'median'), tile('p95', duration(t.latency_ms_p95)), tile('p99', duration(t.latency_ms_p99))),
    h('section.panel.charts', { 'aria-label': 'Over time' }, h('div.head', null, h('h2', null, 'Over time')),
      h('div.chartgrid', null,
        chart('Requests', rows, [{ name: 'Answered', value: (r) => r.requests - r.failed, tone: 1 }, { name: 'Failed', value: (r) => r.failed, tone: 4 }], { write: short, wide: true }),
        chart('Latency', rows, [
          { name: 'p50', value: (r) => r.latency_ms_p50, tone: 1 }, { name: 'p95', value: (r) => r.latency_ms_p95, tone: 2 }, { name: 'p99', value: (r) => r.latency_ms_p99, tone: 3 },
        ], { write: (ms) => (ms === 0 ? '0' : duration(ms)), lines: true, wide: true }),
        chart('Cost by model', ...stacked(all, by, models, model), { write: usd }),
        chart('Cost by team', ...stacked(all, by, teams, team), { write: usd }))),
    part('Model', all.by_model, (l) => model(l) || '(nobody)'),
    part('Team', all.by_team, (l) => (l.team ? link('teams', l.team_id, l.team) : team(l))),
  ];
}

const part = (label, lines, name) => h('section.panel', { 'aria-label': `By ${label.toLowerCase()}` }, h('h2', null, `By ${label.toLowerCase()}`),
  scroller(`By ${label.toLowerCase()}, all columns`, table(`By ${label.toLowerCase()}`, [
    { title: label, class: 'strong', cell: name },
    { title: 'Cost', number: true, cell: (l) => usd(l.cost_usd) },
    { title: 'Requests', number: true, cell: (l) => number(l.requests) },
    { title: 'Errors', number: true, cell: (l) => percent(l.error_rate) },
    { title: 'p50', number: true, cell: (l) => duration(l.latency_ms_p50) },
    { title: 'p95', number: true, cell: (l) => duration(l.latency_ms_p95) },
    { title: 'p99', number: true, cell: (l) => duration(l.latency_ms_p99) },
    { title: 'Tokens', number: true, cell: (l) => short(l.total_tokens) },
  ], lines)));

// slots returns the hours or days of the period until now.
function slots(all, by) {
  const size = by === 'hour' ? hour : day;
  const list = [];
  for (let time = Date.parse(all.from); time < Math.min(Date.parse(all.to), Date.now()); time += size) {
    const text = new Date(time).toISOString();
    list.push({ time, label: by === 'hour' ? text.slice(11, 16) : text.slice(5, 10), title: by === 'hour' ? `${text.slice(0, 10)} ${text.slice(11, 16)} UTC` : text.slice(0, 10) });
  }
  return list;
}

// timeline returns a row for each hour or day, including those without requests.
function timeline(all, by) {
  const found = new Map(all.over_time.map((l) => [Date.parse(l.at), l]));
  return slots(all, by).map((slot) => ({ requests: 0, failed: 0, latency_ms_p50: null, latency_ms_p95: null, latency_ms_p99: null, ...found.get(slot.time), ...slot }));
}

// stacked returns the rows and series of a chart of costs. The names with the highest costs have a series each, and the
// others share one.
function stacked(all, by, lines, name) {
  const sums = new Map();
  for (const l of lines) sums.set(name(l), (sums.get(name(l)) ?? 0) + l.cost_usd);
  const order = [...sums.keys()].filter((n) => sums.get(n) > 0).sort((a, b) => sums.get(b) - sums.get(a));
  const shown = order.slice(0, order.length > 4 ? 3 : 4);
  const cells = new Map();
  for (const l of lines) {
    const key = `${Date.parse(l[by])} ${shown.includes(name(l)) ? name(l) : ''}`;
    cells.set(key, (cells.get(key) ?? 0) + l.cost_usd);
  }
  const series = shown.map((n, i) => ({ name: n, value: (r) => cells.get(`${r.time} ${n}`) ?? 0, tone: i + 1 }));
  if (order.length > shown.length || !series.length) series.push({ name: order.length ? 'Others' : 'Cost', value: (r) => cells.get(`${r.time} `) ?? 0, tone: 5 });
  return [slots(all, by), series];
}
