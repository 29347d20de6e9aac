import { ask, rows } from '../api.js';
import { growing } from '../growing.js';
import { marks, nodeLink, reportLink, resource, run } from '../marks.js';
import { h, load } from '../parts/dom.js';
import { field, select } from '../parts/form.js';
import { ago, time } from '../parts/format.js';

export const title = 'Nodes';
export const about = 'The node with the latest run first. Open one to see its runs.';

const failuresShown = 3;

const states = [
  ['', 'Any latest run', null],
  ['failed', 'Failed', ['=', 'latest_report_status', 'failed']],
  ['changed', 'Changed', ['=', 'latest_report_status', 'changed']],
  ['unchanged', 'Unchanged', ['=', 'latest_report_status', 'unchanged']],
  ['noop', 'Noop', ['or', ['=', 'latest_report_noop', true], ['=', 'latest_report_noop_pending', true]]],
];

export function show({ body, signal }) {
  const name = h('input', { type: 'search', autocomplete: 'off', spellcheck: 'false', placeholder: 'web' });
  const state = select(states, '');
  const result = h('div.card.flush');
  const filter = () => {
    const part = name.value.trim();
    const clauses = [
      part && ['~', 'certname', part.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&')],
      states.find(([value]) => value === state.value)[2],
    ].filter(Boolean);
    return clauses.length ? ['and', ...clauses] : null;
  };
  const refresh = () => load(result, () => nodeTable('Nodes', filter(), 'No node is like that.', { signal, size: 25 }));
  body.append(h('form.filters', { role: 'search', onsubmit(event) { event.preventDefault(); refresh(); } },
    field('Part of the name', name), field('Latest run', state),
    h('button.primary', { type: 'submit' }, 'Show')), result);
  state.addEventListener('change', refresh);
  return refresh();
}

// nodeTable lists the nodes that a query matches, size at a time, with what
// failed on them.
export function nodeTable(caption, query, empty, { signal, size }) {
  return growing(caption, [
    { title: 'Node', class: 'strong', cell: (r) => nodeLink(r.certname) },
    { title: 'Latest run', cell: (r) => [run(r.latest_report_status), marks({ noop: r.latest_report_noop, pending: r.latest_report_noop_pending, corrective: r.latest_report_corrective_change })] },
    { title: 'Ended', class: 'when', cell: (r) => r.latest_report_hash
      ? h('span', { title: time(r.report_timestamp) }, reportLink(r.latest_report_hash, ago(r.report_timestamp)))
      : 'no run kept' },
    { title: 'Environment', cell: (r) => r.report_environment ?? '–' },
    { title: 'What failed', class: 'failures', cell: (r) => failures(r) },
  ], async (offset) => {
    const answer = await page(query, size, offset, signal);
    await addFailures(answer.rows, signal);
    return answer;
  }, empty);
}

// page is a part of the nodes: those with the latest run first, and behind them
// those without one, which the service would put in front.
async function page(query, size, offset, signal) {
  const part = (none, limit, from) => ask('query/v4/nodes', {
    query: ['and', ['null?', 'report_timestamp', none], ...(query ? [query] : [])], limit, offset: from,
    order_by: [{ field: 'report_timestamp', order: 'desc' }, { field: 'certname' }], include_total: true,
  }, { signal });
  const first = await part(false, size, offset);
  const room = size - first.rows.length;
  const last = await part(true, Math.max(1, room), Math.max(0, offset - first.total));
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
  if (!node.failures) return h('span.muted', null, '–');
  if (!node.failures.length) return 'no resource; see the log of the run';
  const more = node.failures.length - failuresShown;
  return h('ul', null, node.failures.slice(0, failuresShown).map((e) => h('li', null, resource(e.resource_type, e.resource_title))),
    more > 0 && h('li.small.muted', null, `and ${more} more`));
}
