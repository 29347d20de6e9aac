// Lists of runs.
import { ask, rows } from './api.js';
import { listing } from './listing.js';
import { marks, nodeLink, reportLink, run, tally } from './marks.js';
import { h } from './parts/dom.js';
import { duration, time, when } from './parts/look.js';

const fields = ['hash', 'certname', 'status', 'noop', 'noop_pending', 'corrective_change', 'start_time', 'end_time', 'environment', 'puppet_version'];

export const columns = [
  { title: 'Started', class: 'when strong', field: 'start_time', first: 'desc', cell: (r) => h('span', { title: time(r.start_time) }, reportLink(r.hash, when(r.start_time))) },
  { title: 'Node', class: 'node', field: 'certname', cell: (r) => nodeLink(r.certname) },
  { title: 'Status', field: 'status', cell: (r) => [run(r.status), marks({ noop: r.noop, pending: r.noop_pending, corrective: r.corrective_change })] },
  { title: 'Events', cell: (r) => tally(r.counts) },
  { title: 'Duration', number: true, cell: (r) => duration(Date.parse(r.end_time) - Date.parse(r.start_time)) },
  { title: 'Environment', field: 'environment', cell: (r) => r.environment },
  { title: 'Agent', field: 'puppet_version', cell: (r) => r.puppet_version },
];

// runTable returns a list of the runs that a query matches, with the numbers of their events.
export function runTable({ query, signal, without = [], ...list }) {
  return listing({
    ...list, columns: columns.filter((c) => !without.includes(c.title)), fields,
    async page(offset, limit, by, bare) {
      const clause = query();
      const answer = await ask('query/v4/reports', {
        query: ['extract', fields, ...(clause ? [clause] : [])], order_by: [by, ...(by.field === 'start_time' ? [] : [{ field: 'start_time', order: 'desc' }]), { field: 'hash' }],
        limit, offset, include_total: true,
      }, { signal });
      if (!bare && answer.rows.length) await addCounts(answer.rows, signal);
      return answer;
    },
  });
}

async function addCounts(reports, signal) {
  const counts = await rows('query/v4/events', {
    query: ['extract', ['report', 'status', ['function', 'count']], ['in', 'report', ['array', reports.map((r) => r.hash)]], ['group_by', 'report', 'status']],
  }, { signal });
  for (const report of reports) {
    report.counts = new Map(counts.filter((c) => c.report === report.hash).map((c) => [c.status, c.count]));
  }
}
