import { rows } from '../api.js';
import { queryLink, statuses } from '../marks.js';
import { chart } from '../parts/chart.js';
import { announce, h, load, uid } from '../parts/dom.js';
import { select } from '../parts/form.js';
import { ago, number, short, time } from '../parts/format.js';
import { nodeTable } from './nodes.js';

export const title = 'Overview';
export const about = 'What the latest runs of the nodes did.';

const hour = 3600000;
const day = 24 * hour;

// Time is cut into hours, days or months: as to_char writes them, and as begins
// of an ISO time.
const units = {
  hour: { template: 'YYYY-MM-DD HH24', length: 13 },
  day: { template: 'YYYY-MM-DD', length: 10 },
  month: { template: 'YYYY-MM', length: 7 },
};
const barsShown = 400;

// What is dated later comes from a clock that is wrong.
const latest = () => Date.now() + hour;
const between = (field, from, to) => ['and', ['>=', field, new Date(from).toISOString()], ['<=', field, new Date(to).toISOString()]];

const spans = [['1', 'Last 24 hours'], ['3', 'Last 3 days'], ['14', 'Last 14 days'], ['', 'All that is kept']];

export function show({ body, signal }) {
  const tiles = h('div');
  const failing = h('div');
  const graph = h('div');
  const span = select(spans, '1', { id: uid('f') });
  const draw = () => load(graph, async () => timeline(span.value, signal));
  span.addEventListener('change', draw);
  body.append(
    tiles,
    h('section.card', { 'aria-label': 'Failing nodes' }, h('div.cardhead', null, h('h2', null, 'Failing nodes'), h('span.muted.small', null, 'The latest run failed.')), failing),
    h('section.card', { 'aria-label': 'Events over time' },
      h('div.cardhead', null, h('h2', null, 'Events over time'), h('span.push'), h('label.unseen', { for: span.id }, 'Time'), span), graph),
  );
  return Promise.all([
    load(tiles, async () => {
      const counts = await numbers(signal);
      if (!counts.events) span.value = '';
      draw();
      announce(`${counts.nodes} nodes, ${counts.failed} failing`);
      return tileList(counts);
    }),
    load(failing, () => nodeTable('Failing nodes', ['=', 'latest_report_status', 'failed'], 'No node fails.', { signal, size: 10 })),
  ]);
}

// numbers are those of the head.
async function numbers(signal) {
  const [states, pending, events, newest] = await Promise.all([
    rows('query/v4/nodes', { query: ['extract', ['latest_report_status', ['function', 'count']], ['null?', 'certname', false], ['group_by', 'latest_report_status']] }, { signal }),
    rows('query/v4/nodes', { query: ['extract', [['function', 'count']], ['or', ['=', 'latest_report_noop', true], ['=', 'latest_report_noop_pending', true]]] }, { signal }),
    rows('query/v4/events', { query: ['extract', ['status', ['function', 'count']], between('timestamp', Date.now() - day, latest()), ['group_by', 'status']] }, { signal }),
    rows('query/v4/nodes', { query: ['extract', [['function', 'max', 'report_timestamp']], ['<=', 'report_timestamp', new Date(latest()).toISOString()]] }, { signal }),
  ]);
  const sum = (list) => list.reduce((all, row) => all + row.count, 0);
  return {
    nodes: sum(states), failed: sum(states.filter((r) => r.latest_report_status === 'failed')), pending: pending[0]?.count ?? 0,
    events: sum(events), failures: sum(events.filter((r) => r.status === 'failure')), newest: newest[0]?.max,
  };
}

function tileList(n) {
  const tile = (name, value, note, tone) => h('div.tile', null, h('dt', null, name), h('dd', { class: tone }, value, note && h('span.small.muted', null, note)));
  return h('dl.tiles', null,
    tile('Nodes', short(n.nodes), `${number(n.pending)} noop or pending`),
    tile('Failing nodes', short(n.failed), n.nodes ? `${Math.round((100 * n.failed) / n.nodes)} % of them` : null, n.failed ? 'bad' : 'good'),
    tile('Events, last day', short(n.events), n.failures ? `${number(n.failures)} failed` : 'none failed'),
    tile('Latest run', n.newest ? ago(n.newest, Math.max(Date.now(), Date.parse(n.newest))) : 'none', n.newest ? time(n.newest) : null));
}

async function timeline(days, signal) {
  let [from, to] = [Date.now() - days * day, Date.now()];
  if (!days) {
    const [ends] = await rows('query/v4/events', { query: ['extract', [['function', 'min', 'timestamp'], ['function', 'max', 'timestamp']]] }, { signal });
    if (!ends?.min) return h('p.empty', null, 'No event is kept yet. Agents’ servers send reports to cmd/v1; ', h('code', null, 'tollgate events import'), ' stores them from files.');
    from = Date.parse(ends.min);
    to = Math.min(Date.parse(ends.max), Math.max(from, latest()));
  }
  const unit = to - from <= 3 * day ? 'hour' : to - from <= 120 * day ? 'day' : 'month';
  const { template, length } = units[unit];
  const begin = new Date(`${new Date(from).toISOString().slice(0, length)}${{ hour: ':00', day: 'T00:00', month: '-01T00:00' }[unit]}:00Z`);
  const cut = ['function', 'to_string', 'timestamp', template];
  const counts = await rows('query/v4/events', {
    query: ['extract', ['status', cut, ['function', 'count']], ['>=', 'timestamp', begin.toISOString()], ['group_by', 'status', cut]],
  }, { signal });
  const bars = new Map();
  for (let at = begin; at <= to && bars.size < barsShown; at = next(at, unit)) {
    const name = at.toISOString().slice(0, length).replace('T', ' ');
    bars.set(name, {
      label: unit === 'hour' ? `${name.slice(11)}:00` : unit === 'day' ? name.slice(5) : name,
      title: unit === 'hour' ? `${name}:00 UTC` : name, counts: {},
    });
  }
  for (const row of counts) {
    const bar = bars.get(row.to_string);
    if (bar) bar.counts[row.status] = (bar.counts[row.status] ?? 0) + row.count;
  }
  const known = statuses.map(([status]) => status);
  const series = statuses.map(([status, name,, tone]) => ({ name, tone, value: (bar) => bar.counts[status] ?? 0 }));
  if (counts.some((row) => !known.includes(row.status))) {
    series.push({ name: 'Other', tone: 5, value: (bar) => Object.entries(bar.counts).reduce((sum, [status, n]) => (known.includes(status) ? sum : sum + n), 0) });
  }
  return [
    chart(`By ${unit}, UTC`, [...bars.values()], series, { write: short, wide: true }),
    h('p.small', null, queryLink('Query these numbers', {
      language: 'ast', entity: 'events', limit: '1000', query: JSON.stringify(['extract', ['status', cut, ['function', 'count']], ['>=', 'timestamp', begin.toISOString()], ['group_by', 'status', cut]]),
    })),
  ];
}

function next(at, unit) {
  if (unit === 'month') return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1));
  return new Date(at.getTime() + (unit === 'hour' ? hour : day));
}
