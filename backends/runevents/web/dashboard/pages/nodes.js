import { inEnvironment, note } from '../address.js';
import { ask, rows } from '../api.js';
import { listing, orderOf } from '../listing.js';
import { lateMark, marks, nodeLink, reportLink, resource, run } from '../marks.js';
import { tag, h } from '../parts/dom.js';
import { field, select } from '../parts/form.js';
import { ago, time, when } from '../parts/look.js';
import { refreshed } from '../refresh.js';
import { late, unreported } from '../settings.js';

export const title = 'Nodes';
export const about = 'Open one to see its runs.';

const failuresShown = 3;
const pageSize = 25;

const statuses = [
  ['', 'Any latest run', () => null],
  ['unreported', 'Not reporting', unreported],
  ['failed', 'Failed', () => ['=', 'latest_report_status', 'failed']],
  ['changed', 'Changed', () => ['=', 'latest_report_status', 'changed']],
  ['unchanged', 'Unchanged', () => ['=', 'latest_report_status', 'unchanged']],
  ['noop', 'Noop', () => ['or', ['=', 'latest_report_noop', true], ['=', 'latest_report_noop_pending', true]]],
];
const states = [['', 'Active'], ['inactive', 'Inactive'], ['any', 'Active or not']];

const latestFirst = { field: 'report_timestamp', order: 'desc' };

const columns = [
  { title: 'Node', class: 'node strong', field: 'certname', cell: (r) => [nodeLink(r.certname), gone(r)] },
  { title: 'Latest run', field: 'latest_report_status', cell: (r) => [r.latest_report_hash ? run(r.latest_report_status) : h('span.muted', null, '–'),
    marks({ noop: r.latest_report_noop, pending: r.latest_report_noop_pending, corrective: r.latest_report_corrective_change })] },
  { title: 'Ended', class: 'ended', field: 'report_timestamp', first: 'desc', cell: (r) => [r.latest_report_hash
    ? h('span.when', { title: time(r.report_timestamp) }, reportLink(r.latest_report_hash, late(r) ? when(r.report_timestamp) : ago(r.report_timestamp)))
    : null, ' ', !gone(r).length && lateMark(r)] },
  { title: 'Environment', field: 'report_environment', cell: (r) => r.report_environment ?? h('span.muted', null, '–') },
  { title: 'What failed', class: 'failures', cell: (r) => failures(r) },
];

// gone returns a label that says since when a node is inactive.
export function gone(node) {
  const since = node.deactivated ?? node.expired;
  return since ? [' ', tag('plain', `${node.deactivated ? 'deactivated' : 'expired'} ${when(since)}`, time(since))] : [];
}

export function show({ body, signal, parameters }) {
  const known = (list, value) => (list.some(([one]) => one === value) ? value : '');
  const name = h('input', { type: 'search', autocomplete: 'off', spellcheck: 'false', placeholder: 'web', value: parameters.get('name') ?? '' });
  const status = select(statuses, known(statuses, parameters.get('status')));
  const state = select(states, known(states, parameters.get('state')));
  const result = h('div.panel.flush');
  const query = () => inEnvironment('report_environment',
    part('certname', name.value), statuses.find(([value]) => value === status.value)[2](), state.value && ['=', 'node_state', state.value]);
  let order = orderOf(parameters, columns, latestFirst);
  const draw = () => nodeTable({
    place: result, caption: 'Nodes', query, empty: 'No node matches this filter.', signal, size: pageSize, order,
    sorted(by) {
      order = by;
      note({ sort: by.field, order: by.order });
    },
  });
  let list = draw();
  const filter = () => {
    note({ name: name.value.trim(), status: status.value, state: state.value });
    list = draw();
    return list();
  };
  body.append(h('form.filter', { role: 'search', onsubmit(event) { event.preventDefault(); filter(); } },
    field('Part of the name', name), field('Latest run', status), field('State', state),
    h('button', { type: 'submit' }, 'Show')), result);
  for (const choice of [status, state]) choice.addEventListener('change', filter);
  return refreshed(result, () => list());
}

// part returns the query for names that contain a text.
export function part(field, text) {
  const wanted = text.trim();
  return wanted && ['~', field, wanted.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&')];
}

// nodeTable returns a list of the nodes that a query matches, with the resources that failed on them.
export function nodeTable({ query, signal, order = latestFirst, without = [], ...list }) {
  return listing({
    ...list, order, columns: columns.filter((c) => !without.includes(c.title)),
    file: 'nodes.csv',
    fields: list.sorted && ['certname', 'latest_report_status', 'report_timestamp', 'report_environment', 'latest_report_noop', 'latest_report_noop_pending', 'latest_report_hash', 'deactivated', 'expired'],
    async page(offset, limit, by, bare) {
      const answer = await page(query(), limit, offset, by, signal);
      if (!bare) await addFailures(answer.rows, signal);
      return answer;
    },
  });
}

// page returns a page of the nodes. If the latest run comes first, nodes without a run come
// last. The service would return them first, so they are queried apart.
async function page(query, size, offset, by, signal) {
  const ordered = (clause, limit, from) => ask('query/v4/nodes', {
    query: clause, limit, offset: from, order_by: [by, ...(by.field === 'certname' ? [] : [{ field: 'certname' }])], include_total: true,
  }, { signal });
  if (by.field !== 'report_timestamp' || by.order !== 'desc') return ordered(query, size, offset);
  const half = (none, limit, from) => ordered(['and', ['null?', 'report_timestamp', none], ...(query ? [query] : [])], limit, from);
  const first = await half(false, size, offset);
  const room = size - first.rows.length;
  const last = await half(true, Math.max(1, room), Math.max(0, offset - first.total));
  return { rows: [...first.rows, ...last.rows.slice(0, room)], total: first.total + last.total };
}

async function addFailures(nodes, signal) {
  const failed = nodes.filter((n) => n.latest_report_status === 'failed');
  if (!failed.length) return;
  const list = await rows('query/v4/events', {
    query: ['extract', ['report', 'resource_type', 'resource_title', ['function', 'count']],
      ['and', ['=', 'status', 'failure'], ['in', 'report', ['array', failed.map((n) => n.latest_report_hash)]]],
      ['group_by', 'report', 'resource_type', 'resource_title']],
    limit: 1000,
  }, { signal });
  for (const node of failed) node.failures = list.filter((e) => e.report === node.latest_report_hash);
}

function failures(node) {
  if (!node.failures) return h('span.muted.nothing', null, '–');
  if (!node.failures.length) return 'no resource; see the log of the run';
  const more = node.failures.length - failuresShown;
  return h('ul', null, node.failures.slice(0, failuresShown).map((e) => h('li', null, resource(e.resource_type, e.resource_title))),
    more > 0 && h('li.small.muted', null, `and ${more} more`));
}
