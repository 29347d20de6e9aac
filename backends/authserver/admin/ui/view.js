// What the pages share: paged lists, facts, acts that ask first.
import { act as actButton, h, load, notice, table, toast, uid } from './parts/dom.js';
import { confirm } from './parts/dialog.js';
import { field, select } from './parts/form.js';
import { ago, day, exact, number, zone } from './parts/look.js';

const size = 50; // rows a page
const pause = 300; // ms without a key until what was typed is looked for

// What is called by an id, as answers with names=true tell.
const names = new Map();

export function learn(told) {
  for (const [page, known] of Object.entries(told ?? {})) {
    for (const [id, name] of Object.entries(known)) if (name) names.set(`${page}/${id}`, name);
  }
}

// order is a filter of lists that go by time.
export const order = { name: 'order', label: 'Order', options: [['newest', 'Newest first'], ['oldest', 'Oldest first']] };

// list is a paged list of the API. fetch gets the query and a signal and returns the
// answer; rows is the name of its member. filters are [{name, label, options, hint}]:
// without options a text, which is looked for as it is typed. given are values of
// filters. empty is said where there is nothing at all, missing where nothing is found. It
// has show() to load anew. What is looked for and the page stay with the entry
// of the browser's history: who comes back finds the list as it was.
export function list({ caption, columns, fetch, rows, empty, missing = empty, filters = [], given = {}, signal, note }) {
  const place = h('div');
  const pager = h('div.pager');
  const entry = `${location.hash} ${caption}`; // an answer that comes late is not kept for the page that follows
  const kept = history.state?.[entry];
  const values = { ...given, ...kept?.values }; // as they are typed
  let pages = kept?.pages ?? [{}]; // where the pages up to the present one begin
  let total = kept?.total ?? null; // rows of all pages, as the first one told
  let fixed = kept?.fixed ?? {}; // what keeps the pages of one feed together
  const query = () => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, filters.find((f) => f.name === name)?.read?.(value) ?? value]));
  let running = Promise.resolve();
  let stop = new AbortController();
  const show = () => {
    stop.abort(); // what is asked for is asked for no more
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

// facts are [label, what] pairs; what is empty is left out. A third value of true has the
// whole width.
export function facts(pairs) {
  return h('dl.facts.wide', null, pairs.filter(([, what]) => what != null && what !== '' && what !== false && !(Array.isArray(what) && !what.length)).map(([label, what, whole]) => h(whole ? 'div.whole' : 'div', null, h('dt', null, label), h('dd', null, what))));
}

// card is a part of a page with a heading and what can be done there.
export function card(title, content, ...buttons) {
  const id = uid('card');
  return h('section.panel', { 'aria-labelledby': id }, h('div.head', null, h('h2', { id }, title), buttons.length > 0 && h('div.do.push', null, buttons)), content);
}

// act returns a button that runs work when it is pressed, and shows its error.
export const act = (label, work, kind = 'button.quiet') => actButton(kind, label, work);

// ask is a button that asks before it does what cannot be undone.
export function ask(label, title, text, work, kind = 'button.danger') {
  return h(kind, { type: 'button', onclick: () => confirm(title, text, label, work) }, label);
}

// done tells what was done and shows the page as it is now.
export async function done(text, again) {
  toast(text);
  await again();
}

// pages are those of what a notice may be about, by its path in the API.
const pages = { 'broker-providers': ['providers', 'Open the provider', 'All providers'], clients: ['clients', 'Open the client', 'All clients'] };

// notices are what an operator should know, each with a way to what it is about.
export const notices = (told) => told.map(({ message, about = '' }) => {
  const [path, id] = about.split('/');
  const [page, one, all] = pages[path] ?? [];
  return notice('warn', h('p', null, message, page && [' ', id ? link(page, id, one) : h('a', { href: `#/${page}` }, all)]));
});

const month = 30 * 24 * 3600 * 1000; // ms
const near = (text) => Math.abs(new Date(text) - Date.now()) < month;

// moment is a time: how long ago it was, or when where that says more.
export const moment = (text) => (text ? h('span', { title: exact(text) }, near(text) ? ago(text) : day(text)) : null);

// stamp is a time where it matters most: exactly, and how long ago it was where that says more.
export const stamp = (text) => (text ? [near(text) && h('div', null, ago(text)), h(near(text) ? 'div.small.muted' : 'div', null, exact(text))] : null);

// link leads to a page of something, by its name where that is known.
export const link = (page, id, text = names.get(`${page}/${id}`) ?? id) => (id ? h('a', { href: `#/${page}/${encodeURIComponent(id)}`, title: text === id ? null : id }, text) : null);

// links are those of ids with blanks between.
export const links = (page, ids) => (ids ? ids.split(' ').map((id, i) => [i > 0 && ' ', link(page, id)]) : null);

// parts are the names of what the server consists of.
const parts = { db: 'Database', keys: 'Signing keys' };

// status is what the server says of itself.
export const status = (s, state) => facts([['Version', s.version], ['Started', moment(s.started_at)], ...Object.entries(s.subsystems).map(([name, is]) => [parts[name] ?? name, state(is)])]);

// more leads from one of a kind to its tokens that have ended, too, and to the audit, which
// calls it by acts.
export const more = (kind, id, text, acts = kind) => h('p.do', null,
  h('a', { href: `#/tokens?${kind}=${encodeURIComponent(id)}` }, 'All tokens, also expired ones'),
  h('a', { href: `#/audit?${acts}=${encodeURIComponent(id)}` }, text));

// lines are a text with one value a line, as a list.
export const lines = (input) => input.value.split('\n').map((line) => line.trim()).filter(Boolean);

// instant is what an input of a day and a time says, as the API takes it.
export const instant = (text) => (text ? new Date(text).toISOString() : '');

// words are a text with values between blanks, as a list.
export const words = (input) => input.value.split(/\s+/).filter(Boolean);

// area is a text of several lines.
export const area = (list, rows = 3) => h('textarea', { rows, spellcheck: 'false', value: (list ?? []).join('\n') });
