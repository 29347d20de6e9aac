import { call } from '../api.js';
import { confirm, dialog } from '../parts/dialog.js';
import { act, h } from '../parts/dom.js';
import { field, form } from '../parts/form.js';
import { number, when } from '../parts/look.js';
import { showTeam } from './team.js';
import { at, link, operates, paged } from './view.js';

export const title = 'Teams';
export const about = 'Users whose requests count together.';

export function show(page) {
  return page.id ? one(page) : all(page);
}

function all({ body, actions, signal }) {
  const list = paged({
    caption: 'Teams',
    empty: () => 'No teams yet. Create one, and add users to it.',
    columns: [
      { title: 'Team', class: 'name', cell: (t) => link('teams', t.id, t.name) },
      { title: 'Members', number: true, cell: (t) => number(t.members) },
      { title: 'Since', class: 'when', cell: (t) => when(t.created_at) },
    ],
    fetch: (after) => call('GET', at('teams'), { signal, query: { after } }),
  });
  if (operates()) actions.append(act('button', 'Create a team', async () => name('Create a team', '', async (text) => {
    const made = await call('POST', at('teams'), { body: { name: text } });
    location.hash = `#/teams/${encodeURIComponent(made.id)}`;
  })));
  body.append(list);
  return list.show();
}

// name opens a dialog for the name of a team.
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

function one(page) {
  const { actions, id } = page;
  const path = at('teams', id);
  return showTeam(page, (team, refresh) => operates() && actions.replaceChildren(
    act('button.quiet', 'Rename', async () => name('Rename the team', team.name, async (text) => {
      await call('PATCH', path, { body: { name: text } });
      await refresh();
    })),
    act('button.danger', 'Remove', async () => confirm('Remove the team?', 'Its limits and keys are deleted. Its members stay users, and its spending stays in the reports.', 'Remove', async () => {
      await call('DELETE', path);
      location.hash = '#/teams';
    }))));
}
