// The frame of the console: signing in, the navigation, one page at a time.
import { call, events } from './api.js';
import * as oidc from './oidc.js';
import { announce, code, entitle, errorBox, h, notice } from './parts/dom.js';
import { field, form, mistake } from './parts/form.js';
import { frame } from './parts/frame.js';
import { claims, clipboard, forget, keep, rememberInvitation, session, takeInvitation } from './session.js';
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
import { administered, operates, oversees, self } from './operator/view.js';

const groups = [
  [null, { '': overview, playground }],
  ['Access', { 'gateway-keys': gatewayKeys, 'provider-keys': providerKeys }],
  ['Routing', { models, preferences, route }],
  ['Activity', { usage, requests }],
];

const app = document.getElementById('app');
let settings = { oidc: null };
let leave = () => {}; // removes the navigation and the current page

const local = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]|.+\.localhost)$/.test(location.hostname);

// signIn shows the page for signing in. text says why a signed-in user sees it again.
function signIn(text) {
  leave();
  leave = () => {};
  entitle('Sign in');
  const errors = h('div', null);
  const parts = [];
  if (settings.oidc) {
    const button = h('button.large', { type: 'button' }, 'Sign in');
    button.addEventListener('click', async () => {
      try {
        await oidc.begin();
      } catch (error) {
        errors.replaceChildren(errorBox(error));
      }
    });
    parts.push(h('p', null, 'You sign in at ', code(new URL(settings.oidc.issuer).host), ' and return here.'), h('div.do', null, button));
  }
  if (!settings.oidc || local) {
    const token = h('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', required: true });
    const fields = [field('User token', token, { name: 'token', wide: true, hint: 'A token from your identity provider, or one created on the server with:' })];
    const paste = form(fields, [h(settings.oidc ? 'button.quiet' : 'button', { type: 'submit' }, 'Sign in with a token')], async () => {
      const value = token.value.trim().replace(/^Bearer\s+/i, '');
      if (!value) throw mistake('token', 'Paste a token first.');
      if (value.startsWith('ak-')) throw mistake('token', 'This is a gateway key, which is for model requests. Sign in with a user token.');
      if (!/^[\x21-\x7e]+$/.test(value)) throw mistake('token', 'A token has no spaces or special characters: copy it whole, and nothing else.');
      keep({ token: value, refresh: null, expires: 0, name: null });
      await enter();
    });
    fields[0].querySelector('.hint').append(h('code.line', null, 'tollgate keychain token local'));
    parts.push(settings.oidc ? h('details', null, h('summary', null, 'Sign in with a token'), paste) : paste);
  }
  app.replaceChildren(h('main.card', { id: 'main', tabindex: '-1' },
    h('h1', null, 'Console'), text && notice('warn', h('p', { role: 'alert' }, text)), errors, parts,
    h('p.small.muted', null, 'The token is kept only in this browser tab, until you close it.')));
  app.querySelector('input, button')?.focus();
}

// enter registers the signed-in user with the gateway and shows the console.
async function enter() {
  const invitation = takeInvitation();
  const result = await (invitation
    ? call('POST', 'operator/invitations/accept', { signingIn: true, body: { token: invitation } })
    : call('POST', 'users/init', { signingIn: true })).catch((error) => {
    if (error.status === 401) {
      forget();
      error.param = 'token';
    }
    throw error;
  });
  keep({ user: result.user_id });
  if (result.key) clipboard.gatewayKey = result.key.key;
  try {
    Object.assign(self, await call('GET', 'operator/self'));
    const more = [];
    if (administered().length && !operates()) more.push(['Team', await morePages(() => import('./operator/my-team.js'))]);
    if (oversees()) more.push(['Operators', await morePages(() => import('./operator/pages.js'))]);
    show([...groups, ...more]);
  } catch (error) {
    if (!result.key) throw error;
    show(groups); // the first key is shown only once, so the console opens in any case
  }
  if (result.key) showKey('Your first gateway key', result.key.key);
}

// morePages loads the additional pages of team administrators, operators and auditors. Others need not download them.
async function morePages(load) {
  try {
    return (await load()).pages;
  } catch (error) {
    throw Object.assign(error, { network: true });
  }
}

function show(pages) {
  const who = claims(session.token);
  leave = frame(app, {
    groups: pages,
    last: [h('a', { href: '../docs' }, 'API reference')],
    who: who?.name || who?.email || session.name || session.user,
    whoTitle: session.user,
    signOut() {
      oidc.end();
      forget();
      signIn();
      announce('You are signed out');
    },
  });
}

async function start() {
  events.signedOut = (text) => signIn(text);
  try {
    settings = await call('GET', 'console/settings.json', { guest: true });
  } catch (error) {
    app.replaceChildren(h('main.card', { id: 'main' }, h('h1', null, 'Console'), errorBox(error, start)));
    return;
  }
  oidc.configure(settings.oidc);
  rememberInvitation();
  let known = null;
  try {
    if (oidc.returned()) await oidc.finish();
    if (!session.token) return signIn();
    known = session.user;
    await enter();
  } catch (error) {
    if (session.token && (error.network || error.status === 429 || error.status >= 500)) { // the token may still be valid
      app.replaceChildren(h('main.card', { id: 'main' }, h('h1', null, 'Console'), errorBox(error, start)));
      return;
    }
    forget();
    signIn(known && error.status === 401 ? `You are signed out: ${error.message}` : error.message);
  }
}

start();
