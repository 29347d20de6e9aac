import { call, own } from '../api.js';
import { words } from '../format.js';
import { badge, h, load } from '../parts/dom.js';
import { record, requestTable } from './requests.js';
import { lastDays, tiles } from './usage.js';

export const title = 'Overview';

const tones = { active: 'good', cooling_down: 'warn', untested: 'plain', no_credit: 'bad', invalid_key: 'bad' };

export function show({ body, signal, every }) {
  const health = h('div');
  const totals = h('div');
  const last = h('div');
  const card = (name, place, link, text) => h('section.card', { 'aria-label': name }, h('div.cardhead', null, h('h2', null, name), h('span.push'), h('a', { href: link }, text)), place);
  const showHealth = () => load(health, async () => {
    const [gateway, connected] = await Promise.all([
      call('GET', 'health', { signal, guest: true }).catch((error) => { if (error.status === 503) return { status: 'unavailable', parts: {} }; throw error; }),
      own('GET', 'providers/health', { signal }),
    ]);
    return [
      h('ul.chips', null,
        h('li', null, 'Gateway', badge(gateway.status === 'ok' ? 'good' : 'bad', gateway.status === 'ok' ? 'works' : 'unavailable')),
        Object.entries(gateway.parts).map(([name, status]) => h('li', null, name[0].toUpperCase() + name.slice(1), badge(status === 'ok' ? 'good' : 'bad', status === 'ok' ? 'works' : status))),
        connected.providers.map((p) => h('li', null, p.name, badge(tones[p.status] ?? 'plain', words(p.status), p.reason && words(p.reason))))),
      connected.providers.length === 0 && h('p', null, 'No provider is connected yet. ', h('a', { href: '#/provider-keys' }, 'Add a provider key'), ' to get answers.'),
    ];
  });
  const showRest = () => Promise.all([
    load(totals, async () => {
      const report = await own('GET', 'usage', { signal, query: { from: lastDays(30).from.toISOString(), group: 'day' } });
      return tiles(report.totals);
    }),
    load(last, async () => {
      const [{ requests }, known] = await Promise.all([own('GET', 'usage/recent', { signal, query: { limit: 5 } }), own('GET', 'keychain-keys', { signal })]);
      const keys = new Map(known.keys.map((k) => [k.id, k.label || k.masked]));
      if (!requests.length) return h('p.empty', null, 'No request yet. ', h('a', { href: '#/playground' }, 'Send one from the playground'), '.');
      return requestTable(requests.map((r) => record(r, keys)));
    }),
  ]);
  body.append(
    card('Health', health, '#/provider-keys', 'Provider keys'),
    card('The last 30 days', totals, '#/usage', 'Usage'),
    card('Last requests', last, '#/requests', 'All requests'),
  );
  every(15000, () => { if (!health.contains(document.activeElement)) showHealth(); });
  return Promise.all([showHealth(), showRest()]);
}
