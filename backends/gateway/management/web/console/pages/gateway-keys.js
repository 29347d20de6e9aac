import { call, own } from '../api.js';
import { confirm, dialog } from '../parts/dialog.js';
import { choice } from '../inputs.js';
import { limitFields, said } from '../limits.js';
import { code, h, load, table, tag, toast } from '../parts/dom.js';
import { field, form, select } from '../parts/form.js';
import { ago, time } from '../parts/look.js';
import { clipboard } from '../session.js';
import { showKey } from './new-key.js';

export const title = 'Gateway keys';
export const about = 'Your programs send these keys with their requests. Each key can have its own limits, in addition to those that your operator has set.';

const tones = { active: 'good', expired: 'warn', revoked: 'plain' };

export function show({ body, actions, signal }) {
  const list = h('div');
  const revoked = choice('Show revoked keys', { onchange: () => refresh() });
  let keys = [];
  const refresh = () => load(list, async () => {
    ({ keys } = await own('GET', 'keychain-keys', { signal }));
    revoked.hidden = !keys.some((k) => k.revoked);
    return draw();
  });
  const draw = () => table('Gateway keys', [
    { title: 'Label', class: 'strong', cell: (k) => [k.label || '(no label)', k.is_primary && k.label !== 'primary' && [' ', tag('plain', 'primary')]] },
    { title: 'Key', cell: (k) => code(k.masked) },
    { title: 'State', cell: (k) => tag(tones[k.status], k.status) },
    { title: 'Limits', cell: limits },
    { title: 'Last used', cell: (k) => h('span', { title: time(k.last_used_at) }, ago(k.last_used_at)) },
    {
      title: '', class: 'row-actions', cell: (k) => !k.revoked && [
        h('button.plain', { type: 'button', 'aria-label': `Edit ${name(k)}`, onclick: () => edit(k) }, 'Edit'),
        h('button.plain.danger', { type: 'button', 'aria-label': `Revoke ${name(k)}`, onclick: () => revoke(k) }, 'Revoke'),
      ],
    },
  ], keys.filter((k) => !k.revoked || revoked.input.checked), 'You have no gateway key. Create one to send requests.');

  const shown = async (heading, key) => {
    clipboard.gatewayKey = key.key;
    await refresh();
    showKey(heading, key.key);
  };
  const edit = (key) => dialog(key ? `Edit ${name(key)}` : 'Create a gateway key', (close) => keyForm(key, close, async (values) => {
    if (key) {
      await call('PUT', `keychain-keys/${encodeURIComponent(key.id)}`, { body: values });
      close();
      toast('The key is changed');
      await refresh();
    } else {
      const made = await own('POST', 'keychain-keys', { body: values });
      close();
      await shown('Your new gateway key', made);
    }
  }));
  const revoke = (key) => confirm(`Revoke ${name(key)}?`, 'Programs that use this key are refused from now on. This cannot be undone.', 'Revoke', async () => {
    await call('DELETE', `keychain-keys/${encodeURIComponent(key.id)}`);
    toast('The key is revoked');
    await refresh();
  });
  const replace = () => confirm('Replace the primary key?', 'The primary key is revoked at once, and a new one gets its label, limits and budgets. Programs that use the old one are refused until they have the new one.', 'Replace', async () => {
    const made = await own('POST', 'regenerate-key');
    setTimeout(() => shown('Your new primary key', made)); // after this dialog has closed
  });

  actions.append(
    h('button.quiet', { type: 'button', onclick: replace }, 'Replace the primary key'),
    h('button', { type: 'button', onclick: () => edit(null) }, 'Create key'),
  );
  revoked.hidden = true;
  body.append(list, revoked);
  return refresh();
}

const name = (key) => key.label || key.masked;

// limits returns the user's own limits of a key, followed by the imposed ones.
function limits(k) {
  const parts = [said(k)].concat(k.imposed.map((i) => said(i)));
  if (!parts.some((list) => list.length)) return h('span.muted', null, 'none');
  return parts.map((list, i) => list.length > 0 && [
    i > 0 && h('p.small.muted', null, setBy(k.imposed[i - 1])),
    h('ul.plain', null, list.map((text) => h('li', null, text))),
  ]);
}

// setBy returns a text that says who has imposed limits and what they apply to.
function setBy(imposed) {
  return `Set by ${imposed.by === 'team' ? 'the administrators of your team' : 'your operator'}, for ${holders[imposed.on]}:`;
}

const holders = {
  key: 'this key and those that share it',
  user: 'all your keys together',
  team: 'your whole team',
  organisation: 'everybody together',
};

function keyForm(key, close, save) {
  const label = h('input', { value: key?.label ?? '', maxlength: 100, autocomplete: 'off', autofocus: true });
  const [limitInputs, value] = limitFields(key ?? {});
  const effort = select([
    ['override', 'The request decides'],
    ['model_wins', 'The model name decides'],
    ['max_of_both', 'The higher of the two'],
  ], key?.effort_mode ?? 'override');
  const fields = [
    field('Label', label, { name: 'label', hint: 'A name by which you recognize it.' }),
    field('Tier for messages with an effort', effort, { name: 'effort_mode' }),
    ...limitInputs,
  ];
  const imposed = (key?.imposed ?? []).map((i) => h('div.field.wide', null, h('p.small.muted', null, setBy(i)), h('ul.plain', null, said(i).map((text) => h('li', null, text)))));
  return form([...imposed, ...fields], [
    h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
    h('button', { type: 'submit' }, key ? 'Save' : 'Create key'),
  ], () => {
    return save({ label: label.value.trim(), effort_mode: effort.value, ...value() });
  });
}
