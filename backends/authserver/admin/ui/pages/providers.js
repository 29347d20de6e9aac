import { at, call } from '../api.js';
import { dialog } from '../parts/dialog.js';
import { tag, code, h, load, notice, table } from '../parts/dom.js';
import { field, form, mistake, select } from '../parts/form.js';
import { act, ask, card, done, facts, link, list, moment, stamp } from '../view.js';

export const title = 'Providers';
export const about = 'Services that users connect. Clients get their tokens by token exchange.';

const protocols = [['oauth', 'OAuth 2.0'], ['api_key', 'API key'], ['service_account', 'Service account']];

// The settings that the form for a new provider begins with, by protocol.
const beginnings = {
  oauth: { client_id: '', client_secret: '', authorize_url: 'https://', token_url: 'https://', response_format: 'standard' },
  api_key: { header_name: 'Authorization', header_prefix: 'Bearer', issuance_instructions_url: 'https://' },
  service_account: { token_url: 'https://', sa_email: '', sa_key_ref: 'CONNECTOR_', algorithm: 'RS256' },
};

export function show(page) {
  return page.id ? one(page) : all(page);
}

function all({ body, actions, signal }) {
  const found = list({
    caption: 'Providers',
    rows: 'broker_providers',
    empty: 'No providers yet. Create one to let clients get tokens of another service.',
    signal,
    columns: [
      { title: 'Name', class: 'name', cell: (p) => link('providers', p.id, p.display_name || p.slug) },
      { title: 'Slug', cell: (p) => code(p.slug) },
      { title: 'Protocol', cell: (p) => Object.fromEntries(protocols)[p.protocol] },
      { title: 'State', cell: (p) => (p.config_fault ? [tag('bad', 'cannot be used'), h('div.small.muted', null, p.config_fault)] : tag('good', 'usable')) },
      { title: 'Created', class: 'when', cell: (p) => moment(p.created_at) },
    ],
    fetch: (q, stop) => call('GET', 'broker-providers', { query: q, signal: stop }),
  });
  actions.append(h('button', { type: 'button', onclick: () => edit(null, found.show) }, 'Create provider'));
  body.append(found);
}

function edit(provider, then) {
  const slug = h('input', { value: provider?.slug ?? '', autocomplete: 'off', spellcheck: 'false', autofocus: true });
  const name = h('input', { value: provider?.display_name ?? '', autocomplete: 'off' });
  const protocol = select(protocols, provider?.protocol ?? 'oauth', { disabled: Boolean(provider) });
  const data = h('textarea.code', { rows: 10, spellcheck: 'false', value: JSON.stringify(provider?.config_data ?? beginnings.oauth, null, 2) });
  protocol.addEventListener('change', () => { data.value = JSON.stringify(beginnings[protocol.value], null, 2); });
  dialog(provider ? `Edit ${provider.display_name || provider.slug}` : 'Create a provider', (close) => form([
    field('Slug', slug, { name: 'slug' }),
    field('Name', name, { name: 'display_name' }),
    field('Protocol', protocol, { name: 'protocol' }),
    field('Settings', data, { name: 'config_data', wide: true, hint: provider ? 'JSON. Omitted secrets stay unchanged.' : 'JSON; the members depend on the protocol. Secrets are stored encrypted and never shown again.' }),
  ], [
    h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
    h('button', { type: 'submit' }, provider ? 'Save' : 'Create provider'),
  ], async () => {
    let settings;
    try {
      settings = JSON.parse(data.value);
    } catch (error) {
      throw mistake('config_data', `This is not JSON: ${error.message}`);
    }
    const values = { slug: slug.value.trim(), display_name: name.value.trim(), config_data: settings };
    if (provider) await call('PATCH', at('broker-providers', provider.id), { body: values, of: provider });
    else await call('POST', 'broker-providers', { body: { ...values, protocol: protocol.value } });
    close();
    await then();
  }));
}

// remedy returns what an administrator can do about a fault of a provider's settings.
function remedy(fault) {
  if (fault.includes('data_encryption.driver')) return 'Either set data_encryption.driver in the configuration and store the secret again, or name a variable by client_secret_ref. Until then users cannot connect it, and clients get no tokens of it.';
  if (fault.includes('variable')) return 'Set the variable in the environment of the server and restart it, or name another variable with Edit. Until then users cannot connect it, and clients get no tokens of it.';
  return 'Correct the settings with Edit. Until then users cannot connect it, and clients get no tokens of it.';
}

function one({ body, actions, heading, id, signal }) {
  const place = h('div');
  const path = at('broker-providers', id);
  const refresh = () => load(place, async () => {
    const [p, { resources }] = await Promise.all([call('GET', path, { signal }), call('GET', 'resources', { query: { limit: 1000 }, signal })]);
    const using = resources.filter((r) => r.broker_provider_id === p.id);
    heading.textContent = p.display_name || p.slug;
    actions.replaceChildren(
      act('Edit', async () => edit(await call('GET', path, { signal }), refresh)),
      ask('Delete', 'Delete the provider?', 'Its connections are deleted too. A provider that a resource uses cannot be deleted.', async () => {
        await call('DELETE', path);
        await done('The provider is deleted', () => { location.hash = '#/providers'; });
      }),
    );
    return h('div.flow', null,
      p.config_fault && notice('bad', h('p', null, h('strong', null, `It cannot be used: ${p.config_fault}.`)), h('p', null, remedy(p.config_fault))),
      card('Provider', facts([['Id', code(p.id), true], ['Slug', code(p.slug)], ['Protocol', Object.fromEntries(protocols)[p.protocol]], ['Created', stamp(p.created_at)], ['Changed', stamp(p.updated_at)]])),
      card('Settings', h('pre.code', null, JSON.stringify(p.config_data, null, 2))),
      card('Resources that return its tokens', table('Resources', [
        { title: 'Name', cell: (r) => link('resources', r.id, r.display_name || r.slug) },
        { title: 'Scopes', cell: (r) => r.scopes.map((s) => s.name).join(' ') },
      ], using, 'None: clients cannot get its tokens until there is one.')));
  });
  body.append(place);
  return refresh();
}
