import { ask, rows } from '../api.js';
import { growing } from '../growing.js';
import { marks, queryLink, reportLink, run, tally } from '../marks.js';
import { badge, h, load } from '../parts/dom.js';
import { duration, time, when } from '../parts/format.js';

export const title = 'Node';

const pageSize = 25;

export function show({ body, about, entitle, signal, subject: certname }) {
  entitle(certname);
  const result = h('div.card.flush');
  about.append('Its runs, the newest first. ', queryLink('Query its failures', {
    language: 'ast', entity: 'events', query: JSON.stringify(['and', ['=', 'certname', certname], ['=', 'status', 'failure']]),
  }));
  body.append(result);
  state(certname, signal).then((badges) => about.append(...badges), () => {}); // the table tells of errors
  return load(result, () => growing(`Runs of ${certname}`, [
    { title: 'Began', class: 'when strong', cell: (r) => h('span', { title: time(r.start_time) }, reportLink(r.hash, when(r.start_time))) },
    { title: 'Status', cell: (r) => [run(r.status), marks({ noop: r.noop, pending: r.noop_pending, corrective: r.corrective_change })] },
    { title: 'Events', cell: (r) => tally(r.counts) },
    { title: 'Took', number: true, cell: (r) => duration(Date.parse(r.end_time) - Date.parse(r.start_time)) },
    { title: 'Environment', cell: (r) => r.environment },
    { title: 'Agent', cell: (r) => r.puppet_version },
  ], (offset) => page(certname, offset, signal), 'No run of this node is kept.'));
}

// state says what is special about the node.
async function state(certname, signal) {
  const [node] = await rows('query/v4/nodes', { query: ['and', ['=', 'certname', certname], ['=', 'node_state', 'any']] }, { signal });
  const since = node?.deactivated ?? node?.expired;
  return since ? [' ', badge('warn', `${node.deactivated ? 'deactivated' : 'expired'} ${when(since)}`, time(since))] : [];
}

async function page(certname, offset, signal) {
  const answer = await ask('query/v4/reports', {
    query: ['extract', ['hash', 'status', 'noop', 'noop_pending', 'corrective_change', 'start_time', 'end_time', 'environment', 'puppet_version'],
      ['and', ['=', 'certname', certname], ['=', 'type', 'any']]],
    order_by: [{ field: 'producer_timestamp', order: 'desc' }], limit: pageSize, offset, include_total: true,
  }, { signal });
  if (!answer.rows.length) return answer;
  const counts = await rows('query/v4/events', {
    query: ['extract', ['report', 'status', ['function', 'count']], ['in', 'report', ['array', answer.rows.map((r) => r.hash)]], ['group_by', 'report', 'status']],
  }, { signal });
  for (const report of answer.rows) {
    report.counts = Object.fromEntries(counts.filter((c) => c.report === report.hash).map((c) => [c.status, c.count]));
  }
  return answer;
}
