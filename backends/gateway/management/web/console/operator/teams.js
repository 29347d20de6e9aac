import { call } from '../api.js';
import { usd } from '../format.js';
import { confirm, dialog } from '../parts/dialog.js';
import { h, load, table, tag, toast } from '../parts/dom.js';
import { field, form, select } from '../parts/form.js';
import { number, short, when } from '../parts/look.js';
import { keyCard } from './keys.js';
import { keysCard } from './provider-keys.js';
import { act, at, limitCard, link, operates, paged } from './view.js';

export const title = 'Teams';
export const about = 'Users whose requests count together.';

export function show(page) {
  return page.id ? one(page) : all(page);
}

function all({ body, actions, signal }) {
  const list = paged({
    caption: 'Teams',
    empty: () => 'There is no team yet. Make one, and add users to it.',
    columns: [
      { title: 'Team', class: 'name', cell: (t) => link('teams', t.id, t.name) },
      { title: 'Members', number: true, cell: (t) => number(t.members) },
      { title: 'Since', class: 'when', cell: (t) => when(t.created_at) },
    ],
    fetch: (after) => call('GET', at('teams'), { signal, query: { after } }),
  });
  if (operates()) actions.append(act('button', 'Make a team', async () => name('Make a team', '', async (text) => {
    const made = await call('POST', at('teams'), { body: { name: text } });
    location.hash = `#/teams/${encodeURIComponent(made.id)}`;
  })));
  body.append(list);
  return list.show();
}

// name asks for the name of a team.
function name(heading, value, work) {
  const input = h('input', { value, maxlength: 100, autocomplete: 'off', autofocus: true });
  dialog(heading, (close) => form([field('Name', input, { name: 'name', wide: true })], [
    h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
    h('button', { type: 'submit' }, 'Save'),
  ], async () => {
    await work(input.value.trim());
    close();
  }));
}

function one({ body, actions, heading, id, signal }) {
  const path = at('teams', id);
  const spent = h('div');
  const place = h('div');
  const refresh = () => load(place, async () => {
    const team = await call('GET', path, { signal });
    heading.textContent = team.name;
    if (operates()) {
      actions.replaceChildren(
        act('button.quiet', 'Rename', async () => name('Rename the team', team.name, async (text) => {
          await call('PATCH', path, { body: { name: text } });
          await refresh();
        })),
        act('button.danger', 'Remove', async () => confirm('Remove the team?', 'Its limits and its own keys are gone. Its members stay as users, and its spending in the reports.', 'Remove', async () => {
          await call('DELETE', path);
          location.hash = '#/teams';
        })));
    }
    return [];
  });
  const members = paged({
    caption: 'Members',
    empty: () => 'Nobody is in this team. Add somebody.',
    columns: [
      { title: 'User', class: 'name', cell: (m) => link('people', m.user_id, m.name || m.email || m.user_id) },
      { title: 'Role', cell: (m) => (m.role === 'admin' ? tag('plain', 'administrator') : 'member') },
      { title: 'Default team', cell: (m) => (m.default ? 'yes' : 'no') },
      { title: 'Since', class: 'when', cell: (m) => when(m.added_at) },
      { title: '', class: 'row-actions', cell: (m) => operates() && act('button.plain.danger', 'Take out', async () => {
        await call('DELETE', `${path}/members/${encodeURIComponent(m.user_id)}`);
        toast('The user is not in the team any more');
        await members.show();
      }) },
    ],
    fetch: (after) => call('GET', `${path}/members`, { signal, query: { after } }),
  });
  const add = () => {
    const user = h('input', { autocomplete: 'off', spellcheck: 'false', maxlength: 254, autofocus: true });
    const role = select([['member', 'Member'], ['admin', 'Administrator: adds members and sees what the team spends']], 'member');
    dialog('Add a member', (close) => form([field('User', user, { name: 'user_id', hint: 'Id or mail address.' }), field('Role', role, { name: 'role' })], [
      h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
      h('button', { type: 'submit' }, 'Add'),
    ], async () => {
      const found = await call('GET', at('users', user.value.trim())).catch((error) => { throw Object.assign(error, { param: 'user_id' }); });
      await call('PUT', `${path}/members/${encodeURIComponent(found.id)}`, { body: { role: role.value } });
      close();
      await members.show();
    }));
  };
  const spending = () => load(spent, async () => {
    const answer = await call('GET', `${path}/spending`, { signal, query: { by: 'model' } });
    return h('section.panel', { 'aria-label': 'Spending' }, h('h2', null, 'Spending in the last 30 days'),
      table('Spending by model', [
        { title: 'Model', class: 'name', cell: (l) => [l.provider, l.model].filter(Boolean).join('/') || '(nobody)' },
        { title: 'Requests', number: true, cell: (l) => number(l.requests) },
        { title: 'Tokens', number: true, cell: (l) => short(l.total_tokens) },
        { title: 'Cost', number: true, cell: (l) => usd(l.cost_usd) },
      ], answer.data, 'The team has not used any model yet.'));
  });
  body.append(place, limitCard('Limits on the team', 'All members share them.', `${path}/limits`, signal),
    keysCard(`${path}/provider-keys`, 'They serve what counts for the team, before those of the organisation.', operates(), signal),
    h('section.flow', { 'aria-label': 'Members' }, h('div.head', null, h('h2', null, 'Members'), operates() && act('button.quiet', 'Add a member', async () => add())), members),
    keyCard('Keys of the team', 'For its services: they belong to no person, and go on whoever leaves.', `${path}/keychain-keys`, signal), spent);
  return Promise.all([refresh(), members.show(), spending()]);
}
