import { at, call } from '../api.js';
import { dialog } from '../parts/dialog.js';
import { tag, code, h, load, notice } from '../parts/dom.js';
import { field, form, mistake, select } from '../parts/form.js';
import { picker } from '../picker.js';
import { act, area, ask, done, lines, link, links, list, moment } from '../view.js';

export const title = 'Trusted issuers';
export const about = 'Identity providers whose assertions (ID-JAG) are exchanged for tokens, and the policies for them.';

const truth = [['true', 'Enabled'], ['false', 'Disabled']];
const enabled = (row) => tag(row.enabled ? 'good' : 'warn', row.enabled ? 'enabled' : 'disabled');
// The configured identity providers. The other lists show their names.
let idps = [];
const called = (id) => idps.find((i) => i.id === id)?.name || id;
const choice = (id) => select([...(id ? [] : [['', 'Choose one']]), ...idps.map((i) => [i.id, i.name || i.issuer])], id ?? '');

const text = (value, attributes) => h('input', { value: value ?? '', autocomplete: 'off', spellcheck: 'false', ...attributes });

// kinds describes the three lists of the page: their paths, columns and fields.
const kinds = [
  {
    name: 'idps', path: 'idps', title: 'Identity providers', one: 'identity provider',
    columns: [
      { title: 'Name', class: 'name', cell: (r) => [r.name, h('div.small', null, code(r.issuer))] },
      { title: 'Id', cell: (r) => code(r.id) },
      { title: 'State', class: 'when', cell: (r) => [enabled(r), h('div.small.muted', null, 'changed ', moment(r.updated_at))] },
    ],
    fields: (r) => ({
      name: [text(r.name), 'Name'],
      issuer: [text(r.issuer, { type: 'url' }), 'Issuer', 'Exactly as in its assertions.'],
      jwks_uri: [text(r.jwks_uri, { type: 'url' }), 'Keys (jwks_uri)', 'Leave it empty to use its discovery document.'],
      audience: [text(r.audience), 'Audience', 'Leave it empty for the issuer of this server.'],
      enabled: [select(truth, String(r.enabled ?? true)), 'State'],
    }),
    more: (r, refresh) => act('Refresh keys', async () => {
      await call('POST', `${at('idps', r.id)}/refresh-keys`);
      await done('The keys were fetched', refresh);
    }, 'button.plain'),
  },
  {
    name: 'policies', path: 'xaa/policies', title: 'Policies', one: 'policy',
    columns: [
      { title: 'Name', class: 'name', cell: (r) => r.name },
      { title: 'Identity provider', cell: (r) => called(r.idp_id) },
      { title: 'Clients', cell: (r) => links('clients', r.client_ids.join(' ')) ?? 'all' },
      { title: 'Resources', cell: (r) => (r.resources.length ? r.resources.join(' ') : 'all') },
      { title: 'Scopes', cell: (r) => (r.scopes.length ? r.scopes.join(' ') : 'all') },
      { title: 'State', cell: enabled },
    ],
    fields: (r) => ({
      name: [text(r.name), 'Name'],
      idp_id: [choice(r.idp_id), 'Identity provider'],
      client_ids: [picker(r.client_ids ?? [], (text) => mistake('client_ids', text)), 'Clients', 'Type part of a name, and choose. Leave it empty for all.'],
      resources: [area(r.resources), 'Resources', 'One per line. Leave it empty for all.'],
      scopes: [area(r.scopes), 'Scopes', 'One per line. Leave it empty for all.'],
      enabled: [select(truth, String(r.enabled ?? true)), 'State'],
    }),
  },
  {
    name: 'subject_mappings', path: 'xaa/subject-mappings', title: 'Subject mappings', one: 'subject mapping', fixed: true,
    columns: [
      { title: 'Identity provider', cell: (r) => called(r.idp_id) },
      { title: 'Its subject', cell: (r) => code(r.idp_subject) },
      { title: 'User', cell: (r) => link('users', r.local_user_id) },
      { title: 'Created', class: 'when', cell: (r) => moment(r.created_at) },
    ],
    fields: () => ({
      idp_id: [choice(), 'Identity provider'],
      idp_subject: [text(''), 'Its subject', 'The sub of its assertions.'],
      local_user_id: [text(''), 'User', 'The mail address or the id of a user here.'],
    }),
  },
];

