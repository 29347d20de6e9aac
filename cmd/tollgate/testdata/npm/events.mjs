// The dashboard of run events in a browser, on real reports.
import assert from 'node:assert/strict';
import { defects, faint, inBrowser } from './browser.mjs';

const url = process.env.EVENTS_URL;
const closed = process.env.EVENTS_CLOSED_URL;
const button = (scope, name) => scope.getByRole('button', { name, exact: true });

async function settled(tab) {
  await tab.waitForFunction(() => {
    const [name] = location.hash.replace(/^#\/?/, '').split(/[/?]/);
    return document.querySelector('nav a[aria-current]')?.dataset.path === ({ node: 'nodes', report: 'reports' }[name] ?? name)
      && !document.querySelector('[aria-busy=true], .loading, button.working');
  });
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
  const of = (status) => nodes.filter((n) => n.latest_report_status === status).length;
  const silent = nodes.filter((n) => !(Date.parse(n.report_timestamp) > Date.parse('2026-03-28T22:00:00Z')));
  assert.ok(silent.length > 5 && silent.length < nodes.length, 'one clock is far ahead');
  assert.match(await tab.locator('.tile').first().innerText(), new RegExp(`^Not reporting\\s+${silent.length}\\s+for 2 hours or longer$`));
  assert.match(await tile('Nodes').locator('visible=true').last().innerText(), new RegExp(`^${nodes.length}\\s[^]*, 1 inactive$`));
  assert.match(await tile(/^Changed/).innerText(), new RegExp(`^${of('changed')}\\b`));
  assert.match(await tile(/^Unchanged/).innerText(), new RegExp(`^${of('unchanged')}\\b`));
  assert.match(await tile('Events, last day').innerText(), /^0\b/, 'the reports are old');
  assert.match(await tab.locator('.lead').innerText(), /The last one ended \d+ days ago\.$/, 'one clock is far ahead');
  const missing = tab.getByRole('table', { name: 'Not reporting' });
  assert.equal(await missing.locator('tbody tr').count(), 5);
  const [youngest] = silent.filter((n) => n.report_timestamp).sort((a, b) => b.report_timestamp.localeCompare(a.report_timestamp) || a.certname.localeCompare(b.certname));
  assert.ok((await missing.locator('tbody tr').first().innerText()).startsWith(youngest.certname));
  assert.match(await missing.locator('tbody tr').first().innerText(), /silent for \d+ days/);
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
  assert.match(await rows.last().innerText(), /^planned\.example\.com[^]*no stored run/);
  await tab.getByLabel('Part of the name').fill('web0');
  await tab.getByLabel('Part of the name').press('Enter');
  await settled(tab);
  assert.equal(await rows.count(), (await api('nodes', ['~', 'certname', 'web0'])).length);
  await tab.reload(); // the filter is in the address
  await settled(tab);
  assert.equal(await rows.count(), (await api('nodes', ['~', 'certname', 'web0'])).length);
  await tab.getByLabel('Latest run').selectOption('Failed');
  await settled(tab);
  const both = (await api('nodes', ['and', ['~', 'certname', 'web0'], ['=', 'latest_report_status', 'failed']])).length;
  assert.equal(await rows.count(), both);
  await rows.first().getByRole('link').first().click();
  await tab.getByRole('heading', { name: 'Node', exact: true }).waitFor({ state: 'detached' });
  await settled(tab);
  await tab.goBack();
  await settled(tab);
  assert.equal(await rows.count(), both);
  assert.equal(await tab.getByLabel('Part of the name').inputValue(), 'web0');
  let release;
  let late = new Promise((resolve) => { release = resolve; });
  await tab.route('**/query/v4/nodes?*', async (route) => { // the first answer comes after the second
    const wait = late;
    late = null;
    await wait;
    await route.continue();
  });
  await tab.getByLabel('Latest run').selectOption('Any latest run');
  await tab.getByLabel('Part of the name').fill('(.*)');
  await button(tab, 'Show').click();
  const none = tab.getByText('No node matches this filter.');
  await none.waitFor();
  const failures = tab.waitForResponse('**/query/v4/events?*');
  release();
  await failures;
  await tab.evaluate(() => new Promise(requestAnimationFrame));
  await settled(tab);
  assert.ok(await none.isVisible(), 'an answer that came late is shown');
  await tab.unroute('**/query/v4/nodes?*');
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
  assert.ok(line.startsWith('curl -G -d limit=100 -d include_total=true --data-urlencode \'query=nodes['), line);
  assert.ok(line.includes(' order by certname }'), line);
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

inBrowser('nodes that do not report are found, by any threshold', {}, async (tab) => {
  const nodes = await api('nodes');
  const old = nodes.filter((n) => !(Date.parse(n.report_timestamp) > Date.now())).length;
  await go(tab, '');
  await tab.locator('.tile', { hasText: 'Not reporting' }).getByRole('link').click();
  await settled(tab);
  const rows = tab.getByRole('table', { name: 'Nodes' }).locator('tbody tr');
  await tab.getByText(`of ${old}`, { exact: false }).waitFor();
  assert.equal(new URL(tab.url()).hash, '#/nodes?status=unreported');
  assert.equal(await tab.getByLabel('Latest run').inputValue(), 'unreported');
  assert.match(await rows.first().innerText(), /silent for [\d,]+ days/);
  assert.deepEqual(await defects(tab), []);
  await tab.goto(`${closed}/store/dashboard/settings.json`);
  assert.deepEqual(JSON.parse(await tab.locator('pre').innerText()), { unreported_after: 5400 });
});

inBrowser('inactive nodes are listed apart', {}, async (tab) => {
  await go(tab, '');
  await tab.locator('.tile').getByRole('link', { name: '1 inactive' }).click();
  const rows = tab.getByRole('table', { name: 'Nodes' }).locator('tbody tr');
  await settled(tab);
  assert.equal(await rows.count(), 1);
  assert.match(await rows.first().innerText(), /^gone\.example\.com deactivated /);
  assert.doesNotMatch(await rows.first().innerText(), /no stored run|silent/);
  await tab.getByLabel('State').selectOption('Active or not');
  await settled(tab);
  await tab.getByText(`of ${(await api('nodes', ['=', 'node_state', 'any'])).length}`).waitFor();
});

inBrowser('columns are sorted, with the keyboard too, and the address keeps it', {}, async (tab) => {
  await go(tab, 'nodes');
  const names = () => tab.getByRole('table', { name: 'Nodes' }).locator('tbody td:first-child').allInnerTexts();
  const head = (name) => tab.getByRole('columnheader', { name });
  assert.equal(await head('Ended').getAttribute('aria-sort'), 'descending');
  await head('Node').getByRole('button').focus();
  await tab.keyboard.press('Enter');
  await settled(tab);
  assert.equal(await head('Node').getAttribute('aria-sort'), 'ascending');
  assert.equal(await head('Ended').getAttribute('aria-sort'), 'none');
  const sorted = (await api('nodes')).map((n) => n.certname).sort();
  assert.deepEqual(await names(), sorted.slice(0, 25));
  assert.equal(await tab.evaluate(() => document.activeElement.dataset.field), 'certname');
  await tab.keyboard.press('Enter');
  await settled(tab);
  assert.deepEqual(await names(), sorted.toReversed().slice(0, 25));
  await tab.reload();
  await settled(tab);
  assert.equal(await head('Node').getAttribute('aria-sort'), 'descending');
  await button(tab, 'Show more').click();
  await settled(tab);
  assert.deepEqual(await names(), sorted.toReversed());
  await go(tab, 'nodes?sort=nope&order=asc&status=nope');
  assert.equal(await head('Ended').getAttribute('aria-sort'), 'descending');
});

// file is the text of a file that a press on the button saves.
async function file(tab) {
  const [saved] = await Promise.all([tab.waitForEvent('download'), button(tab, 'Download CSV').click()]);
  const chunks = [];
  for await (const chunk of await saved.createReadStream()) chunks.push(chunk);
  return { name: saved.suggestedFilename(), lines: Buffer.concat(chunks).toString().trimEnd().split('\r\n') };
}

inBrowser('reports of all nodes are listed, filtered and saved', { acceptDownloads: true }, async (tab) => {
  await go(tab, 'reports');
  const rows = tab.getByRole('table', { name: 'Reports' }).locator('tbody tr');
  const all = await api('reports');
  assert.equal(await rows.count(), 25);
  await tab.getByText(`25 of ${all.length}`).waitFor();
  await tab.getByLabel('Status').selectOption('Failed');
  await settled(tab);
  const failed = all.filter((r) => r.status === 'failed');
  await tab.getByText(`of ${failed.length}`).or(tab.getByText(`${failed.length} in all`)).waitFor();
  assert.match(await rows.first().innerText(), /failed/);
  const { name, lines } = await file(tab);
  assert.equal(name, 'reports.csv');
  assert.equal(lines.length, failed.length + 1);
  assert.ok(lines[0].startsWith('"hash","certname","status"'), lines[0]);
  assert.deepEqual(lines.slice(1).map((l) => l.slice(1, 41)).sort(), failed.map((r) => r.hash).sort());
  // A file that is cut says so where everybody sees it.
  await tab.route('**/query/v4/reports?*limit=10000*', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, headers: { ...response.headers(), 'x-records': '20000' } });
  });
  await file(tab);
  await tab.getByText(`The file has the first ${failed.length} of 20,000 rows.`).waitFor();
  await go(tab, 'reports?hours=1');
  await tab.getByText('No report matches this filter.').waitFor();
  assert.deepEqual(await defects(tab), []);
});

