import { call } from '../api.js';
import { choice } from '../inputs.js';
import { said } from '../limits.js';
import { confirm } from '../parts/dialog.js';
import { act, code, h, tag } from '../parts/dom.js';
import { field, form } from '../parts/form.js';
import { when } from '../parts/look.js';
import { at, link, operates, paged } from './view.js';

export const title = 'All gateway keys';
export const about = 'The gateway keys of all people and teams, newest first.';

export function show({ body, signal }) {
  const words = h('input', { type: 'search', name: 'q', autocomplete: 'off', spellcheck: 'false', maxlength: 200 });
  const revoked = choice('Include revoked keys', { onchange: () => list.show() });
  const list = paged({
    caption: 'Gateway keys',
    empty: () => 'No key matches.',
    columns: [
      { title: 'Key', class: 'name', cell: ({ key }) => [key.label ? h('strong', null, key.label) : null, ' ', code(key.masked)] },
      { title: 'Owner', cell: (k) => (k.of_team ? ['team ', link('teams', k.key.user_id, k.user)] : link('people', k.key.user_id, k.user)) },
      { title: 'Status', cell: ({ key }) => tag(key.status === 'active' ? 'good' : 'plain', key.status) },
      { title: 'Limits', cell: ({ key }) => [said(key), ...key.imposed.filter((i) => i.on === 'key').map((i) => said(i))].flat().join(', ') || 'none' },
      { title: 'Last used', class: 'when', cell: ({ key }) => (key.last_used_at ? when(key.last_used_at) : 'never') },
      { title: '', class: 'row-actions', cell: (k) => operates() && !k.key.revoked && act('button.plain.danger', 'Revoke', async () => confirm('Revoke the key?', 'This cannot be undone. Requests with the key are refused at once.', 'Revoke', async () => {
        await call('DELETE', at(k.of_team ? 'teams' : 'users', k.key.user_id, 'keychain-keys', k.key.id));
        await list.show();
      })) },
    ],
    fetch: (after) => call('GET', at('keychain-keys'), { signal, query: { q: words.value.trim(), revoked: revoked.input.checked, after } }),
  });
  body.append(h('div.filter', null, form([field('Find', words, { hint: 'Part of the label or of the owner’s name.' })], [h('button', { type: 'submit' }, 'Show')], () => list.show())), revoked, list);
  return list.show();
}
