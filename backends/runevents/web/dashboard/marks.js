// How states of runs and of events are shown.
import { badge, code, h } from './parts/dom.js';

const runs = { failed: ['bad', 'failed'], changed: ['good', 'changed'], unchanged: ['plain', 'unchanged'] };

// run is the badge of a report's status.
export function run(status) {
  const [tone, text] = runs[status] ?? ['plain', status ?? 'unknown'];
  return badge(tone, text);
}

// marks say what was special about a run.
export function marks({ noop, pending, corrective }) {
  const list = [
    noop && badge('noop', 'noop', 'The run only said what it would change'),
    pending && !noop && badge('noop', 'noop pending', 'Some resources would be changed but are in noop mode'),
    corrective && badge('warn', 'corrective', 'The run put back what others had changed'),
  ].filter(Boolean);
  return list.flatMap((one) => [' ', one]);
}

// statuses of events, the worst first: [status, title, tone, number of its colour].
export const statuses = [
  ['failure', 'Failed', 'bad', 4],
  ['success', 'Changed', 'good', 1],
  ['noop', 'Would change', 'noop', 2],
  ['skipped', 'Skipped', 'warn', 3],
];

// tally is the numbers of events by status.
export function tally(counts) {
  const known = statuses.filter(([status]) => counts?.[status]).map(([status, title, tone]) => badge(tone, `${counts[status]} ${title.toLowerCase()}`));
  const others = Object.keys(counts ?? {}).filter((status) => !statuses.some(([one]) => one === status)).map((status) => badge('plain', `${counts[status]} ${status}`));
  const list = [...known, ...others];
  return list.length ? h('div.tally', null, list) : h('span.muted', null, 'none');
}

export const nodeLink = (certname) => h('a', { href: `#/node/${encodeURIComponent(certname)}` }, certname);
export const reportLink = (hash, text) => h('a', { href: `#/report/${encodeURIComponent(hash)}` }, text);

// value is a value of a property: any JSON, mostly text.
export function value(v) {
  if (v == null) return h('span.muted', null, 'none');
  if (v === '') return h('span.muted', null, 'empty');
  return code(typeof v === 'string' ? v : JSON.stringify(v));
}

export const resource = (type, title) => h('code.resource', null, `${type}[${title}]`);

// queryLink leads to the query page with a query in it.
export function queryLink(text, parameters) {
  return h('a', { href: `#/query?${new URLSearchParams(parameters)}` }, text);
}
