import { call } from '../api.js';
import { said } from '../limits.js';
import { code, h } from '../parts/dom.js';
import { exact } from '../parts/look.js';
import { at, link, oversees, paged, person } from './view.js';

export const title = 'Audit log';
export const about = 'Who changed users, teams and limits, newest first.';

const pages = { user: 'people', team: 'teams', member: 'teams', team_own: 'teams' };

// details returns a text for each detail of a change.
function details(entry) {
  if (!entry.action.endsWith('.limited')) return Object.entries(entry.details).filter(([, v]) => v !== null && v !== '').map(([k, v]) => `${k}: ${typeof v === 'object' ? JSON.stringify(v) : v}`);
  const limits = said(entry.details, true);
  return limits.length ? limits : ['no limits'];
}

// subject returns what was changed, as a link for those who may open its page.
function subject(entry) {
  const page = oversees() && pages[entry.action.split('.')[0]];
  return page ? link(page, entry.subject) : code(entry.subject);
}

// changes returns a list of the changes at a path.
export const changes = (caption, path, signal) => paged({
  caption,
  empty: () => 'No changes yet.',
  columns: [
    { title: 'Time', class: 'when', cell: (e) => exact(e.at) },
    { title: 'Who', cell: (e) => ({ command: 'a command', 'sign-in rule': 'a rule' }[e.actor] ?? person(e.actor)) },
    { title: 'Action', class: 'strong', cell: (e) => e.action.replace('team_own.', 'team itself ').replace('.', ' ').replaceAll('_', ' ') },
    { title: 'Subject', cell: subject },
    { title: 'Details', cell: (e) => details(e).map((text) => h('div.small', null, text)) },
  ],
  fetch: (cursor) => call('GET', path, { signal, query: { cursor } }),
});

export function show({ body, signal }) {
  const list = changes('Audit log', at('audit'), signal);
  body.append(list);
  return list.show();
}
