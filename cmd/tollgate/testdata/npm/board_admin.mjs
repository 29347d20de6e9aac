// Administration and moderation of the board in a browser that runs no script.
import assert from 'node:assert/strict';
import { defects, faint, inBrowser } from './browser.mjs';

const url = process.env.BOARD_URL;
const shots = process.env.SHOTS; // a folder for pictures of the pages; none where it is not set
const plain = { javaScriptEnabled: false };

// signIn opens a browser of somebody else.
async function signIn(context, name, options = {}) {
  const own = await context.browser().newContext({ ...plain, ...options });
  const tab = await own.newPage();
  await tab.goto(`${url}/login`);
  await tab.getByLabel(/name/i).fill(name);
  await tab.getByLabel('Password').fill('correct horse');
  await tab.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
  await tab.getByRole('button', { name: 'Sign out' }).waitFor();
  return tab;
}

async function open(tab, path, status = 200) {
  const response = await tab.goto(url + path);
  assert.equal(response.status(), status, path);
}

const button = (scope, name) => scope.getByRole('button', { name, exact: true });
const link = (scope, name) => scope.getByRole('link', { name, exact: true });

inBrowser('an administrator makes a private forum', plain, async (_, context) => {
  const admin = await signIn(context, 'ada');
  const member = await signIn(context, 'bob');
  await link(admin, 'Administration').click();
  await link(admin.getByRole('navigation', { name: 'Administration' }), 'Forums').click();
  await link(admin, 'New forum').click();
  await admin.getByLabel('Title').fill('Inner circle');
  await button(admin, 'Save').click();
  const row = admin.getByRole('listitem').filter({ hasText: 'Inner circle' });
  await row.waitFor();

  await open(member, '/');
  await link(member, 'Inner circle').click();
  const forum = new URL(member.url()).pathname;

  await link(row, 'Rights').click();
  const right = admin.getByRole('row').filter({ hasText: 'See the forum' });
  for (const group of ['guest', 'registered']) await right.getByLabel(`See the forum: ${group}`).selectOption('deny');
  await button(admin, 'Save').click();
  await admin.getByRole('status').getByText('The rights count from now on.').waitFor();
  assert.equal(await right.getByLabel('See the forum: registered').inputValue(), 'deny');

  await open(member, forum, 404);
  await open(member, '/');
  assert.equal(await link(member, 'Inner circle').count(), 0);
  await open(admin, forum);
});

inBrowser('an administrator suspends several members at once', plain, async (_, context) => {
  const admin = await signIn(context, 'ada');
  await open(admin, '/admin/members');
  await admin.getByLabel('State').selectOption('active');
  await admin.getByLabel('Sort by').selectOption('posts');
  await button(admin, 'Filter').click();
  for (const name of ['ada', 'bob']) await admin.getByLabel(`Tick ${name}`).check();
  await button(admin, 'Suspend…').click();
  await admin.getByText('can only read').waitFor();
  await admin.getByLabel('Reason').fill('for a test');
  await button(admin, 'Suspend').click();
  await admin.getByText('1 of 2 members was suspended.').waitFor();
  await admin.getByText('Ada: you cannot suspend yourself.').waitFor();
  assert.match(admin.url(), /[?]sort=posts&state=active$/);
  assert.equal(await admin.getByLabel('Tick ada').isChecked(), true); // what was refused stays ticked
  assert.deepEqual(await defects(admin), []);
  await admin.getByLabel('Tick ada').uncheck();
  await admin.getByLabel('Tick bob').check();
  await button(admin, 'End the suspension').click();
  await admin.getByText('bob was allowed to write again.').waitFor();
});

inBrowser('a moderator approves a held post', plain, async (guest, context) => {
  const moderator = await signIn(context, 'mod');
  await open(guest, '/threads/1');
  assert.equal(await guest.getByText('first held').count(), 0);
  await link(moderator, 'Moderation').click();
  const held = (text) => moderator.locator('article', { has: moderator.locator(':scope > .text', { hasText: text }) }); // not what came before it
  await button(held('first held'), 'Approve').click();
  await moderator.getByRole('status').getByText('1 post approved.').waitFor();
  // The next one has the focus: the keyboard goes on.
  assert.equal(await held('second held').getByRole('button', { name: 'Approve' }).evaluate((b) => b === document.activeElement), true);
  await moderator.keyboard.press('Enter');
  await moderator.getByRole('status').getByText('1 post approved.').waitFor();
  assert.equal(await held('second held').count(), 0);
  for (const text of ['third held', 'fourth held']) await held(text).getByRole('checkbox').check();
  const several = moderator.getByRole('form', { name: 'Several posts' });
  await several.getByLabel('Reason').fill('nothing new');
  await button(several, 'Reject').click();
  await moderator.getByRole('status').getByText('2 posts rejected.').waitFor();
  await moderator.getByText('Nothing is waiting for approval.').waitFor();

  await open(guest, '/threads/1');
  assert.equal(await guest.getByText('first held').count(), 1);
  assert.equal(await guest.getByText('third held').count(), 0);
  await link(moderator, 'Log').click();
  await moderator.getByRole('row').filter({ hasText: 'nothing new' }).first().waitFor();
  assert.equal(await moderator.getByRole('row').filter({ hasText: 'nothing new' }).count(), 2);
});

