// The administration of the authorization server in a browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { darkness, defects, faint, inBrowser } from './browser.mjs';

const url = process.env.AUTHSERVER_URL;
const admin = process.env.AUTHSERVER_ADMIN;
const key = process.env.AUTHSERVER_KEY;
const shots = process.env.SHOTS; // a folder for pictures of the pages; none where it is not set

const button = (scope, name) => scope.getByRole('button', { name, exact: true });
const dialog = (tab) => tab.getByRole('dialog');
const at = (tab, name) => tab.getByRole('heading', { level: 1, name, exact: true }).waitFor();
const still = (tab) => tab.waitForFunction(() => !document.querySelector('[aria-busy=true], .loading, button.working'));

async function sound(tab, picture) {
  await still(tab);
  if (shots && picture) await tab.screenshot({ path: `${shots}/${picture}.png`, fullPage: true });
  assert.deepEqual(await defects(tab), [], tab.url());
  assert.deepEqual(await faint(tab), [], tab.url());
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${tab.url()} is ${wide} pixels too wide`);
  assert.deepEqual(await crooked(tab), [], tab.url());
}

// crooked lists what looks wrong: entries of the navigation and short words in tables that
// take two lines, inputs of a time that do not show it, parts that touch each other.
function crooked(tab) {
  return tab.evaluate(() => {
    const found = [];
    for (const a of document.querySelectorAll('nav a')) if (a.checkVisibility() && a.offsetHeight > 48) found.push(`two lines: ${a.textContent}`);
    const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode;
      const range = document.createRange();
      range.selectNodeContents(text);
      if (text.parentElement.closest('td, dt') && /^\S{1,20}$/.test(text.data) && new Set([...range.getClientRects()].map((r) => r.top)).size > 1) found.push(`broken: ${text.data}`);
    }
    for (const input of document.querySelectorAll('input[type=datetime-local]')) if (input.offsetWidth < 215) found.push(`${input.offsetWidth} pixels for a time`);
    for (const [upper, lower] of [['form', '.flow'], ['summary', '.field'], ['.field', 'table']]) {
      for (const below of document.querySelectorAll(`:is(.panel, details) > ${upper} + :is(${lower}, div:has(> ${lower}))`)) {
        const gap = below.getBoundingClientRect().top - below.previousElementSibling.getBoundingClientRect().bottom;
        if (below.checkVisibility() && below.offsetHeight > 0 && gap < 8) found.push(`${gap} pixels between ${upper} and ${lower}`);
      }
    }
    return found;
  });
}

async function ask(method, path, body) {
  const answer = await fetch(`${admin}/admin/${path}`, { method, headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

// enter opens a page with the key.
async function enter(tab, page = '') {
  await tab.addInitScript((value) => sessionStorage.setItem('tollgate.authserver', value), key);
  await tab.goto(`${admin}/admin/ui/#/${page}`);
}

const pages = [['', 'Overview'], ['clients', 'Clients'], ['users', 'Users'], ['resources', 'Resources'], ['providers', 'Providers'], ['idps', 'Trusted issuers'], ['grants', 'Grants'], ['tokens', 'Tokens'], ['audit', 'Audit'], ['keys', 'Keys'], ['mail', 'Mail'], ['system', 'System']];

// token is one of the client credentials grant.
async function token(id, secret) {
  const answer = await fetch(`${url}/oauth/token`, {
    method: 'POST', headers: { Authorization: `Basic ${btoa(`${id}:${secret}`)}`, 'Content-Type': 'application/x-www-form-urlencoded' }, body: 'grant_type=client_credentials&resource=files&scope=read',
  });
  return { status: answer.status, ...await answer.json() };
}

inBrowser('the key is asked for, and kept in the tab alone', {}, async (tab, context) => {
  await tab.goto(`${admin}/admin/ui/`);
  await at(tab, 'Authorization server');
  await sound(tab, 'authserver-admin-door');
  assert.ok((await tab.getByLabel('Administration key').boundingBox()).width > 300, 'there is no room for a key');
  await tab.getByLabel('Administration key').fill('wrong');
  await button(tab, 'Sign in').click();
  await tab.getByText('This key is wrong.').waitFor();
  await tab.getByLabel('Administration key').fill(key);
  await button(tab, 'Sign in').click();
  await at(tab, 'Overview');
  await tab.reload();
  await at(tab, 'Overview');
  const second = await context.newPage();
  await second.goto(`${admin}/admin/ui/`);
  await at(second, 'Authorization server');
  assert.deepEqual(await context.cookies(), []);
  await button(tab, 'Sign out').click();
  await at(tab, 'Authorization server');
  assert.equal(await tab.evaluate(() => sessionStorage.length), 0);
});

