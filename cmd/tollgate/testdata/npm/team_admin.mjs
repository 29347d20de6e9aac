// The page of the administrators of a team in a browser; the cases of one gateway follow one another.
import assert from 'node:assert/strict';
import { defects, faint, inBrowser } from './browser.mjs';

const url = process.env.TOLLGATE_URL;
const tokens = JSON.parse(process.env.TOLLGATE_TOKENS);

const button = (scope, name) => scope.getByRole('button', { name, exact: true });
const panel = (tab, name) => tab.getByRole('region', { name, exact: true });
const dialog = (tab) => tab.getByRole('dialog');
const idle = (tab) => tab.waitForFunction(() => !document.querySelector('[aria-busy=true], .loading, .boot, button.working'));

// api asks the gateway itself, to see what the console has done.
async function api(method, path, who, body) {
  const answer = await fetch(`${url}/${path}`, { method, headers: { Authorization: `Bearer ${tokens[who]}` }, body: body && JSON.stringify(body) });
  const text = await answer.text();
  return { status: answer.status, ...(text ? JSON.parse(text) : {}) };
}

async function ask(key) {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST', headers: { Authorization: `Bearer ${key}` }, body: JSON.stringify({ model: 'openai/gpt-5.4-nano', messages: [{ role: 'user', content: 'Hi' }] }),
  });
  return { status: answer.status, ...await answer.json() };
}

async function signIn(tab, who) {
  await tab.goto(`${url}/console/`);
  await tab.getByLabel('User token').fill(tokens[who]);
  await button(tab, 'Sign in with a token').click();
  await tab.getByRole('heading', { name: 'Overview' }).waitFor();
  await idle(tab);
}

// open signs mia in, who administers the team red, and opens the page of it.
async function open(tab) {
  await signIn(tab, 'mia');
  await tab.locator('nav').getByRole('link', { name: 'My team', exact: true }).click();
  await tab.getByRole('heading', { level: 1, name: 'red', exact: true }).waitFor();
  await idle(tab);
}

const teams = {};

inBrowser('a member has no page of a team', {}, async (tab) => {
  for (const who of ['boss', 'mia', 'max', 'rob']) await api('POST', 'users/init', who);
  for (const name of ['red', 'blue']) teams[name] = (await api('POST', 'operator/teams', 'boss', { name })).id;
  await api('PUT', `operator/teams/${teams.red}/members/mia`, 'boss', { role: 'admin' });
  await api('PUT', `operator/teams/${teams.red}/members/max`, 'boss', {});
  await api('PUT', `operator/teams/${teams.blue}/members/rob`, 'boss', { role: 'admin' });
  await api('PUT', `operator/teams/${teams.red}/limits`, 'boss', { rate_limit_per_minute: 500, budgets: { usd_per_month: 12.5 } });
  await signIn(tab, 'max');
  assert.equal(await tab.locator('nav').getByRole('link', { name: 'My team', exact: true }).count(), 0);
});

inBrowser('an administrator sees what the operator has set, and sets tighter limits', {}, async (tab) => {
  await open(tab);
  const theirs = panel(tab, 'Limits on the team');
  for (const text of ['500 requests a minute', '$12.50 a month']) await theirs.getByText(text, { exact: true }).waitFor();
  await theirs.getByText('Set by the operator; only operators can change them.').waitFor();
  assert.equal(await theirs.getByRole('button').count(), 0);
  const own = panel(tab, 'The team’s own limits');
  await own.getByText('No limits.').waitFor();
  await button(own, 'Change').click();
  await dialog(tab).getByLabel('Requests a minute').fill('40');
  await dialog(tab).getByLabel('Tokens a day').fill('1');
  assert.deepEqual(await defects(tab), []);
  await button(dialog(tab), 'Save').click();
  for (const text of ['40 requests a minute', '1 tokens a day']) await own.getByText(text, { exact: true }).waitFor();
  const stored = await api('GET', `operator/teams/${teams.red}/limits`, 'boss');
  assert.deepEqual([stored.rate_limit_per_minute, stored.budgets.usd_per_month, stored.budgets.tokens_per_day], [500, 12.5, null]);
});

inBrowser('an administrator adds members, makes one an administrator, and takes one out', {}, async (tab) => {
  await open(tab);
  await button(tab, 'Add a member').click();
  await dialog(tab).getByLabel('User', { exact: true }).fill('nobody');
  await button(dialog(tab), 'Add').click();
  await dialog(tab).locator('.problem:not(:empty)').first().waitFor();
  await dialog(tab).getByLabel('User', { exact: true }).fill('rob');
  assert.deepEqual(await defects(tab), []);
  await button(dialog(tab), 'Add').click();
  const members = tab.getByRole('table', { name: 'Members' });
  const row = members.getByRole('row', { name: /rob/ });
  await row.waitFor();
  await button(row, 'Make administrator').click();
  assert.deepEqual(await defects(tab), []);
  await button(dialog(tab), 'Make administrator').click();
  await members.getByRole('row', { name: /rob.*administrator/s }).waitFor();
  await button(row, 'Make a member').click();
  await button(dialog(tab), 'Make a member').click();
  await button(row, 'Make administrator').waitFor();
  await button(row, 'Remove').click();
  await button(dialog(tab), 'Remove').click();
  await row.waitFor({ state: 'detached' });
  await button(members.getByRole('row', { name: /max/ }), 'Remove').click(); // his only team, whose limits bind him
  await button(dialog(tab), 'Remove').click();
  await dialog(tab).getByText('this is the only team of the user').first().waitFor();
  assert.deepEqual((await api('GET', `operator/teams/${teams.red}/members`, 'boss')).data.map((m) => m.user_id), ['max', 'mia']);
});

