import { call } from '../api.js';
import { confirm, dialog } from '../parts/dialog.js';
import { act, code, h, load, tag, toast } from '../parts/dom.js';
import { field, form } from '../parts/form.js';
import { when } from '../parts/look.js';
import { showKey } from '../pages/new-key.js';
import { keyCard } from './keys.js';
import { at, limitCard, link, operates, paged } from './view.js';

export const title = 'People';
export const about = 'Everybody who uses this gateway.';

export function show(page) {
  return page.id ? one(page) : all(page);
}

const state = (u) => tag(u.status === 'active' ? 'good' : 'warn', u.status);

function all({ body, actions, signal, query }) {
  const words = h('input', { type: 'search', name: 'q', value: query.get('q') ?? '', autocomplete: 'off', spellcheck: 'false', maxlength: 200 });
  const list = paged({
    caption: 'People',
    empty: () => (words.value.trim() ? 'Nobody matches.' : 'Nobody has signed in yet. Create a user, or ask people to sign in to the console.'),
    columns: [
      { title: 'User', class: 'name', cell: (u) => link('people', u.id, u.name || u.email || u.id) },
      { title: 'Mail address', cell: (u) => u.email },
      { title: 'Id', cell: (u) => code(u.id) },
      { title: 'Status', cell: state },
      { title: 'Since', class: 'when', cell: (u) => when(u.created_at) },
    ],
    fetch: (after) => call('GET', at('users'), { signal, query: { q: words.value.trim(), after } }),
  });
  if (operates()) actions.append(act('button', 'Create a user', async () => make()));
  body.append(h('div.filter', null, form([field('Find', words, { hint: 'Part of the name, mail address or id.' })], [h('button', { type: 'submit' }, 'Show')], async () => {
    const q = words.value.trim();
    history.replaceState(null, '', q ? `#/people?q=${encodeURIComponent(q)}` : '#/people');
    await list.show();
  })), list);
  return list.show();
}

function make() {
  const id = h('input', { autocomplete: 'off', spellcheck: 'false', maxlength: 200, autofocus: true });
  dialog('Create a user', (close) => form([field('Id', id, { name: 'id', wide: true, hint: 'The user’s id at the identity provider, usually the claim sub.' })], [
    h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
    h('button', { type: 'submit' }, 'Create'),
  ], async () => {
    const made = await call('POST', at('users'), { body: { id: id.value.trim() } });
    close();
    location.hash = `#/people/${encodeURIComponent(made.user_id)}`;
    setTimeout(() => showKey('The first gateway key', made.key.key)); // after this dialog has closed
  }));
}

function one({ body, actions, heading, id, signal }) {
  const path = at('users', id);
  const place = h('div');
  const refresh = () => load(place, async () => {
    const u = await call('GET', path, { signal });
    heading.textContent = u.name || u.email || u.id;
    if (operates()) {
      actions.replaceChildren(
        u.status === 'active'
          ? act('button.quiet', 'Suspend', async () => confirm('Suspend the user?', 'Their gateway keys and tokens are refused at once. Nothing is deleted.', 'Suspend', async () => {
            await call('POST', `${path}/suspend`);
            toast('The user is suspended');
            await refresh();
          }))
          : act('button', u.status === 'waiting' ? 'Approve' : 'Resume', async () => {
            await call('POST', `${path}/resume`);
            toast('The user is active');
            await refresh();
          }),
        act('button.danger', 'Remove', async () => confirm('Remove the user?', 'Their keys, models, preferences and limits are deleted. Their usage stays in the reports.', 'Remove', async () => {
          await call('DELETE', path);
          location.hash = '#/people';
        })));
    }
    return h('section.panel', { 'aria-label': 'User' }, h('dl.facts', null,
      h('dt', null, 'Id'), h('dd', null, code(u.id)),
      h('dt', null, 'Mail address'), h('dd', null, u.email || 'not known'),
      h('dt', null, 'Status'), h('dd', null, state(u)),
      h('dt', null, 'Teams'), h('dd', null, u.teams.length ? u.teams.map((t, i) => [i > 0 && ', ', link('teams', t.id, t.name), t.id === u.team_id && ' (default)']) : 'none'),
      h('dt', null, 'Since'), h('dd', null, when(u.created_at))));
  });
  body.append(place, limitCard('Limits on the user', 'All keys of the user share them, and the user cannot change them.', `${path}/limits`, signal),
    keyCard('Gateway keys', 'The keys that the user\'s programs send.', `${path}/keychain-keys`, signal));
  return refresh();
}
