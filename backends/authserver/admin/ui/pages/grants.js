import { at, call } from '../api.js';
import { h, load, table } from '../parts/dom.js';
import { field, form, mistake } from '../parts/form.js';
import { ask, card, done, link, moment } from '../view.js';

export const title = 'Grants';
export const about = 'What users have allowed clients, and the connections they made.';

// grantList are the grants of a user.
export function grantList(user, signal) {
  const place = h('div');
  const refresh = () => load(place, async () => {
    const { consent_grants: consents, broker_grants: connections } = await call('GET', `${at('users', user)}/grants`, { signal });
    return h('div.stack', null,
      table('Consents', [
        { title: 'Client', cell: (g) => link('clients', g.client_id) },
        { title: 'Resource', cell: (g) => link('resources', g.resource_id) },
        { title: 'Scope', cell: (g) => g.scopes.join(' ') },
        { title: 'Since', class: 'when', cell: (g) => moment(g.created_at) },
        {
          title: '', class: 'row-actions', cell: (g) => ask('Revoke', 'Revoke this grant?', 'All tokens that were issued by it end, and the client has to ask again.', async () => {
            await call('DELETE', at('grants/consent', g.id));
            await done('The grant is revoked', refresh);
          }, 'button.quiet.danger'),
        },
      ], consents, 'This user has allowed nothing.'),
      connections.length > 0 && table('Connections', [
        { title: 'Provider', cell: (g) => g.provider ?? link('providers', g.provider_id) },
        { title: 'Scope', cell: (g) => (g.scopes_granted ?? g.scopes ?? []).join(' ') },
        { title: 'Since', class: 'when', cell: (g) => moment(g.created_at) },
        {
          title: '', class: 'row-actions', cell: (g) => ask('Remove', 'Remove this connection?', 'What the provider gave is deleted here. The user has to connect again.', async () => {
            await call('DELETE', at('grants/broker', g.id));
            await done('The connection is removed', refresh);
          }, 'button.quiet.danger'),
        },
      ], connections));
  });
  refresh();
  return h('div.page', null, place);
}

export function show({ body, signal }) {
  const who = h('input', { type: 'search', autocomplete: 'off', spellcheck: 'false' });
  const shown = h('div.page');
  body.append(card('Of a user', form(
    [field('Mail address', who, { name: 'who', wide: true, hint: 'Or a part of it, as long as it is one user’s.' })],
    [h('button.primary', { type: 'submit' }, 'Show')],
    async () => {
      shown.replaceChildren();
      const text = who.value.trim();
      if (!text) throw mistake('who', 'Whose?');
      const { users } = await call('GET', 'users', { query: { q: text, limit: 2 }, signal });
      const user = users.find((u) => u.email.toLowerCase() === text.toLowerCase()) ?? (users.length === 1 ? users[0] : null);
      if (!user) throw mistake('who', users.length ? 'Several users have this in their address.' : 'There is no such user.');
      shown.replaceChildren(h('h2', null, link('users', user.id, user.email)), grantList(user.id, signal));
    },
  )), shown);
  who.focus();
}
