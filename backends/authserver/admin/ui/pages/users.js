import { at, call } from '../api.js';
import { dialog } from '../parts/dialog.js';
import { identityCard } from '../identities.js';
import { code, copyButton, h, load, table } from '../parts/dom.js';
import { field, form, select } from '../parts/form.js';
import { state } from '../tones.js';
import { factCard, groupRoles } from '../userfacts.js';
import { act, ask, card, done, facts, link, list, moment, more, order, stamp } from '../view.js';
import { grantList } from './grants.js';
import { tokenList } from './tokens.js';

export const title = 'Users';
export const about = 'People who sign in here.';

const roles = [['user', 'User'], ['admin', 'Administrator']];

export function show(page) {
  return page.id ? one(page) : all(page);
}

function all({ body, actions, signal, query }) {
  const found = list({
    caption: 'Users',
    rows: 'users',
    empty: 'No users yet. Create one, or connect an identity provider whose users may sign in.',
    missing: 'No such user.',
    signal,
    given: { q: query.get('q') ?? '', order: 'newest' },
    filters: [{ name: 'q', label: 'Mail address or name', hint: 'Part of it, or the whole address or id.' }, order],
    columns: [
      { title: 'Mail address', class: 'name', cell: (u) => link('users', u.id, u.email) },
      { title: 'Name', cell: (u) => u.name },
      { title: 'Role', cell: (u) => u.role },
      { title: 'Status', cell: (u) => state(u.status) },
      { title: 'Sign-in method', cell: (u) => u.provider },
      { title: 'Created', class: 'when', cell: (u) => moment(u.created_at) },
    ],
    fetch: (q, stop) => call('GET', 'users', { query: q, signal: stop }),
  });
  actions.append(
    act('Roles of groups', groupRoles),
    h('button.quiet', { type: 'button', onclick: () => invite(found.show) }, 'Invite'),
    h('button', { type: 'button', onclick: () => edit(null, found.show) }, 'Create user'),
  );
  body.append(found);
}

// invite opens a dialog for an invitation. It then shows the link if mail is off.
function invite(then) {
  const email = h('input', { type: 'email', autocomplete: 'off', autofocus: true });
  const name = h('input', { autocomplete: 'off', maxlength: 200 });
  dialog('Invite somebody', (close) => form([
    field('Mail address', email, { name: 'email', hint: 'They get a link to choose a password. It works once, within a week.' }),
    field('Name', name, { name: 'name' }),
  ], [
    h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
    h('button', { type: 'submit' }, 'Invite'),
  ], async () => {
    const made = await call('POST', 'users/invite', { body: { email: email.value.trim(), name: name.value.trim() } });
    close();
    if (made.invitation_link) handOver(made);
    await then();
  }));
}

function handOver(made) {
  dialog('Pass on the invitation', (close) => [
    h('p', null, 'Mail is off here. Give this link to ', code(made.email), ': it is shown only once.'),
    h('div.copyline', null, field('Link', h('input', { readonly: true, value: made.invitation_link, spellcheck: 'false' })), copyButton(made.invitation_link)),
    h('div.do', null, h('button', { type: 'button', onclick: close }, 'I have copied it')),
  ], { keep: true });
}

function edit(user, then) {
  const email = h('input', { type: 'email', value: user?.email ?? '', autocomplete: 'off', autofocus: true });
  const name = h('input', { value: user?.name ?? '', autocomplete: 'off', maxlength: 200 });
  const password = h('input', { type: 'password', autocomplete: 'new-password' });
  const role = select(roles, user?.role ?? 'user');
  dialog(user ? `Edit ${user.email}` : 'Create a user', (close) => form([
    field('Mail address', email, { name: 'email' }),
    field('Name', name, { name: 'name' }),
    field('Password', password, { name: 'password', hint: user ? 'Leave it empty to keep it.' : 'Leave it empty for a user without a password.' }),
    field('Role', role, { name: 'role' }),
  ], [
    h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
    h('button', { type: 'submit' }, user ? 'Save' : 'Create user'),
  ], async () => {
    const values = { email: email.value.trim(), name: name.value.trim(), role: role.value };
    if (password.value) values.password = password.value;
    if (user) await call('PATCH', at('users', user.id), { body: values, of: user });
    else await call('POST', 'users', { body: values });
    close();
    await then();
  }));
}

function one({ body, actions, heading, id, signal }) {
  const place = h('div');
  const path = at('users', id);
  const tokens = tokenList(signal, { user: id });
  const refresh = () => load(place, async () => {
    const u = await call('GET', path, { signal });
    heading.textContent = u.email;
    actions.replaceChildren(...[
      act('Edit', async () => edit(await call('GET', path, { signal }), refresh)),
      ask('Sign out everywhere', 'Sign the user out everywhere?', 'All sessions and tokens of the user end.', async () => {
        await call('DELETE', `${path}/tokens`);
        await done('The user is signed out', tokens.show);
      }, 'button.quiet'),
      u.status === 'active'
        ? ask('Disable', 'Disable the user?', 'All sessions and tokens of the user end, and nobody can sign in as this user until it is enabled.', async () => {
          await call('PATCH', `${path}/disable`);
          await done('The user is disabled', refresh);
        })
        : act('Enable', async () => {
          await call('PATCH', `${path}/enable`);
          await done('The user is enabled', refresh);
        }),
      ask('Delete', 'Delete the user?', 'Everything that the user has here is deleted. This cannot be undone.', async () => {
        await call('DELETE', path);
        location.hash = '#/users';
      }),
    ]);
    return card('User', facts([
      ['Id', code(u.id), true], ['Name', u.name], ['Role', u.role], ['Status', state(u.status)], ['Sign-in method', u.provider], ['Created', stamp(u.created_at)],
    ]));
  });
  body.append(place, factCard(path, signal), identityCard(path, signal), factorList(path, signal), grantList(id, signal), h('h2', null, 'Live tokens'), tokens, more('user', id, 'Audit log', 'actor'));
  return refresh();
}

const kinds = { app: 'Authenticator app', passkey: 'Passkey' };

// factorList returns a section with the second factors of a user.
function factorList(path, signal) {
  const place = h('div');
  const show = () => load(place, async () => {
    const { factors, recovery_codes: left } = await call('GET', `${path}/factors`, { signal });
    if (!factors.length) return card('Second factors', h('p', null, 'None: the password is enough to sign in.'));
    return card('Second factors', h('div.flow', null, table('Second factors', [
      { title: 'Name', class: 'name', cell: (f) => f.name },
      { title: 'Kind', cell: (f) => kinds[f.kind] ?? f.kind },
      { title: 'Added', class: 'when', cell: (f) => moment(f.created_at) },
      { title: 'Last used', class: 'when', cell: (f) => moment(f.used_at) ?? 'never' },
    ], factors), h('p', null, `Recovery codes left: ${left}`)),
    ask('Reset', 'Reset all second factors?', 'Use this if the user has lost them. The password is then enough to sign in.', async () => {
      await call('DELETE', `${path}/factors`);
      await done('The second factors are reset', show);
    }));
  });
  show();
  return place;
}