inBrowser('a server without anything says so', {}, async (tab) => {
  await enter(tab);
  for (const [path, heading, text] of [['clients', 'Clients', 'No clients yet'], ['users', 'Users', 'No users yet.'], ['providers', 'Providers', 'No providers yet.'], ['tokens', 'Tokens', 'No token was issued yet.'], ['idps', 'Trusted issuers', 'There is no policy.']]) {
    await tab.goto(`${admin}/admin/ui/#/${path}`);
    await at(tab, heading);
    await tab.getByText(text).waitFor();
  }
  await tab.goto(`${admin}/admin/ui/#/clients?q=x`);
  await tab.getByText('No such client.').waitFor();
});

inBrowser('a client is made, works, is suspended and deleted', {}, async (tab) => {
  await enter(tab, 'clients');
  await button(tab, 'Create client').click();
  await sound(tab, 'authserver-admin-create');
  await dialog(tab).getByLabel('Name').fill('Nightly <b>job</b>');
  await dialog(tab).getByLabel('Grants').fill('password');
  await button(dialog(tab), 'Create client').click();
  await dialog(tab).getByText('There is no grant password.').waitFor();
  await dialog(tab).getByLabel('Grants').fill('client_credentials');
  await dialog(tab).getByLabel('Scope ceiling').fill('read');
  await button(dialog(tab), 'Create client').click();
  const secret = await dialog(tab).getByLabel('Client secret').inputValue();
  await sound(tab, 'authserver-admin-secret');
  const id = await dialog(tab).locator('code').innerText();
  await button(dialog(tab), 'I have copied it').click();
  const issued = await token(id, secret);
  assert.equal(issued.status, 200);

  await tab.getByRole('link', { name: 'Nightly <b>job</b>' }).click();
  await at(tab, 'Nightly <b>job</b>');
  await button(tab, 'Revoke').nth(1).waitFor(); // of the token
  await sound(tab, 'authserver-admin-client');
  await tab.getByRole('link', { name: 'All tokens, also expired ones' }).click();
  await at(tab, 'Tokens');
  assert.equal(await tab.getByLabel('Client').inputValue(), id);
  await still(tab);
  assert.equal(await tab.getByRole('row').count(), 2);
  await tab.getByText('Its signature is not checked.').waitFor();
  await tab.goBack();
  await at(tab, 'Nightly <b>job</b>');
  await button(tab, 'Suspend').click();
  await button(dialog(tab), 'Suspend').click();
  await tab.getByText('The client is suspended.').waitFor();
  assert.equal((await token(id, secret)).status, 401);
  await button(tab, 'Reactivate').click();
  await button(tab, 'Suspend').waitFor();
  await button(tab, 'Create a new secret').click();
  await button(dialog(tab), 'Create a new secret').click();
  await dialog(tab).getByLabel('Client secret').waitFor();
  const fresh = await dialog(tab).getByLabel('Client secret').inputValue();
  await button(dialog(tab), 'I have copied it').click();
  assert.equal((await token(id, secret)).status, 401);
  assert.equal((await token(id, fresh)).status, 200);
  await button(tab, 'Edit').click();
  await dialog(tab).getByLabel('Name').fill('Weekly job');
  await button(dialog(tab), 'Save').click();
  await at(tab, 'Weekly job');

  // The inspector takes the token apart, and knows whether it is good.
  await tab.goto(`${admin}/admin/ui/#/tokens`);
  await at(tab, 'Tokens');
  await tab.getByLabel('Access token or id token').fill('a.b');
  await button(tab, 'Inspect').click();
  await tab.getByText('This is not a JSON Web Token').waitFor();
  await tab.getByLabel('Access token or id token').fill(issued.access_token);
  await button(tab, 'Inspect').click();
  await tab.getByText(`"client_id": "${id}"`).waitFor();
  await tab.getByText('has not revoked it').waitFor();
  await tab.getByRole('link', { name: 'Weekly job' }).first().waitFor(); // a name, not an id
  await sound(tab, 'authserver-admin-tokens');
  await tab.getByRole('link', { name: 'Open it' }).click();
  await at(tab, 'A token');
  await tab.getByRole('link', { name: 'files' }).waitFor();
  await sound(tab, 'authserver-admin-token');

  await tab.goto(`${admin}/admin/ui/#/clients/${id}`);
  await at(tab, 'Weekly job');
  await button(tab, 'Delete').click();
  await button(dialog(tab), 'Delete').click();
  await at(tab, 'Clients');
  assert.equal((await token(id, fresh)).status, 401);
});

