// Clients are chosen by their names, not by typed ids.
import { at, call } from './api.js';
import { act, link, learn } from './view.js';
import { h, uid } from './parts/dom.js';

const offered = 20; // clients at a time
const pause = 300; // ms without a key until what was typed is looked for

// offer lets an input offer the clients that match what is typed in it. It returns the list, which has to be in the
// page beside the input.
export function offer(input) {
  const found = h('datalist', { id: uid('clients') });
  input.setAttribute('list', found.id);
  let asked = null;
  let typed = 0;
  const fill = async () => {
    const q = input.value.trim();
    if (q === asked || [...found.children].some((o) => o.value === q)) return; // one of them was chosen
    asked = q;
    try {
      const { clients } = await call('GET', 'clients', { query: { q, limit: offered } });
      if (asked !== q) return;
      learn({ clients: Object.fromEntries(clients.map((c) => [c.id, c.name])) });
      found.replaceChildren(...clients.map((c) => h('option', { value: c.id }, c.name || c.id)));
    } catch {
      asked = null; // ids can be typed still
    }
  };
  input.addEventListener('focus', fill);
  input.addEventListener('input', () => {
    clearTimeout(typed);
    typed = setTimeout(fill, pause);
  });
  return found;
}

// clientOf is the id of the client that a text is the id or the name of. A URL may be the id of a client that has not
// been here yet. complain makes the error.
export async function clientOf(text, complain = (message) => new Error(message)) {
  const { clients } = await call('GET', 'clients', { query: { q: text, limit: 100 } });
  const exact = clients.find((c) => c.id === text);
  if (exact) return exact.id;
  const named = clients.filter((c) => (c.name ?? '').toLowerCase() === text.toLowerCase());
  if (named.length === 1) return named[0].id;
  if (!named.length && text.startsWith('https://')) return text;
  throw complain(named.length ? 'Several clients have this name. Choose one from the list.' : 'There is no such client.');
}

// picker is an input that adds clients to a list. beside is what has to be in the page beside it, and read returns the
// ids of the list.
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
  for (const id of ids) { // names of those that are not known by now
    if (link('clients', id).textContent !== id) continue;
    call('GET', at('clients', id)).then((c) => {
      learn({ clients: { [id]: c.name } });
      show();
    }).catch(() => {}); // it may be gone
  }
  return Object.assign(input, {
    beside: [options, list],
    read: async () => {
      await add();
      return ids;
    },
  });
}
