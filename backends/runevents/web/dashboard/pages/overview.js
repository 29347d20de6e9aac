import { environment, inEnvironment, link } from '../address.js';
import { rows } from '../api.js';
import { age, queryLink, statuses } from '../marks.js';
import { chart } from '../parts/chart.js';
import { announce, h, load, uid } from '../parts/dom.js';
import { select } from '../parts/form.js';
import { ago, count, number, short, time } from '../parts/look.js';
import { refreshed } from '../refresh.js';
import { settings, unreported } from '../settings.js';
import { welcome } from '../welcome.js';
import { nodeTable } from './nodes.js';

export const title = 'Overview';
export const about = 'The results of the nodes’ latest runs.';

const hour = 3600000;
const day = 24 * hour;

// The units of time of the chart: their formats for to_char, and the lengths of the prefix
// of an ISO time that identifies them.
const units = {
  hour: { template: 'YYYY-MM-DD HH24', length: 13 },
  day: { template: 'YYYY-MM-DD', length: 10 },
  month: { template: 'YYYY-MM', length: 7 },
};
const barsShown = 400;

// Reports dated later than this come from a clock that is wrong.
const latest = () => Date.now() + hour;
const between = (field, from, to) => ['and', ['>=', field, new Date(from).toISOString()], ['<=', field, new Date(to).toISOString()]];

const spans = [['1', 'Last 24 hours'], ['3', 'Last 3 days'], ['14', 'Last 14 days'], ['', 'All stored runs']];

export function show({ body, about: head, signal }) {
  const narrow = matchMedia('(max-width: 640px)').matches;
  const tiles = h('div.summary');
  const newest = h('span');
  head.append(' ', newest);
  const silentList = h('div');
  const silent = listCard('Not reporting', `No report for ${age(settings.unreportedAfter)}. The node that stopped last comes first.`, 'unreported', silentList);
  const failingList = h('div');
  const failing = listCard('Failing nodes', 'The latest run failed.', 'failed', failingList);
  const graph = h('div');
  const span = select(spans, '1', { id: uid('f') });
  const draw = () => load(graph, () => timeline(span.value, signal));
  span.addEventListener('change', draw);
  const over = h('section.panel', { 'aria-label': 'Events over time' },
    h('div.head', null, h('h2', null, 'Events over time'), h('span.push'), h('label.hidden', { for: span.id }, 'Time'), span), graph);
  silent.hidden = failing.hidden = over.hidden = true;
  body.append(tiles, silent, failing, over);
  const silentNodes = nodeTable({ place: silentList, caption: 'Not reporting', query: () => inEnvironment('report_environment', unreported()), empty: 'All nodes report.', signal, size: 5, without: ['What failed'] });
  const failingNodes = nodeTable({ place: failingList, caption: 'Failing nodes', query: () => inEnvironment('report_environment', ['=', 'latest_report_status', 'failed']), empty: 'No node fails.', signal, size: narrow ? 5 : 10 });
  let first = true;
  return refreshed(body, () => load(tiles, async () => {
    const counts = await numbers(signal);
    const empty = !counts.nodes && !counts.inactive;
    over.hidden = empty;
    silent.hidden = !counts.unreported;
    failing.hidden = !counts.nodes;
    if (empty && environment()) return h('section.panel', { 'aria-label': 'No data' }, h('p.empty', null, `No node reports from the environment ${environment()}.`));
    if (empty) return welcome();
    if (first && !counts.events) span.value = '';
    if (first) announce(`${count(counts.nodes, 'node')}, ${counts.unreported} not reporting, ${counts.failed} failing`);
    first = false;
    if (counts.newest) newest.replaceChildren('The last one ended ', h('span', { title: time(counts.newest) }, ago(counts.newest, Math.max(Date.now(), Date.parse(counts.newest)))), '.');
    draw();
    if (counts.unreported) silentNodes();
    if (counts.nodes) failingNodes();
    return tileList(counts);
  }));
}

// listCard returns a section with a list of nodes and a link to the page of nodes that shows all of them.
function listCard(name, note, status, list) {
  return h('section.panel', { 'aria-label': name },
    h('div.head', null, h('h2', null, name), h('span.muted.small', null, note), h('span.push'), h('a.small', { href: link('nodes', { status }) }, 'Show all')), list);
}

// numbers returns the numbers at the top of the page.
async function numbers(signal) {
  const here = (...clauses) => inEnvironment('report_environment', ...clauses);
  const counted = (clause) => rows('query/v4/nodes', { query: ['extract', [['function', 'count']], clause] }, { signal }).then(([row]) => row?.count ?? 0);
  const [states, late, pending, inactive, events, newest] = await Promise.all([
    rows('query/v4/nodes', { query: ['extract', ['latest_report_status', ['function', 'count']], here(['null?', 'certname', false]), ['group_by', 'latest_report_status']] }, { signal }),
    counted(here(unreported())),
    counted(here(['or', ['=', 'latest_report_noop', true], ['=', 'latest_report_noop_pending', true]])),
    counted(here(['=', 'node_state', 'inactive'])),
    rows('query/v4/events', { query: ['extract', ['status', ['function', 'count']], inEnvironment('environment', between('timestamp', Date.now() - day, latest())), ['group_by', 'status']] }, { signal }),
    rows('query/v4/nodes', { query: ['extract', [['function', 'max', 'report_timestamp']], here(['<=', 'report_timestamp', new Date(latest()).toISOString()])] }, { signal }),
  ]);
  const sum = (list) => list.reduce((all, row) => all + row.count, 0);
  const of = (status) => sum(states.filter((r) => r.latest_report_status === status));
  return {
    nodes: sum(states), unreported: late, failed: of('failed'), changed: of('changed'), unchanged: of('unchanged'),
    others: sum(states.filter((r) => !['failed', 'changed', 'unchanged'].includes(r.latest_report_status))), pending, inactive,
    events: sum(events), failures: sum(events.filter((r) => r.status === 'failure')), newest: newest[0]?.max,
  };
}

