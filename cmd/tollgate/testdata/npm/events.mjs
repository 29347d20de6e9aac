// The dashboard of run events in a browser, on real reports.
import assert from 'node:assert/strict';
import { defects, faint, inBrowser } from './browser.mjs';

const url = process.env.EVENTS_URL;
const closed = process.env.EVENTS_CLOSED_URL;
const button = (scope, name) => scope.getByRole('button', { name, exact: true });

async function settled(tab) {
  await tab.locator('nav a[aria-current]').waitFor();
  await tab.waitForFunction(() => !document.querySelector('[aria-busy=true], .loading, button.working'));
}

async function go(tab, path) {
  await tab.goto('about:blank'); // or settled might see the page before
  await tab.goto(`${url}/store/#/${path}`);
  await settled(tab);
}

// api asks the service itself, to see what the dashboard should show.
async function api(path, query) {
  const response = await fetch(`${url}/store/query/v4/${path}?${new URLSearchParams(query ? { query: JSON.stringify(query) } : {})}`);
  assert.equal(response.status, 200);
  return response.json();
}

const failing = await api('nodes', ['=', 'latest_report_status', 'failed']);
assert.ok(failing.length > 2);

inBrowser('the overview has the counts, the failing nodes and the events over time', {}, async (tab) => {
  await tab.clock.setFixedTime('2026-03-29T00:00:00Z');
  await tab.goto(`${url}/store`);
  assert.equal(tab.url(), `${url}/store/`);
  await settled(tab);
  const nodes = await api('nodes');
  const tile = (name) => tab.locator('.tile', { hasText: name }).locator('dd');
  assert.match(await tile('Failing nodes').innerText(), new RegExp(`^${failing.length}\\b`));
  assert.match(await tab.locator('.tile').first().innerText(), new RegExp(`^Nodes\\s+${nodes.length}\\b`));
  assert.match(await tile('Events, last day').innerText(), /^0\b/, 'the reports are old');
  assert.match(await tile('Latest run').innerText(), /^\d+ days ago/, 'one clock is far ahead');
  const list = tab.getByRole('table', { name: 'Failing nodes' });
  assert.equal(await list.getByRole('row').count(), Math.min(10, failing.length) + 1);
  const drawing = tab.locator('figure.chart');
  await drawing.locator('svg rect.series-4').first().waitFor({ state: 'attached' });
  await drawing.getByText('As a table').click();
  const [first] = await drawing.locator('tbody tr').allInnerTexts();
  assert.match(first, /^2026-03-\d\d/);
  assert.match(await drawing.locator('tbody tr').last().innerText(), /^2026-03-14/);
  const count = async (kind) => (await api('events', ['=', 'status', kind])).length;
  const column = await drawing.locator('tbody tr td:nth-child(2)').allInnerTexts();
  assert.equal(column.reduce((sum, n) => sum + Number(n.replaceAll(',', '')), 0), await count('failure'));
  await tab.getByLabel('Time', { exact: true }).selectOption('Last 24 hours');
  await settled(tab);
  assert.equal(await drawing.locator('rect[class^=series]').count(), 0);
  assert.deepEqual(await defects(tab), []);
});

