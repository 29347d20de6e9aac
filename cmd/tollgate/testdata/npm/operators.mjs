// The pages of operators in a browser; the cases of one gateway follow one another.
import assert from 'node:assert/strict';
import { defects, faint, inBrowser } from './browser.mjs';

const url = process.env.TOLLGATE_URL;
const tokens = JSON.parse(process.env.TOLLGATE_TOKENS);
const pages = ['gateway', 'spending', 'people', 'invitations', 'teams', 'organisation', 'all-keys', 'shared-keys', 'limits', 'offer', 'alerts', 'audit'];

const button = (scope, name) => scope.getByRole('button', { name, exact: true });
const panel = (tab, name) => tab.getByRole('region', { name, exact: true });
const dialog = (tab) => tab.getByRole('dialog');
const idle = (tab) => tab.waitForFunction(() => !document.querySelector('[aria-busy=true], .loading, .boot, button.working'));

async function signIn(tab, who) {
  await tab.goto(`${url}/console/`);
  await tab.getByLabel('User token').fill(tokens[who]);
  await button(tab, 'Sign in with a token').click();
  await tab.locator('nav').waitFor({ state: 'attached' });
  await tab.getByRole('heading', { name: 'Overview' }).waitFor();
  await idle(tab);
  if (await dialog(tab).count()) await button(dialog(tab), 'I have copied it').click(); // a first key
}

async function go(tab, path, heading) {
  await tab.goto(`${url}/console/#/${path}`);
  await tab.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();
  await idle(tab);
}

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

let key = ''; // of ada

inBrowser('a member has no pages of operators', {}, async (tab) => {
  key = (await api('POST', 'users/init', 'ada')).key.key;
  await signIn(tab, 'ada');
  assert.equal(await tab.locator('nav').getByText('Operators').count(), 0);
  for (const name of ['Gateway', 'Spending', 'People', 'Teams', 'Organisation', 'All gateway keys', 'Shared provider keys', 'Limits', 'Models and prices', 'Audit log']) assert.equal(await tab.locator('nav').getByRole('link', { name, exact: true }).count(), 0, name);
  for (const path of pages) { // typed in, they are not there
    await tab.goto(`${url}/console/#/${path}`);
    await idle(tab);
    assert.equal(await tab.locator('main table').count(), 0, path);
    assert.equal((await api('GET', path === 'people' ? 'operator/users' : path === 'organisation' ? 'operator/organisation/limits' : path === 'gateway' ? 'operator/overview' : path === 'offer' ? 'operator/models' : path === 'all-keys' ? 'operator/keychain-keys' : path === 'shared-keys' ? 'operator/provider-keys' : `operator/${path}`, 'ada')).status, 403, path);
  }
});

