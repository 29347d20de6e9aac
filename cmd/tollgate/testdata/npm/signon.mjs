// The board and the administration of the CMS, whose people sign in at the authorization server beside them.
import assert from 'node:assert/strict';
import { defects, faint, inBrowser } from './browser.mjs';

const { FORUM: forum, WWW: www, ISSUER: issuer, ANN: ann, BOB: bob, SHOTS: shots } = process.env;

const button = (tab, name) => tab.locator('main').getByRole('button', { name, exact: true });

async function sound(tab, picture) {
  for (const colorScheme of shots ? ['dark', 'light'] : ['light']) {
    await tab.emulateMedia({ colorScheme });
    if (shots) await tab.screenshot({ path: `${shots}/signon-${picture}-${colorScheme}.png`, fullPage: true });
  }
  assert.deepEqual(await defects(tab), [], tab.url());
  assert.deepEqual(await faint(tab), [], tab.url());
}

// signIn gives the password at the authorization server.
async function signIn(tab, email, password) {
  assert.ok(tab.url().startsWith(`${issuer}/`), tab.url());
  await tab.getByLabel('Mail address').fill(email);
  await tab.getByLabel('Password').fill(password);
  await button(tab, 'Sign in').click();
}

inBrowser('one sign-in opens the board and the CMS', { javaScriptEnabled: false }, async (tab, context) => {
  await tab.goto(`${forum}/account`);
  await sound(tab, 'board');
  await tab.getByRole('link', { name: 'Sign in with Our people' }).click();
  await signIn(tab, 'ann@example.com', ann);
  await button(tab, 'Allow').click();
  await tab.waitForURL(`${forum}/account`);
  await tab.getByRole('link', { name: 'Ann', exact: true }).first().waitFor();
  const { cookies } = await context.storageState();
  assert.ok(cookies.some((cookie) => cookie.name.endsWith('board_session') && cookie.httpOnly));

  // The provider has asked for the password a moment ago, so that the board does not.
  await tab.goto(`${forum}/admin`);
  assert.equal(tab.url(), `${forum}/admin`);

  // The CMS asks for nothing but the consent.
  await tab.goto(`${www}/admin/`);
  await sound(tab, 'cms');
  await tab.getByRole('link', { name: 'Sign in with single sign-on' }).click();
  await button(tab, 'Allow').click();
  await tab.getByRole('button', { name: 'Sign out' }).waitFor();
  await tab.goto(`${www}/admin/roles`);
  assert.equal(tab.url(), `${www}/admin/roles`);
  await tab.getByText('superuser').first().waitFor();

  // Once more: who is known comes in at once.
  await context.clearCookies({ name: /board_session/ });
  await tab.goto(`${forum}/login?next=/account`);
  await tab.getByRole('link', { name: 'Sign in with Our people' }).click();
  assert.equal(tab.url(), `${forum}/account`);
});

inBrowser('an address that the provider does not confirm opens nothing', { javaScriptEnabled: false }, async (tab) => {
  await tab.goto(`${forum}/login`);
  await tab.getByRole('link', { name: 'Sign in with Our people' }).click();
  await signIn(tab, 'bob@example.com', bob);
  await button(tab, 'Allow').click();
  await tab.getByText('does not confirm a mail address of yours').waitFor();
  await sound(tab, 'refused');
  await tab.goto(`${forum}/account`);
  assert.ok(tab.url().startsWith(`${forum}/login`), tab.url());
});
