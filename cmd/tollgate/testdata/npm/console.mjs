// The console in a browser; the cases of one gateway follow one another.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'node:test';
import { darkness, defects, faint, inBrowser, settled } from './browser.mjs';

const url = process.env.TOLLGATE_URL;
const [ada, berta] = JSON.parse(process.env.TOLLGATE_TOKENS).map((t) => t.token);
const pages = ['', 'playground', 'gateway-keys', 'provider-keys', 'models', 'preferences', 'route', 'usage', 'requests'];
let gatewayKey = '';

async function signIn(tab, token = ada) {
  await tab.goto(`${url}/console/`);
  await tab.getByLabel('User token').fill(token);
  await tab.getByRole('button', { name: 'Sign in with a token' }).click();
  await tab.locator('nav').waitFor({ state: 'attached' });
}

async function go(tab, path) {
  await tab.goto(`${url}/console/#/${path}`);
  await settled(tab);
}

// api asks the gateway itself, to see what the console has done.
async function api(method, path, body) {
  const response = await fetch(`${url}/${path}`, { method, headers: { Authorization: `Bearer ${ada}` }, body: body && JSON.stringify(body) });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

async function ask(model, text = 'Hi') {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST', headers: { Authorization: `Bearer ${gatewayKey}` }, body: JSON.stringify({ model, messages: [{ role: 'user', content: text }] }),
  });
  await response.text();
  return response;
}

const button = (scope, name) => scope.getByRole('button', { name, exact: true });
const dialog = (tab) => tab.getByRole('dialog');

inBrowser('a user signs in by a token and gets a first key', { permissions: ['clipboard-read', 'clipboard-write'] }, async (tab) => {
  await tab.goto(`${url}/console`);
  assert.equal(tab.url(), `${url}/console/`);
  const token = tab.getByLabel('User token');
  await token.waitFor();
  assert.deepEqual(await defects(tab), []);
  for (const [text, says] of [['ak-0000', 'This is a gateway key'], ['not.a.token', 'token'], ['', 'Paste a token first']]) {
    await token.fill(text);
    await token.press('Enter');
    await tab.locator('.problem', { hasText: says }).waitFor();
    assert.equal(await token.getAttribute('aria-invalid'), 'true');
  }
  await token.fill(` Bearer ${ada} `);
  await token.press('Enter');
  await dialog(tab).waitFor();
  gatewayKey = await dialog(tab).getByLabel('Gateway key').inputValue();
  assert.match(gatewayKey, /^ak-/);
  assert.deepEqual(await defects(tab), []);
  await button(dialog(tab), 'Copy').click();
  await button(dialog(tab), 'Copied').waitFor();
  assert.equal(await tab.evaluate(() => navigator.clipboard.readText()), gatewayKey);
  await tab.keyboard.press('Escape'); // does not close what is shown once
  await button(dialog(tab), 'I have copied it').click();
  await dialog(tab).waitFor({ state: 'detached' });
  await tab.reload();
  await tab.getByRole('heading', { name: 'Overview' }).waitFor();
  await settled(tab);
  assert.equal(await dialog(tab).count(), 0, 'the key is shown once');
  assert.equal(await tab.evaluate(() => localStorage.length), 0);
  assert.ok(!(await tab.content()).includes(gatewayKey));
  await button(tab, 'Sign out').click();
  await token.waitFor();
  assert.equal(await tab.evaluate(() => sessionStorage.length), 0);
});