inBrowser('an operator makes a team, adds a member and limits it', {}, async (tab) => {
  await signIn(tab, 'boss');
  await tab.locator('nav').getByText('Operators').waitFor();
  await tab.locator('nav').getByRole('link', { name: 'Teams', exact: true }).click();
  await tab.getByText('No teams yet.').waitFor();
  await button(tab, 'Create a team').click();
  await dialog(tab).getByLabel('Name').fill('team_red');
  await button(dialog(tab), 'Save').click();
  await dialog(tab).locator('.problem', { hasText: 'must not begin' }).waitFor();
  await dialog(tab).getByLabel('Name').fill('<b>red</b>');
  assert.deepEqual(await defects(tab), []);
  await button(dialog(tab), 'Save').click();
  await tab.getByRole('heading', { level: 1, name: '<b>red</b>' }).waitFor();
  await tab.getByText('This team has no members.').waitFor();

  await button(tab, 'Add a member').click();
  await dialog(tab).getByLabel('User', { exact: true }).fill('nobody');
  await button(dialog(tab), 'Add').click();
  await dialog(tab).locator('.problem:not(:empty)').first().waitFor();
  await dialog(tab).getByLabel('User', { exact: true }).fill('ada');
  await dialog(tab).getByLabel('Role').selectOption('admin');
  assert.deepEqual(await defects(tab), []);
  await button(dialog(tab), 'Add').click();
  await tab.getByRole('row', { name: /ada.*administrator.*yes/s }).waitFor();

  const limits = panel(tab, 'Limits on the team');
  await limits.getByText('No limits.').waitFor();
  await button(limits, 'Change').click();
  await dialog(tab).getByLabel('Requests a minute').fill('0');
  await button(dialog(tab), 'Save').click();
  await dialog(tab).locator('.problem', { hasText: 'whole number' }).waitFor();
  await dialog(tab).getByLabel('Requests a minute').fill('500');
  await dialog(tab).getByLabel('Requests at once').fill('20');
  await dialog(tab).getByLabel('US dollars a month').fill('12.5');
  await dialog(tab).getByLabel('Tokens in total').fill('1000000');
  await dialog(tab).getByLabel('Allowed models').fill('openai/*\ngroq/*');
  assert.deepEqual(await defects(tab), []);
  await button(dialog(tab), 'Save').click();
  for (const text of ['500 requests a minute', '20 requests at once', '$12.50 a month', '1,000,000 tokens in total', 'only openai/*, groq/*']) await limits.getByText(text, { exact: true }).waitFor();
  const [team] = (await api('GET', 'operator/teams', 'boss')).data;
  const stored = await api('GET', `operator/teams/${team.id}/limits`, 'boss');
  assert.deepEqual([team.name, team.members, stored.rate_limit_per_minute, stored.parallel_requests, stored.budgets.usd_per_month, stored.budgets.tokens_total, stored.allowed_models],
    ['<b>red</b>', 1, 500, 20, 12.5, 1000000, ['openai/*', 'groq/*']]);

  await button(limits, 'Change').click(); // what is emptied is without limit
  for (const name of ['Requests at once', 'Tokens in total', 'Allowed models']) await dialog(tab).getByLabel(name).fill('');
  await button(dialog(tab), 'Save').click();
  await limits.getByText('20 requests at once').waitFor({ state: 'detached' });
  assert.deepEqual(await limits.getByRole('listitem').allInnerTexts(), ['500 requests a minute', '$12.50 a month']);
});

