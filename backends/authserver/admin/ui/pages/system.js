import { call } from '../api.js';
import { code, h, load, table } from '../parts/dom.js';
import { field, form, select } from '../parts/form.js';
import { state } from '../tones.js';
import { act, card, done, notices, status as shown } from '../view.js';

export const title = 'System';
export const about = 'Status, configuration and registration of clients.';

const modes = [['open', 'Everybody'], ['approved_redirects', 'Clients whose redirect URIs are approved'], ['admin_only', 'Nobody: clients are created here']];

export function show({ body, signal }) {
  const status = h('div');
  const registration = h('div');
  const config = h('div');
  body.append(status, registration, config);
  const showMode = () => load(registration, async () => {
    const told = await call('GET', 'settings/dcr', { signal });
    const chosen = select(modes, told.mode);
    return card('Registration of clients', form(
      [field('Who may register a client', chosen, { name: 'mode', wide: true, hint: 'It overrides dcr.mode in the configuration.' })],
      [h('button', { type: 'submit' }, 'Save')],
      async () => {
        await call('PATCH', 'settings/dcr', { body: { mode: chosen.value }, of: told });
        await done('Saved', showMode);
      },
    ), act('Reset to the configuration', async () => {
      await call('PATCH', 'settings/dcr', { body: { mode: '' } });
      await done('It is as configured again', showMode);
    }));
  });
  return Promise.all([
    load(status, async () => {
      const [s, { notices: told }] = await Promise.all([call('GET', 'system/status', { signal }), call('GET', 'notices', { signal })]);
      return h('div.flow', null, told.length > 0 && h('div.notices', null, notices(told)),
        card('Status', shown(s, state)));
    }),
    showMode(),
    load(config, async () => {
      const rows = Object.entries((await call('GET', 'system/config', { signal })).config).sort(([a], [b]) => (a < b ? -1 : 1));
      const found = h('div');
      const part = h('input', { type: 'search', autocomplete: 'off', spellcheck: 'false' });
      const fill = () => found.replaceChildren(table('Configuration', [
        { title: 'Key', cell: ([key]) => code(key) },
        { title: 'Value', cell: ([, value]) => code(value) },
      ], rows.filter(([key]) => key.includes(part.value.trim())), 'There is no such key.'));
      part.addEventListener('input', fill);
      fill();
      return card('Configuration in effect', h('details', null, h('summary', null, `${rows.length} keys, without secrets`), field('Key', part, { hint: 'Part of the key, such as token_exchange.' }), found));
    }),
  ]);
}
