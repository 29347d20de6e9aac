// The frame of the dashboard and the navigation between its pages.
import { environment, here, link, note } from './address.js';
import { ask, events, rows, token } from './api.js';
import { bar, entitle, h, toast } from './parts/dom.js';
import { field, form, mistake, select } from './parts/form.js';
import { forget, refreshControl } from './refresh.js';
import { loadSettings } from './settings.js';
import * as node from './pages/node.js';
import * as nodes from './pages/nodes.js';
import * as overview from './pages/overview.js';
import * as query from './pages/query.js';
import * as report from './pages/report.js';
import * as reports from './pages/reports.js';

const pages = { '': overview, nodes, node, reports, report, query };
const listed = [['', overview], ['nodes', nodes], ['reports', reports], ['query', query]];
// Pages that belong to another one in the navigation.
const parents = { node: 'nodes', report: 'reports' };
// Pages that do not depend on the chosen environment.
const single = ['node', 'report', 'query'];

const app = document.getElementById('app');
let leave = null;

const navigation = () => document.querySelector('nav[aria-label=Dashboard]');

function frame() {
  const main = h('main.wrap', { id: 'main', tabindex: '-1' });
  const choice = h('div.environment', { hidden: true });
  bar(
    h('nav', { 'aria-label': 'Dashboard' }, h('ul', null, listed.map(([path, page]) => h('li', null, h('a', { href: link(path), 'data-path': path }, page.title))))),
    h('div.account', null, choice, token.value && h('button.plain', { type: 'button', onclick: signOut }, 'Sign out')));
  app.replaceChildren(main);
  fillEnvironments(choice).catch(() => {}); // the pages show errors
}

// fillEnvironments shows the selection of the environment if there are several.
async function fillEnvironments(place) {
  const names = (await rows('query/v4/environments', { order_by: [{ field: 'name' }] })).map((e) => e.name);
  if (environment() && !names.includes(environment())) names.push(environment());
  if (names.length < 2) return;
  const list = select([['', 'All environments'], ...names.map((name) => [name, name])], environment(), { 'aria-label': 'Environment' });
  list.addEventListener('change', () => {
    note({ env: list.value });
    navigate();
    list.focus();
  });
  place.replaceChildren(list);
  showEnvironment();
}

function showEnvironment() {
  const place = document.querySelector('.environment');
  const list = place?.querySelector('select');
  if (!list) return;
  place.hidden = single.includes(here().name);
  list.value = environment();
}

// signIn shows the form for the token. text is the message of the refusal.
function signIn(text) {
  leave?.abort();
  forget();
  entitle('Sign in');
  bar();
  const input = h('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', required: true });
  const hint = 'The token of a user that the option "read" names. It is kept only in this browser tab, until you close it.';
  app.replaceChildren(h('main.card', { id: 'main', tabindex: '-1' }, h('h1', null, 'Sign in'),
    h('p', { role: 'alert' }, 'The service responded: ', text),
    form([field('Bearer token', input, { name: 'token', hint, wide: true })], [h('button', { type: 'submit' }, 'Use the token')], async () => {
      const value = input.value.trim().replace(/^Bearer\s+/i, '');
      if (!/^[\x21-\x7e]+$/.test(value)) throw mistake('token', 'Paste a token: it has no spaces or special characters.');
      token.keep(value);
      try {
        await ask('query/v4/nodes', { limit: 1 }, { signingIn: true });
      } catch (error) {
        token.forget();
        input.focus();
        throw error;
      }
      start();
    })));
  input.focus();
}

function signOut() {
  token.forget();
  toast('The token is forgotten');
  history.replaceState(null, '', '#/');
  start();
}

function start() {
  frame();
  navigate();
}

function navigate() {
  const main = document.getElementById('main');
  if (!navigation()) return;
  const { name, subject, parameters } = here();
  const page = Object.hasOwn(pages, name) ? pages[name] : overview;
  leave?.abort();
  leave = new AbortController();
  forget();
  for (const anchor of navigation().querySelectorAll('a')) {
    const { path } = anchor.dataset;
    anchor.setAttribute('href', link(path));
    if (path === (parents[name] ?? name)) anchor.setAttribute('aria-current', name in parents ? 'true' : 'page');
    else anchor.removeAttribute('aria-current');
  }
  document.querySelector('.brand').setAttribute('href', link(''));
  showEnvironment();
  const heading = h('h1', { tabindex: '-1' }, page.title);
  const about = h('div.lead', null, page.about);
  const body = h('div.page');
  const call = (text) => {
    heading.textContent = text;
    entitle(text);
  };
  call(page.title);
  main.replaceChildren(h('div.head', null, h('div', null, heading, about), refreshControl()), body);
  page.show({ body, about, entitle: call, signal: leave.signal, subject, parameters });
  scrollTo(0, 0);
  heading.focus({ preventScroll: true });
}

events.denied = signIn;
addEventListener('hashchange', navigate);
await loadSettings();
start();