export function show({ body, signal }) {
  const place = h('div.flow');
  body.append(place);
  const learnIdPs = async () => {
    ({ idps } = await call('GET', 'idps', { query: { limit: 1000 }, signal }));
  };
  return load(place, async () => {
    try {
      await learnIdPs();
    } catch (error) {
      if (error.status !== 404) throw error;
      return notice('warn', h('p', null, h('strong', null, 'Enterprise-managed authorization is off.'), ' Set xaa.enabled to true to use them.'));
    }
    return kinds.map((kind) => section(kind, learnIdPs, signal));
  });
}

// section returns one of the lists of the page.
function section(kind, learnIdPs, signal) {
  const found = list({
    caption: kind.title,
    rows: kind.name,
    empty: `There is no ${kind.one}.`,
    signal,
    columns: [...kind.columns, {
      title: '', class: 'row-actions', cell: (row) => [
        kind.more?.(row, found.show),
        !kind.fixed && act('Edit', async () => edit(kind, await call('GET', at(kind.path, row.id), { signal }), found.show), 'button.plain'),
        ask('Delete', `Delete the ${kind.one}?`, 'This cannot be undone.', async () => {
          await call('DELETE', at(kind.path, row.id));
          await done('It is deleted', found.show);
        }, 'button.plain.danger'),
      ],
    }],
    filters: kind.path !== 'idps' && idps.length > 1 ? [{ name: 'idp_id', label: 'Identity provider', options: [['', 'All'], ...idps.map((i) => [i.id, i.name || i.issuer])] }] : [],
    fetch: async (q, stop) => {
      if (kind.path === 'idps') await learnIdPs();
      return call('GET', kind.path, { query: { ...q, names: 'true' }, signal: stop });
    },
  });
  return [h('div.head', null, h('h2', null, kind.title), h('button.quiet.push', { type: 'button', onclick: () => edit(kind, null, found.show) }, `Create ${kind.one}`)), found];
}

// userOf returns the id of the user with a mail address. Other texts are returned unchanged.
async function userOf(text) {
  if (!text.includes('@')) return text;
  const { users } = await call('GET', 'users', { query: { q: text, limit: 2 } });
  const user = users.find((u) => u.email.toLowerCase() === text.toLowerCase());
  if (!user) throw mistake('local_user_id', 'There is no user with this mail address.');
  return user.id;
}

function edit(kind, row, then) {
  const fields = Object.entries(kind.fields(row ?? {}));
  dialog(row ? `Edit ${row.name || row.id}` : `Create ${kind.one}`, (close) => form(
    fields.map(([name, [input, label, hint]]) => {
      const entry = field(label, input, { name, hint, wide: input.tagName === 'TEXTAREA' || input.beside });
      entry.append(...input.beside ?? []);
      return entry;
    }),
    [
      h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
      h('button', { type: 'submit' }, row ? 'Save' : 'Create'),
    ],
    async () => {
      const body = Object.fromEntries(await Promise.all(fields.map(async ([name, [input]]) => [name, input.read ? await input.read() : input.tagName === 'TEXTAREA' ? lines(input) : input.tagName === 'SELECT' && name === 'enabled' ? input.value === 'true' : input.value.trim()])));
      if (body.idp_id === '') throw mistake('idp_id', 'Choose one.');
      if (body.local_user_id) body.local_user_id = await userOf(body.local_user_id);
      if (row) await call('PUT', at(kind.path, row.id), { body, of: row });
      else await call('POST', kind.path, { body });
      close();
      await then();
    },
  ));
}