function tileList(n) {
  const tile = (name, value, note, { tone, to, swatch } = {}) => h('div.tile', null,
    h('dt', null, swatch && h(`span.swatch.${swatch}`, { 'aria-hidden': 'true' }), h('a', { href: to }, name)), h('dd', { class: tone }, value, h('span.small.muted', null, note)));
  const share = (part) => (n.nodes ? `${Math.round((100 * part) / n.nodes)} % of nodes` : 'no nodes');
  const nodes = (status) => link('nodes', { status });
  const { others } = n;
  return [h('dl.tiles', null,
    tile('Not reporting', short(n.unreported), `for ${age(settings.unreportedAfter)} or longer`, { tone: n.unreported ? 'warn' : 'good', to: nodes('unreported') }),
    tile('Failing nodes', short(n.failed), share(n.failed), { tone: n.failed ? 'bad' : 'good', to: nodes('failed'), swatch: 'series-4' }),
    tile('Changed', short(n.changed), share(n.changed), { to: nodes('changed'), swatch: 'series-1' }),
    tile('Unchanged', short(n.unchanged), share(n.unchanged), { to: nodes('unchanged'), swatch: 'rest' }),
    tile('Nodes', short(n.nodes), [`${number(n.pending)} in noop`, n.inactive ? [', ', h('a', { href: link('nodes', { state: 'inactive' }) }, `${number(n.inactive)} inactive`)] : ''], { to: link('nodes') }),
    tile('Events, last day', short(n.events), n.failures ? `${number(n.failures)} failed` : 'none failed', { to: link('reports', { hours: '24' }) })),
  shares([[n.failed, 'series-4'], [n.changed, 'series-1'], [n.unchanged + others, 'rest']])];
}

// shares returns a bar with the parts of a whole. The tiles show the same numbers.
function shares(parts) {
  return h('div.shares', { 'aria-hidden': 'true' }, parts.filter(([value]) => value).map(([value, tone]) => {
    const part = h(`span.${tone}`);
    part.style.flexGrow = value; // set by script, because the content security policy forbids style attributes
    return part;
  }));
}

async function timeline(days, signal) {
  let [from, to] = [Date.now() - days * day, Date.now()];
  if (!days) {
    const columns = [['function', 'min', 'timestamp'], ['function', 'max', 'timestamp']];
    const [ends] = await rows('query/v4/events', { query: ['extract', columns, ...[inEnvironment('environment')].filter(Boolean)] }, { signal });
    if (!ends?.min) return h('p.empty', null, 'There are no events: no run changed anything, or all events were deleted because of their age.');
    from = Date.parse(ends.min);
    to = Math.min(Date.parse(ends.max), Math.max(from, latest()));
  }
  const unit = to - from <= 3 * day ? 'hour' : to - from <= 120 * day ? 'day' : 'month';
  const { template, length } = units[unit];
  const begin = new Date(`${new Date(from).toISOString().slice(0, length)}${{ hour: ':00', day: 'T00:00', month: '-01T00:00' }[unit]}:00Z`);
  const cut = ['function', 'to_string', 'timestamp', template];
  const query = ['extract', ['status', cut, ['function', 'count']], inEnvironment('environment', ['>=', 'timestamp', begin.toISOString()]), ['group_by', 'status', cut]];
  const counts = await rows('query/v4/events', { query }, { signal });
  const bars = new Map();
  for (let at = begin; at <= to && bars.size < barsShown; at = next(at, unit)) {
    const name = at.toISOString().slice(0, length).replace('T', ' ');
    bars.set(name, {
      label: unit === 'hour' ? `${name.slice(11)}:00` : unit === 'day' ? name.slice(5) : name,
      title: unit === 'hour' ? `${name}:00 UTC` : name, counts: new Map(),
    });
  }
  for (const row of counts) {
    const bar = bars.get(row.to_string);
    if (bar) bar.counts.set(row.status, (bar.counts.get(row.status) ?? 0) + row.count);
  }
  const known = statuses.map(([status]) => status);
  const series = statuses.map(([status, name,, tone]) => ({ name, tone, value: (bar) => bar.counts.get(status) ?? 0 }));
  if (counts.some((row) => !known.includes(row.status))) {
    series.push({ name: 'Other', tone: 5, value: (bar) => [...bar.counts].reduce((sum, [status, n]) => (known.includes(status) ? sum : sum + n), 0) });
  }
  return [
    chart(`By ${unit}, UTC`, [...bars.values()], series, { write: short, wide: true }),
    h('p.small', null, queryLink('Query these numbers', {
      language: 'ast', entity: 'events', limit: '1000', query: JSON.stringify(query),
    })),
  ];
}

function next(at, unit) {
  if (unit === 'month') return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1));
  return new Date(at.getTime() + (unit === 'hour' ? hour : day));
}
