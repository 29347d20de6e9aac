// The administration of a site in a browser, without script.
import assert from 'node:assert/strict';
import { darkness, defects, faint, inBrowser } from './browser.mjs';

const url = process.env.CMS_URL;
const password = process.env.CMS_PASSWORD;
const shots = process.env.SHOTS; // a folder for pictures of the pages; none where it is not set
const plain = { ignoreHTTPSErrors: true, javaScriptEnabled: false };

const button = (scope, name) => scope.getByRole('button', { name, exact: true });
const at = (tab, name) => tab.getByRole('heading', { level: 1, name, exact: true }).waitFor();

async function sound(tab, name, picture) {
  await at(tab, name);
  if (shots && picture) await tab.screenshot({ path: `${shots}/cms-${picture}.png`, fullPage: true });
  assert.deepEqual(await defects(tab), [], tab.url());
  assert.deepEqual(await faint(tab), [], tab.url());
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${tab.url()} is ${wide} pixels too wide`);
}

async function signIn(tab) {
  await tab.goto(`${url}/admin`);
  await tab.getByLabel('Name').fill('ann');
  await tab.getByLabel('Password').fill(password);
  await button(tab, 'Sign in').click();
  await at(tab, 'Root');
}

async function api(tab, path) {
  const answer = await tab.context().request.get(`${url}${path}`);
  return { status: answer.status(), text: await answer.text() };
}

inBrowser('a field, a template and a page are made, and read by the API', plain, async (tab) => {
  await tab.goto(`${url}/admin/`);
  await sound(tab, 'Sign in', 'login');
  await tab.getByLabel('Name').fill('ann');
  await tab.getByLabel('Password').fill('wrong password');
  await button(tab, 'Sign in').click();
  await tab.getByText('Login not successful').first().waitFor();
  await signIn(tab);
  await sound(tab, 'Root', 'tree');

  await tab.getByRole('link', { name: 'Fields', exact: true }).click();
  await sound(tab, 'Fields', 'fields');
  await tab.getByRole('link', { name: 'New field' }).click();
  await tab.getByLabel('Name', { exact: true }).fill('body');
  await tab.getByLabel('Type').selectOption('textarea');
  await tab.getByLabel('Label').fill('Text');
  await sound(tab, 'New field', 'field');
  await button(tab, 'Save').click();
  await tab.getByText('Saved.').waitFor();

  await tab.getByRole('link', { name: 'Templates', exact: true }).click();
  await sound(tab, 'Templates', 'templates');
  await tab.getByRole('link', { name: 'New template' }).click();
  await tab.getByLabel('Name', { exact: true }).fill('article');
  await tab.getByLabel('Fields').fill('body');
  await sound(tab, 'New template', 'template');
  await button(tab, 'Save').click();
  await tab.getByText('Saved.').waitFor();

  await tab.getByRole('link', { name: 'Pages', exact: true }).click();
  await tab.getByRole('link', { name: 'New page below' }).click();
  await tab.getByLabel('Template').selectOption('article');
  await button(tab, 'Continue').click();
  await tab.getByLabel('Title', { exact: true }).fill('Hello');
  await tab.getByLabel('Text').fill('The first article.');
  await sound(tab, 'New page', 'new');
  await button(tab, 'Create the page').click();
  await at(tab, 'Hello');
  await tab.getByLabel('Status').selectOption('published');
  await button(tab, 'Save').click();
  await tab.getByText('Saved.').waitFor();
  await sound(tab, 'Hello', 'page');

  await tab.getByRole('link', { name: 'Settings', exact: true }).click();
  await tab.getByLabel('Authorization').selectOption('session');
  await sound(tab, 'Settings', 'settings');
  await button(tab, 'Save').click();
  await tab.getByText('Saved.').waitFor();
  const login = await tab.context().request.post(`${url}/api/auth`, { data: { username: 'ann', password }, headers: { Origin: url } });
  assert.equal(login.status(), 200, await login.text());
  const read = await api(tab, '/api/content/path/hello');
  assert.equal(read.status, 200, read.text);
  assert.equal(JSON.parse(read.text).fields.body, 'The first article.');

  await tab.getByRole('link', { name: 'Routes', exact: true }).click();
  await tab.getByText('Example.getAllUsers').waitFor();
  await sound(tab, 'Routes', 'routes');
});

inBrowser('a draft, what the page was, and the trash', plain, async (tab) => {
  await signIn(tab);
  await tab.getByRole('link', { name: 'Hello', exact: true }).click();
  await tab.getByLabel('Text').fill('The second text.');
  await button(tab, 'Save as a draft').click();
  await tab.getByText('This is the draft.').waitFor();
  await sound(tab, 'Hello', 'draft');
  await button(tab, 'Link to a preview').click();
  await sound(tab, 'Link to a preview', 'preview');
  await tab.goBack();
  await button(tab, 'Save and publish').click();
  await tab.getByText('Published.').waitFor();
  await tab.getByRole('link', { name: 'Revisions' }).click();
  await tab.getByText('The first article.').first().waitFor();
  await sound(tab, 'Revisions of Hello', 'revisions');
  await tab.goBack();
  await button(tab, 'Move to the trash').click();
  await tab.getByText('The page is in the trash.').waitFor();
  await tab.getByRole('link', { name: 'Trash', exact: true }).click();
  await sound(tab, 'Trash', 'trash');
  await tab.getByRole('button', { name: 'Restore Hello' }).click();
  await tab.getByText('Hello was restored.').waitFor();
});

inBrowser('users and roles', plain, async (tab) => {
  await signIn(tab);
  await tab.getByRole('link', { name: 'Roles', exact: true }).click();
  await sound(tab, 'Roles', 'roles');
  await tab.getByRole('link', { name: 'New role' }).click();
  await tab.getByLabel('Name', { exact: true }).fill('editor');
  await tab.getByLabel('Open the administration').check();
  await button(tab, 'Save').click();
  await tab.getByText('Saved.').waitFor();
  await tab.getByRole('link', { name: 'Users', exact: true }).click();
  await sound(tab, 'Users', 'users');
  await tab.getByRole('link', { name: 'New user' }).click();
  await tab.getByLabel('Name', { exact: true }).fill('bob');
  await tab.getByLabel('Password').fill('correct horse battery');
  await tab.getByLabel('editor').check();
  await sound(tab, 'New user', 'user');
  await button(tab, 'Save').click();
  await at(tab, 'bob');
  await tab.getByRole('link', { name: 'Users', exact: true }).first().click();
  await tab.getByLabel('Status').selectOption('active');
  await button(tab, 'Filter').click();
  assert.match(tab.url(), /status=active/);
  await tab.getByLabel('Tick bob').check();
  await button(tab, 'Disable').click();
  await tab.getByText('bob was disabled.').waitFor();
  assert.match(tab.url(), /status=active/);
  assert.equal(await tab.getByLabel('Tick bob').count(), 0);
  await tab.getByLabel('Status').selectOption('disabled');
  await button(tab, 'Filter').click();
  await tab.getByLabel('Tick bob').check();
  await button(tab, 'Delete').click();
  await sound(tab, 'Delete bob', 'confirm');
  await tab.getByRole('link', { name: 'Cancel' }).click();
  await at(tab, 'Users');
});

for (const [name, options] of [['dark', { ...plain, colorScheme: 'dark' }], ['phone', { ...plain, viewport: { width: 390, height: 844 } }]]) {
  inBrowser(`pages are sound: ${name}`, options, async (tab) => {
    await signIn(tab);
    await sound(tab, 'Root', `${name}-tree`);
    if (name === 'dark') assert.ok((await darkness(tab)).dark > 0.5);
    for (const [path, heading] of [['templates', 'Templates'], ['template?name=article', 'Template article'], ['field?name=body', 'Field body'], ['users', 'Users'], ['routes', 'Routes'], ['settings', 'Settings'], ['account', 'Your account'], ['find?q=hello', 'Find pages']]) {
      await tab.goto(`${url}/admin/${path}`);
      await sound(tab, heading, `${name}-${path.split('?')[0]}`);
    }
    await tab.getByRole('link', { name: 'Hello', exact: true }).click();
    await sound(tab, 'Hello', `${name}-page`);
  });
}