inBrowser('a user is made and disabled', {}, async (tab) => {
  await enter(tab, 'users');
  await button(tab, 'Create user').click();
  await dialog(tab).getByLabel('Mail address').fill('ann@example.com');
  await dialog(tab).getByLabel('Name').fill('Ann');
  await dialog(tab).getByLabel('Password').fill('short');
  await button(dialog(tab), 'Create user').click();
  await dialog(tab).getByRole('alert').waitFor();
  await dialog(tab).getByLabel('Password').fill('correct horse battery');
  await button(dialog(tab), 'Create user').click();
  await tab.getByRole('link', { name: 'ann@example.com' }).click();
  await at(tab, 'ann@example.com');
  await button(tab, 'Disable').click();
  await button(dialog(tab), 'Disable').click();
  await button(tab, 'Enable').waitFor();
  await sound(tab, 'authserver-admin-user');
  await tab.goto(`${admin}/admin/ui/#/grants`);
  await at(tab, 'Grants');
  await tab.getByLabel('Mail address').fill('ANN');
  await button(tab, 'Show').click();
  await tab.getByText('This user has given no consent.').waitFor();
});

inBrowser('a user has groups, roles and attributes, of which clients and resources are told', {}, async (tab) => {
  const { users: [ann] } = await ask('GET', 'users?q=ann@example.com');
  await enter(tab, 'users');
  await button(tab, 'Roles of groups').click();
  await dialog(tab).getByLabel('Groups').fill('staff');
  await button(dialog(tab), 'Save').click();
  await dialog(tab).getByText('This line is not a group with its roles: staff').waitFor();
  await dialog(tab).getByLabel('Groups').fill('staff: writer, reader');
  await sound(tab, 'authserver-admin-group-roles');
  await button(dialog(tab), 'Save').click();
  await dialog(tab).waitFor({ state: 'detached' });
  await tab.getByRole('link', { name: 'ann@example.com' }).click();
  await at(tab, 'ann@example.com');
  const facts = tab.locator('section', { has: tab.getByRole('heading', { name: 'Groups, roles and attributes' }) });
  await button(facts, 'Change').click();
  await dialog(tab).getByLabel('Groups').fill('staff/night');
  await dialog(tab).getByLabel('Roles').fill('shop:buyer\n\n admin');
  await dialog(tab).getByLabel('Attributes').fill('department');
  await button(dialog(tab), 'Save').click();
  await dialog(tab).getByText('This line is not an attribute: department').waitFor();
  await dialog(tab).getByLabel('Attributes').fill('department = Sales = more\ndepartment = Support');
  await button(dialog(tab), 'Save').click();
  await facts.getByText('reader, writer').waitFor();
  await sound(tab, 'authserver-admin-facts');
  const told = await ask('GET', `users/${ann.id}/attributes`);
  assert.deepEqual(told, { groups: ['staff/night'], roles: ['shop:buyer', 'admin'], attributes: { department: ['Sales = more', 'Support'] }, effective_roles: ['admin', 'reader', 'shop:buyer', 'writer'] });

  const { client_id: id } = await ask('POST', 'clients', { client_name: 'Shop', redirect_uris: ['https://shop.example/cb'] });
  for (const [page, heading] of [[`clients/${id}`, 'Shop'], [`resources/${(await ask('GET', 'resources/files')).id}`, 'Files']]) {
    await tab.goto(`${admin}/admin/ui/#/${page}`);
    await at(tab, heading);
    const rules = tab.locator('section', { has: tab.getByRole('heading', { name: 'Claims of users' }) });
    await button(rules, 'Change').click();
    await dialog(tab).getByLabel('Rules').fill('iss roles');
    await button(dialog(tab), 'Save').click();
    await dialog(tab).getByText('is a claim that only the server itself may set').waitFor();
    await dialog(tab).getByLabel('Rules').fill('roles roles prefix=shop: strip_prefix in=access_token\ndepartment attributes.department type=list scope=read');
    await button(dialog(tab), 'Save').click();
    await rules.getByText('attributes.department').waitFor();
    await sound(tab, `authserver-admin-rules-${heading}`);
    assert.deepEqual((await ask('GET', page)).claim_rules, [
      { claim: 'roles', from: 'roles', prefix: 'shop:', strip_prefix: true, in: ['access_token'] }, { claim: 'department', from: 'attributes.department', type: 'list', scope: 'read' },
    ]);
  }
});

