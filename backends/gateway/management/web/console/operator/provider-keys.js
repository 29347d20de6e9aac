// The provider keys of a team or of the organisation.
import { call } from '../api.js';
import { usd, words } from '../format.js';
import { keyLimitFields, said } from '../limits.js';
import { confirm, dialog } from '../parts/dialog.js';
import { act, code, h, load, table, tag, toast } from '../parts/dom.js';
import { field, form, mistake, select } from '../parts/form.js';

// tones maps the health of a provider key to the colour of its tag.
export const tones = { active: 'good', cooling_down: 'warn', untested: 'plain', no_credit: 'bad', invalid_key: 'bad' };

// keyColumns are the columns of a table of provider keys.
export const keyColumns = [
  { title: 'Key', class: 'name', cell: (k) => [h('strong', null, k.key_label || k.provider), ' ', code(k.masked)] },
  { title: 'Provider', cell: (k) => k.provider },
  { title: 'Health', cell: (k) => tag(tones[k.health.status] ?? 'plain', words(k.health.status)) },
  { title: 'Today', number: true, cell: (k) => usd(k.today.usd) },
  { title: 'This month', number: true, cell: (k) => usd(k.this_month.usd) },
  { title: 'Limits', cell: (k) => said(k.limits).join(', ') || 'none' },
];

// testButton returns a button that tests a provider key with a request to path, shows the result, and calls done.
export const testButton = (path, done) => act('button.plain', 'Test', async () => {
  const result = await call('POST', path);
  toast(result.ok ? `It works: ${result.model} answered.` : `It does not work: ${result.error?.message ?? words(result.status)}`);
  await done();
});

// keysCard returns a section with the provider keys at a path. If may is set, it has buttons that manage them.
export function keysCard(path, about, may, signal) {
  const place = h('div');
  const at = (k, ...more) => [path, encodeURIComponent(k.id), ...more].join('/');
  const show = () => load(place, async () => {
    const { data } = await call('GET', path, { signal });
    return h('section.panel', { 'aria-label': 'Provider keys' },
      h('div.head', null, h('h2', null, 'Provider keys'), may && act('button.quiet', 'Add a key', async () => add())),
      h('p.small.muted', null, about),
      table('Provider keys', [
        ...keyColumns,
        { title: '', class: 'row-actions', cell: (k) => may && [
          testButton(at(k, 'test'), show),
          act('button.plain', 'Limit', async () => limit(k)),
          act('button.plain.danger', 'Remove', async () => confirm('Remove the key?', 'No more requests use this key. The key itself stays valid at the provider.', 'Remove', async () => {
            await call('DELETE', at(k));
            await show();
          })),
        ] },
      ], data, 'No provider keys.'));
  });
  const limit = (k) => {
    const [fields, value] = keyLimitFields(k.limits);
    dialog('Limits of the key', (close) => form(fields, [
      h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
      h('button', { type: 'submit' }, 'Save'),
    ], async () => {
      await call('PUT', at(k, 'limits'), { body: value() });
      close();
      await show();
    }));
  };
  const add = async () => {
    const { providers } = await call('GET', 'providers', { signal, guest: true });
    const provider = select(providers.map((p) => [p.code, p.name]), providers[0]?.code, { autofocus: true });
    const key = h('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', maxlength: 4096 });
    const label = h('input', { maxlength: 100, autocomplete: 'off' });
    dialog('Add a provider key', (close) => form([
      field('Provider', provider, { name: 'provider' }), field('Label', label, { name: 'key_label', hint: 'A name by which you recognize it.' }),
      field('API key', key, { name: 'api_key', wide: true }),
    ], [
      h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
      h('button', { type: 'submit' }, 'Add key'),
    ], async () => {
      if (!key.value.trim()) throw mistake('api_key', 'Paste the key of the provider.');
      await call('POST', path, { body: { provider: provider.value, api_key: key.value.trim(), key_label: label.value.trim() } });
      close();
      toast('The key is stored');
      await show();
    }));
  };
  show();
  return place;
}
