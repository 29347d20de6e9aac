// The teams that the signed-in user administers.
import { h, table } from '../parts/dom.js';
import { number, when } from '../parts/look.js';
import { showTeam } from './team.js';
import { administered, link } from './view.js';

export const pages = { team: { title: 'My team', about: 'Its members, limits, keys and spending.', show } };

function show(page) {
  const teams = administered();
  if (page.id || teams.length === 1) return showTeam({ ...page, id: page.id || teams[0].id });
  return page.body.append(h('div.panel.flush', null, table('My teams', [
    { title: 'Team', class: 'name', cell: (t) => link('team', t.id, t.name) },
    { title: 'Members', number: true, cell: (t) => number(t.members) },
    { title: 'Since', class: 'when', cell: (t) => when(t.created_at) },
  ], teams)));
}
