// The administration of the authorization server: the sign-in, and the pages after it.
import { apiKey, call, events } from './api.js';
import * as audit from './pages/audit.js';
import * as clients from './pages/clients.js';
import * as grants from './pages/grants.js';
import * as idps from './pages/idps.js';
import * as keys from './pages/keys.js';
import * as mail from './pages/mail.js';
import * as overview from './pages/overview.js';
import * as providers from './pages/providers.js';
import * as resources from './pages/resources.js';
import * as system from './pages/system.js';
import * as tokens from './pages/tokens.js';
import * as upstreams from './pages/upstreams.js';
import * as users from './pages/users.js';
import { announce, entitle, errorBox, h, notice } from './parts/dom.js';
import { field, form, mistake } from './parts/form.js';
import { frame } from './parts/frame.js';

const groups = [
  [null, { '': overview }],
  ['Directory', { clients, users, resources }],
  ['Federation', { upstreams, providers, idps }],
  ['Grants and tokens', { grants, tokens, audit }],
  ['Server', { keys, mail, system }],
];

const app = document.getElementById('app');
let leave = () => {}; // removes the navigation and the current page
let needed = true; // whether the API requires a key

// signIn shows the form for the key. text says why a user sees it again.
function signIn(text) {
  leave();
  leave = () => {};
  entitle('Sign in');
  const key = h('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', required: true });
  app.replaceChildren(h('main.card', { id: 'main', tabindex: '-1' },
    h('h1', null, 'Authorization server'), text && notice('warn', h('p', { role: 'alert' }, text)),
    form(
      [field('Administration key', key, { name: 'key', wide: true, hint: 'The value of admin.api_key.' })],
      [h('button', { type: 'submit' }, 'Sign in')],
      async () => {
        const value = key.value.trim();
        if (!value) throw mistake('key', 'Paste the key first.');
        if (!/^[\x20-\x7e]+$/.test(value)) throw mistake('key', 'A key has no special characters: copy it whole, and nothing else.');
        apiKey.keep(value);
        await enter();
      },
    ),
    h('p.small.muted', null, 'The key is kept only in this browser tab, until you close it.')));
  key.focus();
}

// enter verifies the key and shows the pages.
async function enter() {
  await call('POST', 'auth/verify', { quiet: true }).catch((error) => {
    if (error.status === 401) {
      apiKey.forget();
      throw mistake('key', 'This key is wrong.');
    }
    throw error;
  });
  leave = frame(app, {
    groups,
    who: 'Administration',
    signOut: needed && (() => {
      apiKey.forget();
      signIn();
      announce('You are signed out');
    }),
  });
}

async function start() {
  events.signedOut = signIn;
  try {
    ({ key_needed: needed } = await call('GET', 'ui/settings.json'));
    if (needed && !apiKey.value) return signIn();
    await enter();
  } catch (error) {
    if (needed && !apiKey.value) return signIn(error.message);
    app.replaceChildren(h('main.card', { id: 'main' }, h('h1', null, 'Authorization server'), errorBox(error, start)));
  }
}

start();
