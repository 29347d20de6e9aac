// What the tutorial of a team's gateway says to do in a browser. SHOWN is the file that gets what somebody sees.
import { writeFileSync } from 'node:fs';
import assert from 'node:assert/strict';
import { inBrowser, settled } from './browser.mjs';

const { MAIL: mail, PASSWORD: password, ROLE: role, SHOWN: shown } = process.env;

const button = (scope, name) => scope.getByRole('button', { name, exact: true });
const dialog = (tab) => tab.getByRole('dialog');
const link = (tab, name) => tab.locator('nav').getByRole('link', { name, exact: true });

async function signIn(tab) {
  await tab.goto('https://llm.example.com/console');
  await button(tab, 'Sign in').click();
  await tab.getByLabel('Mail address').fill(mail);
  await tab.getByLabel('Password').fill(password);
  assert.ok(tab.url().startsWith('https://auth.llm.example.com/'), tab.url());
  await button(tab.locator('main'), 'Sign in').click();
  await button(dialog(tab), 'I have copied it').click(); // the first key
  await settled(tab);
}

const roles = {
  async member(tab) {
    for (const budget of ['$2,000.00 a month', '$500.00 a month', '$20.00 a month']) {
      await tab.getByText(budget).first().waitFor();
    }
    assert.equal(await link(tab, 'Spending').count(), 0);
    await link(tab, 'Gateway keys').click();
    await settled(tab);
    await button(tab, 'Create key').click();
    await dialog(tab).getByLabel('Label').fill('laptop');
    await button(dialog(tab), 'Create key').click();
    const key = await dialog(tab).getByLabel('Gateway key').inputValue();
    await button(dialog(tab), 'I have copied it').click();
    await tab.getByRole('cell', { name: 'laptop', exact: true }).waitFor();
    return key;
  },

  async operator(tab) {
    for (const name of ['People', 'Teams', 'Limits', 'All gateway keys']) await link(tab, name).waitFor();
    await link(tab, 'Spending').click();
    const row = tab.getByRole('region', { name: 'By team' }).getByRole('row');
    const cells = async (at) => (await row.nth(at).locator('th, td').allInnerTexts()).join('  ');
    for (;;) { // usage is written a moment after a request
      await settled(tab);
      if (await row.count() === 2 && / {2}2 {2}/.test(await cells(1))) break;
      await button(tab, 'Show').click();
      await tab.waitForTimeout(100);
    }
    return `${await cells(0)}\n${await cells(1)}`;
  },
};

inBrowser(`${role} ${mail}`, { ignoreHTTPSErrors: true }, async (tab) => {
  await signIn(tab);
  writeFileSync(shown, `${await roles[role](tab)}\n`);
});
