import { at, call } from '../api.js';
import { dialog } from '../parts/dialog.js';
import { tag, code, copyButton, h, load, notice } from '../parts/dom.js';
import { field, form, mistake, select } from '../parts/form.js';
import { rulesCard } from '../rules.js';
import { state } from '../tones.js';
import { act, area, ask, card, done, facts, lines, link, list, moment, more, order, stamp, words } from '../view.js';
import { tokenList } from './tokens.js';

export const title = 'Clients';
export const about = 'Applications that ask for tokens.';

const sources = { admin: 'created here', dcr: 'registered', cimd: 'metadata URL' };
const grants = ['authorization_code', 'refresh_token', 'client_credentials', 'urn:ietf:params:oauth:grant-type:device_code', 'urn:ietf:params:oauth:grant-type:token-exchange', 'urn:ietf:params:oauth:grant-type:jwt-bearer'];
const methods = [['client_secret_basic', 'Secret, in the header'], ['client_secret_post', 'Secret, in the form'], ['private_key_jwt', 'Signed assertion'], ['none', 'None (public client)']];

export function show(page) {
  return page.id ? one(page) : all(page);
}

function all({ body, actions, signal, query }) {
  const found = list({
    caption: 'Clients',
    rows: 'clients',
    empty: 'No clients yet. Create one, or let clients register themselves.',
    missing: 'No such client.',
    signal,
    given: { q: query.get('q') ?? '', order: 'newest' },
    columns: [
      { title: 'Name', class: 'name', cell: (c) => link('clients', c.id, c.name || c.id) },
      { title: 'Id', cell: (c) => code(c.id) },
      { title: 'Status', cell: (c) => [state(c.status), c.agent && [' ', tag('plain', 'agent')]] },
      { title: 'Source', cell: (c) => sources[c.registration_source] },
      { title: 'Created', class: 'when', cell: (c) => moment(c.issued_at) },
    ],
    filters: [
      { name: 'q', label: 'Name or id', hint: 'Part of the name, or the whole id.' },
      { name: 'status', label: 'Status', options: [['', 'All'], ['active', 'Active'], ['suspended', 'Suspended'], ['revoked', 'Revoked']] },
      { name: 'source', label: 'Source', options: [['', 'All'], ...Object.entries(sources)] },
      { name: 'agent', label: 'Kind', options: [['', 'All'], ['true', 'Agents'], ['false', 'No agents']] },
      order,
    ],
    fetch: (q, stop) => call('GET', 'clients', { query: q, signal: stop }),
  });
  actions.append(h('button', { type: 'button', onclick: () => edit(null, async (made) => {
    await found.show();
    if (made.client_secret) secret(made.client_id, made.client_secret);
  }) }, 'Create client'));
  body.append(found);
}

// secret opens a dialog that shows a new client secret, once.
function secret(id, text) {
  const input = h('input', { readonly: true, value: text, spellcheck: 'false' });
  dialog('The secret of the client', (close) => [
    h('p', null, 'It is shown only once. Of ', code(id), ':'),
    h('div.copyline', null, field('Client secret', input), copyButton(text)),
    h('div.do', null, h('button', { type: 'button', onclick: close }, 'I have copied it')),
  ], { keep: true });
}

function edit(client, then) {
  const name = h('input', { value: client?.name ?? '', maxlength: 200, autocomplete: 'off', autofocus: true });
  const method = select(methods, 'client_secret_basic');
  const redirects = area(client?.redirect_uris);
  const allowed = area(client?.grant_types ?? ['authorization_code', 'refresh_token'], 4);
  const scope = h('input', { value: client?.scope ?? '', autocomplete: 'off', spellcheck: 'false' });
  const keys = h('textarea.code', { rows: 4, spellcheck: 'false' });
  const back = area([], 2);
  const told = h('input', { type: 'url', value: client?.backchannel_logout_uri ?? '', autocomplete: 'off', spellcheck: 'false' });
  const agent = select([['', 'No'], ['true', 'Yes']], '');
  const purpose = h('input', { autocomplete: 'off', maxlength: 255 });
  dialog(client ? `Edit ${client.name || client.id}` : 'Create a client', (close) => form([
    field('Name', name, { name: 'client_name' }),
    !client && field('Authentication', method, { name: 'token_endpoint_auth_method' }),
    field('Redirect URIs', redirects, { name: 'redirect_uris', wide: true, hint: 'One per line, complete. Required for authorization_code.' }),
    field('Grants', allowed, { name: 'grant_types', wide: true, hint: `One per line: ${grants.join(', ')}.` }),
    field('Scope ceiling', scope, { name: 'scope', wide: true, hint: 'The scopes that it may request at most, separated by spaces. Leave it empty for all scopes of its resources.' }),
    field('Back-channel logout URI', told, { name: 'backchannel_logout_uri', wide: true, hint: 'The server sends a logout token there when a session ends. Leave it empty if the application needs none.' }),
    ...(client ? [] : [
      field('Public keys', keys, { name: 'jwks', wide: true, hint: 'For signed assertions: the URL of its JSON Web Key Set, or the set itself.' }),
      field('Addresses after sign-out', back, { name: 'post_logout_redirect_uris', wide: true, hint: 'One per line. The addresses to which a browser may be sent after sign-out.' }),
      field('Agent', agent, { name: 'agent', hint: 'Its tokens then name it as an agent. This cannot be changed later.' }),
      field('Purpose of the agent', purpose, { name: 'agent_description' }),
    ]),
  ].filter(Boolean), [
    h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
    h('button', { type: 'submit' }, client ? 'Save' : 'Create client'),
  ], async () => {
    const unknown = lines(allowed).find((g) => !grants.includes(g));
    if (unknown) throw mistake('grant_types', `There is no grant ${unknown}.`);
    const values = { client_name: name.value.trim(), redirect_uris: lines(redirects), grant_types: lines(allowed), scope: words(scope).join(' ') };
    if (told.value.trim() !== (client?.backchannel_logout_uri ?? '')) values.backchannel_logout_uri = told.value.trim();
    if (!client) {
      values.token_endpoint_auth_method = method.value;
      if (values.grant_types.includes('authorization_code')) values.response_types = ['code'];
      Object.assign(values, keysOf(keys.value.trim()));
      if (lines(back).length) values.post_logout_redirect_uris = lines(back);
      if (agent.value) Object.assign(values, { agent: true, agent_description: purpose.value.trim() });
    }
    const answer = client ? await call('PATCH', at('clients', client.id), { body: values, of: client }) : await call('POST', 'clients', { body: values });
    close();
    await then(answer);
  }));
}

