// Applications that sign people in by libraries that others have written: openid-client, Passport and Auth.js. Each is a
// site of its own, at which somebody arrives in a browser.
import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { createServer } from 'node:http';
import { after } from 'node:test';
import { Passport } from 'passport';
import { inBrowser } from './browser.mjs';

globalThis.crypto ??= webcrypto; // it is no global of Node.js 18
const oidc = await import('openid-client');
const { Strategy } = await import('openid-client/passport');
const { Auth } = await import('@auth/core');

const { ISSUER, CLIENT, SECRET, PORT } = process.env;
const site = `http://localhost:${PORT}`;
const config = await oidc.discovery(new URL(ISSUER), CLIENT, SECRET, oidc.ClientSecretBasic(SECRET), { execute: [oidc.allowInsecureRequests] });

const page = (answer, text) => answer.setHeader('Content-Type', 'text/html').end(`<!doctype html><html lang="en"><title>The App</title><h1>${text}</h1>`);

async function body(request) {
  let text = '';
  for await (const part of request) text += part;
  return text;
}

// incoming is a request as the standard of the web has it.
const incoming = async (request) => new Request(new URL(request.url, site), {
  method: request.method, headers: request.headers, ...(request.method === 'POST' && { body: await body(request) }),
});

// visits are the sign-ins with openid-client that are under way, by their state, and last is what the last one got.
const visits = new Map();
let last;

// lead sends a browser to the server, with parameters in addition.
async function lead(answer, more) {
  const visit = { verifier: oidc.randomPKCECodeVerifier(), nonce: oidc.randomNonce() };
  const state = oidc.randomState();
  visits.set(state, visit);
  const to = oidc.buildAuthorizationUrl(config, {
    redirect_uri: `${site}/openid/back`, scope: 'openid email', state, nonce: visit.nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(visit.verifier), code_challenge_method: 'S256', ...more,
  });
  answer.writeHead(302, { Location: to.href }).end();
}

const passport = new Passport();
passport.use('tollgate', new Strategy({ config, scope: 'openid email', callbackURL: `${site}/passport/back` }, (tokens, done) => done(null, tokens.claims())));
const session = {}; // of the only visitor

const authOptions = {
  basePath: '/auth', trustHost: true, secret: 'a secret of the application, long enough', logger: { error: (error) => console.error(error) },
  providers: [{ id: 'tollgate', name: 'Tollgate', type: 'oidc', issuer: ISSUER, clientId: CLIENT, clientSecret: SECRET, checks: ['pkce', 'state', 'nonce'] }],
};

const server = createServer((request, answer) => {
  serve(request, answer).catch((error) => {
    answer.statusCode = 500;
    page(answer, `${error.error ?? error.code ?? ''} ${error.message}`);
  });
});
await new Promise((listening) => server.listen(PORT, listening));
after(() => {
  server.close();
  server.closeAllConnections();
});

async function serve(request, answer) {
  const { pathname } = new URL(request.url, site);
  switch (pathname) {
    case '/openid/query': return lead(answer, {});
    case '/openid/form': return lead(answer, { response_mode: 'form_post' });
    case '/openid/refused': return lead(answer, { response_mode: 'form_post', scope: 'openid unknown' });
    case '/openid/back': {
      const back = await incoming(request);
      const sent = request.method === 'POST' ? new URLSearchParams(await back.clone().text()) : new URL(back.url).searchParams;
      const visit = visits.get(sent.get('state'));
      assert.ok(visit, 'the state is not known');
      visits.delete(sent.get('state'));
      last = await oidc.authorizationCodeGrant(config, request.method === 'POST' ? back : new URL(back.url), {
        pkceCodeVerifier: visit.verifier, expectedState: sent.get('state'), expectedNonce: visit.nonce, idTokenExpected: true,
      });
      const told = await oidc.fetchUserInfo(config, last.access_token, last.claims().sub);
      return page(answer, `Hello ${told.email} by ${request.method}`);
    }
    case '/signed-out': return page(answer, 'Goodbye');
    case '/passport':
    case '/passport/back':
      Object.assign(request, { session, protocol: 'http', host: request.headers.host });
      return passport.authenticate('tollgate', (error, user, info) => {
        if (error || !user) return page(answer, `${error?.message} ${JSON.stringify(info)}`);
        page(answer, `Hello ${user.email} by Passport`);
      })(request, Object.assign(answer, { redirect: (to) => answer.writeHead(302, { Location: to }).end() }), (error) => page(answer, error?.message));
  }
  if (!pathname.startsWith('/auth')) return page(answer, 'The App');
  const made = await Auth(await incoming(request), authOptions);
  answer.statusCode = made.status;
  for (const [name, value] of made.headers) if (name !== 'set-cookie') answer.setHeader(name, value);
  answer.setHeader('Set-Cookie', made.headers.getSetCookie());
  answer.end(Buffer.from(await made.arrayBuffer()));
}

