// The accounts at identity providers with which a user signs in.
import { at, call } from './api.js';
import { code, h, load, table, tag } from './parts/dom.js';
import { ask, card, done, moment } from './view.js';

// identityCard returns a section with the connected accounts of a user. It stays empty if there are none.
export function identityCard(path, signal) {
  const place = h('div');
  const show = () => load(place, async () => {
    const { identities } = await call('GET', `${path}/identities`, { signal });
    if (!identities.length) return h('div');
    return card('Connected accounts', table('Connected accounts', [
      { title: 'Provider', class: 'name', cell: (i) => [i.display_name, !i.upstream && [' ', tag('warn', 'not configured')], h('div.small', null, code(i.issuer))] },
      { title: 'Name at the provider', cell: (i) => i.username },
      { title: 'Connected', class: 'when', cell: (i) => moment(i.created_at) },
      { title: 'Last used', class: 'when', cell: (i) => moment(i.used_at) ?? 'never' },
      { title: '', class: 'row-actions', cell: (i) => ask('Disconnect', 'Disconnect the account?', 'It can no longer be used to sign in, and all sessions and tokens of the user end. It may be the user’s only way to sign in.', async () => {
        await call('DELETE', at(`${path}/identities`, i.id));
        await done('The account is disconnected', show);
      }, 'button.plain.danger') },
    ], identities));
  });
  show();
  return place;
}