inBrowser('an operator sees what is spent', {}, async (tab) => {
  assert.equal((await ask(key)).status, 200);
  for (let lines = []; !lines.length;) { // requests are written behind the answers
    ({ data: lines } = await api('GET', 'operator/spending?by=team', 'boss'));
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  await signIn(tab, 'boss');
  await go(tab, 'spending', 'Spending');
  await tab.getByRole('table', { name: 'Spending by team' }).getByRole('row', { name: /<b>red<\/b>/ }).waitFor();
  await tab.getByRole('table', { name: 'Spending by model' }).getByRole('row', { name: /openai\/gpt-5\.4-nano/ }).waitFor();
  const [file] = await Promise.all([tab.waitForEvent('download'), button(tab, 'Download spending by day, team and model as CSV').click()]);
  assert.equal(file.suggestedFilename(), 'spending.csv');
  await go(tab, 'teams', 'Teams');
  await tab.getByRole('link', { name: '<b>red</b>' }).click();
  await panel(tab, 'Spending').getByRole('row', { name: /openai\/gpt-5\.4-nano/ }).waitFor();
});

inBrowser('an operator sees how the gateway does', {}, async (tab) => {
  const all = await api('GET', 'operator/overview', 'boss');
  assert.equal(all.totals.requests, 1);
  assert.deepEqual(all.by_model.map((l) => [l.provider, l.model, l.requests, l.failed]), [['openai', 'gpt-5.4-nano', 1, 0]]);
  await signIn(tab, 'boss');
  await go(tab, 'gateway', 'Gateway');
  for (const time of ['2', '30']) {
    await tab.getByLabel('Period', { exact: true }).selectOption(time);
    await idle(tab);
    for (const name of ['Spent today', 'This month', 'Forecast for the month', 'Requests', 'Errors', 'p99']) await tab.locator('dl.tiles').getByText(name, { exact: true }).waitFor();
    await tab.getByRole('table', { name: 'By model' }).getByRole('row', { name: /openai\/gpt-5\.4-nano.*1.*0 %/s }).waitFor();
    await tab.getByRole('table', { name: 'By team' }).getByRole('row', { name: /<b>red<\/b>/ }).waitFor();
    for (const name of ['Requests', 'Latency', 'Cost by model', 'Cost by team']) await tab.getByRole('img', { name: new RegExp(`^${name}`) }).waitFor();
  }
  await tab.getByRole('table', { name: 'By team' }).getByRole('link', { name: '<b>red</b>' }).click();
  await tab.getByRole('heading', { level: 1, name: '<b>red</b>' }).waitFor();
});

inBrowser('an operator limits, suspends and resumes a user', {}, async (tab) => {
  await signIn(tab, 'boss');
  await go(tab, 'people', 'People');
  await tab.getByLabel('Find').fill('AD');
  await button(tab, 'Show').click();
  await tab.getByRole('row', { name: /boss/ }).waitFor({ state: 'detached' });
  await tab.getByRole('link', { name: 'ada', exact: true }).first().click();
  await tab.getByRole('heading', { level: 1, name: 'ada' }).waitFor();
  await panel(tab, 'User').getByText('<b>red</b>').waitFor();

  const limits = panel(tab, 'Limits on the user');
  await button(limits, 'Change').click();
  await dialog(tab).getByLabel('Tokens a day').fill('1');
  await button(dialog(tab), 'Save').click();
  await limits.getByText('1 tokens a day').waitFor();
  const spent = await ask(key);
  assert.deepEqual([spent.status, spent.error.message.includes('the user of the gateway key has spent the budget tokens_per_day')], [402, true], JSON.stringify(spent));

  await button(tab, 'Suspend').click();
  assert.deepEqual(await defects(tab), []);
  await button(dialog(tab), 'Cancel').click();
  await dialog(tab).waitFor({ state: 'detached' });
  assert.equal((await ask(key)).status, 402);
  await button(tab, 'Suspend').click();
  await button(dialog(tab), 'Suspend').click();
  await panel(tab, 'User').getByText('suspended').waitFor();
  assert.equal((await ask(key)).status, 401);
  assert.equal((await api('GET', 'users/ada/keychain-keys', 'ada')).status, 403);
  const resume = '**/operator/users/ada/resume';
  await tab.route(resume, (route) => route.fulfill({ status: 503, json: { error: { message: 'Not now.' } } }));
  await button(tab, 'Resume').click();
  await tab.getByRole('alert').getByText('Not now.').waitFor();
  await tab.unroute(resume);
  await button(tab, 'Resume').click();
  await panel(tab, 'User').getByText('active').waitFor();
  assert.equal((await ask(key)).status, 402);

  await button(tab, 'Create a key').click();
  await dialog(tab).getByLabel('Label').fill('for ada');
  await button(dialog(tab), 'Create').click();
  await dialog(tab).getByRole('heading', { name: 'The new gateway key' }).waitFor();
  assert.match(await dialog(tab).getByLabel('Gateway key').inputValue(), /^ak-/);
  await button(dialog(tab), 'I have copied it').click();
  await button(tab.getByRole('row', { name: /for ada/ }), 'Limit').click();
  await dialog(tab).getByLabel('Requests a minute').fill('9');
  await dialog(tab).getByLabel('Allowed models').fill('groq/*');
  assert.deepEqual(await defects(tab), []);
  await button(dialog(tab), 'Save').click();
  await tab.getByRole('row', { name: /for ada.*9 requests a minute.*only groq\/\*/s }).waitFor();
  const made = (await api('GET', 'users/ada/keychain-keys', 'ada')).keys.find((k) => k.label === 'for ada');
  assert.deepEqual(made.imposed.filter((i) => i.on === 'key').map((i) => [i.by, i.rate_limit_per_minute]), [['operator', 9]]);
  assert.equal((await api('PUT', `keychain-keys/${made.id}`, 'ada', { rate_limit_per_minute: null, allowed_models: null })).imposed.find((i) => i.on === 'key').rate_limit_per_minute, 9);
  assert.equal((await api('PUT', `operator/users/ada/keychain-keys/${made.id}/limits`, 'ada', {})).status, 403);
  await tab.getByRole('row', { name: /for ada/ }).getByRole('button', { name: /Revoke/ }).click();
  await button(dialog(tab), 'Revoke').click();
  await tab.getByRole('row', { name: /for ada.*revoked/s }).waitFor();
});

inBrowser('an operator raises a limit for a time, and ends that', {}, async (tab) => {
  await signIn(tab, 'boss');
  await go(tab, 'people/ada', 'ada');
  const limits = panel(tab, 'Limits on the user');
  await button(limits, 'Raise temporarily').click();
  await dialog(tab).getByLabel('Tokens a day').fill('100000');
  await button(dialog(tab), 'Save').click();
  await dialog(tab).locator('.problem', { hasText: 'Enter a time' }).waitFor();
  await dialog(tab).getByLabel('Until').fill('2026-01-01T10:00');
  await button(dialog(tab), 'Save').click();
  await dialog(tab).locator('.problem', { hasText: 'within the next' }).waitFor();
  await dialog(tab).getByLabel('Until').fill(new Date(Date.now() + 7 * 86400000).toISOString().slice(0, 16));
  assert.deepEqual(await defects(tab), []);
  await button(dialog(tab), 'Save').click();
  await limits.getByText('100,000 tokens a day').waitFor();
  await limits.getByText('1 tokens a day', { exact: true }).waitFor();
  assert.equal((await ask(key)).status, 200);
  await button(limits, 'End the raise').click();
  await limits.getByText('100,000 tokens a day').waitFor({ state: 'detached' });
  assert.equal((await ask(key)).status, 402);
});

inBrowser('a member sees what is left of the budgets that bind them', {}, async (tab) => {
  await signIn(tab, 'ada');
  const budgets = panel(tab, 'Budgets');
  await budgets.getByRole('row', { name: /all your keys.*1 tokens a day.*0 tokens/s }).waitFor();
  await budgets.getByRole('row', { name: /your team.*\$12\.50 a month/s }).waitFor();
  assert.deepEqual(await defects(tab), []);
});

inBrowser('a team has keys of its own', {}, async (tab) => {
  const [team] = (await api('GET', 'operator/teams', 'boss')).data;
  await signIn(tab, 'boss');
  await go(tab, `teams/${team.id}`, team.name);
  const keys = panel(tab, 'Keys of the team');
  await keys.getByText('No gateway keys.').waitFor();
  await button(keys, 'Create a key').click();
  await dialog(tab).getByLabel('Label').fill('ci');
  await dialog(tab).getByLabel('US dollars a day').fill('2.5');
  await button(dialog(tab), 'Create').click();
  await dialog(tab).getByRole('heading', { name: 'The new gateway key' }).waitFor();
  const ofTeam = await dialog(tab).getByLabel('Gateway key').inputValue();
  await button(dialog(tab), 'I have copied it').click();
  assert.equal((await ask(ofTeam)).status, 200);
  await keys.getByRole('row', { name: /ci.*\$2\.50 a day/s }).getByRole('button', { name: 'Revoke' }).click();
  await button(dialog(tab), 'Revoke').click();
  await keys.getByRole('row', { name: /ci.*revoked/s }).waitFor();
  assert.equal((await ask(ofTeam)).status, 401);
});

inBrowser('who is invited signs in by the link', {}, async (tab) => {
  const [team] = (await api('GET', 'operator/teams', 'boss')).data;
  await signIn(tab, 'boss');
  await go(tab, 'invitations', 'Invitations');
  await tab.getByText('No invitations.').waitFor();
  await button(tab, 'Invite somebody').click();
  await dialog(tab).getByLabel('Mail address').fill('nobody');
  await button(dialog(tab), 'Invite').click();
  await dialog(tab).locator('.problem:not(:empty)').first().waitFor();
  await dialog(tab).getByLabel('Mail address').fill('ivy@example.com');
  await dialog(tab).getByLabel('Team', { exact: true }).selectOption(team.id);
  assert.deepEqual(await defects(tab), []);
  await button(dialog(tab), 'Invite').click();
  await dialog(tab).getByRole('heading', { name: 'The invitation' }).waitFor();
  const link = await dialog(tab).getByLabel('Link').inputValue();
  assert.ok(link.startsWith(`${url}/console/#invitation=`), link);
  await button(dialog(tab), 'I have copied it').click();
  await tab.getByRole('row', { name: /ivy@example\.com.*open/s }).waitFor();

  await tab.evaluate(() => sessionStorage.clear()); // as somebody else
  await tab.goto('about:blank');
  await tab.goto(link);
  await tab.getByLabel('User token').fill(tokens.ivy);
  assert.equal(await tab.evaluate(() => location.hash), '');
  await button(tab, 'Sign in with a token').click();
  await dialog(tab).getByRole('heading', { name: 'Your first gateway key' }).waitFor();
  await button(dialog(tab), 'I have copied it').click();
  assert.deepEqual((await api('GET', 'operator/self', 'ivy')).teams.map((t) => t.id), [team.id]);
  const [invitation] = (await api('GET', 'operator/invitations', 'boss')).data;
  assert.equal(invitation.accepted_by, 'ivy');
});

inBrowser('an operator sees the models on offer and sets what is paid for them', {}, async (tab) => {
  const [team] = (await api('GET', 'operator/teams', 'boss')).data;
  await api('PUT', `operator/teams/${team.id}/limits`, 'boss', { allowed_models: ['openai/*'], rate_limit_per_minute: 500, budgets: { usd_per_month: 12.5 } });
  await signIn(tab, 'boss');
  await go(tab, 'offer', 'Models and prices');
  const models = tab.getByRole('table', { name: 'Models', exact: true });
  const row = (id) => models.getByRole('row', { name: new RegExp(`^${id.replaceAll('.', '\\.')}`) });
  const listed = (await api('GET', 'models', 'boss')).models.length;
  await button(tab, `Show all ${listed}`).click();
  assert.equal(await models.getByRole('row').count(), listed + 1);
  await row('openai/gpt-5.4-nano').getByText('everybody').waitFor();
  await row('openai/gpt-5.4-nano').getByText('active').waitFor();
  await row('groq/llama-3.1-8b-instant').getByText('no key').waitFor();
  await row('groq/llama-3.1-8b-instant').getByText('but not team <b>red</b>').waitFor();

  await tab.getByLabel('Find').fill('gpt-5.4-n');
  await button(tab, 'Show').click();
  await row('groq/llama-3.1-8b-instant').waitFor({ state: 'detached' });
  await button(row('openai/gpt-5.4-nano'), 'Price').click();
  await dialog(tab).getByLabel('Input', { exact: true }).fill('');
  await button(dialog(tab), 'Save').click();
  await dialog(tab).locator('.problem', { hasText: 'Enter an amount' }).waitFor();
  await dialog(tab).getByLabel('Input', { exact: true }).fill('3');
  await dialog(tab).getByLabel('Output', { exact: true }).fill('7.5');
  assert.deepEqual(await defects(tab), []);
  await button(dialog(tab), 'Save').click();
  await row('openai/gpt-5.4-nano').getByText('$7.50').waitFor();
  await row('openai/gpt-5.4-nano').getByText('own price').waitFor();
  const paid = (await api('GET', 'models', 'ada')).models.find((m) => m.id === 'openai/gpt-5.4-nano').price;
  assert.deepEqual([paid.input_usd_per_million_tokens, paid.output_usd_per_million_tokens, paid.usd_per_call.web_search > 0], [3, 7.5, true]); // what was not asked for stays

  await button(tab, 'Set a price').click();
  await dialog(tab).getByLabel('Model', { exact: true }).fill('openai');
  await dialog(tab).getByLabel('Discount in percent').fill('50');
  await button(dialog(tab), 'Save').click();
  await dialog(tab).locator('.problem', { hasText: 'is not a name such as' }).waitFor();
  await dialog(tab).getByLabel('Model', { exact: true }).fill('openai/*');
  assert.deepEqual(await defects(tab), []);
  await button(dialog(tab), 'Save').click();
  const prices = panel(tab, 'Own prices');
  await prices.getByRole('row', { name: /openai\/\*.*50 % less than the list price/s }).waitFor();
  await button(prices.getByRole('row', { name: /gpt-5\.4-nano/ }), 'Remove').click();
  await button(dialog(tab), 'Remove').click();
  await prices.getByRole('row', { name: /gpt-5\.4-nano/ }).waitFor({ state: 'detached' });
  await row('openai/gpt-5.4-nano').getByText('$7.50').waitFor({ state: 'detached' });
  assert.deepEqual((await api('GET', 'operator/prices', 'boss')).data, [{ name: 'openai/*', price: { discount: 50 } }]);

  const names = panel(tab, 'Aliases');
  await button(names, 'Add an alias').click();
  await dialog(tab).getByLabel('Name', { exact: true }).fill('house model');
  await dialog(tab).getByLabel('Stands for').fill('openai/gpt-5.4-nano');
  await button(dialog(tab), 'Add').click();
  await dialog(tab).locator('.problem:not(:empty)').first().waitFor();
  await dialog(tab).getByLabel('Name', { exact: true }).fill('house-model');
  assert.deepEqual(await defects(tab), []);
  await button(dialog(tab), 'Add').click();
  await names.getByRole('row', { name: /house-model.*openai\/gpt-5\.4-nano/s }).waitFor();
  await button(names.getByRole('row', { name: /house-model/ }), 'Remove').click();
  await button(dialog(tab), 'Remove').click();
  await names.getByText('No aliases.').waitFor();
  await go(tab, 'audit', 'Audit log');
  await tab.getByRole('row', { name: /boss.*price set.*openai\/\*.*discount: 50/s }).first().waitFor();
  await tab.getByRole('row', { name: /boss.*price removed.*gpt-5\.4-nano/s }).first().waitFor();
});

inBrowser('an operator sees all limits with what is left, and all shared provider keys', {}, async (tab) => {
  const [team] = (await api('GET', 'operator/teams', 'boss')).data;
  await api('POST', 'operator/organisation/provider-keys', 'boss', { provider: 'openai', api_key: 'sk-company-0123456789', key_label: 'company' });
  await api('POST', `operator/teams/${team.id}/provider-keys`, 'boss', { provider: 'groq', api_key: 'gsk-team-0123456789', key_label: 'of red' });
  await signIn(tab, 'boss');
  await go(tab, 'shared-keys', 'Shared provider keys');
  await tab.getByRole('row', { name: /of red.*<b>red<\/b>.*groq.*untested/s }).waitFor();
  await button(tab.getByRole('row', { name: /company.*the organisation.*openai/s }), 'Test').click();
  await tab.getByRole('row', { name: /company.*the organisation.*openai.*active/s }).waitFor();

  await go(tab, 'limits', 'Limits');
  const table = tab.getByRole('table', { name: 'Limits' });
  await table.getByRole('row', { name: /ada.*1 tokens a day.*of 1 tokens a day/s }).getByText(/^[0-9,]+00 %$/).waitFor();
  await table.getByRole('row', { name: /team <b>red<\/b>.*500 requests a minute.*of \$12\.50 a month/s }).waitFor();
  assert.equal(await table.getByRole('row').count(), 3);
  await tab.getByLabel('Kind').selectOption('user');
  await table.getByRole('row', { name: /<b>red<\/b>/ }).waitFor({ state: 'detached' });
  await tab.getByLabel('Kind').selectOption('key');
  await tab.getByText('There are no limits of this kind.').waitFor();
  await tab.getByLabel('Kind').selectOption('user');
  await table.getByRole('link', { name: 'ada' }).click();
  await tab.getByRole('heading', { level: 1, name: 'ada' }).waitFor();
});

inBrowser('an operator finds gateway keys of everybody and revokes one', {}, async (tab) => {
  await api('POST', 'operator/users/ada/keychain-keys', 'boss', { label: 'laptop', rate_limit_per_minute: 3 });
  await signIn(tab, 'boss');
  await go(tab, 'all-keys', 'All gateway keys');
  const keys = tab.getByRole('table', { name: 'Gateway keys' });
  await keys.getByRole('row', { name: /laptop.*ada.*active.*3 requests a minute/s }).waitFor();
  assert.equal(await keys.getByRole('row', { name: /revoked/ }).count(), 0);
  await tab.getByLabel('Include revoked keys').check();
  await keys.getByRole('row', { name: /^ci.*team <b>red<\/b>.*revoked/s }).waitFor();
  await tab.getByLabel('Find').fill('LAP');
  await button(tab, 'Show').click();
  await keys.getByRole('row', { name: /^ci/ }).waitFor({ state: 'detached' });
  await button(keys.getByRole('row', { name: /laptop/ }), 'Revoke').click();
  assert.deepEqual(await defects(tab), []);
  await button(dialog(tab), 'Revoke').click();
  await keys.getByRole('row', { name: /laptop.*revoked/s }).waitFor();
  assert.equal((await api('GET', 'users/ada/keychain-keys', 'ada')).keys.find((k) => k.label === 'laptop').status, 'revoked');
});

inBrowser('the audit log has who changed what', {}, async (tab) => {
  await signIn(tab, 'boss');
  await go(tab, 'audit', 'Audit log');
  for (const action of ['team created', 'member set', 'team limited', 'user limited', 'user suspended', 'user resumed']) await tab.getByRole('row', { name: new RegExp(`boss.*${action}`, 's') }).first().waitFor();
  await tab.getByRole('row', { name: /team limited.*500 requests a minute.*\$12\.50 a month.*only openai\/\*, groq\/\*/s }).waitFor();
  await tab.getByRole('row', { name: /user suspended/ }).getByRole('link', { name: 'ada' }).click();
  await tab.getByRole('heading', { level: 1, name: 'ada' }).waitFor();
});

inBrowser('an auditor sees everything and changes nothing', {}, async (tab) => {
  await signIn(tab, 'olga');
  for (const [path, heading] of [['gateway', 'Gateway'], ['spending', 'Spending'], ['people', 'People'], ['people/ada', 'ada'], ['teams', 'Teams'], ['organisation', 'Organisation'], ['all-keys', 'All gateway keys'], ['shared-keys', 'Shared provider keys'], ['limits', 'Limits'], ['offer', 'Models and prices'], ['alerts', 'Alerts'], ['audit', 'Audit log']]) {
    await go(tab, path, heading);
    for (const name of ['Create a user', 'Create a team', 'Create a key', 'Set a price', 'Price', 'Test', 'Add an alias', 'Change', 'Suspend', 'Remove', 'Revoke']) assert.equal(await button(tab, name).count(), 0, `${path}: ${name}`);
  }
  assert.equal((await api('PUT', 'operator/organisation/limits', 'olga', {})).status, 403);
});

for (const colorScheme of ['light', 'dark']) {
  inBrowser(`the pages of operators are named, labelled and readable: ${colorScheme}`, { colorScheme }, async (tab) => {
    const [team] = (await api('GET', 'operator/teams', 'boss')).data;
    await signIn(tab, 'boss');
    const names = [['gateway', 'Gateway'], ['spending', 'Spending'], ['people', 'People'], ['people/ada', 'ada'], ['invitations', 'Invitations'], ['teams', 'Teams'], [`teams/${team.id}`, team.name], ['organisation', 'Organisation'], ['all-keys', 'All gateway keys'], ['shared-keys', 'Shared provider keys'], ['limits', 'Limits'], ['offer', 'Models and prices'], ['alerts', 'Alerts'], ['audit', 'Audit log']];
    for (const [path, heading] of names) {
      await go(tab, path, heading);
      assert.deepEqual(await defects(tab), [], path);
      assert.deepEqual(await faint(tab), [], path);
      assert.equal(await tab.locator('nav [aria-current=page]').count(), 1, path);
    }
    await tab.setViewportSize({ width: 360, height: 740 });
    for (const [path, heading] of names) {
      await go(tab, path, heading);
      assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path} is too wide`);
    }
  });
}
