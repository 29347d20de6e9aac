import { at, call } from '../api.js';
import { dialog } from '../parts/dialog.js';
import { busy, code, h, load, table } from '../parts/dom.js';
import { field, form, mistake, select } from '../parts/form.js';
import { clientOf, offer } from '../picker.js';
import { rulesCard } from '../rules.js';
import { act, ask, card, done, facts, link, list, stamp } from '../view.js';

export const title = 'Resources';
export const about = 'The services for which tokens are issued, their scopes, and who may exchange tokens for them.';

const kinds = [['mint', 'Tokens of this server'], ['broker', 'Tokens of a provider']];

export function show(page) {
  return page.id ? one(page) : all(page);
}

function all({ body, actions, signal }) {
  const found = list({
    caption: 'Resources',
    rows: 'resources',
    empty: 'No resources yet. Create one for each service that accepts tokens.',
    signal,
    columns: [
      { title: 'Name', class: 'name', cell: (r) => link('resources', r.id, r.display_name || r.slug) },
      { title: 'Slug', cell: (r) => code(r.slug) },
      { title: 'Address', cell: (r) => r.uri && code(r.uri) },
      { title: 'Scopes', cell: (r) => r.scopes.map((s) => s.name).join(' ') },
      { title: 'Kind', cell: (r) => Object.fromEntries(kinds)[r.backend_kind] },
    ],
    fetch: (q, stop) => call('GET', 'resources', { query: q, signal: stop }),
  });
  actions.append(act('Create resource', () => edit(null, found.show), 'button'));
  body.append(found);
}

// written returns scopes as text, one per line: name, upstream names in brackets, description.
const written = (scopes) => (scopes ?? []).map((s) => [s.name, [s.upstream].flat().filter(Boolean).length ? ` [${[s.upstream].flat().join(' ')}]` : '', s.description ? ` ${s.description}` : ''].join('')).join('\n');

function read(text) {
  return text.split('\n').map((line) => line.trim()).filter(Boolean).map((line) => {
    const parts = /^(\S+)(?:\s+\[([^\]]*)\])?(?:\s+(.*))?$/.exec(line);
    if (!parts) throw mistake('scopes', `This line is not a scope: ${line}`);
    const scope = { name: parts[1] };
    if (parts[2]) scope.upstream = parts[2].split(/\s+/).filter(Boolean);
    if (parts[3]) scope.description = parts[3];
    return scope;
  });
}

async function edit(resource, then) {
  const { broker_providers: providers } = await call('GET', 'broker-providers', { query: { limit: 1000 } });
  const slug = h('input', { value: resource?.slug ?? '', autocomplete: 'off', spellcheck: 'false', autofocus: true });
  const name = h('input', { value: resource?.display_name ?? '', autocomplete: 'off' });
  const uri = h('input', { type: 'url', value: resource?.uri ?? '', autocomplete: 'off', spellcheck: 'false' });
  const kind = select(kinds, resource?.backend_kind ?? 'mint');
  const provider = select([['', 'None'], ...providers.map((p) => [p.id, p.display_name || p.slug])], resource?.broker_provider_id ?? '');
  const scopes = h('textarea', { rows: 5, spellcheck: 'false', value: written(resource?.scopes) });
  dialog(resource ? `Edit ${resource.display_name || resource.slug}` : 'Create a resource', (close) => form([
    field('Slug', slug, { name: 'slug', hint: 'A short name, such as files.' }),
    field('Name', name, { name: 'display_name', hint: 'The name that users see.' }),
    field('Address', uri, { name: 'uri', wide: true, hint: 'An absolute URI: the audience of its tokens.' }),
    field('Kind', kind, { name: 'backend_kind' }),
    field('Provider', provider, { name: 'broker_provider_id', hint: 'The provider whose tokens are returned.' }),
    field('Scopes', scopes, { name: 'scopes', wide: true, hint: 'One per line: its name, the names at the provider in brackets if there are any, and the description for users.' }),
  ], [
    h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
    h('button', { type: 'submit' }, resource ? 'Save' : 'Create resource'),
  ], async () => {
    const values = { slug: slug.value.trim(), display_name: name.value.trim(), uri: uri.value.trim(), backend_kind: kind.value, scopes: read(scopes.value) };
    if (provider.value || resource?.broker_provider_id) values.broker_provider_id = provider.value;
    if (resource) await call('PATCH', at('resources', resource.id), { body: values, of: resource });
    else await call('POST', 'resources', { body: values });
    close();
    await then();
  }));
}

