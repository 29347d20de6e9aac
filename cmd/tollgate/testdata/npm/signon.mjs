// The board and the administration of the CMS, whose people sign in at the authorization server beside them.
import assert from 'node:assert/strict';
import { defects, faint, inBrowser } from './browser.mjs';

const { FORUM: forum, WWW: www, HOME_PAGE: home, ISSUER: issuer, ANN: ann, BOB: bob, SHOTS: shots } = process.env;

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

// signedOut reports whether a service asks who it is.
async function signedOut(tab, page, login) {
  await tab.goto(page);
  return tab.url().startsWith(login);
}

inBrowser('one sign-out ends all that began with the account', { javaScriptEnabled: false }, async (tab) => {
  // signInAll signs in once, and is then known by the board, the CMS and the home page.
  const signInAll = async () => {
    await tab.goto(`${home}/_tollgate/login`);
    if (tab.url().startsWith(issuer)) await signIn(tab, 'ann@example.com', ann);
    await tab.waitForURL(`${home}/_tollgate/`);
    await tab.getByText('Ann', { exact: true }).waitFor();
    await tab.goto(`${forum}/login/oidc?next=/account`);
    await tab.waitForURL(`${forum}/account`);
    await tab.goto(`${www}/admin/login/oidc`);
    await tab.getByRole('button', { name: 'Sign out' }).waitFor();
  };
  await signInAll();
  await tab.goto(`${home}/`);
  await sound(tab, 'home');
  await tab.getByRole('heading', { name: 'State' }).waitFor();
  await tab.getByRole('link', { name: 'Documents' }).click();
  await tab.getByRole('heading', { level: 1, name: 'Documents' }).waitFor();
  await sound(tab, 'documents');
  await tab.getByRole('searchbox').fill('restore a backup');
  await tab.keyboard.press('Enter');
  await tab.getByRole('link', { name: /Back up and restore/ }).first().waitFor();
  await sound(tab, 'documents-search');

  // On the home page, which the authorization server hears of, too.
  await tab.getByRole('button', { name: 'Sign out' }).click();
  await tab.getByText('You are signed out.').waitFor();
  assert.equal(await tab.getByRole('heading', { name: 'State' }).count(), 0);
  assert.ok(await signedOut(tab, `${forum}/account`, `${forum}/login`));
  assert.ok(await signedOut(tab, `${www}/admin/`, `${www}/admin/login`));
  await tab.goto(`${home}/_tollgate/login`);
  assert.ok(tab.url().startsWith(`${issuer}/login`), tab.url());

  // At the authorization server.
  await signInAll();
  await tab.goto(`${issuer}/`);
  await tab.getByRole('button', { name: 'Sign out' }).first().click();
  await tab.getByText('You are signed out.').waitFor();
  assert.ok(await signedOut(tab, `${forum}/account`, `${forum}/login`));
  assert.ok(await signedOut(tab, `${www}/admin/`, `${www}/admin/login`));
  await tab.goto(`${home}/`);
  await tab.getByRole('link', { name: 'Sign in' }).waitFor();
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
