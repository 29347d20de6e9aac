// Parts that the pages share: paged lists, facts, and buttons.
import { act as actButton, h, load, notice, table, toast, uid } from './parts/dom.js';
import { confirm } from './parts/dialog.js';
import { field, select } from './parts/form.js';
import { ago, day, exact, number, zone } from './parts/look.js';

const size = 50; // rows per page
const pause = 300; // ms after the last keystroke until the search begins

// The display names of clients, users and others by "page/id", from responses to names=true.
const names = new Map();

export function learn(told) {
  for (const [page, known] of Object.entries(told ?? {})) {
    for (const [id, name] of Object.entries(known)) if (name) names.set(`${page}/${id}`, name);
  }
}

// order is a filter for lists that are sorted by time.
export const order = { name: 'order', label: 'Order', options: [['newest', 'Newest first'], ['oldest', 'Oldest first']] };

// list returns a paged list. fetch(query, signal) returns a response of the API, whose
// member rows has the entries. filters are [{name, label, options, hint}]; a filter
// without options is a text, which is searched for while it is typed. given has initial
// values of filters. empty is the text if there are no entries, and missing the text if
// none match. The method show loads the list again. The filters and the page are stored in
// the entry of the browser's history, so that going back restores them.
export function list({ caption, columns, fetch, rows, empty, missing = empty, filters = [], given = {}, signal, note }) {
  const place = h('div');
  const pager = h('div.pager');
  const entry = `${location.hash} ${caption}`; // read now, because a late response may arrive when the next page is shown
  const kept = history.state?.[entry];
  const values = { ...given, ...kept?.values }; // the values of the filters as entered
  let pages = kept?.pages ?? [{}]; // the query parameters of the pages up to the current one
  let total = kept?.total ?? null; // the number of all rows, from the response to the first page
  let fixed = kept?.fixed ?? {}; // parameters from note that all later pages repeat
  const query = () => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, filters.find((f) => f.name === name)?.read?.(value) ?? value]));
  let running = Promise.resolve();
  let stop = new AbortController();
  const show = () => {
    stop.abort(); // cancels the previous request
    const mine = new AbortController();
    stop = mine;
    const before = running;
    running = (async () => {
      await before;
      if (!mine.signal.aborted) await load(place, () => turned(AbortSignal.any([signal, mine.signal])));
    })();
    return running;
  };
  const turned = async (until) => {
    const offset = (pages.length - 1) * size;
    const answer = await fetch({ ...query(), ...(offset ? fixed : { count: 'true' }), limit: size, ...pages.at(-1) }, until);
    fixed = note?.(answer) ?? {};
    learn(answer.names);
    const found = answer[rows];
    if (!offset) total = 'total' in answer ? `${number(answer.total)}${answer.total_capped ? '+' : ''}` : null;
    history.replaceState({ ...history.state, [entry]: { values, pages, total, fixed } }, '');
    const next = answer.has_more && (answer.next ? { cursor: answer.next } : { offset: offset + size });
    pager.replaceChildren(...(offset || next ? [
      h('button.quiet', { type: 'button', 'aria-disabled': !offset && 'true', onclick: () => offset && turn([{}]) }, 'First'),
      h('button.quiet', { type: 'button', 'aria-disabled': !offset && 'true', onclick: () => offset && turn(pages.slice(0, -1)) }, 'Previous'),
      h('button.quiet', { type: 'button', 'aria-disabled': !next && 'true', onclick: () => next && turn([...pages, next]) }, 'Next'),
      h('span.where', { role: 'status' }, found.length ? [`${number(offset + 1)} to ${number(offset + found.length)}`, total && ` of ${total}`] : 'last page'),
    ] : [total && found.length > 1 && h('span.where', { role: 'status' }, `${total} in all`)].filter(Boolean)));
    const asked = filters.some((f) => f.name !== order.name && values[f.name]);
    return table(caption, columns, found, asked ? missing : empty);
  };
  const turn = (to) => {
    pages = to;
    show().then(() => place.scrollIntoView({ block: 'nearest' }));
  };
  const change = (name, value) => {
    if ((values[name] ?? '') === value) return;
    values[name] = value;
    pages = [{}];
    show();
  };
  const inputs = filters.map((f) => {
    const input = f.options ? select(f.options, values[f.name] ?? '') : h('input', { value: values[f.name] ?? '', type: f.type ?? 'search', autocomplete: 'off', spellcheck: 'false' });
    const changed = () => change(f.name, input.value.trim());
    let typed = 0;
    input.addEventListener('change', () => {
      clearTimeout(typed);
      changed();
    });
    if (input.type === 'search') {
      input.addEventListener('input', () => {
        clearTimeout(typed);
        typed = setTimeout(changed, pause);
      });
    }
    return field(f.label, input, { hint: input.type === 'datetime-local' ? [`In the zone ${zone()}.`, f.hint].filter(Boolean).join(' ') : f.hint });
  });
  const head = inputs.length > 0 && h('div.panel.filter', null, h('form', { onsubmit: (event) => event.preventDefault() }, h('div.fields', null, inputs)));
  show();
  return Object.assign(h('div.flow', null, head, h('div.page', null, place), pager), { show });
}