// policies describes the lists of clients and addresses that have rights at a resource.
const policies = [
  { path: 'exchange/allowed-clients', of: (p) => p?.exchange?.allowed_client_ids, member: 'client_id', title: 'Clients that may exchange tokens for it', label: 'Client', none: 'Nobody.' },
  { path: 'runtime/client-ids', of: (p) => p?.runtime?.client_ids, member: 'client_id', title: 'Clients that may introspect its tokens', label: 'Client', none: 'Nobody.' },
  { path: 'connect/allowed-return-urls', of: (p) => p?.connect?.allowed_return_urls, member: 'url', title: 'Return addresses after connecting', label: 'URL', none: 'Only those in the configuration.' },
];

function one({ body, actions, heading, id, signal }) {
  const place = h('div.flow');
  const path = at('resources', id);
  const refresh = () => load(place, async () => {
    const r = await call('GET', path, { signal });
    const provider = r.broker_provider_id && await call('GET', at('broker-providers', r.broker_provider_id), { signal });
    heading.textContent = r.display_name || r.slug;
    actions.replaceChildren(
      act('Edit', async () => edit(await call('GET', path, { signal }), refresh)),
      ask('Delete', 'Delete the resource?', 'No more tokens are issued for it. This cannot be undone.', async () => {
        await call('DELETE', path);
        location.hash = '#/resources';
      }),
    );
    return [
      card('Resource', facts([
        ['Id', code(r.id), true], ['Slug', code(r.slug)], ['Kind', Object.fromEntries(kinds)[r.backend_kind]], ['Address', r.uri && code(r.uri), true],
        ['Provider', provider && link('providers', provider.id, provider.display_name || provider.slug)], ['Created', stamp(r.created_at)], ['Changed', stamp(r.updated_at)],
      ])),
      card('Scopes', table('Scopes', [
        { title: 'Name', cell: (s) => code(s.name) },
        { title: 'Description for users', cell: (s) => s.description },
        r.backend_kind === 'broker' && { title: 'At the provider', cell: (s) => [s.upstream].flat().filter(Boolean).join(' ') },
      ].filter(Boolean), r.scopes, 'It has no scopes.')),
      r.backend_kind === 'mint' && rulesCard(r.claim_rules, path, () => call('GET', path, { signal }), 'Its access tokens have no such claims.', refresh),
      ...policies.map((p) => policy(r, p, path, refresh)),
    ].filter(Boolean);
  });
  body.append(place);
  return refresh();
}

function policy(resource, p, path, refresh) {
  const input = h('input', { autocomplete: 'off', spellcheck: 'false' });
  const entry = field(p.label, input, { name: p.member });
  if (p.member === 'client_id') entry.append(offer(input));
  const button = h('button.quiet', { type: 'submit' }, 'Add');
  const entries = p.of(resource.policy) ?? [];
  return card(p.title, [
    entries.length ? h('ul.entries', null, entries.map((value) => h('li', null, p.member === 'client_id' ? link('clients', value) : code(value),
      ask('Remove', 'Remove this entry?', value, async () => {
        if (p.member === 'url') await call('DELETE', `${path}/policy/${p.path}`, { query: { url: value } });
        else await call('DELETE', at(`${path}/policy/${p.path}`, value));
        await done('The entry is removed', refresh);
      }, 'button.plain.danger')))) : h('p.muted.small', null, p.none),
    h('form.adder', {
      novalidate: true,
      onsubmit(event) {
        event.preventDefault();
        busy(button, async () => {
          try {
            const text = input.value.trim();
            if (!text) throw new Error('Enter one first.');
            await call('POST', `${path}/policy/${p.path}`, { body: { [p.member]: p.member === 'client_id' ? await clientOf(text) : text } });
            await done('The entry is added', refresh);
          } catch (error) {
            if (!error.signedOut) entry.complain(error.message);
          }
        });
      },
    }, entry, button),
  ]);
}