inBrowser('a resource has scopes and a policy', {}, async (tab) => {
  await enter(tab, 'resources');
  await button(tab, 'Create resource').click();
  await dialog(tab).getByLabel('Slug').fill('notes');
  await dialog(tab).getByLabel('Name', { exact: true }).fill('Notes');
  await dialog(tab).getByLabel('Address').fill('https://notes.example');
  await dialog(tab).getByLabel('Scopes').fill('read See your notes\nwrite');
  await button(dialog(tab), 'Create resource').click();
  await tab.getByRole('link', { name: 'Notes' }).click();
  await at(tab, 'Notes');
  const exchange = tab.locator('section', { has: tab.getByRole('heading', { name: 'Clients that may exchange tokens for it' }) });
  await exchange.getByLabel('Client').fill('nobody');
  await button(exchange, 'Add').click();
  await exchange.getByText('There is no such client.').waitFor();
  const worker = await ask('POST', 'clients', { client_name: 'Work', grant_types: ['client_credentials'] });
  await exchange.getByLabel('Client').fill('wor');
  await exchange.locator(`datalist option[value="${worker.client_id}"]`).waitFor({ state: 'attached' });
  await exchange.getByLabel('Client').fill('Work'); // by its name
  await button(exchange, 'Add').click();
  await exchange.getByRole('link', { name: 'Work' }).waitFor();
  assert.equal(await tab.getByText('At the provider').count(), 0); // its tokens are of this server
  await sound(tab, 'authserver-admin-resource');
  const notes = await ask('GET', 'resources/notes');
  assert.deepEqual(notes.policy.exchange.allowed_client_ids, [worker.client_id]);
  assert.deepEqual(notes.scopes.map((s) => [s.name, s.description ?? '']), [['read', 'See your notes'], ['write', '']]);
  await button(exchange, 'Remove').click();
  await button(dialog(tab), 'Remove').click();
  await exchange.getByText('Nobody.').waitFor();
});

inBrowser('a provider that cannot be used says why, also on the overview', {}, async (tab) => {
  await enter(tab, 'providers');
  await button(tab, 'Create provider').click();
  await dialog(tab).getByLabel('Slug').fill('mail');
  await dialog(tab).getByLabel('Name', { exact: true }).fill('Mail');
  await dialog(tab).getByLabel('Settings').fill(JSON.stringify({ client_id: 'c', client_secret_ref: 'CONNECTOR_MAIL', authorize_url: 'https://mail.example/authorize', token_url: 'https://mail.example/token' }));
  await button(dialog(tab), 'Create provider').click();
  const fault = 'client_secret_ref: the variable CONNECTOR_MAIL is not set';
  await tab.getByRole('row', { name: 'Mail' }).getByText(fault).waitFor();
  await sound(tab, 'authserver-admin-providers');
  await tab.goto(`${admin}/admin/ui/#/`);
  const notice = tab.locator('.notice', { hasText: `The provider mail cannot be used: ${fault}.` });
  await notice.waitFor();
  await sound(tab, 'authserver-admin-notices');
  await notice.getByRole('link', { name: 'Open the provider' }).click();
  await at(tab, 'Mail');
  await tab.getByText(`It cannot be used: ${fault}.`).waitFor();
  await tab.getByText('Set the variable in the environment of the server').waitFor();
  await sound(tab, 'authserver-admin-provider');
  await button(tab, 'Edit').click();
  await dialog(tab).getByLabel('Settings').fill(JSON.stringify({ client_id: 'c', client_secret: 'a secret', authorize_url: 'https://mail.example/authorize', token_url: 'https://mail.example/token' }));
  await button(dialog(tab), 'Save').click();
  await tab.getByText('It cannot be used').waitFor({ state: 'detached' });
  await tab.goto(`${admin}/admin/ui/#/`);
  await at(tab, 'Overview');
  await still(tab);
  assert.equal(await notice.count(), 0);
});