// facts returns a list of [label, content] pairs. Pairs with empty content are left out. A
// third value of true makes an entry as wide as the list.
export function facts(pairs) {
  return h('dl.facts.wide', null, pairs.filter(([, what]) => what != null && what !== '' && what !== false && !(Array.isArray(what) && !what.length)).map(([label, what, whole]) => h(whole ? 'div.whole' : 'div', null, h('dt', null, label), h('dd', null, what))));
}

// card returns a section with a heading and buttons.
export function card(title, content, ...buttons) {
  const id = uid('card');
  return h('section.panel', { 'aria-labelledby': id }, h('div.head', null, h('h2', { id }, title), buttons.length > 0 && h('div.do.push', null, buttons)), content);
}

// act returns a button that runs work when it is pressed, and shows its error.
export const act = (label, work, kind = 'button.quiet') => actButton(kind, label, work);

// ask returns a button that runs work after the user has confirmed it.
export function ask(label, title, text, work, kind = 'button.danger') {
  return h(kind, { type: 'button', onclick: () => confirm(title, text, label, work) }, label);
}

// done shows a message about a finished action and loads the page again.
export async function done(text, again) {
  toast(text);
  await again();
}

// pages maps the API paths in notices to the page, the link to an entry and the link to the list.
const pages = { 'broker-providers': ['providers', 'Open the provider', 'All providers'], clients: ['clients', 'Open the client', 'All clients'] };

// notices returns the notices for operators, each with a link to its subject.
export const notices = (list) => list.map(({ message, about = '' }) => {
  const [path, id] = about.split('/');
  const [page, one, all] = pages[path] ?? [];
  return notice('warn', h('p', null, message, page && [' ', id ? link(page, id, one) : h('a', { href: `#/${page}` }, all)]));
});

const month = 30 * 24 * 3600 * 1000; // ms
const near = (text) => Math.abs(new Date(text) - Date.now()) < month;

// moment formats a time: how long ago it was, or the day if it is more than a month ago.
export const moment = (text) => (text ? h('span', { title: exact(text) }, near(text) ? ago(text) : day(text)) : null);

// stamp formats a time exactly, and adds how long ago it was if that is less than a month.
export const stamp = (text) => (text ? [near(text) && h('div', null, ago(text)), h(near(text) ? 'div.small.muted' : 'div', null, exact(text))] : null);

// link returns a link to the page of an entry. Its text is the entry's name if that is known.
export const link = (page, id, text = names.get(`${page}/${id}`) ?? id) => (id ? h('a', { href: `#/${page}/${encodeURIComponent(id)}`, title: text === id ? null : id }, text) : null);

// links returns the links for ids that are separated by spaces.
export const links = (page, ids) => (ids ? ids.split(' ').map((id, i) => [i > 0 && ' ', link(page, id)]) : null);

// parts has the names of the subsystems.
const parts = { db: 'Database', keys: 'Signing keys' };

// status returns the facts about the server.
export const status = (s, state) => facts([['Version', s.version], ['Started', moment(s.started_at)], ...Object.entries(s.subsystems).map(([name, is]) => [parts[name] ?? name, state(is)])]);

// more returns links from an entry to all its tokens and to its events in the audit log.
// acts is the name of the entry's kind there.
export const more = (kind, id, text, acts = kind) => h('p.do', null,
  h('a', { href: `#/tokens?${kind}=${encodeURIComponent(id)}` }, 'All tokens, also expired ones'),
  h('a', { href: `#/audit?${acts}=${encodeURIComponent(id)}` }, text));

// lines returns the values of an input with one value per line.
export const lines = (input) => input.value.split('\n').map((line) => line.trim()).filter(Boolean);

// instant returns the value of a datetime-local input in the format of the API.
export const instant = (text) => (text ? new Date(text).toISOString() : '');

// words returns the values of an input with values separated by spaces.
export const words = (input) => input.value.split(/\s+/).filter(Boolean);

// area returns a textarea with one value per line.
export const area = (list, rows = 3) => h('textarea', { rows, spellcheck: 'false', value: (list ?? []).join('\n') });
