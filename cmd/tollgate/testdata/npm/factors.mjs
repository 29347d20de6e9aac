// Passkeys, authenticator apps and recovery codes, as people use them.
import assert from 'node:assert/strict';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { application, defects, faint, inBrowser } from './browser.mjs';

const base = process.env.BASE;
const shots = process.env.SHOTS; // a folder for pictures of the pages; none where it is not set
const redirect = `${await application()}/cb`;

const button = (tab, name) => tab.locator('main').getByRole('button', { name, exact: true });

async function sound(tab, name, picture) {
  await tab.getByRole('heading', { level: 1, name }).waitFor();
  if (shots) await tab.screenshot({ path: `${shots}/factors-${picture}.png`, fullPage: true });
  assert.deepEqual(await defects(tab), [], tab.url());
  assert.deepEqual(await faint(tab), [], tab.url());
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${tab.url()} is ${wide} pixels too wide`);
}

async function signIn(tab, email, password) {
  await tab.getByLabel('Mail address').fill(email);
  await tab.getByLabel('Password').fill(password);
  const answered = tab.waitForEvent('domcontentloaded');
  await button(tab, 'Sign in').click();
  await answered;
}

// code is what an app with a secret shows (RFC 6238), steps from now.
function code(secret, steps) {
  const bits = [...secret].map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const time = Buffer.alloc(8);
  time.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30000) + steps));
  const mac = createHmac('sha1', key).update(time).digest();
  return String((mac.readUInt32BE(mac[19] & 15) & 0x7fffffff) % 1000000).padStart(6, '0');
}

// register adds an application that asks for somebody to sign in.
async function register() {
  const registered = await fetch(`${base}/oauth/register`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ client_name: 'Photo Album', redirect_uris: [redirect], token_endpoint_auth_method: 'none' }) });
  assert.equal(registered.status, 201, await registered.clone().text());
  const { client_id } = await registered.json();
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const ask = (more = {}) => `${base}/oauth/authorize?${new URLSearchParams({ response_type: 'code', client_id, redirect_uri: redirect, scope: 'openid email', code_challenge: challenge, code_challenge_method: 'S256', ...more })}`;
  // claims are those of the ID token for an answer.
  const claims = async (tab) => {
    const answer = new URL(tab.url()).searchParams;
    const body = new URLSearchParams({ grant_type: 'authorization_code', client_id, redirect_uri: redirect, code: answer.get('code'), code_verifier: verifier });
    const tokens = await (await fetch(`${base}/oauth/token`, { method: 'POST', body })).json();
    return JSON.parse(Buffer.from(tokens.id_token.split('.')[1], 'base64url'));
  };
  return { ask, claims };
}

const back = (tab) => tab.getByRole('heading', { level: 1, name: 'Back' }).waitFor();

// device puts an authenticator into the browser, which answers at once. quiet has it answer nothing, as where nobody
// touches it, while a page offers to fill a passkey in.
async function device(tab, context) {
  const cdp = await context.newCDPSession(tab);
  await cdp.send('WebAuthn.enable');
  const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true };
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', { options });
  const quiet = (yes) => cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: !yes });
  const remove = () => cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
  const verifies = (yes) => cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: yes });
  return { quiet, remove, verifies };
}

inBrowser('a passkey is set up on the way to an application, and used from then on', {}, async (tab, context) => {
  const key = await device(tab, context);
  const app = await register();
  await tab.goto(app.ask());
  await signIn(tab, 'ann@example.com', process.env.PASSWORD);
  await sound(tab, 'Sign-in and security', 'required');
  await tab.getByText('Set up a second factor to continue').waitFor();
  await tab.getByRole('link', { name: 'Set up a passkey' }).click();
  await sound(tab, 'Set up a passkey', 'passkey');
  await tab.getByLabel('Name of this').fill('Laptop');
  await button(tab, 'Set up').click();
  await sound(tab, 'Recovery codes', 'recovery');
  const codes = (await tab.locator('pre').innerText()).trim().split('\n');
  assert.equal(codes.length, 10);
  await tab.getByRole('link', { name: 'I have saved them' }).click();
  await tab.getByRole('heading', { name: 'Photo Album' }).waitFor();
  await button(tab, 'Allow').click();
  await back(tab);
  assert.deepEqual((await app.claims(tab)).amr, ['pwd', 'pop', 'mfa']);

  await key.quiet(true);
  await tab.goto(app.ask({ prompt: 'login' }));
  await signIn(tab, 'ann@example.com', process.env.PASSWORD);
  await sound(tab, 'Two-step verification', 'second-passkey');
  await key.remove();
  await device(tab, context);
  await button(tab, 'Use a passkey').click(); // of a device that has none
  await tab.getByRole('alert').getByText('The passkey could not be used').waitFor();
  await tab.getByLabel('Recovery code').fill(codes[7]);
  await button(tab, 'Sign in').click();
  await back(tab);
  assert.deepEqual((await app.claims(tab)).amr, ['pwd', 'otp', 'mfa']);
  await tab.goto(`${base}/security`);
  await sound(tab, 'Sign-in and security', 'security');
  await tab.getByText('9 recovery codes are left').waitFor();
});

inBrowser('a passkey signs in', {}, async (tab, context) => {
  const key = await device(tab, context);
  await tab.goto(`${base}/login?redirect=/security`);
  await signIn(tab, 'bob@example.com', process.env.OTHER);
  await tab.getByRole('link', { name: 'Set up a passkey' }).click();
  await button(tab, 'Set up').click();
  await tab.getByRole('link', { name: 'I have saved them' }).click();
  await tab.getByRole('heading', { name: 'Sign-in and security' }).waitFor();
  await key.quiet(true);
  await tab.goto(`${base}/`);
  await button(tab, 'Sign out').click();
  await tab.getByText('You are signed out.').first().waitFor(); // on the page and in a notice
  await signIn(tab, 'bob@example.com', process.env.OTHER);
  await key.quiet(false);
  await button(tab, 'Use a passkey').click();
  await tab.getByRole('heading', { name: 'You are signed in' }).waitFor();

  // Without the password, as the page offers it and by the button, on the way to an application.
  const app = await register();
  await key.quiet(true);
  await tab.goto(app.ask({ prompt: 'login', acr_values: '2' }));
  await sound(tab, 'Sign in', 'alone');
  assert.equal(await tab.getByLabel('Mail address').getAttribute('autocomplete'), 'username webauthn');
  await tab.goto('about:blank');
  await key.quiet(false); // somebody chooses what is offered
  await tab.goto(app.ask({ prompt: 'login', acr_values: '2' }), { waitUntil: 'commit' }); // the page sends itself on
  await tab.getByRole('heading', { name: 'Photo Album' }).waitFor();
  await button(tab, 'Allow').click();
  await back(tab);
  const claims = await app.claims(tab);
  assert.deepEqual([claims.amr, claims.acr], [['pop', 'mfa'], '2']);
  await key.verifies(false);
  await tab.goto(app.ask({ prompt: 'login' }));
  await button(tab, 'Sign in with a passkey').click(); // which does not verify its user
  await tab.getByRole('alert').getByText('No passkey was used').waitFor();
  await tab.addInitScript(() => { // as a browser that fills no passkeys in
    if (window.PublicKeyCredential) window.PublicKeyCredential.isConditionalMediationAvailable = async () => false;
  });
  await tab.goto('about:blank');
  await key.verifies(true);
  await tab.goto(app.ask({ prompt: 'login' }));
  await button(tab, 'Sign in with a passkey').click();
  await back(tab);
  // Removed, and an app instead: one has to be there.
  await tab.goto(`${base}/security`);
  await tab.getByRole('button', { name: 'Remove Passkey' }).click();
  await tab.getByText('The second factor is removed.').first().waitFor(); // it is told to who does not see, too
});

inBrowser('an app is set up and used on a phone, without script', { viewport: { width: 390, height: 844 }, javaScriptEnabled: false, colorScheme: 'dark' }, async (tab) => {
  await tab.goto(`${base}/login?redirect=/security`);
  await signIn(tab, 'bob@example.com', process.env.OTHER);
  await tab.getByRole('link', { name: 'Set up an authenticator app' }).click();
  await sound(tab, 'Set up an authenticator app', 'app');
  const secret = (await tab.locator('code.secret').innerText()).replaceAll(' ', '');
  await tab.getByLabel('Code that the app shows now').fill('000000');
  await button(tab, 'Set up').click();
  await tab.getByRole('alert').getByText('not the code that the app shows').waitFor();
  await sound(tab, 'Set up an authenticator app', 'app-wrong');
  await tab.getByLabel('Code that the app shows now').fill(code(secret, 0));
  await button(tab, 'Set up').click();
  await sound(tab, 'Recovery codes', 'recovery-phone');
  await tab.goto(`${base}/`);
  await button(tab, 'Sign out').click();
  await tab.getByText('You are signed out.').first().waitFor(); // on the page and in a notice
  await signIn(tab, 'bob@example.com', process.env.OTHER);
  await sound(tab, 'Two-step verification', 'second-app');
  await tab.getByLabel('Code', { exact: true }).fill('abcdef');
  await button(tab, 'Sign in').click();
  await tab.getByRole('alert').getByText('The code or the passkey is not right').waitFor();
  await sound(tab, 'Two-step verification', 'second-wrong');
  await tab.getByLabel('Code', { exact: true }).fill(code(secret, 1));
  await button(tab, 'Sign in').click();
  await tab.getByRole('heading', { name: 'You are signed in' }).waitFor();
});
