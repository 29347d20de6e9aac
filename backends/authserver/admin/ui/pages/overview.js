import { call } from '../api.js';
import { h, load, table } from '../parts/dom.js';
import { number } from '../parts/look.js';
import { state } from '../tones.js';
import { card, learn, notices, status as told } from '../view.js';
import { eventColumns } from './audit.js';

export const title = 'Overview';

const tiles = [
  ['Clients', 'clients', 'clients_active'],
  ['Users', 'users', 'users_active'],
  ['Resources', 'resources'],
  ['Consents', 'consents'],
  ['Live access tokens', 'tokens_live'],
  ['Live refresh families', 'families_live'],
];

// The server counts at most this many entries of a kind, so that the page stays fast.
const countLimit = 10000;
const counted = (n) => (n > countLimit ? `${number(countLimit)}+` : number(n));

export function show({ body, signal, every }) {
  const remarks = h('div');
  const counts = h('div');
  const status = h('div');
  const recent = h('div');
  body.append(remarks, counts, status, recent);
  const refresh = () => Promise.all([
    load(remarks, async () => {
      const found = (await call('GET', 'notices', { signal })).notices;
      return found.length ? h('div.notices', null, notices(found)) : [h('span', { hidden: true })];
    }),
    load(counts, async () => {
      const n = await call('GET', 'stats', { query: { most: countLimit + 1 }, signal });
      return h('dl.tiles', null, tiles.map(([label, all, active]) => h('div.tile', null, h('dt', null, label), h('dd', null, counted(n[all]), active && n[active] !== n[all] && h('span.small.muted', null, `${counted(n[active])} active`)))));
    }),
    load(status, async () => {
      const s = await call('GET', 'system/status', { signal });
      return card('Server', told(s, state));
    }),
    load(recent, async () => {
      const { events, names } = await call('GET', 'audit', { query: { limit: 8, names: 'true' }, signal });
      learn(names);
      return card('Latest events', table('Latest events', eventColumns, events, 'No recent events.'), h('a', { href: '#/audit' }, 'All'));
    }),
  ]);
  every(30000, refresh);
  return refresh();
}
