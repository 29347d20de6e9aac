// The frame of the page: the key, and which of its parts is shown: questions, or what is held.
import { companyPage, companiesPage } from './companies.js';
import { door, quota } from './api.js';
import { asking } from './ask.js';
import { bar, entitle, h, notice } from './parts/dom.js';
import { field, form, mistake } from './parts/form.js';
import { number, time } from './parts/look.js';

const app = document.getElementById('app');
const unlimited = Number.MAX_SAFE_INTEGER; // the API's way to say that there is no limit

// knock asks for the key.
function knock(text) {
  leave();
  bar();
  const key = h('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', required: true });
  app.replaceChildren(h('main.card', { id: 'main', tabindex: '-1' },
    h('h1', null, 'Ask your documents'), text && notice('warn', h('p', { role: 'alert' }, text)),
    form(
      [field('API key', key, { name: 'key', wide: true, hint: 'Create one on the server with: tollgate answer key create.' })],
      [h('button', { type: 'submit' }, 'Continue')],
      async () => {
        const value = key.value.trim();
        if (!/^[\x21-\x7e]+$/.test(value)) throw mistake('key', 'Paste the whole key, and nothing else.');
        door.keep(value);
        await quota().catch((error) => {
          if (error.status === 403) return; // it is for questions alone
          door.forget();
          throw error.status === 401 ? mistake('key', 'There is no such key.') : error;
        });
        enter();
      },
    ),
    h('p.small.muted', null, 'The key is kept only in this browser tab, until you close it.')));
  key.focus();
}

let running = null; // ends what the shown part has running

function leave() {
  running?.abort();
  removeEventListener('hashchange', show);
}

let questions = null; // the part of questions, which keeps its answers while another part is shown
const left = h('span.quota');
const links = [['', 'Questions'], ['companies', 'Companies']].map(([path, title]) => h('a', { href: `#/${path}`, 'data-path': path }, title));

// enter shows what a key opens.
function enter() {
  questions = asking({ count, lost: () => { door.forget(); knock('The key is not valid any more.'); } });
  bar(
    h('nav.parts', { 'aria-label': 'Parts' }, links),
    h('div.account', null, left, h('button.plain', { type: 'button', onclick: () => { questions.stop(); door.forget(); knock(); } }, 'Forget the key')),
  );
  addEventListener('hashchange', show);
  count();
  show();
}

// show brings up the part that the location names.
function show() {
  running?.abort();
  running = new AbortController();
  const [path, id] = location.hash.replace(/^#\/?/, '').split('/');
  for (const link of links) {
    if (link.dataset.path === path) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  if (path === 'companies') {
    entitle('Companies');
    app.replaceChildren(id ? companyPage(id, running.signal) : companiesPage(running.signal));
    return;
  }
  entitle('Questions');
  app.replaceChildren(questions.main);
  questions.focus();
}

// count tells how many answers the account has had.
async function count() {
  try {
    const q = await quota();
    left.textContent = q.totalLimit >= unlimited ? `${number(q.used)} answers, no limit` : `${number(q.used)} of ${number(q.totalLimit)} answers`;
    left.title = `Until ${time(q.end)}`;
  } catch {
    left.textContent = '';
  }
}

if (door.key) enter();
else knock();
