// A person's account from registration to deletion, on a telephone and without script.
import assert from 'node:assert/strict';
import { defects, faint, inBrowser } from './browser.mjs';

const url = process.env.ISSUER;
const phone = { viewport: { width: 390, height: 844 }, javaScriptEnabled: false };
const main = (tab) => tab.locator('main');
const button = (tab, name) => main(tab).getByRole('button', { name, exact: true });
const email = 'newman@example.com';

async function sound(tab, name) {
  await tab.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  assert.deepEqual(await defects(tab), [], tab.url());
  assert.deepEqual(await faint(tab), [], tab.url());
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${tab.url()} is ${wide} pixels too wide`);
}

async function signIn(tab, address, password) {
  await tab.goto(`${url}/login?redirect=/account`);
  await tab.getByLabel('Mail address').fill(address);
  await tab.getByLabel('Password').fill(password);
  await button(tab, 'Sign in').click();
}

// link waits for the next mail to an address and returns the link in it.
async function link(to) {
  for (;;) {
    const answer = await fetch(process.env.MAILS_URL);
    assert.equal(answer.status, 200, 'no mail came');
    for (const mail of await answer.json()) {
      const text = mail.Data.replaceAll('=\n', '').replace(/=([0-9A-F]{2})/g, (_, code) => String.fromCharCode(parseInt(code, 16)));
      const found = text.match(/^http\S+\?link=[\w-]{43}$/m);
      if (mail.To === to && found) return found[0];
    }
  }
}

inBrowser('an account from registration to deletion', phone, async (tab, context) => {
  await tab.goto(`${url}/login`);
  await tab.getByRole('link', { name: 'Create an account' }).click();
  await sound(tab, 'Create an account');
  await tab.getByLabel('Mail address').fill(email);
  await tab.getByLabel('Name').fill('Newman');
  await button(tab, 'Mail me a link').click();
  await tab.getByRole('status').getByText('A mail is on its way').waitFor();
  await sound(tab, 'Create an account');

  const address = await link(email);
  assert.ok(address.startsWith(`${url}/`), address);
  assert.equal((await fetch(address)).status, 200); // a program that looks at mails
  await tab.goto(address);
  await sound(tab, 'Choose a password');
  await tab.getByLabel('Password').fill('correct horse');
  await button(tab, 'Create the account').click();
  await tab.getByRole('status').getByText('Your account is created.').waitFor();

  await signIn(tab, email, 'correct horse');
  await sound(tab, 'Your account');
  await tab.getByLabel('Name').fill('New Man');
  await button(tab, 'Save').click();
  await tab.getByRole('status').getByText('Your name is changed.').waitFor();
  assert.equal(await tab.getByLabel('Name').inputValue(), 'New Man');

  const elsewhere = await context.browser().newContext({ userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0' });
  const other = await elsewhere.newPage();
  await signIn(other, email, 'correct horse');
  await other.getByRole('heading', { level: 1, name: 'Your account' }).waitFor();
  await tab.reload();
  await button(tab, 'End the session of Firefox on Linux').click();
  await tab.getByRole('status').getByText('The session is ended.').waitFor();
  await other.goto(`${url}/account`);
  await other.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  await elsewhere.close();

  await tab.getByRole('link', { name: 'Change your password' }).click();
  await sound(tab, 'Change your password');
  await tab.getByLabel('Current password').fill('correct horse');
  await tab.getByLabel('New password').fill('battery staple');
  await button(tab, 'Change the password').click();
  await sound(tab, 'Your account');

  await tab.getByLabel('New mail address').fill('newman@example.org');
  await tab.getByLabel('Your password').fill('battery staple');
  await button(tab, 'Mail me a link').click();
  await tab.goto(await link('newman@example.org'));
  await sound(tab, 'Confirm your mail address');
  await button(tab, 'Yes, that is my address').click();
  await tab.getByRole('status').getByText('Your mail address is changed.').waitFor();

  await tab.getByRole('link', { name: 'Sign out' }).click();
  await button(tab, 'Sign out').click();
  await tab.getByRole('link', { name: 'Forgotten your password?' }).click();
  await sound(tab, 'Forgotten password');
  await tab.getByLabel('Mail address').fill('newman@example.org');
  await button(tab, 'Mail me a link').click();
  await sound(tab, 'Forgotten password');
  await tab.goto(await link('newman@example.org'));
  await tab.getByLabel('Password').fill('yet another one');
  await button(tab, 'Change the password').click();
  await tab.getByRole('status').getByText('Your password is changed.').waitFor();

  await signIn(tab, 'newman@example.org', 'yet another one');
  await tab.getByRole('link', { name: 'Delete your account' }).click();
  await sound(tab, 'Delete your account');
  await tab.getByLabel('Password').fill('yet another one');
  await button(tab, 'Delete my account').click();
  await tab.getByRole('status').getByText('Your account will be deleted.').waitFor();
  await signIn(tab, 'newman@example.org', 'yet another one');
  await sound(tab, 'Your account');
  await button(tab, 'Keep my account').click();
  await tab.getByRole('status').getByText('Your account will not be deleted.').waitFor();
});
