// The pages of the board in a browser, without script.
import assert from 'node:assert/strict';
import { defects, faint, inBrowser } from './browser.mjs';

const url = process.env.BOARD_URL;
const phone = { viewport: { width: 390, height: 844 }, javaScriptEnabled: false };
const button = (tab, name) => tab.locator('main').getByRole('button', { name, exact: true });

// at waits for the page with a heading.
const at = (tab, name) => tab.getByRole('heading', { level: 1, name, exact: true }).waitFor();

// sound looks at the page with a heading as users of keyboards, screen readers and small screens do.
async function sound(tab, name) {
  await at(tab, name);
  assert.deepEqual(await defects(tab), [], tab.url());
  assert.deepEqual(await faint(tab), [], tab.url());
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${tab.url()} is ${wide} pixels too wide`);
}

async function signIn(tab, name) {
  await tab.goto(`${url}/login`);
  await tab.getByLabel('Name or mail address').fill(name);
  await tab.getByLabel('Password').fill('correct horse');
  await button(tab, 'Sign in').click();
  await tab.getByRole('button', { name: 'Sign out' }).waitFor();
}

inBrowser('somebody joins on a phone, starts a thread, answers, edits and finds it', phone, async (tab) => {
  await tab.goto(url);
  await sound(tab, 'Board');
  await tab.getByRole('link', { name: 'Join' }).click();
  await tab.getByLabel('Name', { exact: true }).fill('bob');
  await tab.getByLabel('Mail address').fill('carol@example.com');
  const join = async () => {
    await tab.getByLabel('Password').fill('a long password');
    const answered = tab.waitForEvent('domcontentloaded');
    await button(tab, 'Join').click();
    await answered;
  };
  await join();
  // A browser that is steered may be faster than people; what was typed stays.
  while (await tab.getByRole('alert').getByText('faster than people type').count()) await join();
  await tab.getByRole('alert').getByText('This name is taken').waitFor();
  assert.equal(await tab.getByLabel('Mail address').inputValue(), 'carol@example.com', 'what was typed is kept');
  await sound(tab, 'Join');
  await tab.getByLabel('Name', { exact: true }).fill('carol');
  await join();
  while (await tab.getByRole('alert').getByText('faster than people type').count()) await join();
  await tab.getByRole('status').getByText('You are signed in').waitFor();
  await tab.getByRole('button', { name: 'Sign out' }).click();

  await tab.getByRole('link', { name: 'Public' }).first().click();
  await tab.getByRole('link', { name: 'Sign in' }).first().click();
  await tab.getByLabel('Name or mail address').fill('carol@example.com');
  await tab.getByLabel('Password').fill('a long password');
  await button(tab, 'Sign in').click();
  await sound(tab, 'Public'); // back where one was

  await tab.getByRole('link', { name: 'New thread' }).click();
  await sound(tab, 'New thread');
  await tab.getByLabel('Title').fill('Notes on <b>quokkas</b>');
  await tab.getByLabel('Message').fill('They *smile*.\n\n```\nwide code '.concat('x'.repeat(200), '\n```'));
  await button(tab, 'Preview').click();
  const preview = tab.getByRole('region', { name: 'Preview' });
  assert.equal(await preview.locator('em').innerText(), 'smile');
  await sound(tab, 'New thread');
  await button(tab, 'Start thread').click();
  await sound(tab, 'Notes on <b>quokkas</b>');

  await tab.getByLabel('Message').fill('A second thuoght.');
  await button(tab, 'Post reply').click();
  const second = tab.locator('#post-2');
  await second.getByText('A second thuoght.').waitFor();
  assert.match(tab.url(), /\/threads\/\d+-notes-on-b-quokkas-b#post-2$/);
  await second.getByRole('link', { name: 'Edit post 2' }).click();
  await tab.getByLabel('Message').fill('A second thought.');
  await tab.getByLabel('Reason').fill('spelling');
  await sound(tab, 'Edit');
  await button(tab, 'Save').click();
  await second.getByText('A second thought.').waitFor();

  await tab.getByRole('searchbox', { name: 'Search the board' }).fill('thought');
  await tab.keyboard.press('Enter');
  await sound(tab, 'Search');
  await tab.locator('main').getByRole('link', { name: 'Notes on <b>quokkas</b>' }).click();
  await second.getByText('A second thought.').waitFor();

  await second.getByRole('link', { name: 'Delete post 2' }).click();
  await sound(tab, 'Delete this post?');
  await button(tab, 'Delete').click();
  await tab.getByRole('status').getByText('The post is deleted').waitFor();
  assert.equal(await second.count(), 0);
});

inBrowser('a member follows a thread and is told of an answer', phone, async (tab, context) => {
  await signIn(tab, 'grace');
  await tab.getByRole('link', { name: 'Public', exact: true }).first().click();
  await tab.getByRole('link', { name: 'Public thread' }).first().click();
  await button(tab, 'Follow').click();
  await tab.getByRole('status').getByText('You follow this thread').waitFor();
  const thread = tab.url();

  await context.clearCookies();
  await signIn(tab, 'henry');
  await tab.goto(thread);
  await tab.getByRole('link', { name: 'Quote post 1' }).click();
  await at(tab, 'Reply');
  assert.match(await tab.getByLabel('Message').inputValue(), /^> \*\*alice\*\* wrote/);
  await tab.getByLabel('Message').press('Control+End');
  await tab.keyboard.type('I agree.');
  await button(tab, 'Post reply').click();
  await tab.locator('article').last().getByText('I agree').waitFor();

  await context.clearCookies();
  await signIn(tab, 'grace');
  await tab.getByRole('link', { name: 'Notifications 1 new' }).click();
  await sound(tab, 'Your account');
  await tab.locator('main').getByRole('link', { name: 'Public thread' }).click();
  await tab.locator('article:target').getByText('I agree').waitFor();
  await tab.goto(`${url}/account/notifications`);
  await button(tab, 'Mark all as read').click();
  await tab.getByRole('link', { name: 'Notifications', exact: true }).first().waitFor();
});

inBrowser('a keyboard reaches the content first, and everything else in order', { javaScriptEnabled: false }, async (tab) => {
  await tab.goto(url);
  await tab.keyboard.press('Tab');
  assert.equal(await tab.evaluate(() => document.activeElement.textContent), 'Skip to the content');
  await tab.keyboard.press('Enter');
  await tab.keyboard.press('Tab');
  assert.ok(await tab.evaluate(() => document.querySelector('main').contains(document.activeElement)));
});

inBrowser('a member writes to another one, who reports it', phone, async (tab, context) => {
  await signIn(tab, 'henry');
  await tab.goto(`${url}/conversations`);
  await sound(tab, 'Messages');
  await tab.getByRole('link', { name: 'New conversation' }).click();
  await sound(tab, 'New conversation');
  await tab.getByLabel('To').fill('grace');
  await tab.getByLabel('Title').fill('Just you');
  await tab.getByLabel('Message').fill('Buy my watches.');
  await button(tab, 'Send').click();
  await sound(tab, 'Just you');

  await context.clearCookies();
  await signIn(tab, 'grace');
  await tab.goto(`${url}/conversations`);
  await sound(tab, 'Messages');
  await tab.getByRole('link', { name: 'Just you' }).click();
  await sound(tab, 'Just you');
  await tab.getByRole('link', { name: 'Report the message of henry' }).click();
  await sound(tab, 'Report this message');
  await tab.getByLabel('What is wrong with it?').fill('advertising');
  await button(tab, 'Tell the moderators').click();
  await tab.getByRole('status').getByText('The moderators will look at it').waitFor();

  await context.clearCookies();
  await signIn(tab, 'mona');
  await tab.goto(`${url}/moderation/reports`);
  await tab.getByText('advertising').waitFor();
  await tab.getByText('Buy my watches.').waitFor();
  await sound(tab, 'Reports');
  await button(tab, 'Close').click();
  await tab.getByRole('status').getByText('The report is closed').waitFor();
});

inBrowser('a question gets an answer, reactions, a bookmark and a reader who ignores its author', phone, async (tab, context) => {
  await signIn(tab, 'grace');
  const thread = async () => {
    await tab.goto(url);
    await tab.getByRole('link', { name: 'Help', exact: true }).first().click();
    await sound(tab, 'Help');
    await tab.locator('main').getByRole('link', { name: 'A question' }).first().click();
    await at(tab, 'A question');
  };
  await thread();
  const reply = tab.locator('#post-2');
  await reply.getByRole('button', { name: 'Like for post 2' }).click();
  await reply.getByRole('button', { name: 'Like 1 for post 2', pressed: true }).waitFor();
  await reply.getByRole('button', { name: 'Mark post 2 as the answer' }).click();
  await tab.getByRole('status').getByText('This post is the answer now').waitFor();
  await tab.getByText('Show the answer here').click();
  await tab.getByRole('complementary', { name: 'Answer' }).locator('strong', { hasText: 'this' }).waitFor();
  await sound(tab, 'A question');
  await reply.getByRole('link', { name: 'Who reacted to post 2' }).click();
  await sound(tab, 'Reactions');
  await tab.goBack();
  await reply.getByRole('link', { name: 'Bookmark post 2' }).click();
  await sound(tab, 'Bookmark');
  await tab.getByLabel('Note').fill('try this');
  await button(tab, 'Save bookmark').click();
  await tab.getByRole('status').getByText('The bookmark is saved').waitFor();
  await tab.goto(`${url}/account/bookmarks`);
  await tab.getByText('try this').waitFor();
  await sound(tab, 'Your account');

  await thread();
  await reply.getByRole('link', { name: 'henry' }).click();
  await button(tab, 'Ignore').click();
  await button(tab, 'Stop ignoring').waitFor();
  await sound(tab, 'henry');
  await thread();
  await tab.getByText('You ignore henry. Show post 2').click();
  await sound(tab, 'A question');
  await tab.goto(`${url}/conversations`);
  await sound(tab, 'Messages');
  await tab.getByRole('button', { name: 'Stop ignoring henry' }).click();
  await tab.getByRole('status').getByText('You do not ignore this member any more').waitFor();

  await context.clearCookies();
  await signIn(tab, 'henry');
  await tab.goto(`${url}/account/notifications`);
  await tab.getByText('grace reacted to your post').waitFor();
  await tab.getByText('grace marked your post as the answer').waitFor();
  await sound(tab, 'Your account');
});

inBrowser('a long thread has pages, and members have pictures and lists of what they wrote', { ...phone, viewport: { width: 360, height: 740 } }, async (tab) => {
  await signIn(tab, 'grace');
  await tab.goto(`${url}/account`);
  await sound(tab, 'Your account');
  const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  await tab.getByLabel('Picture', { exact: true }).setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: Buffer.from(dot, 'base64') });
  await button(tab, 'Use this picture').click();
  await tab.getByRole('status').getByText('The picture is saved').waitFor();
  await sound(tab, 'Your account');

  await tab.goto(`${url}/search?q=journal`);
  await tab.getByText('At least 100 posts found in this thread').waitFor();
  await sound(tab, 'Search');
  await tab.getByRole('link', { name: 'All posts found in A long journal' }).click();
  await sound(tab, 'Search');
  await tab.getByRole('link', { name: 'A long journal' }).first().click();
  await sound(tab, 'A long journal');
  assert.match(tab.url(), /[?]page=6#post-130$/);
  assert.ok(await tab.locator('img.face').first().evaluate((image) => image.naturalWidth > 0));
  await tab.getByRole('link', { name: 'Page 1', exact: true }).first().click();
  await tab.locator('#post-25').waitFor();
  await sound(tab, 'A long journal');
  assert.match(tab.url(), /-a-long-journal$/);
  await tab.getByText('Go to a page or a date').click();
  await tab.getByLabel('Page', { exact: true }).fill('3');
  await sound(tab, 'A long journal');
  await button(tab, 'Go to page').click();
  await tab.locator('#post-51').waitFor();
  await sound(tab, 'A long journal');
  await tab.getByText('Go to a page or a date').click();
  await tab.getByLabel('Date').fill('2025-05-01');
  await button(tab, 'Go to date').click();
  await tab.locator('#post-62').waitFor();
  assert.match(tab.url(), /[?]page=3#post-62$/);

  await tab.getByRole('link', { name: 'grace', exact: true }).nth(1).click();
  await sound(tab, 'grace');
  const lists = tab.getByRole('navigation', { name: 'Member' });
  await lists.getByRole('link', { name: 'Posts' }).click();
  await tab.getByText('Entry 130 of the journal').waitFor();
  await sound(tab, 'grace');
  await lists.getByRole('link', { name: 'Threads' }).click();
  await tab.getByRole('link', { name: 'A long journal' }).waitFor();
  await sound(tab, 'grace');
});

inBrowser('a member asks in a poll, votes and changes the vote, and a moderator ends it', phone, async (tab, context) => {
  await signIn(tab, 'grace');
  await tab.getByRole('link', { name: 'Help', exact: true }).first().click();
  await tab.getByRole('link', { name: 'New thread' }).click();
  await tab.getByLabel('Title').fill('Where to meet');
  await tab.getByLabel('Message').fill('Say where.');
  await tab.getByText('Add a poll').click();
  await tab.getByLabel('Question').fill('In which town?');
  await tab.getByLabel('Answers (2 to 20').fill('Bonn\nA town with a very long name, which nobody on a small telephone can read in a single line\nKiel');
  await tab.getByLabel('Answers that a member may choose').fill('2');
  await tab.getByLabel('Days until the poll ends').fill('7');
  await tab.getByLabel('Show the result only to those').check();
  await tab.getByLabel('Votes may be changed').check();
  await sound(tab, 'New thread');
  await button(tab, 'Start thread').click();
  const poll = tab.getByRole('region', { name: 'In which town?' });
  await poll.getByText('0 members have voted.').waitFor();
  await sound(tab, 'Where to meet');
  await poll.getByLabel('Bonn').check();
  await poll.getByLabel('Kiel').check();
  await poll.getByRole('button', { name: 'Vote' }).click();
  await poll.getByText('1 member has voted.').waitFor();
  await poll.getByText('1 vote, 100 %').first().waitFor();
  await poll.getByText('Change your vote').click();
  await sound(tab, 'Where to meet');
  await poll.getByLabel('Kiel').uncheck();
  await poll.getByRole('button', { name: 'Vote' }).click();
  await poll.getByText('0 votes, 0 %').nth(1).waitFor();

  const thread = tab.url();
  await context.clearCookies();
  await signIn(tab, 'mona');
  await tab.goto(thread);
  await poll.getByRole('button', { name: 'End the poll' }).click();
  await poll.getByText('The poll ended').waitFor();
  await sound(tab, 'Where to meet');
});

inBrowser('an administrator makes a tag, which a member gives to a thread', phone, async (tab, context) => {
  await signIn(tab, 'ada');
  await tab.goto(`${url}/admin/tags`);
  await sound(tab, 'Tags');
  await tab.getByRole('link', { name: 'New tag' }).click();
  await sound(tab, 'Tag');
  await tab.getByLabel('Name').fill('marsupials');
  await button(tab, 'Save').click();
  await sound(tab, 'Tags');

  await context.clearCookies();
  await signIn(tab, 'henry');
  await tab.goto(url);
  await tab.getByRole('link', { name: 'Public' }).first().click();
  await tab.getByRole('link', { name: 'New thread' }).click();
  await tab.getByLabel('Title').fill('On wombats');
  await tab.getByLabel('Message').fill('They dig.');
  await tab.getByLabel('marsupials').check();
  await sound(tab, 'New thread');
  await button(tab, 'Start thread').click();
  await sound(tab, 'On wombats');
  await tab.getByRole('link', { name: 'marsupials' }).click();
  await sound(tab, 'Tag: marsupials');
  await tab.getByRole('link', { name: 'On wombats' }).waitFor();
});

inBrowser('every page of the account is sound in the dark', { ...phone, colorScheme: 'dark' }, async (tab) => {
  await signIn(tab, 'grace');
  const account = 'Your account';
  for (const [path, name] of [
    ['/', 'Board'], ['/account', account], ['/account/password', account], ['/account/tokens', account], ['/account/subscriptions', account],
    ['/account/notifications', account], ['/new', 'What is new'], ['/search?q=public', 'Search'], ['/threads/1', 'Public thread'], ['/threads/1/manage', 'Manage thread'], ['/nothing', 'Page not found'],
  ]) {
    await tab.goto(url + path);
    await sound(tab, name);
  }
  await tab.goto(`${url}/account/tokens`);
  await tab.getByLabel('What is it for?').fill('laptop');
  await tab.getByLabel('Your password').fill('correct horse');
  await button(tab, 'Make the token').click();
  const token = await tab.locator('.secret').innerText();
  const me = await fetch(`${url}/api/v1/me`, { headers: { Authorization: `Bearer ${token}` } });
  assert.equal((await me.json()).data.username, 'grace');
  await tab.goto(`${url}/account/tokens`);
  await tab.getByRole('button', { name: 'Revoke laptop' }).click();
  await tab.getByRole('status').getByText('The token was revoked').waitFor();
  const gone = await fetch(`${url}/api/v1/me`, { headers: { Authorization: `Bearer ${token}` } });
  assert.equal(gone.status, 401);
});
