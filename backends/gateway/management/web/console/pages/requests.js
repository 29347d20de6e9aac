import { own } from '../api.js';
import { csvButton } from '../csv.js';
import { model, usd, words } from '../format.js';
import { announce, badge, busy, code, errorBox, h, load, tableOf, tableRow, uid } from '../parts/dom.js';
import { count, duration, number, time, when } from '../parts/format.js';

export const title = 'Requests';
export const about = 'The latest first. Open one to see every attempt.';

const pageSize = 25;

export function show({ body, actions, signal }) {
  const place = h('div');
  const errors = h('div');
  const more = h('button', { type: 'button' }, 'Show more');
  let keys = new Map();
  let cursor = null;
  let rows = null; // the body of the table

  const page = async () => {
    const answer = await own('GET', 'usage/recent', { signal, query: { limit: pageSize, cursor } });
    cursor = answer.next_cursor;
    more.hidden = !cursor;
    return answer.requests;
  };
  const refresh = () => load(place, async () => {
    cursor = null;
    const [list, known] = await Promise.all([page(), own('GET', 'keychain-keys', { signal })]);
    keys = new Map(known.keys.map((k) => [k.id, k.label || k.masked]));
    if (!list.length) return h('p.empty', null, 'No request yet. ', h('a', { href: '#/playground' }, 'Send one from the playground'), '.');
    const all = requestTable(list.map((r) => record(r, keys)));
    [rows] = all.tBodies;
    return h('div.card.flush', null, all);
  });
  more.hidden = true;
  more.addEventListener('click', () => busy(more, async () => {
    errors.replaceChildren();
    try {
      const list = await page();
      rows.append(...list.map((r) => record(r, keys)).flat());
      announce(`${list.length} more`);
    } catch (error) {
      if (error.name !== 'AbortError') errors.replaceChildren(errorBox(error));
    }
  }));
  const again = h('button', { type: 'button' }, 'Refresh');
  again.addEventListener('click', () => busy(again, refresh));
  const csv = csvButton('button', 'Download the last 500 requests as CSV', 'requests.csv',
    () => own('GET', 'usage/recent', { signal, query: { limit: 500, format: 'csv' }, text: true }), errors);
  actions.append(csv, again);
  body.append(errors, place, h('div.buttons', null, more));
  return refresh();
}

const columns = [
  { title: 'Time', cell: ({ r }) => h('span.when', { title: time(r.at) }, when(r.at)) },
  { title: 'Asked for', cell: ({ r }) => h('span.strong', null, r.asked_model || '(none)') },
  { title: 'Answered by', cell: ({ r }) => (r.status < 400 ? model(r) : h('span.muted', null, r.model ? `nobody; ${model(r)} was asked` : 'nobody')) },
  { title: 'Status', cell: ({ r }) => [
    badge(r.status < 400 ? 'good' : r.status === 499 ? 'plain' : 'bad', r.status === 499 ? 'left' : String(r.status), r.error ? words(r.error) : null),
    r.attempt_count > 1 && h('span.small.muted', null, ` ${count(r.attempt_count, 'attempt')}`)] },
  { title: 'Tokens', number: true, cell: ({ r }) => h('span', { title: `${number(r.input_tokens)} in, ${number(r.output_tokens)} out` }, `${number(r.input_tokens)} + ${number(r.output_tokens)}`) },
  { title: 'Cost', number: true, cell: ({ r }) => usd(r.cost_usd) },
  { title: 'Latency', number: true, cell: ({ r }) => duration(r.latency_ms) },
  { title: '', class: 'row-actions', cell: ({ toggle }) => toggle },
];

// requestTable is the table around rows that record has made.
export const requestTable = (rows) => tableOf('Requests', columns, rows);

// record is the row of a request, and one below it with what happened.
export function record(r, keys) {
  const id = uid('request');
  const below = h('tr.detail', { role: 'row', id, hidden: true });
  const toggle = h('button.quiet', { type: 'button', 'aria-expanded': 'false', 'aria-controls': id, 'aria-label': `Details of the request of ${time(r.at)}` }, 'Details');
  toggle.addEventListener('click', () => {
    const open = toggle.getAttribute('aria-expanded') !== 'true';
    toggle.setAttribute('aria-expanded', String(open));
    if (!below.childNodes.length) below.append(h('td', { role: 'cell', colspan: columns.length }, details(r, keys)));
    below.hidden = !open;
  });
  return [tableRow(columns, { r, toggle }), below];
}

function details(r, keys) {
  const fact = (name, value) => value != null && value !== '' && h('div', null, h('dt', null, name), h('dd', null, value));
  return [
    h('dl.facts', null,
      fact('Request', code(r.request_id)), fact('Gateway key', keys?.get(r.key_id) ?? r.key_id), fact('Surface', words(r.surface)),
      fact('Tier', r.tier), fact('Stream', r.stream ? 'yes' : 'no'), fact('Error', r.error && code(r.error)),
      fact('Cached tokens', number(r.cached_tokens)), fact('Reasoning tokens', number(r.reasoning_tokens)),
      fact('Provider key', r.provider_key_id === 'operator' ? 'the operator\'s' : r.provider_key_id), fact('Count of tokens', r.usage_source), fact('First token', duration(r.first_token_ms))),
    attempts(r.attempts),
  ];
}

// attempts lists the tries of a request in their order.
export function attempts(list) {
  if (!list.length) return h('p.muted', null, 'No provider was asked.');
  return h('ol.attempts', null, list.map((a) => h('li', null,
    badge(a.code ? 'bad' : 'good', a.status ? String(a.status) : 'no answer'), h('strong', null, model(a)),
    h('span.muted.small', null, duration(a.latency_ms)), a.code && code(a.code), a.message && h('div.small', null, a.message))));
}