// keysOf returns the public keys that were entered: a URL or a key set.
function keysOf(text) {
  if (!text) return {};
  if (/^https?:/.test(text)) return { jwks_uri: text };
  try {
    return { jwks: JSON.parse(text) };
  } catch (error) {
    throw mistake('jwks', `This is neither an address nor a key set: ${error.message}`);
  }
}

function one({ body, actions, heading, id, signal }) {
  const place = h('div');
  const path = at('clients', id);
  const set = (what) => async () => {
    await call('PATCH', `${path}/${what}`);
    await done(`The client: ${what}`, refresh);
  };
  const refresh = () => load(place, async () => {
    const c = await call('GET', path, { signal });
    heading.textContent = c.name || c.id;
    const confidential = c.token_endpoint_auth_method.startsWith('client_secret');
    actions.replaceChildren(...[
      c.registration_source === 'cimd' && act('Refresh metadata', async () => {
        await call('POST', `${path}/refresh`);
        await done('The document was fetched', refresh);
      }),
      c.registration_source !== 'cimd' && c.status !== 'revoked' && act('Edit', async () => edit(await call('GET', path, { signal }), refresh)),
      confidential && c.status !== 'revoked' && ask('Create a new secret', 'Create a new secret?', 'The current secret is refused from now on.', async () => {
        const made = await call('POST', `${path}/rotate-secret`);
        setTimeout(() => secret(made.client_id, made.client_secret)); // opens after the question has closed
      }, 'button.quiet'),
      c.status === 'active' && ask('Suspend', 'Suspend the client?', 'Until it is reactivated, it gets no tokens, and its existing tokens are refused.', set('suspend')),
      c.status === 'suspended' && act('Reactivate', set('reactivate')),
      c.status !== 'revoked' && ask('Revoke', 'Revoke the client?', 'The client and all its tokens are refused permanently. This cannot be undone.', set('revoke')),
      ask('Delete', 'Delete the client?', 'The client and all its tokens are deleted. This cannot be undone.', async () => {
        await call('DELETE', path, { query: { force: 'true' } });
        location.hash = '#/clients';
      }),
    ].filter(Boolean));
    return [
      c.status !== 'active' && notice('warn', h('p', null, `The client is ${c.status}.`)),
      card('Client', facts([
        ['Id', code(c.id), true], ['Status', state(c.status)], ['Source', sources[c.registration_source]], ['Authentication', c.token_endpoint_auth_method],
        ['Created', stamp(c.issued_at)], ['Changed', stamp(c.updated_at)], ['Document valid until', stamp(c.cimd_fresh_until)],
        ['Grants', c.grant_types.join(', '), true], ['Redirect URIs', c.redirect_uris.map((u) => h('div', null, code(u))), true],
        ['Public keys', c.jwks_uri ? code(c.jwks_uri) : c.jwks && h('details', null, h('summary', null, `${c.jwks.keys?.length ?? 0} of its own`), h('pre.code', null, JSON.stringify(c.jwks, null, 2))), true],
        ['Addresses after sign-out', c.post_logout_redirect_uris?.map((u) => h('div', null, code(u))), true],
        ['Back-channel logout URI', c.backchannel_logout_uri && code(c.backchannel_logout_uri), true],
        ['Scope ceiling', c.scope || 'none: all scopes of its resources', true], ['First party', c.first_party && 'yes: users are not asked for consent'], ['Agent', c.agent && (c.agent_description || 'yes')],
      ])),
      c.registration_source === 'admin' && rulesCard(c.claim_rules, path, () => call('GET', path, { signal }), 'It gets the claims of its scopes and of its resources.', refresh),
    ].filter(Boolean);
  });
  body.append(place, h('h2', null, 'Live tokens'), tokenList(signal, { client: id }), more('client', id, 'Audit log'));
  place.className = 'flow';
  return refresh();
}