// signIn goes through the pages of the server, which asks for consent the first time.
async function signIn(tab) {
  await tab.getByLabel('Mail address').fill('ann@example.com');
  await tab.getByLabel('Password').fill('correct horse');
  await tab.getByRole('button', { name: 'Sign in', exact: true }).click();
  await tab.getByRole('button', { name: 'Allow', exact: true }).click();
}

const greets = (tab, text) => tab.getByRole('heading', { name: text, exact: true }).waitFor();

inBrowser('openid-client: by a redirect, with a refresh and a sign-out', {}, async (tab) => {
  await tab.goto(`${site}/openid/query`);
  await signIn(tab);
  await greets(tab, 'Hello ann@example.com by GET');
  const { sub } = last.claims();
  const next = await oidc.refreshTokenGrant(config, last.refresh_token);
  assert.notEqual(next.access_token, last.access_token);
  const told = await oidc.tokenIntrospection(config, next.access_token);
  assert.deepEqual([told.active, told.sub], [true, sub]);
  await oidc.tokenRevocation(config, next.refresh_token);
  await assert.rejects(oidc.refreshTokenGrant(config, next.refresh_token), { error: 'invalid_grant' });
  await tab.goto(oidc.buildEndSessionUrl(config, { id_token_hint: last.id_token, post_logout_redirect_uri: `${site}/signed-out` }).href);
  const asked = tab.getByRole('button', { name: 'Sign out', exact: true });
  await asked.or(tab.getByRole('heading', { name: 'Goodbye' })).first().waitFor();
  if (await asked.count()) await asked.first().click();
  await greets(tab, 'Goodbye');
});

inBrowser('openid-client: by a form that the browser posts', {}, async (tab) => {
  assert.deepEqual(config.serverMetadata().response_modes_supported, ['query', 'form_post']);
  await tab.goto(`${site}/openid/form`);
  await tab.getByLabel('Mail address').fill('ann@example.com');
  await tab.getByLabel('Password').fill('correct horse');
  await tab.getByRole('button', { name: 'Sign in', exact: true }).click();
  await greets(tab, 'Hello ann@example.com by POST');
  await tab.goto(`${site}/openid/form`); // nothing is left to ask
  await greets(tab, 'Hello ann@example.com by POST');
  await tab.goto(`${site}/openid/refused`);
  await tab.getByRole('heading', { name: /invalid_scope/ }).waitFor();
});

inBrowser('openid-client: without a script the form has a button', { javaScriptEnabled: false }, async (tab) => {
  await tab.goto(`${site}/openid/form`);
  await tab.getByLabel('Mail address').fill('ann@example.com');
  await tab.getByLabel('Password').fill('correct horse');
  await tab.getByRole('button', { name: 'Sign in', exact: true }).click();
  await tab.getByRole('heading', { name: 'Back to the application' }).waitFor();
  await tab.getByRole('button', { name: 'Continue', exact: true }).click();
  await greets(tab, 'Hello ann@example.com by POST');
});

inBrowser('Passport signs in', {}, async (tab) => {
  await tab.goto(`${site}/passport`);
  await tab.getByLabel('Mail address').fill('ann@example.com');
  await tab.getByLabel('Password').fill('correct horse');
  await tab.getByRole('button', { name: 'Sign in', exact: true }).click();
  await greets(tab, 'Hello ann@example.com by Passport');
});

inBrowser('Auth.js signs in', {}, async (tab) => {
  await tab.goto(`${site}/auth/signin?callbackUrl=${encodeURIComponent(`${site}/home`)}`);
  await tab.getByRole('button', { name: /Tollgate/ }).click();
  await tab.getByLabel('Mail address').fill('ann@example.com');
  await tab.getByLabel('Password').fill('correct horse');
  await tab.getByRole('button', { name: 'Sign in', exact: true }).click();
  await tab.getByRole('button', { name: 'Allow', exact: true }).click(); // it asks for the profile, too
  await greets(tab, 'The App');
  const told = await tab.evaluate(async () => (await fetch('/auth/session')).json());
  assert.equal(told.user.email, 'ann@example.com');
});
