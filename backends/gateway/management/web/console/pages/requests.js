import { own } from '../api.js';
import { csvButton } from '../csv.js';
import { model, moment, usd, words } from '../format.js';
import { announce, tag, busy, code, errorBox, h, load, tableOf, tableRow, uid } from '../parts/dom.js';
import { field, form, select } from '../parts/form.js';
import { count, duration, number } from '../parts/look.js';

export const title = 'Requests';
export const about = 'The latest first. Open one to see every attempt.';

const pageSize = 25;
// With a filter, larger pages are loaded, and each press of the button loads several.
const filteredSize = 100;
const mostLooked = 1000;

const outcome = (r) => (r.status === 499 ? 'left' : r.status < 400 ? 'good' : 'bad');

export function show({ body, actions, signal }) {
  const place = h('div');
  const errors = h('div');
  const more = h('button.quiet', { type: 'button' }, 'Show more');
  const looked = h('p.muted.small', { role: 'status' });
  let keys = new Map();
  let cursor = null;
  let seen = 0; // the number of requests that were searched
  let rows = null; // the tbody of the table

  const status = select([['', 'Any'], ['good', 'Succeeded'], ['bad', 'Failed'], ['left', 'Cancelled by the client']], '');
  const name = h('input', { type: 'search', autocomplete: 'off', spellcheck: 'false', maxlength: 200 });
  const key = select([['', 'Any']], '');
  const text = h('input', { type: 'search', autocomplete: 'off', spellcheck: 'false', maxlength: 200 });
  const filtered = () => [status, name, key, text].some((input) => input.value.trim());
  const within = (input, ...texts) => texts.some((one) => String(one ?? '').toLowerCase().includes(input.value.trim().toLowerCase()));
  const fits = (r) => (!status.value || outcome(r) === status.value) && (!key.value || r.key_id === key.value)
    && within(name, r.asked_model, model(r)) && within(text, r.request_id, r.error, r.status);

  const page = async () => {
    const found = [];
    const from = seen;
    const limit = filtered() ? filteredSize : pageSize;
    do {
      const answer = await own('GET', 'usage/recent', { signal, query: { limit, cursor } });
      cursor = answer.next_cursor;
      seen += answer.requests.length;
      found.push(...answer.requests.filter(fits));
    } while (cursor && found.length < pageSize && seen - from < mostLooked);
    more.hidden = !cursor;
    more.textContent = filtered() ? 'Search further' : 'Show more';
    looked.textContent = filtered() ? `${count(seen, 'request')} searched${cursor ? '; there are more' : ': all that are kept'}.` : '';
    return found;
  };
  const refresh = () => load(place, async () => {
    cursor = null;
    seen = 0;
    const [list, known] = await Promise.all([page(), own('GET', 'keychain-keys', { signal })]);
    keys = new Map(known.keys.map((k) => [k.id, k.label || k.masked]));
    const chosen = key.value;
    key.replaceChildren(...[['', 'Any'], ...keys].map(([value, label]) => h('option', { value, selected: value === chosen }, label)));
    if (!list.length && filtered()) return h('p.empty', null, 'No request matches this filter.');
    if (!list.length) return h('p.empty', null, 'No requests yet. ', h('a', { href: '#/playground' }, 'Send one from the playground'), '.');
    const all = requestTable(list.map((r) => record(r, keys)));
    [rows] = all.tBodies;
    return h('div.panel.flush', null, all);
  });
  more.hidden = true;
  more.addEventListener('click', () => busy(more, async () => {
    errors.replaceChildren();
    try {
      const list = await page();
      const lines = list.map((r) => record(r, keys)).flat();
      if (place.contains(rows)) {
        rows.append(...lines);
      } else if (lines.length) {
        const all = requestTable(lines);
        [rows] = all.tBodies;
        place.replaceChildren(h('div.panel.flush', null, all));
      }
      announce(`${list.length} more`);
    } catch (error) {
      if (error.name !== 'AbortError') errors.replaceChildren(errorBox(error));
    }
  }));
  const again = h('button.quiet', { type: 'button' }, 'Refresh');
  again.addEventListener('click', () => busy(again, refresh));
  const csv = csvButton('button', 'Download the last 500 requests as CSV', 'requests.csv',
    () => own('GET', 'usage/recent', { signal, query: { limit: 500, format: 'csv' }, text: true }), errors);
  actions.append(csv, again);
  const filters = h('div.filter', null, form([
    field('Status', status), field('Model', name, { hint: 'The requested model, or the one that answered.' }), field('Gateway key', key), field('Text', text, { hint: 'Part of the id or of the error, or a status.' }),
  ], [h('button', { type: 'submit' }, 'Show')], refresh));
  for (const input of [status, key]) input.addEventListener('change', () => filters.querySelector('form').requestSubmit());
  body.append(filters, errors, place, h('div.do', null, more, looked));
  return refresh();
}

