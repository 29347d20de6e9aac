// Inputs in which clients are chosen by name instead of by id.
import { at, call } from './api.js';
import { act, link, learn } from './view.js';
import { h, uid } from './parts/dom.js';

const offered = 20; // the largest number of clients in the list
const pause = 300; // ms after the last keystroke until the search begins

// offer makes an input suggest the clients that match its text. It returns the datalist, which must be added to the
// page.
export function offer(input) {
  const found = h('datalist', { id: uid('clients') });
  input.setAttribute('list', found.id);
  let asked = null;
  let typed = 0;
  const fill = async () => {
    const q = input.value.trim();
    if (q === asked || [...found.children].some((o) => o.value === q)) return; // nothing new was typed, or a suggestion was chosen
    asked = q;
    try {
      const { clients } = await call('GET', 'clients', { query: { q, limit: offered } });
      if (asked !== q) return;
      learn({ clients: Object.fromEntries(clients.map((c) => [c.id, c.name])) });
      found.replaceChildren(...clients.map((c) => h('option', { value: c.id }, c.name || c.id)));
    } catch {
      asked = null; // without suggestions, ids can still be typed
    }
  };
  input.addEventListener('focus', fill);
  input.addEventListener('input', () => {
    clearTimeout(typed);
    typed = setTimeout(fill, pause);
  });
  return found;
}

// clientOf returns the id of the client with the id or name text. A URL is accepted even if no client has it, because it
// may be the metadata URL of a client that has not been used yet. complain makes the error.
export async function clientOf(text, complain = (message) => new Error(message)) {
  const { clients } = await call('GET', 'clients', { query: { q: text, limit: 100 } });
  const exact = clients.find((c) => c.id === text);
  if (exact) return exact.id;
  const named = clients.filter((c) => (c.name ?? '').toLowerCase() === text.toLowerCase());
  if (named.length === 1) return named[0].id;
  if (!named.length && text.startsWith('https://')) return text;
  throw complain(named.length ? 'Several clients have this name. Choose one from the list.' : 'There is no such client.');
}

// picker returns an input that adds clients to a list, the elements beside it that must be added to the page, and read,
// which returns the ids in the list.
export function picker(chosen, complain) {
  const ids = [...chosen];
  const list = h('ul.entries');
  const input = h('input', { type: 'search', autocomplete: 'off', spellcheck: 'false' });
  const show = () => list.replaceChildren(...ids.map((id) => h('li', null, link('clients', id), act('Remove', () => {
    ids.splice(ids.indexOf(id), 1);
    show();
    input.focus();
  }, 'button.plain.danger'))));
  const add = async () => {
    const text = input.value.trim();
    if (!text) return;
    const id = await clientOf(text, complain);
    if (!ids.includes(id)) ids.push(id);
    input.value = '';
    show();
  };
  const options = offer(input);
  const chose = () => [...options.children].some((o) => o.value === input.value);
  input.addEventListener('input', () => chose() && add().catch(() => {}));
  input.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !input.value.trim()) return;
    event.preventDefault();
    add().catch((error) => input.parentElement.complain?.(error.message));
  });
  show();
  for (const id of ids) { // load the names that are not known yet
    if (link('clients', id).textContent !== id) continue;
    call('GET', at('clients', id)).then((c) => {
      learn({ clients: { [id]: c.name } });
      show();
    }).catch(() => {}); // a deleted client has no name
  }
  return Object.assign(input, {
    beside: [options, list],
    read: async () => {
      await add();
      return ids;
    },
  });
}