inBrowser('no cell of a file is a formula', {}, async (tab) => {
  await go(tab, 'nodes');
  const [saved] = await Promise.all([tab.waitForEvent('download'), tab.evaluate(async () => {
    const { download } = await import(new URL('dashboard/csv.js', location.href.split('#')[0]).href);
    download('x.csv', ['a', 'b'], [{ a: '=1+1', b: -5 }, { a: 'say "x", y', b: null }, { a: '@x', b: true }]);
  })]);
  const chunks = [];
  for await (const chunk of await saved.createReadStream()) chunks.push(chunk);
  assert.equal(Buffer.concat(chunks).toString(), '"a","b"\r\n"\'=1+1","-5"\r\n"say ""x"", y",""\r\n"\'@x","true"\r\n');
});

inBrowser('an environment is chosen for all lists', {}, async (tab) => {
  await go(tab, '');
  const choice = tab.getByLabel('Environment', { exact: true });
  const names = (await api('environments')).map((e) => e.name).sort();
  await choice.waitFor();
  assert.deepEqual(await choice.locator('option').allInnerTexts(), ['All environments', ...names]);
  await choice.selectOption('staging');
  await settled(tab);
  const nodes = await api('nodes', ['=', 'report_environment', 'staging']);
  assert.match(await tab.locator('.tile', { hasText: 'Nodes' }).last().locator('dd').innerText(), new RegExp(`^${nodes.length}\\b`));
  await tab.getByRole('navigation').getByRole('link', { name: 'Nodes' }).click();
  await settled(tab);
  assert.equal(new URL(tab.url()).hash, '#/nodes?env=staging');
  const rows = tab.getByRole('table', { name: 'Nodes' }).locator('tbody tr');
  assert.equal(await rows.count(), nodes.length);
  await tab.getByRole('navigation').getByRole('link', { name: 'Reports' }).click();
  await settled(tab);
  await tab.getByText(`${(await api('reports', ['=', 'environment', 'staging'])).length} in all`).or(tab.getByText(`of ${(await api('reports', ['=', 'environment', 'staging'])).length}`)).waitFor();
  await choice.selectOption('All environments');
  await settled(tab);
  assert.equal(new URL(tab.url()).hash, '#/reports');
  await go(tab, '?env=nowhere');
  await tab.getByText('No node reports from the environment nowhere.').waitFor();
});

