// The administration of an authorization server with many clients and users in a browser.
import assert from 'node:assert/strict';
import { defects, faint, inBrowser } from './browser.mjs';

const admin = process.env.AUTHSERVER_ADMIN;
const key = process.env.AUTHSERVER_KEY;
const shots = process.env.SHOTS;

const button = (scope, name) => scope.getByRole('button', { name, exact: true });
const at = (tab, name) => tab.getByRole('heading', { level: 1, name, exact: true }).waitFor();
const still = (tab) => tab.waitForFunction(() => !document.querySelector('[aria-busy=true], .loading, button.working'));
const first = (tab) => tab.getByRole('row').nth(1).innerText();

async function sound(tab, picture) {
  await still(tab);
  if (shots) await tab.screenshot({ path: `${shots}/${picture}.png`, fullPage: true });
  assert.deepEqual(await defects(tab), [], tab.url());
  assert.deepEqual(await faint(tab), [], tab.url());
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${tab.url()} is ${wide} pixels too wide`);
}

async function enter(tab, page = '') {
  await tab.addInitScript((value) => sessionStorage.setItem('tollgate.authserver', value), key);
  await tab.goto(`${admin}/admin/ui/#/${page}`);
}

inBrowser('the overview counts no more than it needs', {}, async (tab) => {
  await enter(tab);
  await at(tab, 'Overview');
  await still(tab);
  const tiles = await tab.locator('.tile').allInnerTexts();
  assert.match(tiles[0], /10,000\+/);
  assert.match(tiles[1], /10,000\+/);
  await sound(tab, 'authserver-admin-many-overview');
});

for (const [name, options] of [['wide', {}], ['phone', { viewport: { width: 390, height: 844 } }]]) {
  inBrowser(`clients are turned over, searched and opened: ${name}`, options, async (tab) => {
    const asked = [];
    tab.on('request', (request) => asked.push(request.url()));
    await enter(tab, 'clients');
    await tab.getByText('1 to 50 of 10,000+').waitFor();
    assert.match(await first(tab), /Application 100000/);
    await sound(tab, `authserver-admin-many-clients-${name}`);
    for (const where of ['51 to 100', '101 to 150', '151 to 200']) {
      await button(tab, 'Next').click();
      await tab.getByText(`${where} of 10,000+`).waitFor();
    }
    assert.match(await first(tab), /Application 099850/);
    await button(tab, 'Previous').click();
    await tab.getByText('101 to 150 of').waitFor();
    assert.match(await first(tab), /Application 099900/);
    await button(tab, 'First').click();
    await tab.getByText('1 to 50 of').waitFor();
    assert.equal(asked.filter((url) => url.includes('offset=')).length, 0, 'pages are found by their place, not by counting up to it');
    assert.equal(asked.filter((url) => url.includes('count=true')).length, 2, 'all are counted for a first page alone');

    // The last one.
    await tab.getByLabel('Order').selectOption('oldest');
    await tab.getByRole('link', { name: 'Application 000001' }).waitFor();
    await tab.getByLabel('Order').selectOption('newest');
    await tab.getByRole('link', { name: 'Application 100000' }).click();
    await at(tab, 'Application 100000');
    await tab.goto(`${admin}/admin/ui/#/clients`);

    // Who comes back finds the list as it was.
    await tab.getByLabel('Status').selectOption('active');
    await tab.getByText('1 to 50 of').waitFor();
    await button(tab, 'Next').click();
    await tab.getByText('51 to 100 of 10,000+').waitFor();
    await tab.getByRole('link', { name: 'Application 099940' }).click();
    await at(tab, 'Application 099940');
    await tab.goBack();
    await tab.getByText('51 to 100 of 10,000+').waitFor();
    assert.match(await first(tab), /Application 099950/);
    assert.equal(await tab.getByLabel('Status').inputValue(), 'active');
    await button(tab, 'Previous').click();
    await tab.getByText('1 to 50 of 10,000+').waitFor();
    await tab.reload();
    await tab.getByText('1 to 50 of 10,000+').waitFor();
    assert.equal(await tab.getByLabel('Status').inputValue(), 'active');

    // What is typed is found without another key; of many keys the last one counts.
    await tab.getByLabel('Name or id').pressSequentially('application 0999', { delay: 5 });
    await tab.getByText('1 to 50 of 100').waitFor();
    assert.match(await first(tab), /Application 099999/);
    await tab.getByLabel('Name or id').fill('client-077777');
    await tab.getByText('Application 077777').waitFor();
    await still(tab);
    assert.equal(await tab.getByRole('row').count(), 2);
    await tab.getByLabel('Name or id').fill('nobody');
    await tab.getByText('No such client.').waitFor();
  });
}

inBrowser('users are turned over and searched', { timezoneId: 'UTC' }, async (tab) => {
  await enter(tab, 'users');
  await tab.getByText('1 to 50 of 10,000+').waitFor();
  await button(tab, 'Next').click();
  await tab.getByText('51 to 100 of').waitFor();
  assert.match(await first(tab), /person99950@example.com/);
  await tab.getByLabel('Mail address or name').fill('Person77777@example.com');
  await tab.getByRole('link', { name: 'person77777@example.com' }).click();
  await at(tab, 'person77777@example.com');
  await sound(tab, 'authserver-admin-many-user');
  await tab.getByText('15 Nov 2023, 19:49:37 UTC').waitFor();
  assert.equal(await tab.getByText('days ago').count(), 0);
  await tab.getByRole('link', { name: 'All tokens, also expired ones' }).click();
  await at(tab, 'Tokens');
  assert.equal(await tab.getByLabel('User').inputValue(), 'user-077777');

  // Grants are of one user, who may have to be chosen.
  await tab.goto(`${admin}/admin/ui/#/grants`);
  await tab.getByLabel('Mail address').fill('person777');
  await button(tab, 'Show').click();
  await tab.getByText('Many users match, for example').waitFor();
  assert.equal(await tab.getByRole('link', { name: /^person777/ }).count(), 20);
  await tab.getByLabel('Mail address').fill('person7777');
  await button(tab, 'Show').click();
  await tab.getByText('Several users match').waitFor();
  await sound(tab, 'authserver-admin-many-grants');
  await tab.getByRole('link', { name: 'person77771@example.com' }).click();
  await at(tab, 'person77771@example.com');
});

inBrowser('what is off says so', {}, async (tab) => {
  await enter(tab, 'idps');
  await tab.getByText('Enterprise-managed authorization is off.').waitFor();
  await tab.getByText('Set xaa.enabled to true to use them.').waitFor();
  assert.equal(await button(tab, 'Try again').count(), 0);
  await sound(tab, 'authserver-admin-off');
});
