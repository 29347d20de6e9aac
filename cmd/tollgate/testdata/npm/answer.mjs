// The page of the answer API in a browser.
import assert from 'node:assert/strict';
import { darkness, defects, faint, inBrowser } from './browser.mjs';

const url = process.env.ANSWER_URL;
const key = process.env.ANSWER_KEY;
const shots = process.env.SHOTS; // a folder for pictures of the page; none where it is not set
const trusting = { ignoreHTTPSErrors: true };

const button = (scope, name) => scope.getByRole('button', { name, exact: true });

async function sound(tab, picture) {
  await tab.waitForFunction(() => !document.querySelector('button.working'));
  if (shots) await tab.screenshot({ path: `${shots}/answer-${picture}.png`, fullPage: true });
  assert.deepEqual(await defects(tab), [], tab.url());
  assert.deepEqual(await faint(tab), [], tab.url());
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${wide} pixels too wide`);
}

async function ask(tab, question) {
  await tab.getByLabel('Question', { exact: true }).last().fill(question);
  await button(tab, 'Ask').click();
}

inBrowser('a key, a question, its answer and what is left', trusting, async (tab, context) => {
  await tab.goto(`${url}/`);
  await sound(tab, 'door');
  await tab.getByLabel('API key').fill('wrong');
  await button(tab, 'Continue').click();
  await tab.getByText('There is no such key.').waitFor();
  await tab.getByLabel('API key').fill(key);
  await button(tab, 'Continue').click();
  await tab.getByText('0 of 1,000 answers').waitFor();
  await ask(tab, 'What was the revenue of Quillmarsh Instruments in fiscal 2025?');
  const references = tab.getByRole('list', { name: 'References' });
  await references.waitFor();
  await tab.getByText('1 of 1,000 answers').waitFor();
  assert.match(await tab.locator('.said').first().innerText(), /\d/);
  assert.deepEqual(await context.cookies(), []);
  await sound(tab, 'answer');
  assert.equal(await references.getByRole('link').first().getAttribute('href'), 'https://quillmarsh.example/reports/2025');

  const passages = tab.getByRole('region', { name: 'Passages' });
  await passages.locator('mark').first().waitFor();
  const figure = /\d[\d,.]*/.exec((await tab.locator('.said').first().innerText()).replace(/^.*2025/, ''))[0];
  assert.ok((await passages.locator('mark').allInnerTexts()).some((text) => text.includes(figure)), `${figure} is not marked`);
  const [file] = await Promise.all([tab.waitForEvent('download'), button(tab, 'Export').first().click()]);
  assert.match(file.suggestedFilename(), /^ans_.*\.md$/);

  await button(tab, 'Follow up').first().click();
  await tab.getByText('its company and period are kept').waitFor();
  await ask(tab, 'And the net income?');
  await tab.getByText('2 of 1,000 answers').waitFor();
  assert.match(await tab.locator('.said').first().innerText(), /Quillmarsh.*2025/s);
  assert.equal(await tab.getByText('its company and period are kept').count(), 0);

  await tab.getByRole('link', { name: 'Companies' }).click();
  await tab.getByLabel('Name').fill('quillm');
  await button(tab, 'Search').click();
  await tab.getByRole('link', { name: /^Quillmarsh/ }).click();
  await tab.getByRole('heading', { name: /^Quillmarsh/, level: 1 }).waitFor();
  await tab.getByRole('img', { name: /^Revenue/i }).waitFor();
  await sound(tab, 'company');
  const [sheet] = await Promise.all([tab.waitForEvent('download'), button(tab, 'Download CSV').click()]);
  assert.match(sheet.suggestedFilename(), /\.csv$/);
  await tab.goBack();
  await tab.getByRole('link', { name: 'Questions' }).click();
  await tab.locator('.said').nth(1).waitFor();
  assert.equal(await tab.locator('.said').count(), 2, 'the answers have stayed');

  await ask(tab, 'Who wrote the first opera?');
  await tab.getByText('This does not seem to be about investments.').waitFor();
  await sound(tab, 'no');
  await tab.reload();
  await tab.getByText('2 of 1,000 answers').waitFor();
  await button(tab, 'Forget the key').click();
  await tab.getByLabel('API key').waitFor();
  assert.equal(await tab.evaluate(() => sessionStorage.length), 0);
});

for (const [name, options] of [['dark', { colorScheme: 'dark' }], ['phone', { viewport: { width: 390, height: 844 } }]]) {
  inBrowser(`the page is sound: ${name}`, { ...trusting, ...options }, async (tab) => {
    await tab.addInitScript((value) => sessionStorage.setItem('tollgate.answer', value), key);
    await tab.goto(`${url}/`);
    await ask(tab, 'What was the revenue of Quillmarsh Instruments in fiscal 2024?');
    await tab.getByRole('list', { name: 'References' }).waitFor();
    await sound(tab, name);
    if (name === 'dark') assert.ok((await darkness(tab)).dark > 0.5);
  });
}