inBrowser('gateway keys are made, changed, revoked and replaced', {}, async (tab) => {
  await signIn(tab);
  await go(tab, 'gateway-keys');
  await button(tab, 'Create key').click();
  const box = dialog(tab);
  const field = (name) => box.getByLabel(name, { exact: true });
  assert.deepEqual(await defects(tab), []);
  await field('Label').fill('<b>batch</b>');
  await field('Requests a minute').fill('1.5');
  await button(box, 'Create key').click();
  await box.locator('.problem', { hasText: 'whole number' }).waitFor();
  await field('Requests a minute').fill('600');
  await field('Expires').fill('2020-01-01T10:00');
  await button(box, 'Create key').click();
  await box.locator('.problem, [role=alert]').filter({ hasText: /expire|past|future/i }).first().waitFor(); // the API's own words
  await field('Expires').fill('2099-01-01T10:00');
  await field('Allowed models').fill('openai/*\ngroq/openai/gpt-oss-20b');
  await field('Tokens a day').fill('100000');
  await field('US dollars a month').fill('12.5');
  await field('US dollars in total').fill('40');
  await field('Requests at once').fill('4');
  await field('Tier for messages with an effort').selectOption('max_of_both');
  await button(box, 'Create key').click();
  await box.getByRole('heading', { name: 'Your new gateway key' }).waitFor();
  assert.match(await box.getByLabel('Gateway key').inputValue(), /^ak-/);
  await button(box, 'I have copied it').click();
  const row = tab.getByRole('row', { name: /<b>batch<\/b>/ });
  await row.getByText('600 requests a minute').waitFor();
  assert.match(await row.innerText(), /100,000 tokens a day[^]*\$12\.50 a month[^]*only openai\/\*, groq\/openai\/gpt-oss-20b[^]*until/);
  const [, made] = (await api('GET', 'users/ada/keychain-keys')).keys;
  assert.deepEqual([made.label, made.rate_limit_per_minute, made.allowed_models, made.effort_mode], ['<b>batch</b>', 600, ['openai/*', 'groq/openai/gpt-oss-20b'], 'max_of_both']);
  assert.deepEqual(made.budgets, { tokens_per_day: 100000, tokens_per_month: null, usd_per_day: null, usd_per_month: 12.5, usd_total: 40 });
  assert.equal(made.parallel_requests, 4);

  await button(tab, 'Edit <b>batch</b>').click();
  assert.equal(await field('Allowed models').inputValue(), 'openai/*\ngroq/openai/gpt-oss-20b');
  await field('Label').fill('nightly');
  for (const name of ['Requests a minute', 'Requests at once', 'Expires', 'Allowed models', 'Tokens a day']) await field(name).fill('');
  await button(box, 'Save').click();
  await tab.getByRole('row', { name: /nightly/ }).waitFor();
  await box.waitFor({ state: 'detached' });
  const changed = (await api('GET', 'users/ada/keychain-keys')).keys[1];
  assert.deepEqual([changed.rate_limit_per_minute, changed.expires_at, changed.allowed_models ?? [], changed.budgets.tokens_per_day, changed.budgets.usd_per_month, changed.budgets.usd_total, changed.parallel_requests ?? null], [null, null, [], null, 12.5, 40, null]);

  await button(tab, 'Revoke nightly').click();
  await button(box, 'Cancel').click();
  assert.equal((await api('GET', 'users/ada/keychain-keys')).keys[1].revoked, false);
  await button(tab, 'Revoke nightly').click();
  await button(box, 'Revoke').click();
  await tab.getByRole('row', { name: /nightly/ }).waitFor({ state: 'detached' });
  assert.equal((await api('GET', 'users/ada/keychain-keys')).keys[1].revoked, true);
  await tab.getByLabel('Show revoked keys').check();
  await tab.getByRole('row', { name: /nightly.*revoked/s }).waitFor();

  await button(tab, 'Replace the primary key').click();
  await button(box, 'Replace').click();
  await box.getByRole('heading', { name: 'Your new primary key' }).waitFor();
  const next = await box.getByLabel('Gateway key').inputValue();
  assert.notEqual(next, gatewayKey);
  gatewayKey = next;
  await button(box, 'Try it in the playground').click();
  await tab.getByRole('heading', { name: 'Playground' }).waitFor();
  assert.equal(await tab.getByLabel('Gateway key').inputValue(), gatewayKey);
});

inBrowser('provider keys are added, tested and removed', {}, async (tab) => {
  await signIn(tab);
  await go(tab, 'provider-keys');
  const box = dialog(tab);
  for (const [provider, key, label] of [['OpenAI', 'sk-aaaaaaaaaaaaaaaa', 'work'], ['Groq', 'gsk_bbbbbbbbbbbb', ''], ['Mistral AI', 'cccccccccccccccc', 'down'], ['OpenAI', 'sk-dddddddddddddddd', 'spare']]) {
    await button(tab, 'Add key').click();
    await button(box, 'Add key').click();
    await box.locator('.problem', { hasText: 'Paste the key' }).waitFor();
    await box.getByLabel('Provider', { exact: true }).selectOption({ label: provider });
    await box.getByLabel('API key', { exact: true }).fill(key);
    await box.getByLabel('Label').fill(label);
    if (label === 'work') assert.deepEqual(await defects(tab), []);
    await button(box, 'Add key').click();
    await box.waitFor({ state: 'detached' });
    await settled(tab);
  }
  await button(tab, 'Test work of OpenAI').click();
  await tab.getByText(/It works: .* answered in/).waitFor();
  await button(tab, 'Test down of Mistral AI').click();
  await tab.getByText(/It does not work: /).waitFor();
  await go(tab, 'models');
  await go(tab, 'provider-keys'); // what failed stays in sight
  await tab.getByRole('region', { name: 'Mistral AI' }).locator('.outcome', { hasText: /It does not work: .* Tested / }).waitFor();
  assert.match(await tab.getByRole('region', { name: 'Mistral AI' }).locator('.keystate').innerText(), /test failed|cooling down/);
  await button(tab, 'Remove spare of OpenAI').click();
  await button(box, 'Remove').click();
  await button(tab, 'Test spare of OpenAI').waitFor({ state: 'detached' });
  assert.deepEqual((await api('GET', 'users/ada/keys')).keys.map((k) => k.key_label), ['work', '', 'down']);

  const models = (await api('GET', 'users/ada/models')).models.filter((m) => m.provider === 'groq');
  await ask(models[0].model_entry, 'scripted?status=429&retry_after=100');
  await button(tab, 'Refresh').click();
  const left = tab.getByText(/^again in \d+/).first();
  const before = await left.innerText();
  await tab.waitForFunction((text) => ![...document.querySelectorAll('.countdown')].some((e) => e.textContent === text), before);
  assert.match(await left.innerText(), /^again in/);
});

