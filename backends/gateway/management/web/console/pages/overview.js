import { call, own } from '../api.js';
import { usd, words } from '../format.js';
import { code, h, load, table, tag } from '../parts/dom.js';
import { short, when } from '../parts/look.js';
import { record, requestTable } from './requests.js';
import { lastDays, tiles } from './usage.js';

export const title = 'Overview';

const tones = { active: 'good', cooling_down: 'warn', untested: 'plain', no_credit: 'bad', invalid_key: 'bad' };

const windows = { per_day: 'a day', per_week: 'a week', per_month: 'a month', total: 'in total' };
const amount = (b, value) => (b.name.startsWith('usd') ? usd(value) : `${short(value)} tokens`);
const holders = {
  own: (b) => ['your key ', b.label || code(b.id)],
  key: (b) => ['your key ', b.label || code(b.id), ', by your operator'],
  user: () => 'all your keys',
  team: () => 'your team',
  organisation: () => 'everybody together',
};

export function show({ body, signal, every }) {
  const health = h('div');
  const totals = h('div');
  const last = h('div');
  const budgets = h('div');
  const card = (name, place, link, text) => h('section.panel', { 'aria-label': name }, h('div.head', null, h('h2', null, name), h('span.push'), h('a', { href: link }, text)), place);
  const showHealth = () => load(health, async () => {
    const [gateway, connected] = await Promise.all([
      call('GET', 'health', { signal, guest: true }).catch((error) => { if (error.status === 503) return { status: 'unavailable', parts: {} }; throw error; }),
      own('GET', 'providers/health', { signal }),
    ]);
    return [
      h('ul.chips', null,
        h('li', null, 'Gateway', tag(gateway.status === 'ok' ? 'good' : 'bad', gateway.status === 'ok' ? 'works' : 'unavailable')),
        Object.entries(gateway.parts).map(([name, status]) => h('li', null, name[0].toUpperCase() + name.slice(1), tag(status === 'ok' ? 'good' : 'bad', status === 'ok' ? 'works' : status))),
        connected.providers.map((p) => h('li', null, p.name, tag(tones[p.status] ?? 'plain', words(p.status), p.reason && words(p.reason))))),
      connected.providers.length === 0 && h('p', null, 'No provider is connected yet. ', h('a', { href: '#/provider-keys' }, 'Add a provider key'), ' to get answers.'),
    ];
  });
  const showRest = () => Promise.all([
    load(totals, async () => {
      const report = await own('GET', 'usage', { signal, query: { from: lastDays(30).from.toISOString(), group: 'day' } });
      return tiles(report.totals);
    }),
    load(budgets, async () => {
      const { data } = await call('GET', 'operator/self/budgets', { signal });
      if (!data.length) return h('p.empty', null, 'You have no budget.');
      return table('Budgets', [
        { title: 'Applies to', class: 'name', cell: (b) => [holders[b.on](b), b.by === 'team' && h('span.small.muted', null, ', set by its administrators')] },
        { title: 'Budget', cell: (b) => `${amount(b, b.limit)} ${windows[b.name.replace(/^(usd|tokens)_/, '')]}` },
        { title: 'Spent', number: true, cell: (b) => amount(b, b.spent) },
        { title: 'Left', number: true, cell: (b) => amount(b, Math.max(0, b.limit - b.spent)) },
        { title: '', cell: (b) => h('meter', { min: 0, max: b.limit, high: b.limit * 0.8, optimum: 0, value: Math.min(b.spent, b.limit), 'aria-label': `${Math.round(100 * b.spent / b.limit)} % spent` }) },
        { title: 'Resets', class: 'when', cell: (b) => (b.begins_anew ? when(b.begins_anew) : 'never') },
      ], data);
    }),
    load(last, async () => {
      const [{ requests }, known] = await Promise.all([own('GET', 'usage/recent', { signal, query: { limit: 5 } }), own('GET', 'keychain-keys', { signal })]);
      const keys = new Map(known.keys.map((k) => [k.id, k.label || k.masked]));
      if (!requests.length) return h('p.empty', null, 'No requests yet. ', h('a', { href: '#/playground' }, 'Send one from the playground'), '.');
      return requestTable(requests.map((r) => record(r, keys)));
    }),
  ]);
  body.append(
    card('Health', health, '#/provider-keys', 'Provider keys'),
    card('Budgets', budgets, '#/gateway-keys', 'Gateway keys'),
    card('The last 30 days', totals, '#/usage', 'Usage'),
    card('Latest requests', last, '#/requests', 'All requests'),
  );
  every(15000, () => { if (!health.contains(document.activeElement)) showHealth(); });
  return Promise.all([showHealth(), showRest()]);
}