inBrowser('a report shows what the agent measured', {}, async (tab) => {
  const hash = failing[0].latest_report_hash;
  const metrics = await api(`reports/${hash}/metrics`);
  await go(tab, `report/${hash}`);
  const section = tab.getByRole('region', { name: 'Metrics' });
  const total = metrics.find((m) => m.category === 'resources' && m.name === 'total').value;
  assert.match(await section.innerText(), new RegExp(`Resources\\s+Total\\s+${total}\\b`));
  assert.equal(await section.locator('.bars li').count(), metrics.filter((m) => m.category === 'time' && m.name !== 'total').length);
  const widths = await section.locator('.fill').evaluateAll((list) => list.map((e) => e.getBoundingClientRect().width));
  assert.ok(widths[0] > 20 && widths.every((w, i) => i === 0 || w <= widths[i - 1]), `${widths}`);
});

inBrowser('lists keep themselves up to date, unless they are in use or stopped', {}, async (tab) => {
  await tab.clock.install();
  await go(tab, 'reports?name=fresh');
  await tab.getByText('No report matches this filter.').waitFor();
  const send = async (n) => {
    const report = JSON.parse(process.env.EVENTS_REPORT.replaceAll('ahead.', 'fresh.'));
    report.transaction_uuid = `00000000-0000-4000-8000-00000000000${n}`;
    const response = await fetch(`${url}/store/cmd/v1?command=store_report&version=8&certname=x&secondsToWaitForCompletion=30`,
      { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(report) });
    assert.equal(response.status, 200);
  };
  const rows = tab.getByRole('table', { name: 'Reports' }).locator('tbody tr');
  await send(1);
  await tab.clock.runFor(61000);
  await rows.first().waitFor();
  assert.equal(await rows.count(), 1);
  await button(tab, 'Pause').click();
  await send(2);
  await tab.clock.runFor(121000);
  await settled(tab);
  assert.equal(await rows.count(), 1);
  await button(tab, 'Keep updating').click();
  await rows.nth(1).waitFor();
  await rows.first().getByRole('link').first().focus();
  await send(3);
  await tab.clock.runFor(61000);
  await settled(tab);
  assert.equal(await rows.count(), 2);
  await tab.getByLabel('Status').focus();
  await tab.clock.runFor(61000);
  await rows.nth(2).waitFor();
});