const entries = (tab, tier) => tab.getByRole('region', { name: `Tier ${tier}` }).locator('li.model').evaluateAll((rows) => rows.map((r) => r.dataset.entry));
const tried = async (tier) => (await api('GET', 'users/ada/models')).models.filter((m) => m.tier === tier && m.provider_connected).map((m) => m.model_entry);

inBrowser('models are ordered by keyboard and by dragging, switched and added', {}, async (tab) => {
  await signIn(tab);
  await go(tab, 'models');
  const low = await entries(tab, 'Low');
  assert.ok(low.length >= 3, `${low}`);
  assert.deepEqual(low, await tried('low'));

  await button(tab, `Move ${low[0]} down`).focus();
  await tab.keyboard.press('Enter');
  await tab.locator('#announcer', { hasText: 'number 2 of' }).waitFor();
  const once = [low[1], low[0], ...low.slice(2)];
  assert.deepEqual(await entries(tab, 'Low'), once);
  assert.deepEqual(await tried('low'), once);
  assert.equal(await tab.evaluate(() => document.activeElement.getAttribute('aria-label')), `Move ${low[0]} down`, 'the focus stays');
  await tab.keyboard.press('Enter');
  await tab.locator('#announcer', { hasText: 'number 3 of' }).waitFor();
  const twice = [low[1], low[2], low[0], ...low.slice(3)];
  assert.deepEqual(await tried('low'), twice);

  const handle = (name) => tab.getByRole('region', { name: 'Tier Low' }).locator(`li[data-entry="${name}"] .handle`);
  const drag = async (what, to, end) => {
    await handle(what).scrollIntoViewIfNeeded();
    const [a, b] = [await handle(what).boundingBox(), await handle(to).boundingBox()];
    await tab.mouse.move(a.x + a.width / 2, a.y + a.height / 2);
    await tab.mouse.down();
    await tab.mouse.move(b.x + b.width / 2, b.y + b.height / 2, { steps: 12 });
    await tab.mouse.move(b.x + b.width / 2, b.y - 6, { steps: 3 });
    await end();
  };
  await drag(low[0], low[1], async () => { await tab.keyboard.press('Escape'); await tab.mouse.up(); });
  assert.deepEqual(await entries(tab, 'Low'), twice, 'Escape puts it back');
  await drag(low[0], low[1], () => tab.mouse.up());
  await tab.locator('#announcer', { hasText: `${low[0]} is number 1 of` }).waitFor();
  assert.deepEqual(await tried('low'), low);
  await tab.reload();
  await settled(tab);
  assert.deepEqual(await entries(tab, 'Low'), low);

  const toggle = tab.getByRole('region', { name: 'Tier Low' }).getByRole('switch', { name: `Use ${low[0]}` });
  await toggle.press('Space');
  await tab.locator('#announcer', { hasText: 'disabled' }).waitFor();
  assert.equal((await api('GET', 'users/ada/models')).models.find((m) => m.model_entry === low[0]).enabled, false);
  await button(tab.getByRole('region', { name: 'Tier Low' }), `Reset ${low[0]}`).click();
  await tab.locator('#announcer', { hasText: 'settings of the catalog' }).waitFor();
  assert.ok(await toggle.isChecked());

  const box = dialog(tab);
  await button(tab, 'Add a model').click();
  assert.deepEqual(await defects(tab), []);
  await box.getByLabel('Name').fill('openai/gpt-5.4-nano');
  await box.getByLabel('Base URL').fill('ftp://nowhere');
  await box.getByLabel('Model on that server').fill('m');
  await button(box, 'Add model').click();
  await box.locator('[role=alert], .problem:not(:empty)').first().waitFor();
  await box.getByLabel('Name').fill('home/qwen');
  await box.getByLabel('Base URL').fill('http://127.0.0.1:2/v1');
  await box.getByLabel('Tier').selectOption('high');
  await button(box, 'Add model').click();
  await button(tab, 'Remove home/qwen').waitFor();
  await button(tab, 'Remove home/qwen').click();
  await button(box, 'Remove').click();
  await button(tab, 'Remove home/qwen').waitFor({ state: 'detached' });

  await tab.getByLabel('Show models of providers without a key').check();
  await tab.getByText('no key').first().waitFor();
});