inBrowser('one gets from a failing node to its runs, events and log', {}, async (tab) => {
  await go(tab, '');
  const row = tab.getByRole('table', { name: 'Failing nodes' }).getByRole('row').nth(1);
  const certname = await row.getByRole('link').first().innerText();
  const node = failing.find((n) => n.certname === certname);
  await row.getByRole('link', { name: certname }).click();
  await tab.getByRole('heading', { name: certname, level: 1 }).waitFor();
  await settled(tab);
  const runs = tab.getByRole('table', { name: `Runs of ${certname}` }).locator('tbody tr');
  const reports = await api('reports', ['=', 'certname', certname]);
  assert.equal(await runs.count(), reports.length);
  assert.match(await runs.first().innerText(), /failed/);
  await runs.first().getByRole('link').first().click();
  await tab.getByRole('heading', { name: `Run of ${certname}`, level: 1 }).waitFor();
  await settled(tab);
  assert.equal(new URL(tab.url()).hash, `#/report/${node.latest_report_hash}`);
  const events = await api(`reports/${node.latest_report_hash}/events`);
  for (const [status, name] of [['failure', 'Failed'], ['success', 'Changed'], ['skipped', 'Skipped']]) {
    const expected = events.filter((e) => e.status === status);
    const section = tab.getByRole('region', { name, exact: true });
    if (!expected.length) continue;
    if (status === 'skipped') await section.getByRole('heading', { name }).click();
    assert.equal(await section.locator('tbody tr').count(), expected.length, name);
    const [one] = expected;
    const shown = section.locator('tbody tr', { hasText: `${one.resource_type}[${one.resource_title}]` }).first();
    if (one.message) await shown.getByText(one.message.split('\n')[0].slice(0, 40)).first().waitFor();
    if (one.file) assert.ok((await shown.innerText()).includes(`${one.file}:${one.line}`));
  }
  const lines = await api(`reports/${node.latest_report_hash}/logs`);
  const errors = lines.filter((l) => l.level === 'err').length;
  assert.ok(errors > 0);
  await button(tab, `err ${errors}`).click();
  assert.equal(await tab.locator('.log li').count(), errors);
  assert.equal(await button(tab, `err ${errors}`).getAttribute('aria-pressed'), 'true');
  assert.deepEqual(await defects(tab), []);
  await tab.goBack();
  await tab.getByRole('heading', { name: certname, level: 1 }).waitFor();
});

inBrowser('nodes are filtered, and lists grow', {}, async (tab) => {
  await go(tab, 'nodes');
  const rows = tab.getByRole('table', { name: 'Nodes' }).locator('tbody tr');
  assert.equal(await rows.count(), 25);
  assert.match(await rows.first().innerText(), /^ahead\.example\.com/);
  await button(tab, 'Show more').click();
  await settled(tab);
  const names = (await rows.locator('td:first-child, th:first-child').allInnerTexts()).sort();
  assert.deepEqual(names, (await api('nodes')).map((n) => n.certname).sort());
  assert.match(await rows.last().innerText(), /^planned\.example\.com[^]*no run kept/);
  await tab.getByLabel('Part of the name').fill('web0');
  await tab.getByLabel('Part of the name').press('Enter');
  await settled(tab);
  assert.equal(await rows.count(), (await api('nodes', ['~', 'certname', 'web0'])).length);
  await tab.getByLabel('Part of the name').fill('(.*)');
  await button(tab, 'Show').click();
  await tab.getByText('No node is like that.').waitFor();
  assert.deepEqual(await defects(tab), []);
});

inBrowser('queries in both languages, with their errors', { permissions: ['clipboard-read', 'clipboard-write'] }, async (tab) => {
  await go(tab, 'query');
  const text = tab.getByLabel('Query', { exact: true });
  const answer = tab.getByRole('table', { name: 'Answer' });
  await text.fill('nodes[certname, latest_report_status]{ latest_report_status = \'failed\' order by certname }');
  await text.press('Control+Enter');
  await settled(tab);
  assert.equal(await answer.locator('tbody tr').count(), failing.length);
  assert.deepEqual(await answer.locator('th').allInnerTexts(), ['certname', 'latest_report_status']);

  const line = await tab.getByLabel('The same as a curl command').innerText();
  assert.ok(line.startsWith('curl -G -d include_total=true --data-urlencode \'query=nodes['), line);
  assert.ok(line.includes(' order by certname limit 100 }'), line);
  assert.ok(line.includes('\'\\\'\'failed\'\\\'\''), line);
  await button(tab, 'Copy').click();
  assert.equal(await tab.evaluate(() => navigator.clipboard.readText()), line);
  for (const [query, limit, rows] of [['nodes{}', 3, 3], ['nodes{ order by certname limit 2 }', 9, 2], ['nodes{ certname ~ "limit 5 }|." offset 1 }', 4, 4]]) {
    await tab.getByLabel('Limit').fill(String(limit));
    await text.fill(query);
    await button(tab, 'Run').click();
    await settled(tab);
    assert.equal(await answer.locator('tbody tr').count(), rows, query);
  }
  await tab.reload(); // the query is in the address
  await settled(tab);
  assert.equal(await answer.locator('tbody tr').count(), 4);

  await tab.getByLabel('Language').selectOption('JSON (AST)');
  await tab.getByLabel('Entity').selectOption('events');
  await tab.getByLabel('Limit').fill('7');
  await text.fill('["=", "status", "failure"]');
  await button(tab, 'Run').click();
  await settled(tab);
  assert.equal(await answer.locator('tbody tr').count(), 7);
  await tab.getByRole('heading', { name: /^7 of [\d,]+ rows$/ }).waitFor();

  await text.fill('["=", "nope", 1]');
  await button(tab, 'Run').click();
  const alert = tab.getByRole('alert');
  await alert.filter({ hasText: '\'nope\' is not a queryable object for events' }).waitFor();
  assert.match(await alert.innerText(), /The query was refused\./);
  await text.fill('["=", "<b>x</b>"');
  await button(tab, 'Run').click();
  await alert.filter({ hasText: 'Json parse error at line 1' }).waitFor();
  assert.equal(await alert.locator('b').count(), 0);
  await tab.getByLabel('Language').selectOption('PQL');
  await text.fill('events { certname = }');
  await button(tab, 'Run').click();
  await alert.filter({ hasText: 'PQL parse error at line 1, column' }).waitFor();
  assert.deepEqual(await defects(tab), []);

  for (const example of await tab.getByRole('region', { name: 'Examples' }).getByRole('button').all()) {
    await example.click();
    await settled(tab);
    assert.equal(await alert.count(), 0, await example.innerText());
    await answer.locator('tbody tr').first().waitFor();
  }
});

