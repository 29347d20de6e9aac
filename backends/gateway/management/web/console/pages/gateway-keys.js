import { call, own } from '../api.js';
import { confirm, dialog } from '../parts/dialog.js';
import { usd } from '../format.js';
import { choice } from '../inputs.js';
import { announce, badge, code, h, load, table } from '../parts/dom.js';
import { field, form, mistake, select } from '../parts/form.js';
import { ago, number, time } from '../parts/format.js';
import { clipboard } from '../session.js';
import { showKey } from './new-key.js';

export const title = 'Gateway keys';
export const about = 'What your programs send with their requests. Each key can have limits of its own; what your operator has set counts beside them.';

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
    { title: 'Label', class: 'strong', cell: (k) => [k.label || '(no label)', k.is_primary && k.label !== 'primary' && [' ', badge('plain', 'primary')]] },
    { title: 'Key', cell: (k) => code(k.masked) },
    { title: 'State', cell: (k) => badge(tones[k.status], k.status) },
    { title: 'Limits', cell: limits },
    { title: 'Last used', cell: (k) => h('span', { title: time(k.last_used_at) }, ago(k.last_used_at)) },
    {
      title: '', class: 'row-actions', cell: (k) => !k.revoked && [
        h('button.quiet', { type: 'button', 'aria-label': `Edit ${name(k)}`, onclick: () => edit(k) }, 'Edit'),
        h('button.quiet.danger', { type: 'button', 'aria-label': `Revoke ${name(k)}`, onclick: () => revoke(k) }, 'Revoke'),
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
      announce('The key is changed');
      await refresh();
    } else {
      const made = await own('POST', 'keychain-keys', { body: values });
      close();
      await shown('Your new gateway key', made);
    }
  }));
  const revoke = (key) => confirm(`Revoke ${name(key)}?`, 'Programs that use this key are refused from now on. This cannot be undone.', 'Revoke', async () => {
    await call('DELETE', `keychain-keys/${encodeURIComponent(key.id)}`);
    announce('The key is revoked');
    await refresh();
  });
  const replace = () => confirm('Replace the primary key?', 'The primary key is revoked at once, and a new one gets its label, limits and budgets. Programs that use the old one are refused until they have the new one.', 'Replace', async () => {
    const made = await own('POST', 'regenerate-key');
    setTimeout(() => shown('Your new primary key', made)); // after this dialog has closed
  });

  actions.append(
    h('button', { type: 'button', onclick: replace }, 'Replace the primary key'),
    h('button.primary', { type: 'button', onclick: () => edit(null) }, 'Create key'),
  );
  revoked.hidden = true;
  body.append(list, revoked);
  return refresh();
}

const name = (key) => key.label || key.masked;

// limits lists those of the user's own, and then those that the operator has set.
function limits(k) {
  const parts = [said(k)].concat(k.imposed.map(said));
  if (!parts.some((list) => list.length)) return h('span.muted', null, 'none');
  return parts.map((list, i) => list.length > 0 && [
    i > 0 && h('p.small.muted', null, setBy(k.imposed[i - 1])),
    h('ul.plain', null, list.map((text) => h('li', null, text))),
  ]);
}

// setBy says whose limits they are, and on what.
function setBy(imposed) {
  return `Set by your ${imposed.by}, ${imposed.on === 'user' ? 'for all your keys together' : 'for this key and those that share it'}:`;
}

// said is limits in words.
function said(of) {
  const b = of.budgets;
  return [
    of.rate_limit_per_minute && `${number(of.rate_limit_per_minute)} requests a minute`,
    b.tokens_per_day && `${number(b.tokens_per_day)} tokens a day`,
    b.tokens_per_month && `${number(b.tokens_per_month)} tokens a month`,
    b.usd_per_day && `${usd(b.usd_per_day)} a day`,
    b.usd_per_month && `${usd(b.usd_per_month)} a month`,
    of.allowed_models?.length && `${of.allowed_models.length === 1 ? 'only ' + of.allowed_models[0] : `${of.allowed_models.length} models`}`,
    of.expires_at && `until ${time(of.expires_at)}`,
  ].filter(Boolean);
}

