// Every family of pages as axe sees it, in light and dark, on a desk and on a phone; and that no page scrolls
// sideways on a narrow one, weighs much, or asks another host.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { inBrowser } from './browser.mjs';

const url = JSON.parse(process.env.LOOK_URLS);
const secrets = JSON.parse(process.env.LOOK_SECRETS);
const shots = process.env.SHOTS; // a folder for pictures of the pages; none where it is not set
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const heaviest = 60 * 1024; // of a first page, compressed

const button = (scope, name) => scope.getByRole('button', { name, exact: true });
const main = (tab) => tab.locator('main');

// shown waits until nothing loads.
const shown = (tab) => tab.waitForFunction(() => document.querySelector('h1, .swagger-ui .info') && !document.querySelector('[aria-busy=true], .loading, .boot, button.working'));

// look checks the page that is shown. In the dark the colours alone are others.
async function look(tab, name, schemes) {
  await shown(tab);
  const found = [];
  const present = await tab.evaluate(() => Boolean(window.axe));
  if (!present) await tab.evaluate(axe);
  for (const [width, height] of [[1280, 900], [390, 844]]) {
    await tab.setViewportSize({ width, height });
    for (const colorScheme of schemes) {
      await tab.emulateMedia({ colorScheme });
      await tab.waitForFunction(() => document.getAnimations().every((one) => one.playState !== 'running'));
      if (shots) await tab.screenshot({ path: `${shots}/${name}-${width}-${colorScheme}.png`, fullPage: true });
      const violations = await tab.evaluate(async (rules) => (await window.axe.run(document, { resultTypes: ['violations'], preload: false, ...rules })).violations
        .flatMap((v) => v.nodes.map((node) => `${v.id}: ${node.html.slice(0, 160)} ${node.any[0]?.message ?? ''}`)), colorScheme === 'dark' ? { runOnly: ['color-contrast'] } : {});
      found.push(...violations.map((text) => `${width} ${colorScheme} ${text}`));
    }
  }
  await tab.setViewportSize({ width: 360, height: 740 });
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (wide > 0) found.push(`${wide} pixels too wide at 360`);
  await tab.setViewportSize({ width: 1280, height: 900 });
  await tab.emulateMedia({ colorScheme: 'light' });
  return found.map((text) => `${name}: ${text}`);
}

// family is a case that looks at pages: [name, address, open], where open brings the tab to what is looked at.
function family(title, enter, pages, { own = true, schemes = ['light', 'dark'] } = {}) {
  inBrowser(`${title}: as axe sees it`, {}, async (tab, context) => {
    const asked = [];
    const loaded = [];
    context.on('request', (request) => asked.push(request.url()));
    context.on('response', (response) => loaded.push(response));
    await tab.goto(pages[0][1]);
    await shown(tab);
    let weight = 0;
    for (const response of loaded) if (response.status() === 200 && /document|stylesheet|script|image|font/.test(response.request().resourceType())) weight += gzipSync(await response.body()).length;
    if (own) assert.ok(weight < heaviest, `${pages[0][1]} weighs ${weight} bytes`);
    await enter?.(tab);
    const found = [];
    for (const [name, address, open] of pages) {
      if (address) await tab.goto(address);
      await open?.(tab);
      found.push(...await look(tab, name, schemes));
    }
    assert.equal(found.slice(0, 30).join('\n'), '', `${found.length} violations`);
    assert.deepEqual(asked.filter((address) => !['localhost', '127.0.0.1'].includes(new URL(address).hostname) && !/^(data|blob):/.test(address)), [], 'a request leaves the host');
  });
}

const signInAt = (address, fields) => async (tab) => {
  await tab.goto(address);
  for (const [label, value] of fields) await main(tab).getByLabel(label).fill(value);
  await button(main(tab), 'Sign in').click();
  await button(tab, 'Sign out').waitFor();
};

const ada = signInAt(`${url.board}/login`, [['Name or mail address', 'ada'], ['Password', 'correct horse']]);

family('board', null, [
  ['board-guest', `${url.board}/`], ['board-thread-guest', `${url.board}/threads/1`], ['board-login', `${url.board}/login`], ['board-register', `${url.board}/register`],
  ['board-forgot', `${url.board}/forgot`], ['board-nothing', `${url.board}/nothing`],
]);

