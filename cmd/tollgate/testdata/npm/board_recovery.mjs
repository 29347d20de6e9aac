// Links that the board mails, in a browser without script.
import assert from 'node:assert/strict';
import { defects, faint, inBrowser } from './browser.mjs';

const url = process.env.BOARD_URL;
const phone = { viewport: { width: 390, height: 844 }, javaScriptEnabled: false };
const button = (tab, name) => tab.locator('main').getByRole('button', { name, exact: true });

async function sound(tab, name) {
  await tab.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  assert.deepEqual(await defects(tab), [], tab.url());
  assert.deepEqual(await faint(tab), [], tab.url());
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${tab.url()} is ${wide} pixels too wide`);
}

async function signIn(tab, name, password) {
  await tab.goto(`${url}/login`);
  await tab.getByLabel('Name or mail address').fill(name);
  await tab.getByLabel('Password').fill(password);
  await button(tab, 'Sign in').click();
}

const signedIn = (tab) => tab.getByRole('button', { name: 'Sign out' }).waitFor();

// letters waits for as many mails, by their recipients, as text.
async function letters(count) {
  const all = {};
  while (Object.keys(all).length < count) {
    const answer = await fetch(process.env.MAILS_URL);
    assert.equal(answer.status, 200, 'no mail came');
    for (const mail of await answer.json()) {
      all[mail.To] = mail.Data.replaceAll('=\n', '').replace(/=([0-9A-F]{2})/g, (_, code) => String.fromCharCode(parseInt(code, 16)));
    }
  }
  return all;
}

function link(letter) {
  const found = letter.match(/^http\S+token=[\w-]{43}$/m);
  assert.ok(found, letter);
  assert.ok(found[0].startsWith(`${url}/`), found[0]);
  return found[0];
}

inBrowser('who forgot a password sets another by a mail', phone, async (tab, context) => {
  await signIn(tab, 'frank', 'another horse');
  await tab.getByRole('alert').getByText('is wrong').waitFor();
  await tab.getByRole('link', { name: 'Forgot your password?' }).click();
  await sound(tab, 'Forgot your password?');
  await tab.getByLabel('Mail address').fill('Frank@example.com');
  await button(tab, 'Mail me a link').click();
  await tab.getByRole('status').getByText('a mail with a link is on its way').waitFor();
  await sound(tab, 'Forgot your password?');
  const address = link((await letters(1))['frank@example.com']);

  await tab.goto(address);
  await sound(tab, 'New password');
  await tab.getByLabel('New password of frank').fill('battery staple');
  await button(tab, 'Set the password').click();
  await tab.getByRole('status').getByText('The password was changed').waitFor();
  await sound(tab, 'Sign in');
  await signIn(tab, 'frank', 'battery staple');
  await signedIn(tab);

  await context.clearCookies();
  await tab.goto(address);
  await sound(tab, 'This link has expired');
  await signIn(tab, 'frank', 'forgotten horse');
  await tab.getByRole('alert').getByText('is wrong').waitFor();
});

inBrowser('a member changes the mail address and the time zone', { ...phone, colorScheme: 'dark' }, async (tab, context) => {
  await signIn(tab, 'greta', 'correct horse');
  await signedIn(tab);
  await tab.goto(`${url}/account`);
  await tab.getByLabel('Time zone').fill('Asia/Kolkata');
  await button(tab, 'Save').click();
  await tab.getByText('All times are in Asia/Kolkata').waitFor();
  await sound(tab, 'Your account');

  await tab.getByRole('link', { name: 'Mail address' }).click();
  await sound(tab, 'Your account');
  await tab.getByLabel('New mail address').fill('greta@example.org');
  await tab.getByLabel('Your password').fill('correct horse');
  await button(tab, 'Mail me a link').click();
  await tab.getByRole('status').getByText('on its way to greta@example.org').waitFor();
  await sound(tab, 'Your account');
  const sent = await letters(2);
  assert.match(sent['greta@example.com'], /If that was not you/);
  assert.doesNotMatch(sent['greta@example.com'], /token=/);
  assert.match(sent['greta@example.org'], /works once, until .* IST\./);

  await context.clearCookies();
  await tab.goto(link(sent['greta@example.org']));
  await sound(tab, 'Mail address');
  await signIn(tab, 'greta@example.org', 'correct horse');
  await tab.getByRole('alert').getByText('is wrong').waitFor(); // it was only looked at
  await tab.goto(link(sent['greta@example.org']));
  await button(tab, 'Confirm the address').click();
  await tab.getByRole('status').getByText('Your mail address is greta@example.org now').waitFor();
  await signIn(tab, 'greta@example.org', 'correct horse');
  await signedIn(tab);
});

inBrowser('who joins is in when the link is opened', phone, async (tab, context) => {
  const join = async (name, email) => {
    await context.clearCookies();
    await tab.goto(`${url}/register`);
    await sound(tab, 'Join');
    // Nobody comes to the field for programs, by the keyboard or a screen reader.
    assert.equal(await tab.getByRole('textbox', { name: 'Leave this empty' }).count(), 0);
    await tab.getByLabel('Name', { exact: true }).fill(name);
    await tab.getByLabel('Mail address').fill(email);
    const send = async () => {
      await tab.getByLabel('Password').fill('correct horse');
      const answered = tab.waitForEvent('domcontentloaded');
      await button(tab, 'Join').click();
      await answered;
    };
    await send();
    // A browser that is steered may be faster than people; what was typed stays.
    while (await tab.getByRole('alert').getByText('faster than people type').count()) await send();
    await sound(tab, 'Confirm your mail address');
    await tab.getByRole('status').getByText(`on its way to ${email}`).waitFor();
    return tab.locator('main').innerText();
  };
  const unknown = await join('Henry', 'henry@example.com');
  const letter = (await letters(1))['henry@example.com'];
  const known = await join('Hermes', 'greta@example.org');
  assert.equal(known.replace('greta@example.org', 'henry@example.com'), unknown);
  const told = (await letters(1))['greta@example.org'];
  assert.match(told, /Hello greta,[\s\S]*You are a member already/);
  assert.doesNotMatch(told, /token=/);

  await tab.goto(`${url}/account/tokens`);
  await sound(tab, 'Confirm your mail address');
  await context.clearCookies();
  await signIn(tab, 'henry', 'correct horse');
  await sound(tab, 'Confirm your mail address');
  await button(tab, 'Mail it again').click();
  await tab.getByRole('status').getByText('Another mail is on its way').waitFor();
  const another = link((await letters(1))['henry@example.com']);
  assert.notEqual(another, link(letter));
  await tab.goto(another);
  await sound(tab, 'Mail address');
  await button(tab, 'Confirm the address').click();
  await tab.getByRole('status').getByText('henry@example.com is confirmed. Welcome!').waitFor();
  await tab.goto(`${url}/account/email`);
  await tab.getByText('Mails go to henry@example.com.').waitFor();
  await sound(tab, 'Your account');
  await tab.goto(link(letter));
  await sound(tab, 'This link has expired');
});