const paths = ['', 'nodes', `node/${failing[0].certname}`, `report/${failing[0].latest_report_hash}`,
  `query?${new URLSearchParams({ language: 'ast', entity: 'events', query: '["=","status","failure"]' })}`, 'query?language=pql&query=x'];

for (const colorScheme of ['light', 'dark']) {
  inBrowser(`all pages fit a phone and can be read, ${colorScheme}`, { viewport: { width: 360, height: 740 }, colorScheme }, async (tab) => {
    for (const path of paths) {
      await go(tab, path);
      assert.equal(await tab.evaluate(() => document.documentElement.scrollWidth), 360, path);
      assert.deepEqual(await faint(tab), [], path);
      assert.deepEqual(await defects(tab), [], path);
    }
  });
}

inBrowser('what is not there is said', {}, async (tab) => {
  await go(tab, `report/${'0'.repeat(40)}`);
  await tab.getByText('There is no run with this id.').waitFor();
  await go(tab, 'node/nobody.example.com');
  await tab.getByText('No run of this node is kept.').waitFor();
  await go(tab, 'node/gone.example.com');
  await tab.locator('.about').getByText(/^deactivated /).waitFor();
});

inBrowser('a token is asked for where the service wants one', {}, async (tab) => {
  await tab.goto(`${closed}/store/`);
  await tab.getByRole('alert').filter({ hasText: 'this client may not read run events' }).waitFor();
  assert.deepEqual(await defects(tab), []);
  const token = tab.getByLabel('Bearer token');
  await token.fill('no token');
  await token.press('Enter');
  await tab.locator('.wrong', { hasText: 'Paste a token' }).waitFor();
  await token.fill('not.a.token');
  await token.press('Enter');
  await tab.getByRole('alert').filter({ hasText: 'The token was refused.' }).waitFor();
  await token.fill(`Bearer ${process.env.EVENTS_TOKEN}`);
  await token.press('Enter');
  await settled(tab);
  await tab.getByText('No event is kept yet.').waitFor();
  await tab.reload();
  await settled(tab);
  assert.equal(await tab.evaluate(() => localStorage.length), 0);
  await tab.goto(`${closed}/store/#/query`);
  assert.ok((await tab.getByLabel('The same as a curl command').innerText()).includes('-H "Authorization: Bearer $TOKEN"'));
  assert.ok(!(await tab.content()).includes(process.env.EVENTS_TOKEN));
  await button(tab, 'Forget the token').click();
  await token.waitFor();
  assert.equal(await tab.evaluate(() => sessionStorage.length), 0);
});

