// The gateway keys of a user or of a team, on the pages of operators.
import { call } from '../api.js';
import { limitFields, said } from '../limits.js';
import { confirm, dialog } from '../parts/dialog.js';
import { act, code, h, load, table, tag, toast } from '../parts/dom.js';
import { field, form } from '../parts/form.js';
import { when } from '../parts/look.js';
import { showKey } from '../pages/new-key.js';
import { operates } from './view.js';

// keyCard returns a section with the gateway keys at a path. If may() holds, it has buttons that create, limit and revoke
// keys, and, if replaced is set, that replace them.
export function keyCard(title, about, path, signal, may = operates, replaced = false) {
  const place = h('div');
  const show = () => load(place, async () => {
    const answer = await call('GET', path, { signal });
    return h('section.panel', { 'aria-label': title },
      h('div.head', null, h('h2', null, title), h('span.push'), may() && act('button.quiet', 'Create a key', async () => make())),
      h('p.small.muted', null, about),
      table(title, [
        { title: 'Key', class: 'name', cell: (k) => k.label || code(k.masked) },
        { title: 'Status', cell: (k) => tag(k.status === 'active' ? 'good' : 'plain', k.status) },
        { title: 'Limits', cell: (k) => [said(k), ...k.imposed.filter((i) => i.on === 'key').map((i) => said(i))].flat().join(', ') || 'none' },
        { title: 'Last used', class: 'when', cell: (k) => (k.last_used_at ? when(k.last_used_at) : 'never') },
        { title: '', class: 'row-actions', cell: (k) => may() && !k.revoked && [
          replaced && k.status === 'active' && act('button.plain', 'Replace', async () => confirm('Replace the key?', 'The key is revoked at once, and a new key gets its label and limits. If both should work for a while, create another key and revoke this one later.', 'Replace', async () => {
            const made = await call('POST', `${path}/${encodeURIComponent(k.id)}/regenerate`);
            await show();
            setTimeout(() => showKey('The new gateway key', made.key)); // after this dialog has closed
          })),
          operates() && act('button.plain', 'Limit', async () => limit(k)),
          act('button.plain.danger', 'Revoke', async () => confirm('Revoke the key?', 'This cannot be undone. Requests with the key are refused at once.', 'Revoke', async () => {
            await call('DELETE', `${path}/${encodeURIComponent(k.id)}`);
            await show();
          })),
        ] },
      ], answer.keys, 'No gateway keys.'));
  });
  const limit = (k) => {
    const [fields, value] = limitFields(k.imposed.find((i) => i.on === 'key') ?? {});
    dialog('Limits on the key', (close) => form(fields, [
      h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
      h('button', { type: 'submit' }, 'Save'),
    ], async () => {
      await call('PUT', `${path}/${encodeURIComponent(k.id)}/limits`, { body: value() });
      close();
      toast('The limits are saved');
      await show();
    }));
  };
  const make = () => {
    const label = h('input', { maxlength: 100, autocomplete: 'off', autofocus: true });
    const [fields, value] = limitFields({});
    dialog('Create a gateway key', (close) => form([field('Label', label, { name: 'label', wide: true }), ...fields], [
      h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
      h('button', { type: 'submit' }, 'Create'),
    ], async () => {
      const made = await call('POST', path, { body: { label: label.value.trim(), ...value() } });
      close();
      await show();
      setTimeout(() => showKey('The new gateway key', made.key)); // after this dialog has closed
    }));
  };
  show();
  return place;
}