family('board, a member', ada, [
  ['board-index', `${url.board}/`], ['board-forum', `${url.board}/`, (tab) => tab.locator('.forum a').first().click()], ['board-thread', `${url.board}/threads/1`],
  ['board-reply', `${url.board}/threads/1/reply?quote=1`], ['board-search', `${url.board}/search?q=smile`], ['board-account', `${url.board}/account`],
  ['board-notifications', `${url.board}/account/notifications`], ['board-tokens', `${url.board}/account/tokens`], ['board-member', `${url.board}/members/2`],
]);

family('board, its administration', ada, [
  ['board-admin', `${url.board}/admin`], ['board-admin-settings', `${url.board}/admin/settings`], ['board-admin-forums', `${url.board}/admin/forums`],
  ['board-admin-rights', `${url.board}/admin/groups`, (tab) => main(tab).locator('.list a, td a').first().click()], ['board-admin-members', `${url.board}/admin/members`],
  ['board-admin-member', `${url.board}/admin/members/2`], ['board-admin-words', `${url.board}/admin/words`], ['board-admin-tokens', `${url.board}/admin/tokens`],
  ['board-admin-webhooks', `${url.board}/admin/webhooks`], ['board-moderation', `${url.board}/moderation`], ['board-log', `${url.board}/moderation/log`],
]);

family('home', null, [
  ['home', `${url.home}/`], ['home-documents', `${url.home}/_tollgate/docs`], ['home-document', `${url.home}/_tollgate/docs/reference/board`],
  ['home-search', `${url.home}/_tollgate/docs/search?q=restore+a+backup`], ['home-search-none', `${url.home}/_tollgate/docs/search?q=nonsensical`],
  ['home-nothing', `${url.home}/_tollgate/nothing`], ['home-services', `${url.home}/`, (tab) => tab.getByText('Services', { exact: true }).first().click()],
]);

family('cms', signInAt(`${url.cms}/admin/`, [['Name', 'ann'], ['Password', secrets.cms]]), [
  ['cms-pages', `${url.cms}/admin/`], ['cms-page', `${url.cms}/admin/pages/1`], ['cms-fields', `${url.cms}/admin/fields`], ['cms-templates', `${url.cms}/admin/templates`],
  ['cms-template', `${url.cms}/admin/templates/new`], ['cms-users', `${url.cms}/admin/users`], ['cms-user', `${url.cms}/admin/users/new`], ['cms-roles', `${url.cms}/admin/roles`],
  ['cms-settings', `${url.cms}/admin/settings`], ['cms-routes', `${url.cms}/admin/routes`], ['cms-trash', `${url.cms}/admin/trash`], ['cms-account', `${url.cms}/admin/account`],
]);

// consent is the address that asks the person for an application.
async function consent() {
  const redirect = 'http://127.0.0.1:9/cb';
  const answer = await fetch(`${url.authserver}/oauth/register`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token_endpoint_auth_method: 'none', client_name: 'Photo Album', redirect_uris: [redirect] }),
  });
  assert.equal(answer.status, 201);
  const challenge = createHash('sha256').update(randomBytes(32)).digest('base64url');
  const { client_id: client } = await answer.json();
  return `${url.authserver}/oauth/authorize?${new URLSearchParams({ response_type: 'code', client_id: client, redirect_uri: redirect, scope: 'openid read', resource: 'https://files.example', state: 's', code_challenge: challenge, code_challenge_method: 'S256' })}`;
}

const asked = await consent();

family('signing in', null, [
  ['signin-home', `${url.authserver}/`], ['signin-login', asked],
  ['signin-wrong', null, async (tab) => {
    await tab.getByLabel('Mail address').fill('ann@example.com');
    await tab.getByLabel('Password').fill('a wrong one');
    await button(main(tab), 'Sign in').click();
    await tab.getByRole('alert').waitFor();
  }],
  ['signin-consent', null, async (tab) => {
    await tab.getByLabel('Mail address').fill('ann@example.com');
    await tab.getByLabel('Password').fill(JSON.parse(secrets.account).password);
    await button(main(tab), 'Sign in').click();
    await button(main(tab), 'Allow').waitFor();
  }],
  ['signin-account', `${url.authserver}/account`], ['signin-password', `${url.authserver}/account/password`],
  ['signin-security', `${url.authserver}/security`], ['signin-app', `${url.authserver}/security/app`], ['signin-device', `${url.authserver}/device`],
]);