inBrowser('a moderator warns a member, splits posts off, merges threads and deletes what was found', plain, async (_, context) => {
  const moderator = await signIn(context, 'mod', { viewport: { width: 360, height: 740 } });
  const sound = async () => {
    assert.deepEqual(await defects(moderator), [], moderator.url());
    assert.deepEqual(await faint(moderator), [], moderator.url());
    assert.ok(await moderator.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), `${moderator.url()} is too wide`);
    if (shots) await moderator.screenshot({ path: `${shots}/moderator-${++shot}.png`, fullPage: true });
  };
  let shot = 0;
  const said = async (text) => {
    await moderator.getByRole('status').getByText(text).waitFor();
    await moderator.waitForLoadState('domcontentloaded'); // the rest of the page may still be on its way
  };

  await open(moderator, '/threads/2');
  await moderator.getByRole('link', { name: 'Warn the author of post 2' }).click();
  await moderator.getByLabel('Reason').fill('off topic');
  await sound();
  await button(moderator, 'Warn').click();
  await said('The member is warned.');
  await moderator.getByLabel('New note').fill('writes about boats everywhere');
  await button(moderator, 'Save note').click();
  await said('The note is saved.');
  await sound();

  const member = await signIn(context, 'eve');
  await member.getByRole('link', { name: 'Notifications 1 new' }).click();
  await link(member, 'warned you').click();
  await member.getByText('off topic').waitFor();
  assert.deepEqual(await defects(member), []);

  await open(moderator, '/threads/2/manage');
  await sound();
  await link(moderator, 'Choose posts to split off, move or delete').click();
  await moderator.getByRole('checkbox', { name: '#2' }).check();
  await moderator.getByRole('checkbox', { name: '#3' }).check();
  await sound();
  await button(moderator, 'Continue').click();
  await moderator.getByLabel('Title').fill('About boats');
  await sound();
  await button(moderator, 'Split').click();
  await said('The posts are now a separate thread.');
  assert.equal(await moderator.locator('article').count(), 2);
  const split = moderator.url();
  await link(moderator, 'Manage thread').click();
  await moderator.getByLabel('Other thread').fill(`${url}/threads/2`);
  await button(moderator, 'Merge').click();
  await said('The threads are merged.');
  assert.equal(await moderator.locator('article').count(), 4);
  await open(moderator, new URL(split).pathname);
  assert.match(moderator.url(), /[/]threads[/]2-boats.*#post-5$/); // what was the first post there

  await link(moderator, 'Moderation').click();
  await link(moderator, 'Find posts').click();
  await moderator.getByLabel('Member').fill('eve');
  await button(moderator, 'Find').click();
  for (const box of await moderator.getByRole('checkbox', { name: '#' }).all()) await box.check();
  await moderator.getByLabel('What to do').selectOption('delete');
  await sound();
  await button(moderator, 'Continue').click();
  await moderator.getByRole('heading', { name: 'Delete 2 posts?' }).waitFor();
  await sound();
  await button(moderator, 'Delete').click();
  await said('Done: 2.');
});

const pages = ['/moderation', '/moderation/reports', '/moderation/log', '/moderation/find?member=bob', '/threads/1/choose', '/members/3', '/account/warnings', '/admin', '/admin/settings', '/admin/forums', '/admin/forums/2', '/admin/forums/2/rights', '/admin/forums/new',
  '/admin/groups', '/admin/groups/2', '/admin/groups/new', '/admin/moderators', '/admin/members', '/admin/members/1', '/admin/members/3', '/admin/prefixes', '/admin/words', '/admin/tokens',
  '/admin/webhooks', '/admin/names', '/admin/moderators/new', '/admin/prefixes/new', '/admin/words/new', '/admin/tokens/new', '/admin/webhooks/new', '/admin/members?state=active&sort=joined'];
for (const [name, options] of Object.entries({
  'a large screen': {}, 'a phone': { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }, 'the dark': { colorScheme: 'dark' },
})) {
  inBrowser(`the pages on ${name}`, plain, async (_, context) => {
    const tab = await signIn(context, 'ada', options);
    for (const path of pages) {
      await open(tab, path);
      if (shots) await tab.screenshot({ path: `${shots}/board${path.replace(/[^a-z0-9]+/g, '-')}-${name.split(' ').at(-1)}.png`, fullPage: true });
      assert.deepEqual(await defects(tab), [], path);
      assert.deepEqual(await faint(tab), [], path);
      assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), `${path} is too wide`);
    }
  });
}
