// Labels for the states of runs and events.
import { link } from './address.js';
import { tag, code, h } from './parts/dom.js';
import { count, time } from './parts/look.js';
import { late } from './settings.js';

// Names from reports are looked up in maps, because objects have inherited members.
const runs = new Map([['failed', 'bad'], ['changed', 'good'], ['unchanged', 'plain']]);

// run returns the label of a report's status.
export function run(status) {
  return tag(runs.get(status) ?? 'plain', status ?? 'unknown');
}

// marks returns labels for what was special about a run.
export function marks({ noop, pending, corrective }) {
  const list = [
    noop && tag('noop', 'noop', 'The run only reported what it would change'),
    pending && !noop && tag('noop', 'noop pending', 'Some resources would be changed but are in noop mode'),
    corrective && tag('warn', 'corrective', 'The run reverted changes that others had made'),
  ].filter(Boolean);
  return list.flatMap((one) => [' ', one]);
}

// statuses lists the statuses of events, worst first: [status, title, tone, number of its colour].
export const statuses = [
  ['failure', 'Failed', 'bad', 4],
  ['success', 'Changed', 'good', 1],
  ['noop', 'Would change', 'noop', 2],
  ['skipped', 'Skipped', 'warn', 3],
];

// tally returns the numbers of events by status.
export function tally(counts) {
  const known = statuses.filter(([status]) => counts?.get(status)).map(([status, title, tone]) => tag(tone, `${counts.get(status)} ${title.toLowerCase()}`));
  const others = [...counts ?? []].filter(([status]) => !statuses.some(([one]) => one === status)).map(([status, n]) => tag('plain', `${n} ${status}`));
  const list = [...known, ...others];
  return list.length ? h('div.tally', null, list) : h('span.muted', null, 'none');
}

// lateMark returns a label with the time since a node's last report if that is too long.
export function lateMark(node) {
  if (!late(node)) return null;
  if (!node.report_timestamp) return tag('warn', 'no stored run');
  return tag('warn', `silent for ${age(Date.now() - Date.parse(node.report_timestamp))}`, time(node.report_timestamp));
}

// age formats a duration in its largest unit.
export function age(ms) {
  const minutes = Math.floor(ms / 60000);
  for (const [unit, size] of [['day', 1440], ['hour', 60]]) {
    if (minutes >= 2 * size) return count(Math.floor(minutes / size), unit);
  }
  return count(minutes, 'minute');
}

// nodeLink returns a link to a node. Its name can be broken at dots.
export function nodeLink(certname) {
  const labels = certname.split('.').flatMap((label, i) => (i ? [h('wbr'), `.${label}`] : [label]));
  return h('a', { href: link(`node/${encodeURIComponent(certname)}`) }, labels);
}
export const reportLink = (hash, text) => h('a', { href: link(`report/${encodeURIComponent(hash)}`) }, text);

const checksum = /^(\{\w+\}[0-9a-f]{10})[0-9a-f]{20,}$/;

// value returns the text of a property's value, which can be any JSON. Checksums are
// shortened.
export function value(v) {
  if (v == null) return h('span.muted', null, 'none');
  if (v === '') return h('span.muted', null, 'empty');
  const [, begin] = (typeof v === 'string' && checksum.exec(v)) || [];
  return begin ? h('code', { title: v }, `${begin}…`) : code(typeof v === 'string' ? v : JSON.stringify(v));
}

export const resource = (type, title) => h('code.resource', null, `${type}[${title}]`);

// queryLink returns a link to the query page with a query.
export function queryLink(text, parameters) {
  return h('a', { href: link('query', parameters) }, text);
}
