// The frame of the dashboard and the way between its pages.
import { ask, events, hasToken, setToken } from './api.js';
import { announce, h, logo } from './parts/dom.js';
import { field, form, mistake } from './parts/form.js';
import * as node from './pages/node.js';
import * as nodes from './pages/nodes.js';
import * as overview from './pages/overview.js';
import * as query from './pages/query.js';
import * as report from './pages/report.js';

const pages = { '': overview, nodes, node, report, query };
const listed = [['', overview], ['nodes', nodes], ['query', query]];
// Pages that are reached through another one.
const parents = { node: 'nodes', report: 'nodes' };

const app = document.getElementById('app');
let leave = null;

const brand = () => h('a.brand', { href: '#/' }, logo(), 'Run events');

function frame() {
  const main = h('main', { id: 'main', tabindex: '-1' });
  app.replaceChildren(
    h('a.skip', { href: '#main', onclick(event) { event.preventDefault(); main.focus(); } }, 'Skip to the content'),
    h('header', null, brand(),
      h('nav', { 'aria-label': 'Dashboard' }, h('ul', null, listed.map(([path, page]) => h('li', null, h('a', { href: `#/${path}`, 'data-path': path }, page.title))))),
      hasToken() && h('button.quiet', { type: 'button', onclick: signOut }, 'Forget the token')),
    main);
}

// door asks for a token.
function door(text) {
  leave?.abort();
  document.title = 'Run events';
  const input = h('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', required: true });
  const hint = 'Of a user that the option "read" names. It stays in this browser tab and ends with it.';
  app.replaceChildren(h('main.door', { id: 'main', tabindex: '-1' }, brand(), h('h1', null, 'Who are you?'),
    h('p', { role: 'alert' }, 'The service answered: ', text),
    form([field('Bearer token', input, { name: 'token', hint, wide: true })], [h('button.primary', { type: 'submit' }, 'Use the token')], async () => {
      const token = input.value.trim().replace(/^Bearer\s+/i, '');
      if (!/^[\x21-\x7e]+$/.test(token)) throw mistake('token', 'Paste a token: it has no spaces or special characters.');
      setToken(token);
      try {
        await ask('query/v4/nodes', { limit: 1 }, { door: true });
      } catch (error) {
        setToken('');
        input.focus();
        throw error;
      }
      start();
    })));
  input.focus();
}

function signOut() {
  setToken('');
  announce('The token is forgotten');
  history.replaceState(null, '', '#/');
  start();
}

function start() {
  frame();
  navigate();
}

function navigate() {
  const main = document.getElementById('main');
  if (!app.querySelector('nav')) return;
  const [path, search] = location.hash.replace(/^#\/?/, '').split('?');
  const [name, ...rest] = path.split('/');
  const page = Object.hasOwn(pages, name) ? pages[name] : overview;
  leave?.abort();
  leave = new AbortController();
  for (const link of app.querySelectorAll('nav a')) {
    if (link.dataset.path === (parents[name] ?? name)) link.setAttribute('aria-current', name in parents ? 'true' : 'page');
    else link.removeAttribute('aria-current');
  }
  const heading = h('h1', { tabindex: '-1' }, page.title);
  const about = h('div.about', null, page.about);
  const body = h('div.page');
  const entitle = (text) => {
    heading.textContent = text;
    document.title = `${text} – Run events`;
  };
  entitle(page.title);
  main.replaceChildren(h('div.head', null, heading, about), body);
  page.show({ body, about, entitle, signal: leave.signal, subject: decode(rest.join('/')), parameters: new URLSearchParams(search) });
  scrollTo(0, 0);
  heading.focus({ preventScroll: true });
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

events.denied = door;
addEventListener('hashchange', navigate);
start();