const columns = [
  { title: 'Time', cell: ({ r }) => h('span.when', { title: r.at }, moment(r.at)) },
  { title: 'Requested', cell: ({ r }) => h('span.strong', null, r.asked_model || '(none)') },
  { title: 'Answered by', cell: ({ r }) => (r.status < 400 ? model(r) : h('span.muted', null, r.model ? `nobody; ${model(r)} was tried` : 'nobody')) },
  { title: 'Status', cell: ({ r }) => [
    tag(r.status < 400 ? 'good' : r.status === 499 ? 'plain' : 'bad', r.status === 499 ? 'left' : String(r.status), r.error ? words(r.error) : null),
    r.attempt_count > 1 && h('span.small.muted', null, ` ${count(r.attempt_count, 'attempt')}`)] },
  { title: 'Tokens', number: true, cell: ({ r }) => h('span', { title: `${number(r.input_tokens)} in, ${number(r.output_tokens)} out` }, `${number(r.input_tokens)} + ${number(r.output_tokens)}`) },
  { title: 'Cost', number: true, cell: ({ r }) => usd(r.cost_usd) },
  { title: 'Latency', number: true, cell: ({ r }) => duration(r.latency_ms) },
  { title: '', class: 'row-actions', cell: ({ toggle }) => toggle },
];

// requestTable returns a table of rows made by record.
export const requestTable = (rows) => tableOf('Requests', columns, rows);

// record returns the row of a request, and a second one with its details.
export function record(r, keys) {
  const id = uid('request');
  const below = h('tr.detail', { role: 'row', id, hidden: true });
  const toggle = h('button.plain', { type: 'button', 'aria-expanded': 'false', 'aria-controls': id, 'aria-label': `Details of the request of ${moment(r.at)}` }, 'Details');
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
      fact('Requested tier', r.tier), fact('Stream', r.stream ? 'yes' : 'no'), fact('Error', r.error && code(r.error)),
      fact('Cached tokens', number(r.cached_tokens)), fact('Reasoning tokens', number(r.reasoning_tokens)),
      fact('Provider key', r.provider_key_id === 'operator' ? 'the operator\'s' : r.provider_key_id), fact('Token counting', r.usage_source), fact('First token', duration(r.first_token_ms)),
      fact('Served as', r.served_as.join(', ')),
      fact('Tools of the provider', Object.entries(r.server_tools).map(([tool, calls]) => `${tool}: ${number(calls)}`).join(', '))),
    attempts(r.attempts),
    (r.error === 'all_providers_failed' || r.attempts.some((a) => a.code)) && cooling(r),
  ];
}

// attempts returns a list of the attempts of a request in their order.
export function attempts(list) {
  if (!list.length) return h('p.muted', null, 'No provider was tried.');
  return h('ol.attempts', null, list.map((a) => h('li', null,
    tag(a.code ? 'bad' : 'good', a.status ? String(a.status) : 'no answer'), h('strong', null, model(a)),
    h('span.muted.small', null, duration(a.latency_ms)), a.code && code(a.code), a.message && h('div.small', null, a.message))));
}

// cooling returns a list of the models and keys that are cooling down, of the providers
// that failed a request, or of all providers if the request had no attempts.
function cooling(r) {
  const place = h('div.why');
  const failed = r.attempts.filter((a) => a.code);
  const of = (p) => !failed.length || failed.some((a) => a.provider === p.provider && (a.provider !== 'custom' || a.model === p.name));
  const ofModel = (p, m) => !failed.length || p.provider === 'custom' || failed.some((a) => a.provider === p.provider && a.model === m.model);
  const line = (what, c) => c.cooldown_seconds > 0 && h('li', null, h('strong', null, what), tag('warn', `cooling down until ${moment(Date.now() + c.cooldown_seconds * 1000)}`),
    c.reason && h('span.muted.small', null, words(c.reason)));
  own('GET', 'providers/health').then(({ providers }) => {
    const lines = providers.filter(of).flatMap((p) => [
      line(p.name, p),
      ...(p.cooldown_seconds > 0 ? [] : p.keys.map((k) => line(`${p.name}, ${k.key_label || k.masked}`, k))),
      ...p.keys.flatMap((k) => k.cooling_models.filter((m) => ofModel(p, m)).map((m) => line(`${p.name}, ${m.model}`, m))),
    ]).filter(Boolean);
    if (lines.length) place.append(h('h3', null, 'Now'), h('ul', null, lines));
  }).catch(() => {}); // this list only supplements the attempts
  return place;
}