family('administration of the authorization server', null, ['', 'clients', 'users', 'resources', 'providers', 'idps', 'grants', 'tokens', 'audit', 'keys', 'system'].map(
  (path) => [`accounts-${path || 'overview'}`, `${url.admin}/admin/ui/#/${path}`],
).concat([['accounts-dialog', `${url.admin}/admin/ui/#/clients`, (tab) => button(tab, 'Create client').click()]]));

const limits = { rate_limit_per_minute: 600, parallel_requests: 20, budgets: { usd_per_month: 500, tokens_per_day: 10000000 }, allowed_models: ['openai/*', 'groq/*'] };

family('console of the gateway', async (tab) => {
  await tab.getByLabel('User token').fill(secrets.user);
  await button(tab, 'Sign in with a token').click();
  await button(tab.getByRole('dialog'), 'I have copied it').click();
  const ask = (method, path, body) => tab.evaluate(async ([method, path, body, token]) => {
    const answer = await fetch(path, { method, headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
    const text = await answer.text();
    return { status: answer.status, ...(text && JSON.parse(text)) };
  }, [method, path, body, secrets.user]);
  const { user_id: user } = await ask('POST', '/users/init');
  const key = await ask('POST', `/users/${user}/keys`, { provider: 'openai', api_key: 'sk-look-0000000000000000', key_label: 'look' });
  assert.ok(key.status < 300, JSON.stringify(key));
  const team = await ask('POST', '/operator/teams', { name: 'Research' });
  for (const [path, body] of [[`teams/${team.id}/members/${user}`, { role: 'admin' }], [`teams/${team.id}/limits`, limits], [`users/${user}/limits`, limits], ['organisation/limits', limits]]) {
    const answer = await ask('PUT', `/operator/${path}`, body);
    assert.ok(answer.status < 300, JSON.stringify(answer));
  }
}, ['', 'playground', 'gateway-keys', 'provider-keys', 'models', 'preferences', 'route', 'usage', 'requests', 'spending', 'people', 'teams', 'organisation', 'alerts', 'audit'].map(
  (path) => [`console-${path || 'overview'}`, `${url.gateway}/console/#/${path}`],
).concat([
  ['console-dialog', `${url.gateway}/console/#/gateway-keys`, (tab) => button(tab, 'Create key').click()],
  ['console-person', `${url.gateway}/console/#/people`, (tab) => main(tab).locator('td a').first().click()],
  ['console-team', `${url.gateway}/console/#/teams`, (tab) => main(tab).locator('td a').first().click()],
  ['console-limits', null, (tab) => button(tab.getByRole('region', { name: 'Limits on the team' }), 'Change').click()],
]));

family('console of the gateway, an administrator of a team', async (tab) => {
  const as = (token, method, path, body) => tab.evaluate(async ([method, path, body, token]) => {
    const answer = await fetch(path, { method, headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
    const text = await answer.text();
    return { ...(text && JSON.parse(text)), answered: answer.status };
  }, [method, path, body, token]);
  const { user_id: mia } = await as(secrets.administrator, 'POST', '/users/init');
  const team = await as(secrets.user, 'POST', '/operator/teams', { name: 'Design' });
  for (const [token, method, path, body] of [
    [secrets.user, 'PUT', `members/${mia}`, { role: 'admin' }], [secrets.user, 'PUT', 'limits', limits], [secrets.administrator, 'PUT', 'own-limits', { rate_limit_per_minute: 60 }],
    [secrets.administrator, 'POST', 'keychain-keys', { label: 'ci' }], [secrets.administrator, 'POST', 'provider-keys', { provider: 'openai', api_key: 'sk-look-0000000000000000', key_label: 'of the team' }],
  ]) {
    const answer = await as(token, method, `/operator/teams/${team.id}/${path}`, body);
    assert.ok(answer.answered < 300, JSON.stringify(answer));
  }
  await tab.getByLabel('User token').fill(secrets.administrator);
  await button(tab, 'Sign in with a token').click();
  await tab.locator('nav').getByRole('link', { name: 'My team', exact: true }).waitFor({ state: 'attached' });
}, [
  ['console-my-team', `${url.gateway}/console/#/team`],
  ['console-own-limits', null, (tab) => button(tab.getByRole('region', { name: 'The team’s own limits' }), 'Change').click()],
]);

family('console of the gateway, its door', null, [['console-door', `${url.gateway}/console/`]]);

family('run events', null, ['', 'nodes', 'node/alpha.example.com', 'reports', 'query'].map((path) => [`events-${path.split('/')[0] || 'overview'}`, `${url.events}/store/#/${path}`]).concat([
  ['events-report', `${url.events}/store/#/reports`, (tab) => main(tab).locator('td a[href*="report/"]').first().click()],
]));

family('answers', null, [
  ['answer-door', `${url.answer}/`],
  ['answer-answer', null, async (tab) => {
    await tab.getByLabel('API key').fill(secrets.answer);
    await main(tab).getByRole('button').first().click();
    await tab.getByLabel('Question', { exact: true }).last().fill('What was the revenue of Quillmarsh Instruments in fiscal 2025?');
    await button(tab, 'Ask').click();
    await tab.getByRole('list', { name: 'References' }).waitFor();
    await tab.locator('.passage mark').first().waitFor();
  }],
  ['answer-companies', `${url.answer}/#/companies`, (tab) => tab.getByRole('link', { name: /^Quillmarsh/ }).waitFor()],
  ['answer-company', null, async (tab) => {
    await tab.getByRole('link', { name: /^Quillmarsh/ }).click();
    await tab.locator('.chart').first().waitFor();
  }],
  ['answer-traces', url.traces], ['answer-trace', null, (tab) => main(tab).locator('td a').first().click()],
]);

// Swagger UI and Redoc are heavy, and inverted as a whole in the dark, which axe does not see.
family('references of the API', null, [
  ['docs-swagger', `${url.gateway}/docs`, (tab) => tab.locator('.opblock').first().waitFor()],
  ['docs-operation', null, (tab) => tab.locator('.opblock button').first().click()],
  ['docs-redoc', `${url.gateway}/redoc`, (tab) => tab.locator('h1').first().waitFor()],
], { own: false, schemes: ['light'] });

inBrowser('keys of the keyboard, times, messages and copying', { timezoneId: 'Asia/Tokyo', permissions: ['clipboard-read', 'clipboard-write'] }, async (tab) => {
  await ada(tab);
  await tab.goto(`${url.board}/threads/1`);
  await tab.keyboard.press('?');
  const help = tab.getByRole('dialog', { name: 'Keyboard' });
  await help.waitFor();
  await tab.keyboard.press('Escape');
  await help.waitFor({ state: 'detached' });
  await tab.keyboard.press('/');
  await tab.waitForFunction(() => document.activeElement.matches('[role=search] input'));
  await tab.keyboard.type('a/b?'); // in a field they are letters
  assert.equal(await tab.getByRole('searchbox').inputValue(), 'a/b?');
  const time = main(tab).locator('time').first();
  assert.match(await time.innerText(), /ago|now/);
  assert.match(await time.getAttribute('title'), /GMT\+9|JST|Japan/);
  await tab.getByText('All times are in Asia/Tokyo').waitFor();

  await tab.goto(`${url.board}/`);
  await button(tab, 'Mark all as read').click();
  const message = tab.getByRole('region', { name: 'Messages' });
  await message.getByText('All forums are marked as read.').waitFor();
  await button(message, 'Close').click();
  await message.getByRole('paragraph').waitFor({ state: 'detached' });

  await tab.goto(`${url.board}/account/tokens`);
  await tab.getByLabel('What is it for?').fill('look');
  await tab.getByLabel('Your password').fill('correct horse');
  await button(main(tab), 'Make the token').click();
  const token = await tab.locator('.secret').innerText();
  await button(tab, 'Copy').click();
  await button(tab, 'Copied').waitFor();
  assert.equal(await tab.evaluate(() => navigator.clipboard.readText()), token);
});
