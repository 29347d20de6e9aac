import { call } from '../api.js';
import { said } from '../limits.js';
import { code, h } from '../parts/dom.js';
import { exact } from '../parts/look.js';
import { at, link, paged } from './view.js';

export const title = 'Audit log';
export const about = 'Who changed users, teams and limits, newest first.';

const pages = { user: 'people', team: 'teams', member: 'teams' };

// details lists what an entry says of the change.
function details(entry) {
  if (!entry.action.endsWith('.limited')) return Object.entries(entry.details).filter(([, v]) => v !== null && v !== '').map(([k, v]) => `${k}: ${v}`);
  const limits = said(entry.details, true);
  return limits.length ? limits : ['no limits'];
}

export function show({ body, signal }) {
  const list = paged({
    caption: 'Audit log',
    empty: () => 'Nothing was changed yet.',
    columns: [
      { title: 'Time', class: 'when', cell: (e) => exact(e.at) },
      { title: 'Who', cell: (e) => (e.actor === 'command' ? 'a command' : link('people', e.actor)) },
      { title: 'Action', class: 'strong', cell: (e) => e.action.replace('.', ' ').replaceAll('_', ' ') },
      { title: 'Of', cell: (e) => (pages[e.action.split('.')[0]] ? link(pages[e.action.split('.')[0]], e.subject) : code(e.subject)) },
      { title: 'Details', cell: (e) => details(e).map((text) => h('div.small', null, text)) },
    ],
    fetch: (cursor) => call('GET', at('audit'), { signal, query: { cursor } }),
  });
  body.append(list);
  return list.show();
}