inBrowser('an administrator makes, replaces and revokes a key of the team', {}, async (tab) => {
  await open(tab);
  const keys = panel(tab, 'Keys of the team');
  await button(keys, 'Create a key').click();
  await dialog(tab).getByLabel('Label').fill('ci');
  await button(dialog(tab), 'Create').click();
  await dialog(tab).getByRole('heading', { name: 'The new gateway key' }).waitFor();
  const first = await dialog(tab).getByLabel('Gateway key').inputValue();
  await button(dialog(tab), 'I have copied it').click();
  assert.equal((await ask(first)).status, 200);
  await button(keys.getByRole('row', { name: /ci/ }), 'Replace').click();
  assert.deepEqual(await defects(tab), []);
  await button(dialog(tab), 'Replace').click();
  await dialog(tab).getByRole('heading', { name: 'The new gateway key' }).waitFor();
  const second = await dialog(tab).getByLabel('Gateway key').inputValue();
  await button(dialog(tab), 'I have copied it').click();
  assert.equal((await ask(first)).status, 401);
  for (let lines = []; !lines.length;) { // requests are written behind the answers
    ({ data: lines } = await api('GET', `operator/teams/${teams.red}/spending?by=user`, 'mia'));
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  const spent = await ask(second);
  assert.deepEqual([spent.status, /the team of the gateway key has spent the budget tokens_per_day that its administrators have set/.test(spent.error.message)], [402, true], JSON.stringify(spent));
  await button(keys.getByRole('row', { name: /ci.*active/s }), 'Revoke').click();
  await button(dialog(tab), 'Revoke').click();
  await keys.getByRole('row', { name: /active/ }).waitFor({ state: 'detached' });
  assert.equal((await ask(second)).status, 401);
});

inBrowser('an administrator stores and removes a provider key of the team', {}, async (tab) => {
  await open(tab);
  const keys = panel(tab, 'Provider keys');
  await button(keys, 'Add a key').click();
  await dialog(tab).getByLabel('Label').fill('of red');
  await dialog(tab).getByLabel('API key').fill('sk-red-0123456789');
  assert.deepEqual(await defects(tab), []);
  await button(dialog(tab), 'Add key').click();
  await keys.getByRole('row', { name: /of red/ }).waitFor();
  await button(keys.getByRole('row', { name: /of red/ }), 'Remove').click();
  await button(dialog(tab), 'Remove').click();
  await keys.getByText('No provider keys.').waitFor();
});

inBrowser('an administrator sees what the team spends and who changed it', {}, async (tab) => {
  await open(tab);
  await tab.getByRole('table', { name: 'Spending by member' }).getByRole('row', { name: /red/ }).waitFor(); // by a key of the team
  await tab.getByRole('table', { name: 'Spending by model' }).getByRole('row', { name: /openai\/gpt-5\.4-nano/ }).waitFor();
  await panel(tab, 'Spending').getByLabel('Period', { exact: true }).selectOption('7');
  await idle(tab);
  await panel(tab, 'Spending').getByRole('img', { name: /^Cost/ }).waitFor();
  const log = panel(tab, 'Changes');
  for (const text of [/mia.*provider key added/s, /mia.*key replaced/s, /mia.*team itself limited.*40 requests a minute/s, /boss.*team limited.*500 requests a minute/s, /mia.*member removed/s]) await log.getByRole('row', { name: text }).first().waitFor();
  assert.equal(await tab.locator('main').getByText('blue').count(), 0);
});

inBrowser('an administrator of one team does not see another one', {}, async (tab) => {
  await open(tab);
  await tab.goto(`${url}/console/#/team/${teams.blue}`);
  await tab.getByText('only the gateway\'s operators may do this').first().waitFor();
  await idle(tab);
  assert.equal(await tab.locator('main table').count(), 0);
  for (const path of ['teams', 'people', 'audit', 'spending']) { // typed in, they are not there
    await tab.goto(`${url}/console/#/${path}`);
    await tab.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  }
});

for (const colorScheme of ['light', 'dark']) {
  inBrowser(`the page of a team is named, labelled and readable: ${colorScheme}`, { colorScheme }, async (tab) => {
    await open(tab);
    assert.deepEqual(await defects(tab), []);
    assert.deepEqual(await faint(tab), []);
    assert.equal(await tab.locator('nav [aria-current=page]').count(), 1);
    for (const width of [390, 360]) {
      await tab.setViewportSize({ width, height: 740 });
      assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `too wide for ${width}`);
    }
  });
}
