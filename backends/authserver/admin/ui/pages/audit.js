import { call } from '../api.js';
import { tag } from '../parts/dom.js';
import { instant, link, list, moment, stamp } from '../view.js';

export const title = 'Audit';
export const about = 'Actions and refusals, newest first.';

const tone = (action) => (/denied|failed|locked_out|reuse/.test(action) ? 'bad' : /revoked|deleted|disabled|suspended/.test(action) ? 'warn' : 'plain');

export const eventColumns = [
  { title: 'When', class: 'when', cell: (e) => moment(e.created_at) },
  { title: 'Action', cell: (e) => tag(tone(e.action), e.action) },
  { title: 'By', class: 'by', cell: (e) => (e.actor_id && !/^[0-9a-f-]{36}$/.test(e.actor_id) ? e.actor_id : link('users', e.actor_id)) },
  { title: 'Client', cell: (e) => link('clients', e.client_id) },
  { title: 'From', class: 'when', cell: (e) => e.ip },
  { title: 'Detail', class: 'detail', cell: (e) => e.detail },
];

export function show({ body, query, signal }) {
  body.append(list({
    caption: 'Events',
    columns: eventColumns.map((c) => (c.title === 'When' ? { ...c, cell: (e) => stamp(e.created_at) } : c)),
    rows: 'events',
    empty: 'No recent events.',
    missing: 'No such event.',
    signal,
    given: { action: query.get('action') ?? '', actor_id: query.get('actor') ?? '', client_id: query.get('client') ?? '' },
    filters: [
      { name: 'action', label: 'Action', hint: 'A prefix ends with a dot, such as user.' },
      { name: 'actor_id', label: 'By', hint: 'The id of a user, or admin.' },
      { name: 'client_id', label: 'Client' },
      { name: 'since', label: 'Since', type: 'datetime-local', read: instant, hint: 'Leave it empty for all events that the configuration keeps.' },
      { name: 'until', label: 'Until', type: 'datetime-local', read: instant },
    ],
    fetch: (q, stop) => call('GET', 'audit', { query: { ...q, names: 'true' }, signal: stop }),
    note: ({ since, until }) => ({ since, until }),
  }));
}