function keyForm(key, close, save) {
  const label = h('input', { value: key?.label ?? '', maxlength: 100, autocomplete: 'off', autofocus: true });
  const rate = amount(key?.rate_limit_per_minute, '1');
  const expires = h('input', { type: 'datetime-local', value: localTime(key?.expires_at) });
  const allowed = h('textarea', { rows: 2, spellcheck: 'false', value: (key?.allowed_models ?? []).join('\n') });
  const budgets = {
    tokens_per_day: amount(key?.budgets.tokens_per_day, '1'),
    tokens_per_month: amount(key?.budgets.tokens_per_month, '1'),
    usd_per_day: amount(key?.budgets.usd_per_day, 'any'),
    usd_per_month: amount(key?.budgets.usd_per_month, 'any'),
  };
  const effort = select([
    ['override', 'The request decides'],
    ['model_wins', 'The model name decides'],
    ['max_of_both', 'The higher of both'],
  ], key?.effort_mode ?? 'override');
  const fields = [
    field('Label', label, { name: 'label', hint: 'So that you know it again.' }),
    field('Requests a minute', rate, { name: 'rate_limit_per_minute', hint: 'Empty: no limit.' }),
    field('Expires', expires, { name: 'expires_at', hint: 'Your local time. Empty: never.' }),
    field('Tier for messages with an effort', effort, { name: 'effort_mode' }),
    field('Allowed models', allowed, { name: 'allowed_models', wide: true, hint: 'One a line: provider/model, or the beginning of names and an asterisk, as in openai/*. Empty: all.' }),
    field('Tokens a day', budgets.tokens_per_day, { name: 'budgets.tokens_per_day', hint: 'Days and months are UTC.' }),
    field('Tokens a month', budgets.tokens_per_month, { name: 'budgets.tokens_per_month', hint: 'Empty: no limit.' }),
    field('US dollars a day', budgets.usd_per_day, { name: 'budgets.usd_per_day', hint: 'At list prices.' }),
    field('US dollars a month', budgets.usd_per_month, { name: 'budgets.usd_per_month', hint: 'Empty: no limit.' }),
  ];
  const imposed = (key?.imposed ?? []).map((i) => h('div.field.wide', null, h('p.small.muted', null, setBy(i)), h('ul.plain', null, said(i).map((text) => h('li', null, text)))));
  return form([...imposed, ...fields], [
    h('button', { type: 'button', onclick: close }, 'Cancel'),
    h('button.primary', { type: 'submit' }, key ? 'Save' : 'Create key'),
  ], () => {
    const lines = allowed.value.split('\n').map((line) => line.trim()).filter(Boolean);
    return save({
      label: label.value.trim(),
      rate_limit_per_minute: read(rate, 'rate_limit_per_minute'),
      expires_at: expires.value ? new Date(expires.value).toISOString() : null,
      allowed_models: lines.length ? lines : null,
      budgets: Object.fromEntries(Object.entries(budgets).map(([member, input]) => [member, read(input, `budgets.${member}`)])),
      effort_mode: effort.value,
    });
  });
}

function amount(value, step) {
  return h('input', { type: 'number', min: step === '1' ? '1' : '0', step, inputmode: step === '1' ? 'numeric' : 'decimal', value: value ?? '' });
}

function read(input, member) {
  if (input.validity.badInput || input.validity.stepMismatch || input.validity.rangeUnderflow) throw mistake(member, input.step === '1' ? 'Give a whole number from 1, or nothing.' : 'Give an amount above 0, or nothing.');
  return input.value === '' ? null : Number(input.value);
}

function localTime(text) {
  if (!text) return '';
  const at = new Date(text);
  return new Date(at - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}