inBrowser('a user is given a key of a provider, which is removed again', {}, async (tab) => {
  const { users: [ann] } = await ask('GET', 'users?q=ann@example.com');
  await enter(tab, `users/${ann.id}`);
  await at(tab, 'ann@example.com');
  const connections = tab.locator('section', { has: tab.getByRole('heading', { name: 'Connections' }) });
  await connections.getByText('This user has no connections.').waitFor();
  await button(connections, 'Store an API key').click();
  await dialog(tab).getByText('There is no provider of the protocol api_key.').waitFor();
  await button(dialog(tab), 'Close').click();
  await ask('POST', 'broker-providers', { slug: 'weather', display_name: 'Weather', protocol: 'api_key', config_data: { header_name: 'X-Key' } });
  await button(connections, 'Store an API key').click();
  await button(dialog(tab), 'Store').click();
  await dialog(tab).getByText('Paste the key first.').waitFor();
  await dialog(tab).getByLabel('Key').fill('k-123');
  await button(dialog(tab), 'Store').click();
  await connections.getByRole('link', { name: 'weather' }).waitFor();
  await sound(tab, 'authserver-admin-connections');
  assert.equal((await ask('GET', `users/${ann.id}/grants`)).broker_grants.length, 1);
  await button(connections, 'Remove').click();
  await button(dialog(tab), 'Remove').click();
  await connections.getByText('This user has no connections.').waitFor();

  // A resource hands on what that provider gives: it is chosen by its name.
  await tab.goto(`${admin}/admin/ui/#/resources`);
  await button(tab, 'Create resource').click();
  await dialog(tab).getByLabel('Slug').fill('weather');
  await dialog(tab).getByLabel('Kind').selectOption('broker');
  await dialog(tab).getByLabel('Provider').selectOption('Weather');
  await button(dialog(tab), 'Create resource').click();
  await tab.getByRole('link', { name: 'weather' }).waitFor();
  const { backend_kind: kind, broker_provider_id: provider } = await ask('GET', 'resources/weather');
  assert.equal(kind, 'broker');
  await tab.goto(`${admin}/admin/ui/#/providers/${provider}`);
  await at(tab, 'Weather');
  await tab.getByRole('link', { name: 'weather', exact: true }).click();
  await at(tab, 'weather');
  await tab.getByRole('link', { name: 'Weather', exact: true }).waitFor();
});

inBrowser('an agent is made, with its keys', {}, async (tab) => {
  await enter(tab, 'clients');
  await button(tab, 'Create client').click();
  await dialog(tab).getByLabel('Name').fill('Agent');
  await dialog(tab).getByLabel('Authentication').selectOption('private_key_jwt');
  await dialog(tab).getByLabel('Grants').fill('client_credentials');
  await dialog(tab).getByLabel('Public keys').fill('{"keys":');
  await button(dialog(tab), 'Create client').click();
  await dialog(tab).getByText('This is neither an address nor a key set').waitFor();
  await dialog(tab).getByLabel('Public keys').fill('https://agent.example/keys.json');
  await dialog(tab).getByLabel('Agent', { exact: true }).selectOption('Yes');
  await dialog(tab).getByLabel('Purpose of the agent').fill('Books journeys');
  await button(dialog(tab), 'Create client').click();
  await tab.getByRole('link', { name: 'Agent', exact: true }).click();
  await at(tab, 'Agent');
  await tab.getByText('https://agent.example/keys.json').waitFor();
  await tab.getByText('Books journeys').waitFor();
  await tab.goBack();
  await at(tab, 'Clients');
  await tab.getByLabel('Kind').selectOption('Agents');
  await still(tab);
  assert.equal(await tab.getByRole('row').count(), 2);
  await tab.getByRole('link', { name: 'Agent', exact: true }).click();
  await at(tab, 'Agent');
  await sound(tab, 'authserver-admin-agent');
});

