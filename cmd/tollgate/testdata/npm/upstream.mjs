// Another OpenID provider, that others have written, which people use from a browser: they
// sign in at it, and connect an account of theirs at it.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after } from 'node:test';
import Provider from 'oidc-provider';
import { application, inBrowser } from './browser.mjs';

const { PROVIDER, BASE, ADMIN, APP, SHOTS } = process.env;
const back = `${APP}/done`;

await application(new URL(APP).port);

const provider = new Provider(PROVIDER, {
  clients: [
    { client_id: 'people', client_secret: 'a secret of people, long enough', redirect_uris: [`${BASE}/oidc/callback`] },
    { client_id: 'chat', client_secret: 'a secret of chat, long enough', redirect_uris: [`${BASE}/connect/chat/callback`], grant_types: ['authorization_code', 'refresh_token'], token_endpoint_auth_method: 'client_secret_post' },
  ],
  pkce: { required: () => true },
  scopes: ['openid', 'offline_access', 'profile', 'email', 'groups'],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
  conformIdTokenClaims: false,
  ttl: { AccessToken: 35, Session: 3600, Grant: 3600, Interaction: 600, IdToken: 600, RefreshToken: 3600, AuthorizationCode: 60 },
  rotateRefreshToken: true,
  issueRefreshToken: async (ctx, client, code) => client.grantTypeAllowed('refresh_token') && code.scopes.has('offline_access'),
  cookies: { keys: ['one'] },
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id, email: `${id}@corp.example`, email_verified: true, name: 'Grace Upstream', groups: ['staff'] }) }),
});
provider.on('server_error', (ctx, err) => console.error(err));
const server = provider.listen(new URL(PROVIDER).port, '127.0.0.1');
after(() => server.close());

async function json(url, options = {}) {
  const answer = await fetch(url, options);
  const text = await answer.text();
  assert.ok(answer.ok, `${url}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : {};
}

const form = (fields) => ({ method: 'POST', body: new URLSearchParams(fields) });
const post = (fields) => ({ method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(fields) });

// atProvider goes through the provider's own pages.
async function atProvider(tab, until) {
  for (let i = 0; i < 4 && !tab.url().startsWith(until); i++) {
    if (await tab.locator('input[name=login]').count()) {
      await tab.locator('input[name=login]').fill('grace');
      await tab.locator('input[name=password]').fill('anything');
    }
    const here = tab.url();
    const gone = tab.waitForURL((to) => to.href !== here, { waitUntil: 'domcontentloaded' });
    await tab.locator('button[type=submit]').first().click();
    await gone;
  }
}

inBrowser('somebody signs in at the company, and is known here', {}, async (tab, context) => {
  await tab.goto(`${BASE}/login`);
  if (SHOTS) await tab.screenshot({ path: `${SHOTS}/upstream-login.png`, fullPage: true });
  await tab.getByRole('link', { name: 'Sign in with The Company' }).click();
  await tab.waitForURL(`${PROVIDER}/**`);
  await atProvider(tab, BASE);
  await tab.getByText('You are signed in').waitFor();
  assert.match(await tab.locator('main').innerText(), /grace@corp\.example/);
  const { users } = await json(`${ADMIN}/admin/users?q=grace`);
  assert.equal(users[0].provider, 'oidc');
  assert.equal(users[0].name, 'Grace Upstream');

  // They connect an account there, and a client gets its token.
  await tab.goto(`${BASE}/connect/chat`);
  await atProvider(tab, back);
  await tab.getByRole('heading', { name: 'Back' }).waitFor();
  assert.equal(tab.url(), `${back}?connected=chat`);
  const told = await (await context.request.get(`${BASE}/connections`)).json();
  assert.deepEqual(told.connections.map((c) => [c.provider, c.scopes_granted]), [['chat', ['who']]]);

  const client = await json(`${ADMIN}/admin/clients`, post({
    client_name: 'App', redirect_uris: [`${APP}/cb`], token_endpoint_auth_method: 'client_secret_post', scope: 'who',
    grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:token-exchange'],
  }));
  const verifier = 'v'.repeat(43);
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  await tab.goto(`${BASE}/oauth/authorize?${new URLSearchParams({ response_type: 'code', client_id: client.client_id, redirect_uri: `${APP}/cb`, scope: 'who', resource: 'chat-api', state: 's', code_challenge: challenge, code_challenge_method: 'S256' })}`);
  await tab.getByRole('button', { name: 'Allow' }).click();
  await tab.getByRole('heading', { name: 'Back' }).waitFor();
  const as = { client_id: client.client_id, client_secret: client.client_secret };
  const token = await json(`${BASE}/oauth/token`, form({ ...as, grant_type: 'authorization_code', code: new URL(tab.url()).searchParams.get('code'), redirect_uri: `${APP}/cb`, code_verifier: verifier }));
  const exchange = () => json(`${BASE}/oauth/token`, form({
    ...as, grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange', subject_token: token.access_token, subject_token_type: 'urn:ietf:params:oauth:token-type:access_token', resource: 'chat-api',
  }));
  const first = await exchange();
  const me = async (t) => (await json(`${PROVIDER}/me`, { headers: { Authorization: `Bearer ${t}` } })).sub;
  assert.equal(await me(first.access_token), 'grace');

  // The provider's tokens live 35 seconds: five later one is renewed, by a refresh token
  // that is good once. Many ask at once.
  let next = first;
  while (next.access_token === first.access_token) {
    await new Promise((then) => setTimeout(then, 500));
    const all = await Promise.all(Array.from({ length: 10 }, exchange));
    next = all[0];
    assert.equal(new Set(all.map((a) => a.access_token)).size <= 2, true);
  }
  assert.equal(await me(next.access_token), 'grace');
  assert.equal(await me((await exchange()).access_token), 'grace');
});
