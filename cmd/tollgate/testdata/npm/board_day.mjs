// One day on the board: somebody joins, reads what is new, mentions, reacts, writes to a member, searches and reports;
// the others answer, and a moderator puts things in order.
import assert from 'node:assert/strict';
import { defects, faint, inBrowser } from './browser.mjs';

const url = process.env.BOARD_URL;
const shots = process.env.SHOTS; // a folder for pictures of the pages; none where it is not set
const button = (tab, name) => tab.locator('main').getByRole('button', { name, exact: true });
const told = async (tab, text) => {
  await tab.getByRole('status').getByText(text).first().waitFor();
  await tab.waitForLoadState('domcontentloaded'); // the rest of the page may still be on its way
};
let shot = 0;

// sound checks the page with a heading for users of keyboards, screen readers and small screens.
async function sound(tab, name) {
  await tab.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  assert.deepEqual(await defects(tab), [], tab.url());
  assert.deepEqual(await faint(tab), [], tab.url());
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${tab.url()} is ${wide} pixels too wide`);
  if (shots) await tab.screenshot({ path: `${shots}/day-${String(++shot).padStart(2, '0')}.png`, fullPage: true });
}

// person opens a browser of a member.
async function person(context, name, options = {}) {
  const own = await context.browser().newContext(options);
  const tab = await own.newPage();
  await tab.goto(`${url}/login`);
  await tab.getByLabel('Name or mail address').fill(name);
  await tab.getByLabel('Password').fill('correct horse');
  await button(tab, 'Sign in').click();
  await tab.getByRole('button', { name: 'Sign out' }).waitFor();
  return tab;
}

// confirmation waits for the mail to an address and returns its link.
async function confirmation(to) {
  for (;;) {
    const answer = await fetch(process.env.MAILS_URL);
    assert.equal(answer.status, 200, 'no mail came');
    for (const mail of await answer.json()) {
      if (mail.To !== to) continue;
      const text = mail.Data.replaceAll('=\n', '').replace(/=([0-9A-F]{2})/g, (_, code) => String.fromCharCode(parseInt(code, 16)));
      return text.match(/^http\S+token=[\w-]{43}$/m)[0];
    }
  }
}

inBrowser('one day on the board', { viewport: { width: 390, height: 844 } }, async (tab, context) => {
  // Morning: ines joins and confirms her address.
  await tab.goto(url);
  await sound(tab, 'Board');
  await tab.getByRole('link', { name: 'Join' }).click();
  await tab.getByLabel('Name', { exact: true }).fill('ines');
  await tab.getByLabel('Mail address').fill('ines@example.com');
  const join = async () => {
    await tab.getByLabel('Password').fill('correct horse');
    const answered = tab.waitForEvent('domcontentloaded');
    await button(tab, 'Join').click();
    await answered;
  };
  await join();
  // A browser that is steered may be faster than people; what was typed stays.
  while (await tab.getByRole('alert').getByText('faster than people type').count()) await join();
  await sound(tab, 'Confirm your mail address');
  await tab.goto(await confirmation('ines@example.com'));
  await button(tab, 'Confirm the address').click();
  await told(tab, 'is confirmed. Welcome!');

  // Others write while she looks around, so that there is something new.
  const henry = await person(context, 'henry');
  await henry.goto(`${url}/search?q=tripod`);
  await henry.getByRole('link', { name: 'Night photographs' }).first().click();
  await henry.getByLabel('Message', { exact: true }).fill('Clear sky tonight: I expose for 20 seconds.');
  await button(henry, 'Post reply').click();
  await henry.locator('article').last().getByText('20 seconds').waitFor();

  // She reads what is new from the first post that she has not read.
  await tab.getByRole('link', { name: 'New', exact: true }).first().click();
  await sound(tab, 'What is new');
  await tab.locator('main').getByRole('link', { name: 'Night photographs' }).first().click();
  await sound(tab, 'Night photographs');
  const clear = tab.locator('article', { hasText: '20 seconds' });
  await clear.getByRole('button', { name: /Like for post/ }).click();
  await clear.getByRole('button', { name: /Like 1 for post/, pressed: true }).waitFor();
  await button(tab, 'Follow').click();
  await told(tab, 'You follow this thread');
  await tab.getByLabel('Message', { exact: true }).fill('Hello @henry, which lens is that?');
  await button(tab, 'Post reply').click();
  await tab.locator('article').last().getByRole('link', { name: '@henry' }).waitFor();
  await sound(tab, 'Night photographs');

  // Noon: henry is told of both, answers with a quotation, and gets a message of hers.
  await henry.goto(url);
  await henry.getByRole('link', { name: 'Notifications 2 new' }).click();
  await henry.getByText('ines reacted to your post').waitFor();
  await henry.getByText('mentioned you in').waitFor();
  await sound(henry, 'Your account');
  await henry.locator('main').getByRole('listitem').filter({ hasText: 'mentioned you in' }).getByRole('link', { name: 'Night photographs' }).click();
  const question = henry.locator('article:target');
  await question.getByText('which lens is that?').waitFor();
  await question.getByRole('link', { name: /^Quote post \d+$/ }).click();
  await henry.waitForFunction(() => document.getElementById('message').value.includes('which lens'));
  await henry.getByLabel('Message', { exact: true }).press('Control+End');
  await henry.keyboard.type('A 20 mm one.');
  await button(henry, 'Post reply').click();
  await henry.locator('article').last().getByText('A 20 mm one.').waitFor();

  await tab.goto(`${url}/account/notifications`);
  await tab.locator('main').getByRole('link', { name: 'Night photographs' }).first().click();
  await tab.locator('article:target').getByText('A 20 mm one.').waitFor();
  await tab.locator('article:target').getByRole('link', { name: 'henry', exact: true }).first().click();
  await sound(tab, 'henry');
  await tab.getByRole('link', { name: 'Write a message' }).click();
  await sound(tab, 'New conversation');
  await tab.getByLabel('Title').fill('Your lens');
  await tab.getByLabel('Message').fill('Do you sell the old one?');
  await button(tab, 'Send').click();
  await sound(tab, 'Your lens');
  await henry.goto(`${url}/conversations`);
  await henry.getByRole('link', { name: 'Your lens' }).click();
  await henry.getByLabel('Message', { exact: true }).fill('Yes, for you.');
  await button(henry, 'Send').click();
  await henry.getByText('Yes, for you.').waitFor();
  await tab.goto(`${url}/conversations`);
  await sound(tab, 'Messages');
  await tab.getByRole('link', { name: 'Your lens' }).click();
  await tab.getByText('Yes, for you.').waitFor();

  // Afternoon: she searches, and finds an advertisement beside what she looked for.
  await tab.getByRole('searchbox', { name: 'Search the board' }).fill('tripod');
  await tab.keyboard.press('Enter');
  await sound(tab, 'Search');
  await tab.locator('main').getByRole('link', { name: 'Cheap tripods here' }).first().click();
  await sound(tab, 'Cheap tripods here');
  await tab.getByRole('link', { name: 'Report post 1' }).click();
  await sound(tab, 'Report this post');
  await tab.getByLabel('What is wrong with it?').fill('advertising');
  await button(tab, 'Tell the moderators').click();
  await told(tab, 'The moderators will look at it');

  // The moderator warns its author, deletes the thread and closes the report.
  const mona = await person(context, 'mona');
  await mona.getByRole('link', { name: /^Moderation/ }).first().click();
  await mona.getByRole('link', { name: /^Reports/ }).first().click();
  await sound(mona, 'Reports');
  await mona.getByText('advertising').waitFor();
  await mona.locator('main').getByRole('link', { name: 'Cheap tripods here' }).first().click();
  const advertisement = mona.url();
  await mona.getByRole('link', { name: 'Warn the author of post 1' }).click();
  await mona.getByLabel('Reason').fill('advertising');
  await button(mona, 'Warn').click();
  await told(mona, 'The member is warned');
  await mona.goto(advertisement);
  await mona.getByRole('link', { name: 'Manage thread' }).click();
  await sound(mona, 'Manage thread');
  await mona.getByRole('link', { name: 'Delete the whole thread' }).click();
  await button(mona, 'Delete').click();
  await told(mona, 'deleted');
  await mona.goto(`${url}/moderation/reports`);
  await button(mona, 'Close').click();
  await told(mona, 'The report is closed');

  // Evening: the advertisement is gone, and a last answer is new until she has had enough.
  await henry.goto(`${url}/search?q=tripod`);
  await henry.getByRole('link', { name: 'Night photographs' }).first().click();
  await henry.getByLabel('Message', { exact: true }).fill('Good night.');
  await button(henry, 'Post reply').click();
  await henry.locator('article').last().getByText('Good night.').waitFor();
  await tab.getByRole('searchbox', { name: 'Search the board' }).fill('cheap');
  await tab.keyboard.press('Enter');
  await sound(tab, 'Search');
  assert.equal(await tab.locator('main').getByRole('link', { name: 'Cheap tripods here' }).count(), 0);
  await tab.goto(`${url}/new`);
  await tab.locator('main').getByRole('link', { name: 'Night photographs' }).first().waitFor();
  await button(tab, 'Mark all as read').click();
  await told(tab, 'read');
  await tab.goto(`${url}/new`);
  await sound(tab, 'What is new');
  assert.equal(await tab.locator('main').getByRole('link', { name: 'Night photographs' }).count(), 0);
  await tab.getByRole('button', { name: 'Sign out' }).click();
  await tab.getByRole('link', { name: 'Sign in' }).first().waitFor();
});
