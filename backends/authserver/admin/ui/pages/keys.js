import { call } from '../api.js';
import { code, h, load, notice, table } from '../parts/dom.js';
import { number } from '../parts/look.js';
import { state } from '../tones.js';
import { ask, done, moment } from '../view.js';

export const title = 'Keys';
export const about = 'Signing keys, and the encryption of stored data.';

export function show({ body, actions, signal }) {
  const place = h('div');
  const said = h('div');
  const refresh = () => load(place, async () => table('Keys', [
    { title: 'Key id', cell: (k) => code(k.kid) },
    { title: 'Algorithm', cell: (k) => k.alg },
    { title: 'Status', cell: (k) => [state(k.status), k.signs && h('div.small.muted', null, 'signs new tokens')] },
    { title: 'Since', class: 'when', cell: (k) => moment(k.created_at) },
    { title: 'Rotated', class: 'when', cell: (k) => moment(k.rotated_at) },
    { title: 'Accepted until', class: 'when', cell: (k) => moment(k.accepted_until) },
  ], (await call('GET', 'keys', { signal })).keys));
  actions.append(
    ask('Re-encrypt', 'Re-encrypt stored data?', 'All data that was encrypted with an older key is encrypted with the current key. This may take a while and can be repeated. For large databases use the command tollgate authserver re-encrypt, which shows its progress.', async () => {
      const told = await call('POST', 'encryption/re-encrypt');
      said.replaceChildren(notice('good', h('p', { role: 'status' }, `${number(told.scanned)} checked, ${number(told.rewritten)} re-encrypted, ${number(told.failed)} failed.`)));
    }, 'button.quiet'),
    ask('Rotate', 'Rotate the signing key?', 'New tokens are signed with a new key. The current key stays in the key set until the last token signed with it has expired.', async () => {
      const made = await call('POST', 'keys/rotate');
      await done(`The new key is ${made.kid}`, refresh);
    }, 'button'),
  );
  body.append(said, place);
  return refresh();
}
