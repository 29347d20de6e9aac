// The frame of the page: it asks for the API key, and shows the questions or the companies.
import { companyPage, companiesPage } from './companies.js';
import { apiKey, quota } from './api.js';
import { asking } from './ask.js';
import { bar, entitle, h, notice } from './parts/dom.js';
import { field, form, mistake } from './parts/form.js';
import { number, time } from './parts/look.js';

const app = document.getElementById('app');
const unlimited = Number.MAX_SAFE_INTEGER; // in the API it means that there is no limit

// askForKey shows the form for the API key. text says why a user sees it again.
function askForKey(text) {
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
        apiKey.keep(value);
        await quota().catch((error) => {
          if (error.status === 403) return; // the key is valid, but only allows questions
          apiKey.forget();
          throw error.status === 401 ? mistake('key', 'There is no such key.') : error;
        });
        enter();
      },
    ),
    h('p.small.muted', null, 'The key is kept only in this browser tab, until you close it.')));
  key.focus();
}

let running = null; // the AbortController of the part that is shown

function leave() {
  running?.abort();
  removeEventListener('hashchange', show);
}

let questions = null; // the part with the questions, which is kept while another part is shown
const left = h('span.quota');
const links = [['', 'Questions'], ['companies', 'Companies']].map(([path, title]) => h('a', { href: `#/${path}`, 'data-path': path }, title));

// enter shows the page for the current key.
function enter() {
  questions = asking({ count, lost: () => { apiKey.forget(); askForKey('The key is not valid any more.'); } });
  bar(
    h('nav.parts', { 'aria-label': 'Parts' }, links),
    h('div.account', null, left, h('button.plain', { type: 'button', onclick: () => { questions.stop(); apiKey.forget(); askForKey(); } }, 'Forget the key')),
  );
  addEventListener('hashchange', show);
  count();
  show();
}

// show shows the part that the location names.
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

// count updates the number of answers that the account has used.
async function count() {
  try {
    const q = await quota();
    left.textContent = q.totalLimit >= unlimited ? `${number(q.used)} answers, no limit` : `${number(q.used)} of ${number(q.totalLimit)} answers`;
    left.title = `Until ${time(q.end)}`;
  } catch {
    left.textContent = '';
  }
}

if (apiKey.value) enter();
else askForKey();
