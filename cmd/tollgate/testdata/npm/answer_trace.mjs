// The page of how an answer came about, for operators.
import assert from 'node:assert/strict';
import { defects, faint, inBrowser } from './browser.mjs';

const url = process.env.TRACE_URL;
const shots = process.env.SHOTS; // a folder for pictures of the page; none where it is not set

async function sound(tab, picture) {
  if (shots) await tab.screenshot({ path: `${shots}/trace-${picture}.png`, fullPage: true });
  assert.deepEqual(await defects(tab), [], tab.url());
  assert.deepEqual(await faint(tab), [], tab.url());
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${wide} pixels too wide`);
}

for (const [name, options] of [['light', {}], ['dark', { colorScheme: 'dark' }], ['phone', { viewport: { width: 390, height: 844 } }]]) {
  inBrowser(`a trace is read: ${name}`, options, async (tab) => {
    for (const kind of ['answered', 'refused']) {
      await tab.goto(`${url}/${kind}`);
      await tab.getByRole('heading', { name: 'Stages' }).waitFor();
      // The style is taken, which the policy allows by its digest alone.
      assert.equal(await tab.evaluate(() => getComputedStyle(document.querySelector('main')).display), 'grid');
      await tab.locator('.passages summary').first().click();
      await tab.locator('.passages pre').first().waitFor({ state: 'visible' });
      await sound(tab, `${kind}-${name}`);
    }
    await tab.goto(`${url}/list`);
    assert.equal(await tab.getByRole('link', { name: /^ans_/ }).count(), 2);
    await sound(tab, `list-${name}`);
  });
}