inBrowser('an identity provider is trusted, by a policy', {}, async (tab) => {
  await enter(tab, 'idps');
  await button(tab, 'Create identity provider').click();
  await dialog(tab).getByLabel('Name').fill('Acme');
  await dialog(tab).getByLabel('Issuer').fill('https://idp.example');
  await button(dialog(tab), 'Create').click();
  await tab.getByText('https://idp.example', { exact: true }).waitFor();
  await button(tab, 'Create policy').click();
  await dialog(tab).getByLabel('Name').fill('Files for all');
  await dialog(tab).getByRole('heading', { name: 'Create policy' }).waitFor();
  await button(dialog(tab), 'Create').click();
  await dialog(tab).getByText('Choose one.').waitFor();
  await dialog(tab).getByLabel('Identity provider').selectOption('Acme');
  await dialog(tab).getByLabel('Resources').fill('files');
  await dialog(tab).getByLabel('Clients').fill('wor');
  const option = dialog(tab).locator('datalist option').filter({ hasText: 'Work' });
  await option.waitFor({ state: 'attached' });
  await dialog(tab).getByLabel('Clients').fill(await option.getAttribute('value')); // as choosing it does
  await dialog(tab).getByRole('listitem').getByRole('link', { name: 'Work' }).waitFor();
  await sound(tab, 'authserver-admin-policy');
  await button(dialog(tab), 'Create').click();
  await tab.getByText('Files for all').waitFor();
  const { idps: [idp] } = await ask('GET', 'idps');
  const [policy] = (await ask('GET', 'xaa/policies')).policies;
  assert.equal(policy.idp_id, idp.id);
  assert.equal(policy.client_ids.length, 1);
  await button(tab, 'Create subject mapping').click();
  await dialog(tab).getByLabel('Identity provider').selectOption('Acme');
  await dialog(tab).getByLabel('Its subject').fill('ann-there');
  await dialog(tab).getByLabel('User').fill('nobody@example.com');
  await button(dialog(tab), 'Create').click();
  await dialog(tab).getByText('There is no user with this mail address.').waitFor();
  await dialog(tab).getByLabel('User').fill('Ann@example.com');
  await button(dialog(tab), 'Create').click();
  await tab.getByRole('link', { name: 'ann@example.com' }).waitFor();
  await sound(tab, 'authserver-admin-idps');
});

inBrowser('keys are rotated, data is encrypted anew, the audit tells of it', {}, async (tab) => {
  await enter(tab, 'keys');
  await at(tab, 'Keys');
  await button(tab, 'Rotate').click();
  await button(dialog(tab), 'Rotate').click();
  await tab.getByText('rotated', { exact: true }).waitFor();
  await button(tab, 'Re-encrypt').click();
  await button(dialog(tab), 'Re-encrypt').click();
  await tab.getByText(/checked/).waitFor();
  await tab.goto(`${admin}/admin/ui/#/audit`);
  await at(tab, 'Audit');
  await tab.getByLabel('Action').fill('key.');
  await tab.getByLabel('Action').press('Enter');
  await tab.getByText('key.rotated').first().waitFor();
  await still(tab);
  assert.equal(await tab.getByText('encryption.reencrypted').count(), 0);
  await tab.goto(`${admin}/admin/ui/#/system`);
  await at(tab, 'System');
  await tab.getByText('keys, without secrets').click();
  await tab.getByLabel('Key', { exact: true }).fill('token_exchange.');
  await tab.getByText('token_exchange.max_chain_depth').waitFor();
  assert.equal(await tab.getByText('server.issuer').count(), 0);
  await sound(tab, 'authserver-admin-config');
  await tab.getByLabel('Who may register a client').selectOption('admin_only');
  await button(tab, 'Save').click();
  await still(tab);
  assert.equal((await ask('GET', 'settings/dcr')).mode, 'admin_only');
  await button(tab, 'Reset to the configuration').click();
  await tab.waitForFunction(() => document.querySelector('main select')?.value === 'open');
  assert.equal((await ask('GET', 'settings/dcr')).mode, 'open');
  await ask('PATCH', 'settings/dcr', { mode: 'open' });
});

inBrowser('a test mail tells whether mails arrive', {}, async (tab) => {
  await enter(tab, 'mail');
  await at(tab, 'Mail');
  await tab.getByText('Accounts <accounts@example.com>').waitFor();
  await tab.getByLabel('Your mail address').fill('me@example.com');
  await button(tab, 'Send a test mail').click();
  await tab.getByText('The mail server has accepted the mail').waitFor();
  await tab.getByText('mail.sent').first().waitFor();
  await tab.getByLabel('Your mail address').fill('refused@example.com');
  await button(tab, 'Send a test mail').click();
  await tab.getByText(/The mail was not sent|the mail was not sent/).waitFor();
  await tab.getByText('mail.failed').first().waitFor();
  await sound(tab, 'authserver-admin-mail');
});