inBrowser('a long report is folded on a phone', { viewport: { width: 360, height: 740 } }, async (tab) => {
  const counts = await api('events', ['extract', ['report', ['function', 'count']], ['=', 'status', 'success'], ['group_by', 'report']]);
  const { report, count } = counts.sort((a, b) => b.count - a.count)[0];
  assert.ok(count > 20);
  await go(tab, `report/${report}`);
  const changed = tab.getByRole('region', { name: 'Changed', exact: true });
  const rows = changed.locator('tbody tr');
  assert.equal(await rows.first().isVisible(), false);
  await changed.getByRole('heading', { name: 'Changed' }).click();
  assert.equal(await rows.count(), 12);
  await button(changed, `Show ${count - 12} more`).click();
  assert.equal(await rows.count(), count);
  assert.ok(await tab.locator('.log li').count() <= 20);
});

const paths = ['', 'nodes', 'nodes?state=inactive', 'reports', `node/${failing[0].certname}`, `report/${failing[0].latest_report_hash}`,
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

inBrowser('whatever a node reports is text', {}, async (tab) => {
  const certname = '<img src=x onerror=alert(1)>/a?b#c%2e&d';
  const report = JSON.parse(process.env.EVENTS_REPORT);
  const [resource] = report.resources;
  const markup = '</td><b onclick=alert(2)>x</b>';
  Object.assign(report, {
    certname, status: 'constructor', environment: '<b>x</b>', configuration_version: markup,
    logs: [{ level: 'toString', message: markup, source: '__proto__', tags: [], time: report.start_time, file: null, line: null }],
    metrics: [['constructor', '__proto__', 1e308], ['time', markup, -5], ['time', 'valueOf', 2], ['resources', 'total', 3]].map(([category, name, value]) => ({ category, name, value })),
    resources: ['constructor', '__proto__', 'failure', markup].map((status) => ({
      ...resource, resource_type: 'valueOf', resource_title: markup, containment_path: [markup], file: markup, line: 1, events: [{ ...resource.events[0], status, property: markup, new_value: { toString: markup }, message: markup }],
    })),
  });
  const response = await fetch(`${url}/store/cmd/v1?command=store_report&version=8&certname=x&secondsToWaitForCompletion=30`,
    { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(report) });
  assert.equal(response.status, 200, await response.text());
  const [{ hash }] = await api('reports', ['=', 'certname', certname]);
  tab.on('dialog', (dialog) => assert.fail(dialog.message()));
  const name = encodeURIComponent(certname);
  for (const path of ['', `?env=${encodeURIComponent('<b>x</b>')}`, `nodes?name=${name}`, `reports?name=${name}`, `node/${name}`, `report/${hash}`,
    `query?${new URLSearchParams({ language: 'ast', entity: 'reports', query: JSON.stringify(['=', 'certname', certname]) })}`]) {
    await go(tab, path);
    assert.equal(await tab.locator('main :is(img, b, i, script)').count(), 0, path);
    assert.deepEqual(await tab.getByRole('alert').allInnerTexts(), [], path);
    assert.deepEqual(await defects(tab), [], path);
    if (path && !path.startsWith('?')) assert.ok((await tab.locator('main').innerText()).includes(certname), path);
  }
  await go(tab, `nodes?name=${name}`);
  await tab.getByRole('table', { name: 'Nodes' }).getByRole('link', { name: certname }).click();
  await tab.getByRole('table', { name: `Runs of ${certname}` }).waitFor();
});

inBrowser('long names fit a phone', { viewport: { width: 360, height: 740 } }, async (tab) => {
  const certname = `${'x'.repeat(300)}.example.com`;
  const report = JSON.parse(process.env.EVENTS_REPORT);
  const [resource] = report.resources;
  const long = (n) => 'm'.repeat(n);
  Object.assign(report, {
    certname, status: long(100), environment: long(200), configuration_version: long(500), producer: long(300), puppet_version: long(100),
    logs: [{ level: long(100), message: long(5000), source: long(500), tags: [], time: report.start_time, file: long(500), line: 1 }],
    metrics: [['time', long(200), 5], [long(200), long(200), 7]].map(([category, name, value]) => ({ category, name, value })),
    resources: ['failure', 'success', long(100)].map((status) => ({
      ...resource, resource_type: long(300), resource_title: long(3000), containment_path: [long(500)], file: long(500), line: 1,
      events: [{ ...resource.events[0], status, property: long(300), old_value: long(1000), new_value: long(1000), message: long(3000) }],
    })),
  });
  const response = await fetch(`${url}/store/cmd/v1?command=store_report&version=8&certname=x&secondsToWaitForCompletion=30`,
    { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(report) });
  assert.equal(response.status, 200, await response.text());
  const [{ hash }] = await api('reports', ['=', 'certname', certname]);
  for (const path of [`?env=${long(200)}`, `nodes?name=${certname}`, `reports?name=${certname}`, `node/${certname}`, `report/${hash}`]) {
    await go(tab, path);
    for (const part of await tab.locator('main details:not([open]) summary').all()) await part.click();
    assert.equal(await tab.evaluate(() => document.documentElement.scrollWidth), 360, path);
  }
});

inBrowser('what is not there is said', {}, async (tab) => {
  await go(tab, `report/${'0'.repeat(40)}`);
  await tab.getByText('There is no run with this id.').waitFor();
  await go(tab, 'node/nobody.example.com');
  await tab.getByText('No run of this node is stored.').waitFor();
  await go(tab, 'node/gone.example.com');
  await tab.locator('.lead').getByText(/^deactivated /).waitFor();
});

inBrowser('a token is asked for where the service wants one', {}, async (tab) => {
  await tab.goto(`${closed}/store/`);
  await tab.getByRole('alert').filter({ hasText: 'this client may not read run events' }).waitFor();
  assert.deepEqual(await defects(tab), []);
  const token = tab.getByLabel('Bearer token');
  await token.fill('no token');
  await token.press('Enter');
  await tab.locator('.problem', { hasText: 'Paste a token' }).waitFor();
  await token.fill('not.a.token');
  await token.press('Enter');
  await tab.getByRole('alert').filter({ hasText: 'The token was refused.' }).waitFor();
  await token.fill(`Bearer ${process.env.EVENTS_TOKEN}`);
  await token.press('Enter');
  await settled(tab);
  await tab.getByRole('heading', { name: 'No node has reported yet' }).waitFor();
  assert.equal(await tab.getByText('No node fails.').count(), 0);
  assert.ok((await tab.locator('.welcome').innerText()).includes(`${closed}/store/cmd/v1?command=store_report`));
  assert.deepEqual(await defects(tab), []);
  assert.deepEqual(await faint(tab), []);
  await tab.reload();
  await settled(tab);
  assert.equal(await tab.evaluate(() => localStorage.length), 0);
  await tab.goto(`${closed}/store/#/query`);
  assert.ok((await tab.getByLabel('The same as a curl command').innerText()).includes('-H "Authorization: Bearer $TOKEN"'));
  assert.ok(!(await tab.content()).includes(process.env.EVENTS_TOKEN));
  await button(tab, 'Sign out').click();
  await token.waitFor();
  assert.equal(await tab.evaluate(() => sessionStorage.length), 0);
});

