import { at, call } from '../api.js';
import { dialog } from '../parts/dialog.js';
import { h, load, table } from '../parts/dom.js';
import { field, form, mistake, select } from '../parts/form.js';
import { act, ask, card, done, learn, link, moment } from '../view.js';

export const title = 'Grants';
export const about = 'Consents that users have given to clients, and services that they have connected.';

// grantList returns the grants of a user.
export function grantList(user, signal) {
  const place = h('div.flow');
  const refresh = () => load(place, async () => {
    const { consent_grants: consents, broker_grants: connections, names } = await call('GET', `${at('users', user)}/grants`, { query: { names: 'true' }, signal });
    learn(names);
    return [
      card('Consents', table('Consents', [
        { title: 'Client', cell: (g) => link('clients', g.client_id) },
        { title: 'Resource', cell: (g) => link('resources', g.resource_id) },
        { title: 'Scope', cell: (g) => g.scopes.join(' ') },
        { title: 'Created', class: 'when', cell: (g) => moment(g.created_at) },
        {
          title: '', class: 'row-actions', cell: (g) => ask('Revoke', 'Revoke this grant?', 'All tokens issued with this grant end, and the client has to ask for consent again.', async () => {
            await call('DELETE', at('grants/consent', g.id));
            await done('The grant is revoked', refresh);
          }, 'button.plain.danger'),
        },
      ], consents, 'This user has given no consent.')),
      card('Connections', table('Connections', [
        { title: 'Provider', cell: (g) => link('providers', g.provider_id, g.provider) },
        { title: 'Scope', cell: (g) => [g.scopes_granted.join(' '), g.upstream_scopes.length > 0 && h('div.small.muted', null, `there: ${g.upstream_scopes.join(' ')}`)] },
        { title: 'Created', class: 'when', cell: (g) => moment(g.created_at) },
        { title: 'Changed', class: 'when', cell: (g) => moment(g.updated_at) },
        { title: 'Token expires', class: 'when', cell: (g) => moment(g.expires_at) ?? 'not known' },
        {
          title: '', class: 'row-actions', cell: (g) => ask('Remove', 'Remove this connection?', 'The tokens of the provider are deleted here. The user has to connect again.', async () => {
            await call('DELETE', at('grants/broker', g.id));
            await done('The connection is removed', refresh);
          }, 'button.plain.danger'),
        },
      ], connections, 'This user has no connections.'),
      act('Store an API key', () => storeKey(user, refresh, signal))),
    ];
  });
  refresh();
  return place;
}

// storeKey opens a dialog that stores a user's API key for a provider with the protocol api_key.
async function storeKey(user, then, signal) {
  const { broker_providers: providers } = await call('GET', 'broker-providers', { query: { limit: 1000 }, signal });
  const taking = providers.filter((p) => p.protocol === 'api_key');
  dialog('Store an API key', (close) => {
    if (!taking.length) {
      return [
        h('p', null, 'There is no provider of the protocol api_key. ', h('a', { href: '#/providers', onclick: close }, 'Create one'), ' first.'),
        h('div.do', null, h('button.quiet', { type: 'button', onclick: close }, 'Close')),
      ];
    }
    const provider = select(taking.map((p) => [p.id, p.display_name || p.slug]), taking[0].id);
    const key = h('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', autofocus: true });
    return form([
      field('Provider', provider, { name: 'provider' }),
      field('Key', key, { name: 'api_key', hint: 'It is stored encrypted, and replaces the previous key.' }),
    ], [
      h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
      h('button', { type: 'submit' }, 'Store'),
    ], async () => {
      if (!key.value.trim()) throw mistake('api_key', 'Paste the key first.');
      await call('PUT', at(`${at('users', user)}/connections`, provider.value), { body: { api_key: key.value.trim() } });
      close();
      await done('The key is stored', then);
    });
  });
}

export function show({ body, signal }) {
  const who = h('input', { type: 'search', autocomplete: 'off', spellcheck: 'false' });
  const shown = h('div.page');
  body.append(card('Find a user', form(
    [field('Mail address', who, { name: 'who', wide: true, hint: 'Or part of it.' })],
    [h('button', { type: 'submit' }, 'Show')],
    async () => {
      shown.replaceChildren();
      const text = who.value.trim();
      if (!text) throw mistake('who', 'Whose?');
      const { users, has_more: others } = await call('GET', 'users', { query: { q: text, limit: 20 }, signal });
      const user = users.find((u) => u.email.toLowerCase() === text.toLowerCase()) ?? (users.length === 1 ? users[0] : null);
      if (!users.length) throw mistake('who', 'There is no such user.');
      shown.replaceChildren(...(user
        ? [h('h2', null, link('users', user.id, user.email)), grantList(user.id, signal)]
        : [card(others ? 'Many users match, for example' : 'Several users match', h('ul.entries', null, users.map((u) => h('li', null, link('users', u.id, u.email)))))]));
    },
  )), shown);
  who.focus();
}
