// The console of a gateway whose users sign in at the authorization server beside it.
import assert from 'node:assert/strict';
import { defects, faint, inBrowser, settled } from './browser.mjs';

const gateway = process.env.TOLLGATE_URL;
const issuer = process.env.AUTHSERVER_URL;
const admin = process.env.AUTHSERVER_ADMIN;
const { id, password } = JSON.parse(process.env.AUTHSERVER_USER);
const shots = process.env.SHOTS; // a folder for pictures of the pages; none where it is not set

const button = (scope, name) => scope.getByRole('button', { name, exact: true });
const dialog = (tab) => tab.getByRole('dialog');

async function sound(tab, picture) {
  if (shots) await tab.screenshot({ path: `${shots}/${picture}.png`, fullPage: true });
  assert.deepEqual(await defects(tab), [], tab.url());
  assert.deepEqual(await faint(tab), [], tab.url());
}

async function administer(action) {
  const answer = await fetch(`${admin}/admin/users/${id}/${action}`, { method: 'PATCH' });
  assert.equal(answer.status, 200, await answer.text());
}

// management is the status of what a page of the console asks.
const management = (tab, token) => tab.evaluate(async ([user, bearer]) => {
  const answer = await fetch(`/users/${user}/keychain-keys`, { headers: { Authorization: `Bearer ${bearer}` } });
  return answer.status;
}, [id, token]);

const session = (tab) => tab.evaluate(() => JSON.parse(sessionStorage.getItem('tollgate.session')));

async function signIn(tab) {
  await tab.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  assert.ok(tab.url().startsWith(`${issuer}/`), tab.url());
  await sound(tab, 'all-login');
  await tab.getByLabel('Mail address').fill('ann@example.com');
  await tab.getByLabel('Password').fill(password);
  await button(tab.locator('main'), 'Sign in').click();
}

inBrowser('somebody signs in to the console, until the account is disabled', { ignoreHTTPSErrors: true }, async (tab) => {
  await tab.goto(`${gateway}/console/#/gateway-keys`);
  await button(tab, 'Sign in').click();
  await signIn(tab);
  await dialog(tab).waitFor();
  await button(dialog(tab), 'I have copied it').click();
  assert.equal(tab.url(), `${gateway}/console/#/gateway-keys`);
  await tab.getByText('Ann', { exact: true }).waitFor();
  const first = await session(tab);
  assert.equal(first.user, id);

  await settled(tab);
  await button(tab, 'Create key').click();
  await dialog(tab).getByLabel('Label').fill('ci');
  await button(dialog(tab), 'Create key').click();
  const key = await dialog(tab).getByLabel('Gateway key').inputValue();
  assert.match(key, /^ak-/);
  await button(dialog(tab), 'I have copied it').click();
  await tab.getByRole('cell', { name: 'ci', exact: true }).waitFor();
  await sound(tab, 'all-keys');

  // A token is renewed, as long as the user may.
  await tab.evaluate(() => {
    const s = JSON.parse(sessionStorage.getItem('tollgate.session'));
    sessionStorage.setItem('tollgate.session', JSON.stringify({ ...s, expires: Date.now() + 1000 }));
  });
  await tab.reload();
  await settled(tab);
  const renewed = await session(tab);
  assert.notEqual(renewed.refresh, first.refresh);
  assert.equal(await management(tab, renewed.token), 200);

  await administer('disable');
  assert.equal(await management(tab, renewed.token), 401);
  await tab.reload();
  await tab.getByRole('alert').filter({ hasText: 'You are signed out' }).waitFor();
  await sound(tab, 'all-refused');

  // Who is let in again signs in again.
  await administer('enable');
  assert.equal(await management(tab, renewed.token), 401, 'what has ended stays so');
  await button(tab, 'Sign in').click();
  await signIn(tab);
  await tab.getByText('Ann', { exact: true }).waitFor();
  const last = await session(tab);
  assert.equal(await management(tab, last.token), 200);

  // Signing out ends the tokens, not only this tab's knowledge of them.
  const revoked = tab.waitForResponse(`${issuer}/oauth/revoke`);
  await button(tab, 'Sign out').click();
  assert.equal((await revoked).status(), 200);
  assert.equal(await management(tab, last.token), 401);
});