inBrowser('preferences', {}, async (tab) => {
  await signIn(tab);
  await go(tab, 'preferences');
  const prefer = async (name) => {
    await tab.getByLabel('Provider', { exact: true }).first().selectOption({ label: name });
    await button(tab, 'Prefer: add to Preferred providers').click();
  };
  await prefer('OpenAI');
  await prefer('Groq');
  await button(tab, 'Move Groq up').press('Enter');
  const models = tab.getByLabel('Model', { exact: true });
  await models.fill('groq/openai/gpt-oss-20b');
  await models.press('Enter');
  await button(tab, 'Save').click();
  await tab.getByText('Saved.').waitFor();
  assert.deepEqual(await api('GET', 'users/ada/preferences'), { preferred_providers: ['groq', 'openai'], excluded_providers: [], excluded_models: ['groq/openai/gpt-oss-20b'] });
  await models.fill('nobody/nothing');
  await models.press('Enter');
  await button(tab, 'Save').click();
  await tab.getByRole('alert').filter({ hasText: 'nobody/nothing' }).waitFor();

  await go(tab, 'models');
  await tab.getByRole('region', { name: 'Tier Low' }).getByText('excluded').waitFor();
  const low = await entries(tab, 'Low');
  assert.match(low[0], /^groq\//);
  const last = low.filter((m) => m.startsWith('groq/')).at(-1);
  assert.equal(await button(tab.getByRole('region', { name: 'Tier Low' }), `Move ${last} down`).getAttribute('aria-disabled'), 'true', 'preference goes before priority');
  await api('PUT', 'users/ada/preferences', {});
});

inBrowser('the playground streams on three surfaces', {}, async (tab) => {
  await api('POST', 'users/ada/models', { model_entry: 'own/1', base_url: `${process.env.TOLLGATE_UPSTREAM}/own/v1`, model: 'scripted', tier: 'low', priority: 100 });
  await signIn(tab);
  await go(tab, 'playground');
  await button(tab, 'Send').click();
  await tab.locator('.problem', { hasText: 'Enter a gateway key' }).waitFor();
  await tab.getByLabel('Gateway key').fill(gatewayKey);
  await tab.getByLabel('Model', { exact: true }).fill('own/1');
  await tab.getByLabel('Message').fill("Hi, it's me\nscripted?reasoning=Hm&text=A+%3Cb%3Eword%3C%2Fb%3E&usage=last");
  for (const [surface, path] of [['chat_completions', 'v1/chat/completions'], ['messages', 'v1/messages'], ['responses', 'v1/responses']]) {
    await tab.getByLabel('API', { exact: true }).selectOption(surface);
    assert.ok((await tab.getByLabel('The same request as code').innerText()).includes(`${url}/${path}`));
    await button(tab, 'Send').click();
    const answer = tab.getByRole('region', { name: 'Answer' });
    await answer.getByText('Finish reason').waitFor();
    assert.equal(await answer.locator('pre.answer').innerText(), 'A <b>word</b>');
    const facts = await answer.locator('dl').innerText();
    assert.match(facts, /Provider\s+custom\s+Model\s+scripted/, surface);
    assert.match(facts, /Tokens in\s+\d+\s+Tokens out\s+\d+/, surface);
  }
  const command = await tab.getByLabel('The same request as code').innerText();
  assert.ok(command.includes(`it'\\''s me`) && command.includes('$TOLLGATE_KEY') && !command.includes(gatewayKey), command);
  await tab.getByLabel('Message').fill('scripted?status=400&message=no+such+voice&code=invalid_value');
  await button(tab, 'Send').click();
  await tab.getByRole('alert').filter({ hasText: 'no such voice' }).waitFor();
  await tab.getByLabel('Message').fill('scripted?fault=stall&after=1&text=one+two');
  await button(tab, 'Send').click();
  await tab.locator('pre.answer', { hasText: 'one' }).waitFor();
  await button(tab, 'Stop').click();
  await tab.getByText('stopped here').waitFor();
  assert.deepEqual(await defects(tab), []);
});

inBrowser('the code of the playground sends its request', {}, async (tab) => {
  await signIn(tab);
  await go(tab, 'playground');
  await tab.getByLabel('Gateway key').fill(gatewayKey);
  await tab.getByLabel('Model', { exact: true }).fill('own/1');
  await tab.getByLabel('Instructions').fill('A `system` with "quotes", \'others\' and a \\ \u2028 é');
  await tab.getByLabel('Message').fill('`It\'s` "me"\nscripted?text=A+word');
  const run = promisify(execFile);
  const env = { ...process.env, TOLLGATE_KEY: gatewayKey, NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  const folder = await mkdtemp(join(tmpdir(), 'code-'));
  for (const surface of ['chat_completions', 'messages', 'responses']) {
    await tab.getByLabel('API', { exact: true }).selectOption(surface);
    const code = async (language) => {
      await tab.getByLabel('Language').selectOption(language);
      const text = await tab.getByLabel('The same request as code').evaluate((place) => place.textContent);
      assert.ok(text.includes('TOLLGATE_KEY') && !text.includes(gatewayKey), text);
      return text;
    };
    assert.equal((await run('node', ['--input-type=module', '-e', await code('node')], { env })).stdout, 'A word\n', surface);
    assert.match((await run('sh', ['-c', (await code('curl')).replace('curl -N', 'curl -sN')], { env })).stdout, /word/, surface);
    await writeFile(join(folder, 'main.go'), await code('go'));
    assert.match((await run('go', ['run', 'main.go'], { env, cwd: folder })).stdout, /word/, surface);
    const python = await code('python');
    assert.match(python, surface === 'messages' ? /from anthropic import Anthropic/ : /from openai import OpenAI/);
    assert.match(python, /stream=True,\n/);
  }
  await rm(folder, { recursive: true });
  assert.equal(await tab.getByText('pip install openai').count(), 1);
  assert.deepEqual(await defects(tab), []);
});

inBrowser('a dry run tells where a request would go', {}, async (tab) => {
  await signIn(tab);
  await go(tab, 'route');
  await tab.getByLabel('Model', { exact: true }).fill('keychain-low');
  await button(tab, 'Show the route').click();
  const candidates = tab.getByRole('region', { name: 'Candidates' });
  await candidates.getByText(/^openai\//).first().waitFor();
  await tab.getByText(/of providers that you have no key for/).click();
  await tab.getByText('provider not connected').first().waitFor();
  await tab.getByLabel('API').selectOption('messages');
  const request = tab.getByLabel('Request', { exact: true });
  await request.fill('{"model"');
  await button(tab, 'Show the route').click();
  await tab.locator('.problem', { hasText: 'not JSON' }).waitFor();
  await request.fill('{"model":"keychain-high","max_tokens":10,"messages":"?"}');
  await button(tab, 'Show the route').click();
  await tab.locator('.problem:not(:empty), [role=alert]').first().waitFor();
  await request.fill('{"model":"keychain-high","max_tokens":10,"messages":[{"role":"user","content":"Hi"}]}');
  await button(tab, 'Show the route').click();
  await tab.getByText('tier high').waitFor();
});

inBrowser('usage and requests', { acceptDownloads: true }, async (tab) => {
  for (let i = 0; i < 26; i++) assert.equal((await ask('openai/gpt-5.4-nano')).status, 200);
  for (;;) { // usage is written behind the requests
    const { totals } = await api('GET', 'users/ada/usage');
    if (totals.requests >= 26) break;
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  await signIn(tab);
  await go(tab, 'usage');
  const charts = tab.getByRole('img');
  assert.equal(await charts.count(), 5);
  assert.ok(await charts.first().locator('rect.series-1').count() > 0);
  assert.match(await tab.getByRole('img', { name: /^Requests: at most/ }).locator('title').first().textContent(), /at most \d+/);
  await tab.getByRole('table', { name: 'Usage by model' }).getByText('openai/gpt-5.4-nano').waitFor();
  await tab.getByRole('table', { name: 'Usage by key' }).getByText('primary').first().waitFor();
  const total = (scope) => scope.locator('.tile', { hasText: 'Requests' }).locator('dd').innerText();
  const month = await total(tab);
  await go(tab, '');
  assert.equal(await total(tab.getByRole('region', { name: 'The last 30 days' })), month, 'one way to count 30 days');
  await go(tab, 'usage');
  for (const group of ['provider', 'model', 'key', 'day']) {
    const [file] = await Promise.all([tab.waitForEvent('download'), button(tab, `Download usage by ${group} as CSV`).click()]);
    assert.equal(file.suggestedFilename(), `usage-by-${group}.csv`);
  }
  assert.deepEqual(await defects(tab), []);
  await tab.getByLabel('Group by', { exact: true }).selectOption('hour');
  await tab.locator('.problem', { hasText: '14 days' }).waitFor();
  await tab.getByLabel('Period', { exact: true }).selectOption('1');
  await button(tab, 'Download usage by hour as CSV').waitFor();
  await tab.getByLabel('Period', { exact: true }).selectOption('');
  await tab.getByLabel('From').fill('2026-01-02');
  await tab.getByLabel('To', { exact: true }).fill('2026-01-01');
  await button(tab, 'Show').click();
  await tab.locator('.problem', { hasText: 'after the beginning' }).waitFor();

  await go(tab, 'requests');
  const rows = tab.getByRole('button', { name: /^Details of the request/ });
  assert.equal(await rows.count(), 25);
  await button(tab, 'Show more').click();
  await settled(tab);
  assert.ok(await rows.count() > 26);
  assert.match(await tab.locator('.when').first().innerText(), /\d\d?:\d\d:\d\d/);
  const nav = tab.locator('nav');
  const before = await nav.boundingBox();
  await tab.evaluate(() => scrollTo(0, document.body.scrollHeight));
  assert.ok(await tab.evaluate(() => scrollY > 200), 'the page is long');
  assert.deepEqual(await nav.boundingBox(), before, 'the side stays');
  await tab.evaluate(() => scrollTo(0, 0));
  await rows.first().press('Enter');
  assert.equal(await rows.first().getAttribute('aria-expanded'), 'true');
  await tab.locator('ol.attempts', { hasText: 'openai/gpt-5.4-nano' }).waitFor();
  await tab.getByText(/^req_/).first().waitFor();
  const [file] = await Promise.all([tab.waitForEvent('download'), button(tab, 'Download the last 500 requests as CSV').click()]);
  assert.equal(file.suggestedFilename(), 'requests.csv');
  assert.deepEqual(await defects(tab), []);
});

inBrowser('requests are filtered, and say why nobody answered', {}, async (tab) => {
  await ask('keychain-high');
  // One model that is limited, asked twice: the second time there is nobody to ask.
  await api('POST', 'users/ada/models', { model_entry: 'own/limited', base_url: `${process.env.TOLLGATE_UPSTREAM}/limited/v1`, model: 'scripted', tier: 'low', priority: 200 });
  for (const _ of [1, 2]) assert.equal((await ask('own/limited', 'scripted?status=429&retry_after=1000')).ok, false);
  let kept = [];
  const asked = (model) => kept.filter((r) => r.asked_model === model);
  while (asked('own/limited').length < 2 || !asked('keychain-high').length) { // requests are written behind the answers
    kept = (await api('GET', 'users/ada/usage/recent?limit=100')).requests;
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  const failed = asked('own/limited');
  await signIn(tab);
  await go(tab, 'requests');
  const rows = tab.getByRole('button', { name: /^Details of the request/ });
  const filter = async (fill, label, value) => {
    await tab.getByLabel(label, { exact: true })[fill](value);
    if (fill === 'fill') await button(tab, 'Show').click();
    await settled(tab);
  };
  await filter('fill', 'Model', 'OWN/limited');
  assert.equal(await rows.count(), 2);
  await tab.getByText(/requests searched: all that are kept/).waitFor();
  for (const n of [0, 1]) {
    await rows.nth(n).press('Enter');
    await tab.locator('.why').nth(n).getByText(/^cooling down until .*\d:\d\d:\d\d/).first().waitFor();
  }
  assert.deepEqual(await defects(tab), []);
  await filter('selectOption', 'Status', 'good');
  await tab.getByText('No request matches this filter.').waitFor();
  await filter('fill', 'Model', '');
  assert.ok(await rows.count() >= 25);
  assert.deepEqual(await tab.locator('tbody .tag.bad').count(), 0);
  await filter('selectOption', 'Status', '');
  await filter('fill', 'Text', failed[0].request_id.slice(4, 14));
  assert.equal(await rows.count(), 1);
  await rows.first().press('Enter');
  await tab.getByText(failed[0].request_id).waitFor();
  await filter('selectOption', 'Gateway key', failed[0].key_id);
  assert.equal(await rows.count(), 1);
  await filter('fill', 'Text', 'no such text');
  await tab.getByText('No request matches this filter.').waitFor();
  await filter('fill', 'Text', '');
  await filter('fill', 'Model', 'keychain-high');
  await rows.first().press('Enter');
  assert.match(await tab.locator('dl.facts').first().innerText(), /Requested tier\s+high/);
  await api('DELETE', `users/ada/models/${encodeURIComponent('own/limited')}`);
});

for (const [colorScheme, most] of [['light', 'light'], ['dark', 'dark']]) {
  inBrowser(`the API reference is ${most} where the device is ${colorScheme}`, { colorScheme }, async (tab) => {
    for (const [path, ready] of [['docs', '.opblock'], ['redoc', 'h1']]) {
      await tab.goto(`${url}/${path}`);
      await tab.locator(ready).first().waitFor();
      if (path === 'docs') await tab.getByRole('combobox', { name: 'Server', exact: true }).waitFor();
      const shown = await darkness(tab);
      assert.ok(shown[most] > (path === 'redoc' && most === 'light' ? 0.5 : 0.8), `${path}: ${JSON.stringify(shown)}`); // Redoc has a dark side by day
      if (most === 'dark') assert.ok(shown.light > 0.005, `${path} has no light text: ${JSON.stringify(shown)}`);
    }
  });
}

for (const colorScheme of ['light', 'dark']) {
  inBrowser(`every page is named, labelled and readable: ${colorScheme}`, { colorScheme }, async (tab) => {
    await signIn(tab);
    const titles = new Set();
    for (const path of pages) {
      await go(tab, path);
      titles.add(await tab.title());
      assert.deepEqual(await defects(tab), [], path);
      assert.deepEqual(await faint(tab), [], path);
      assert.equal(await tab.locator('nav [aria-current=page]').count(), 1);
    }
    assert.equal(titles.size, pages.length);
    await button(tab, 'Sign out').click();
    assert.deepEqual(await faint(tab), [], 'sign in');
  });
}

inBrowser('a phone shows everything without scrolling sideways', { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }, async (tab) => {
  const fits = async (where) => assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${where} is too wide`);
  await tab.goto(`${url}/console/`);
  await fits('sign in');
  await signIn(tab);
  for (const path of pages) {
    await go(tab, path);
    await fits(path);
    const narrow = await tab.evaluate(() => [...document.querySelectorAll('main button, main input:not([type=checkbox]), main select')]
      .filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 34).map((e) => e.outerHTML.slice(0, 100)));
    assert.deepEqual(narrow, [], `${path}: too small for a finger`);
    if (path === 'usage') {
      const cost = await tab.getByRole('table', { name: 'Usage by model' }).getByRole('columnheader', { name: 'Cost' }).boundingBox();
      assert.ok(cost.x + cost.width <= 360, 'the cost is in sight');
    }
    if (path === 'requests') assert.ok(await tab.locator('td[data-label=Cost]').first().isVisible());
  }
  await tab.getByText('Menu').tap();
  await tab.getByRole('link', { name: 'Gateway keys' }).tap();
  await tab.getByRole('heading', { name: 'Gateway keys' }).waitFor();
  assert.equal(await tab.getByRole('link', { name: 'Models' }).isVisible(), false, 'the menu closes');
  await button(tab, 'Create key').tap();
  await fits('dialog');
});

inBrowser('the keyboard is enough', {}, async (tab) => {
  await tab.goto(`${url}/console/`);
  await tab.waitForFunction(() => document.activeElement.tagName === 'INPUT');
  await tab.keyboard.insertText(ada);
  await tab.keyboard.press('Enter');
  await tab.getByRole('heading', { name: 'Overview' }).waitFor();
  await settled(tab);
  const focused = () => tab.evaluate(() => document.activeElement.textContent.trim());
  const outlined = () => tab.evaluate(() => getComputedStyle(document.activeElement).outlineStyle !== 'none');
  for (let i = 0; await focused() !== 'Skip to the content'; i++) {
    assert.ok(i < 30, 'the link to skip the navigation cannot be reached');
    await tab.keyboard.press('Shift+Tab');
  }
  assert.ok(await outlined());
  await tab.keyboard.press('Enter');
  assert.equal(await tab.evaluate(() => document.activeElement.tagName), 'MAIN');
  for (let i = 0; await focused() !== 'Gateway keys'; i++) {
    assert.ok(i < 60, 'the navigation cannot be reached');
    await tab.keyboard.press('Shift+Tab');
  }
  assert.ok(await outlined());
  await tab.keyboard.press('Enter');
  await tab.waitForFunction(() => document.activeElement.tagName === 'H1' && document.activeElement.textContent === 'Gateway keys');
  await settled(tab);
  for (let i = 0; await focused() !== 'Create key'; i++) {
    assert.ok(i < 10, 'the button cannot be reached');
    await tab.keyboard.press('Tab');
  }
  await tab.keyboard.press('Enter');
  await tab.waitForFunction(() => document.activeElement.labels?.[0]?.textContent === 'Label');
  await tab.keyboard.press('Escape');
  await dialog(tab).waitFor({ state: 'detached' });
  assert.equal(await focused(), 'Create key', 'the focus comes back');
});

inBrowser('what fails says so, and can be tried again', {}, async (tab, context) => {
  await signIn(tab);
  await context.route('**/users/*/keychain-keys', (route) => route.abort());
  await tab.goto(`${url}/console/#/gateway-keys`);
  await tab.getByRole('alert').filter({ hasText: 'cannot be reached' }).waitFor();
  await context.unroute('**/users/*/keychain-keys');
  await button(tab, 'Try again').click();
  await tab.getByRole('row', { name: /primary/ }).first().waitFor();
  await tab.evaluate(() => {
    const session = JSON.parse(sessionStorage.getItem('tollgate.session'));
    sessionStorage.setItem('tollgate.session', JSON.stringify({ ...session, token: `${session.token}x` }));
  });
  await tab.reload();
  await tab.getByRole('alert').filter({ hasText: /token/ }).waitFor();
  await tab.getByLabel('User token').waitFor();
  await signIn(tab, berta); // another user: a first key of her own
  await button(dialog(tab), 'I have copied it').click();
  await context.route('**/users/**', (route) => route.fulfill({ status: 401, json: { error: { message: 'the token has expired', code: 'invalid_token' } } }));
  await tab.getByRole('link', { name: 'Usage' }).first().click();
  await tab.getByRole('alert').filter({ hasText: 'You are signed out: the token has expired' }).waitFor();
  assert.equal(await tab.evaluate(() => sessionStorage.length), 0);
});

inBrowser('a user without requests is told so', {}, async (tab) => {
  await signIn(tab, berta);
  await go(tab, 'usage');
  await tab.getByText('No requests in this period.').waitFor();
  assert.equal(await tab.getByRole('img').count(), 0);
});

inBrowser('a user signs in with an OpenID provider', {}, async (tab, context) => {
  const gateway = process.env.TOLLGATE_OIDC_URL;
  await tab.goto(`${gateway}/console/#/models`);
  await button(tab, 'Sign in').click();
  await button(dialog(tab), 'I have copied it').click();
  await tab.getByRole('heading', { name: 'Models' }).waitFor(); // where she wanted to go
  assert.equal(tab.url(), `${gateway}/console/#/models`);
  await tab.getByText('Dora').waitFor();
  const session = await tab.evaluate(() => JSON.parse(sessionStorage.getItem('tollgate.session')));
  assert.equal(session.user, 'dora');
  const renewed = async () => (await fetch(`${process.env.IDENTITY_PROVIDER}/renewed`)).json();
  assert.equal(await renewed(), 0);
  await tab.evaluate(() => {
    const s = JSON.parse(sessionStorage.getItem('tollgate.session'));
    sessionStorage.setItem('tollgate.session', JSON.stringify({ ...s, expires: Date.now() + 1000 }));
  });
  await tab.reload();
  await tab.getByText('Dora').waitFor();
  await settled(tab);
  assert.equal(await renewed(), 1, 'a token that ends is renewed once');
  assert.notEqual((await tab.evaluate(() => JSON.parse(sessionStorage.getItem('tollgate.session')))).refresh, session.refresh);

  await button(tab, 'Sign out').click();
  assert.deepEqual(await defects(tab), []);
  await tab.goto(`${gateway}/console/callback?code=stolen&state=guessed`);
  await tab.getByRole('alert').filter({ hasText: 'not started in this tab' }).waitFor();
  assert.equal(tab.url(), `${gateway}/console/`);
  await context.route('**/authorize?*', (route) => {
    const q = new URL(route.request().url()).searchParams;
    return route.fulfill({ status: 302, headers: { Location: `${q.get('redirect_uri')}?${new URLSearchParams({ error: 'access_denied', error_description: 'Dora said no', state: q.get('state') })}` } });
  });
  await button(tab, 'Sign in').click();
  await tab.getByRole('alert').filter({ hasText: 'Dora said no' }).waitFor();
  await context.unroute('**/authorize?*');
  await context.route('**/token', async (route) => { // a token of another sign-in
    const response = await route.fetch();
    const body = await response.json();
    const [head, payload, signature] = body.id_token.split('.');
    const claims = { ...JSON.parse(Buffer.from(payload, 'base64url')), nonce: 'other' };
    await route.fulfill({ response, json: { ...body, id_token: [head, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.') } });
  });
  await button(tab, 'Sign in').click();
  await tab.getByRole('alert').filter({ hasText: 'not for this sign-in' }).waitFor();
  await tab.getByText('Sign in with a token').first().click(); // on this machine only
  await tab.getByLabel('User token').fill(JSON.parse(process.env.TOLLGATE_OIDC_TOKEN).token);
  await tab.getByLabel('User token').press('Enter');
  await button(dialog(tab), 'I have copied it').click();
});

test('priorities bring a list into an order with few changes', async () => {
  const { priorities } = await import('../../../../backends/gateway/management/web/console/pages/order.js');
  for (const before of [[0, 0, 0, 0, 0], [0, 0, 5, 5, 5], [1, 2, 3, 4, 5], [-10, 0, 0, 10, 10]]) {
    for (let from = 0; from < before.length; from++) {
      for (let to = 0; to < before.length; to++) {
        if (from === to) continue;
        const list = before.map((priority, i) => ({ name: i, priority }));
        const wanted = list.map((e) => e.name);
        wanted.splice(to, 0, ...wanted.splice(from, 1));
        const changes = priorities(list, from, to);
        for (const [entry, priority] of changes) entry.priority = priority;
        const got = list.toSorted((a, b) => a.priority - b.priority || a.name - b.name).map((e) => e.name);
        assert.deepEqual(got, wanted, `${before}: ${from} to ${to}`);
        assert.ok(changes.length <= Math.ceil(before.length / 2) + 1);
      }
    }
  }
});
