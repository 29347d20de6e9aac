import { call } from '../api.js';
import { h, load, table } from '../parts/dom.js';
import { keyColumns, testButton } from './provider-keys.js';
import { at, link, operates } from './view.js';

export const title = 'Shared provider keys';
export const about = 'The provider keys of the organisation and of all teams, with their health and spending.';

export function show({ body, signal }) {
  const place = h('div');
  const list = (k) => (k.owner === 'team' ? at('teams', k.team_id, 'provider-keys') : at('organisation', 'provider-keys'));
  const refresh = () => load(place, async () => {
    const { data } = await call('GET', at('provider-keys'), { signal });
    const columns = keyColumns.map((c) => ({ ...c, cell: (k) => c.cell(k.key) }));
    columns.splice(1, 0, { title: 'Owner', cell: (k) => (k.owner === 'team' ? link('teams', k.team_id, k.team) : h('a', { href: '#/organisation' }, 'the organisation')) });
    columns.push({ title: '', class: 'row-actions', cell: (k) => operates() && testButton(`${list(k)}/${encodeURIComponent(k.key.id)}/test`, refresh) });
    return [data.length ? h('div.panel.flush', null, table('Shared provider keys', columns, data)) : h('p.empty', null, 'No shared provider keys. Add keys on the page of the ', h('a', { href: '#/organisation' }, 'organisation'), ' or of a ', h('a', { href: '#/teams' }, 'team'), '.')];
  });
  body.append(place);
  return refresh();
}
