// The frame of the console: signing in, the navigation, one page at a time.
import { call, events } from './api.js';
import * as oidc from './oidc.js';
import { announce, code, errorBox, h, logo, notice } from './parts/dom.js';
import { field, form, mistake } from './parts/form.js';
import { claims, clipboard, forget, keep, session } from './session.js';
import * as gatewayKeys from './pages/gateway-keys.js';
import * as models from './pages/models.js';
import { showKey } from './pages/new-key.js';
import * as overview from './pages/overview.js';
import * as playground from './pages/playground.js';
import * as preferences from './pages/preferences.js';
import * as providerKeys from './pages/provider-keys.js';
import * as requests from './pages/requests.js';
import * as route from './pages/route.js';
import * as usage from './pages/usage.js';

const groups = [
  [null, { '': overview, playground }],
  ['Access', { 'gateway-keys': gatewayKeys, 'provider-keys': providerKeys }],
  ['Routing', { models, preferences, route }],
  ['Activity', { usage, requests }],
];
const pages = Object.assign({}, ...groups.map(([, list]) => list));

const app = document.getElementById('app');
let settings = { oidc: null };
let leave = null; // ends what the current page has running

const local = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]|.+\.localhost)$/.test(location.hostname);

const brand = () => h('span.brand', null, logo(), 'Tollgate');

// signIn shows the door. text says why users see it again.
function signIn(text) {
  leave?.abort();
  leave = null;
  document.querySelectorAll('dialog').forEach((d) => d.close());
  document.title = 'Sign in – Tollgate console';
  const errors = h('div', null);
  const parts = [];
  if (settings.oidc) {
    const button = h('button.primary.large', { type: 'button' }, 'Sign in');
    button.addEventListener('click', async () => {
      try {
        await oidc.begin();
      } catch (error) {
        errors.replaceChildren(errorBox(error));
      }
    });
    parts.push(h('p', null, 'You sign in at ', code(new URL(settings.oidc.issuer).host), ' and come back here.'), h('div.buttons', null, button));
  }
  if (!settings.oidc || local) {
    const token = h('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', required: true });
    const fields = [field('User token', token, { name: 'token', wide: true, hint: 'A token of your identity provider, or one made on the server:' })];
    const paste = form(fields, [h(settings.oidc ? 'button' : 'button.primary', { type: 'submit' }, 'Sign in with a token')], async () => {
      const value = token.value.trim().replace(/^Bearer\s+/i, '');
      if (!value) throw mistake('token', 'Paste a token first.');
      if (value.startsWith('ak-')) throw mistake('token', 'This is a gateway key, for requests to models. Here a user token is needed.');
      if (!/^[\x21-\x7e]+$/.test(value)) throw mistake('token', 'A token has no spaces or special characters: copy it whole, and nothing else.');
      keep({ token: value, refresh: null, expires: 0, name: null });
      await enter();
    });
    fields[0].querySelector('.hint').append(h('code.line', null, 'tollgate keychain token local'));
    parts.push(settings.oidc ? h('details', null, h('summary', null, 'Sign in with a token'), paste) : paste);
  }
  app.replaceChildren(h('main.door', { id: 'main', tabindex: '-1' },
    brand(), h('h1', null, 'Console'), text && notice('warn', h('p', { role: 'alert' }, text)), errors, parts,
    h('p.small.muted', null, 'The token stays in this browser tab and ends with it.')));
  app.querySelector('input, button')?.focus();
}

// enter makes the signed-in user known to the gateway and shows the console.
async function enter() {
  const result = await call('POST', 'users/init', { door: true }).catch((error) => {
    if (error.status === 401) {
      forget();
      error.param = 'token';
    }
    throw error;
  });
  keep({ user: result.user_id });
  frame();
  navigate();
  if (result.key) {
    clipboard.gatewayKey = result.key.key;
    showKey('Your first gateway key', result.key.key);
  }
}

function frame() {
  const who = claims(session.token);
  const name = who?.name || who?.email || session.name || session.user;
  const nav = h('nav', { id: 'nav', 'aria-label': 'Console' }, groups.map(([title, list]) => [
    title && h('h2', null, title),
    h('ul', null, Object.entries(list).map(([path, page]) => h('li', null, h('a', { href: `#/${path}`, 'data-path': path }, page.title)))),
  ]), h('ul.last', null, h('li', null, h('a', { href: '../docs' }, 'API reference'))));
  const toggle = h('button.menu', { type: 'button', 'aria-expanded': 'false', 'aria-controls': 'nav' }, 'Menu');
  const open = (on) => {
    toggle.setAttribute('aria-expanded', String(on));
    app.classList.toggle('open', on);
  };
  toggle.addEventListener('click', () => open(toggle.getAttribute('aria-expanded') !== 'true'));
  nav.addEventListener('click', (event) => { if (event.target.closest('a')) open(false); });
  nav.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && toggle.getAttribute('aria-expanded') === 'true') {
      open(false);
      toggle.focus();
    }
  });
  const main = h('main', { id: 'main', tabindex: '-1' });
  app.replaceChildren(
    h('a.skip', { href: '#main', onclick(event) { event.preventDefault(); main.focus(); } }, 'Skip to the content'),
    h('header', null, brand(), toggle, h('span.who', { title: session.user }, name),
      h('button.quiet', { type: 'button', onclick: () => { oidc.end(); forget(); signIn(); announce('You are signed out'); } }, 'Sign out')),
    nav, main,
  );
}

function navigate() {
  if (!session.user) return;
  const [path] = location.hash.replace(/^#\/?/, '').split('?');
  const page = pages[path] ?? overview;
  leave?.abort();
  leave = new AbortController();
  document.querySelectorAll('dialog').forEach((d) => d.close());
  for (const link of app.querySelectorAll('nav a[data-path]')) {
    if (pages[link.dataset.path] === page) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.title = `${page.title} – Tollgate console`;
  const { signal } = leave;
  const main = document.getElementById('main');
  const heading = h('h1', { tabindex: '-1' }, page.title);
  const actions = h('div.actions.buttons');
  const body = h('div.page', null);
  main.replaceChildren(h('div.head', null, h('div', null, heading, page.about && h('p.about', null, page.about)), actions), body);
  page.show({
    body, actions, signal,
    every(ms, work) { // while the page is shown and looked at
      const timer = setInterval(() => { if (!document.hidden) work(); }, ms);
      signal.addEventListener('abort', () => clearInterval(timer));
    },
  });
  scrollTo(0, 0);
  heading.focus({ preventScroll: true });
}

async function start() {
  events.signedOut = (text) => signIn(text);
  addEventListener('hashchange', navigate);
  try {
    settings = await call('GET', 'console/settings.json', { guest: true });
  } catch (error) {
    app.replaceChildren(h('main.door', { id: 'main' }, brand(), errorBox(error, start)));
    return;
  }
  oidc.configure(settings.oidc);
  let known = null;
  try {
    if (oidc.returned()) await oidc.finish();
    if (!session.token) return signIn();
    known = session.user;
    await enter();
  } catch (error) {
    if (session.token && (error.network || error.status === 429 || error.status >= 500)) { // the token may be good
      app.replaceChildren(h('main.door', { id: 'main' }, brand(), errorBox(error, start)));
      return;
    }
    forget();
    signIn(known && error.status === 401 ? `You are signed out: ${error.message}` : error.message);
  }
}

start();