inBrowser('times tell their zone', { timezoneId: 'Asia/Kolkata' }, async (tab) => {
  await enter(tab, 'audit');
  await tab.getByRole('row').nth(1).getByText('GMT+5:30').waitFor();
  await tab.getByText(/In the zone Asia.(Calcutta|Kolkata)[.]/).first().waitFor();
  const asked = tab.waitForRequest((request) => request.url().includes('until=2040'));
  await tab.getByLabel('Until').fill('2040-02-01T10:00');
  await tab.getByLabel('Until').press('Enter');
  assert.equal(new URL((await asked).url()).searchParams.get('until'), '2040-02-01T04:30:00.000Z');
  const { issuances: [last] } = await ask('GET', 'issuances?limit=1');
  await tab.goto(`${admin}/admin/ui/#/tokens/${last.id}`);
  await at(tab, 'A token');
  await tab.getByText('GMT+5:30').first().waitFor();
});

test('many clients are turned over', async () => {
  for (let i = 0; i < 60; i++) {
    const answer = await fetch(`${url}/oauth/register`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ client_name: `Many ${i}`, token_endpoint_auth_method: 'none', redirect_uris: ['http://127.0.0.1/cb'] }) });
    assert.equal(answer.status, 201, await answer.text());
  }
});

inBrowser('a long list has pages, and finds', {}, async (tab) => {
  await enter(tab, 'clients');
  await tab.getByLabel('Name or id').fill('many');
  await tab.getByLabel('Name or id').press('Enter');
  await tab.getByText('1 to 50').waitFor();
  await sound(tab, 'authserver-admin-clients');
  await button(tab, 'Next').click();
  await tab.getByText('51 to 60').waitFor();
  await tab.getByLabel('Name or id').fill('many 59');
  await tab.getByLabel('Name or id').press('Enter');
  await tab.getByRole('link', { name: 'Many 59' }).waitFor();
  await still(tab);
  assert.equal(await tab.getByRole('row').count(), 2);
  await tab.goto(`${admin}/admin/ui/#/audit`); // which knows them by their names
  await tab.getByRole('link', { name: 'Many 59', exact: true }).waitFor();
});

for (const [name, options] of [['light', {}], ['dark', { colorScheme: 'dark' }], ['phone', { viewport: { width: 390, height: 844 } }]]) {
  inBrowser(`all pages are sound: ${name}`, options, async (tab) => {
    await tab.goto(`${admin}/admin/ui/`);
    await at(tab, 'Authorization server');
    await sound(tab, `authserver-admin-${name}-door`);
    await enter(tab);
    await tab.reload();
    const { clients: [client] } = await ask('GET', 'clients?agent=true&limit=1');
    const { users: [user] } = await ask('GET', 'users?limit=1');
    const { issuances: [issued] } = await ask('GET', 'issuances?limit=1');
    const weather = await ask('GET', 'resources/weather');
    const ones = [[`clients/${client.id}`, client.name], [`users/${user.id}`, user.email], ['resources/weather', 'weather'], [`providers/${weather.broker_provider_id}`, 'Weather'], [`tokens/${issued.id}`, 'A token']];
    for (const [path, heading] of [...pages, ...ones]) {
      const picture = `authserver-admin-${name}-${path.replace(/[/].*/, '-one') || 'overview'}`;
      await tab.goto(`${admin}/admin/ui/#/${path}`);
      await at(tab, heading);
      await sound(tab, picture);
      assert.equal(await tab.locator('.notice.bad').count(), 0, `${path} complains`);
      if (name === 'phone' && path === 'keys') {
        await button(tab, 'Menu').click();
        await sound(tab, 'authserver-admin-phone-menu');
        await button(tab, 'Menu').click();
        await button(tab, 'Rotate').click();
        await sound(tab, 'authserver-admin-phone-question');
        await button(dialog(tab), 'Cancel').click();
      }
      if (name === 'dark') assert.ok((await darkness(tab)).dark > 0.5, `${path} is not dark`);
      for (const opens of await tab.getByRole('main').getByRole('button', { name: /^Create|^Edit|^Store/ }).all()) {
        const does = await opens.textContent();
        await opens.click();
        await dialog(tab).waitFor();
        await sound(tab, `${picture}-${does.replaceAll(' ', '-')}`);
        await tab.keyboard.press('Escape');
        await dialog(tab).waitFor({ state: 'detached' });
      }
    }
  });
}
