// Limits as texts and as form fields.
import { usd } from './format.js';
import { h } from './parts/dom.js';
import { field, mistake } from './parts/form.js';
import { number, time } from './parts/look.js';

const windows = [['per_day', 'a day'], ['per_week', 'a week'], ['per_month', 'a month'], ['total', 'in total']];

// said returns a text for each limit. If more than three models are allowed, it has their number and not their names,
// unless named is set.
export function said(limits, named = false) {
  const b = limits.budgets;
  const has = (value, text) => value && text;
  return [
    has(limits.rate_limit_per_minute, `${number(limits.rate_limit_per_minute)} requests a minute`),
    has(limits.tokens_per_minute, `${number(limits.tokens_per_minute)} tokens a minute`),
    has(limits.parallel_requests, `${number(limits.parallel_requests)} requests at once`),
    ...windows.map(([window, text]) => has(b[`tokens_${window}`], `${number(b[`tokens_${window}`])} tokens ${text}`)),
    ...windows.map(([window, text]) => has(b[`usd_${window}`], `${usd(b[`usd_${window}`])} ${text}`)),
    limits.allowed_models?.length && (named || limits.allowed_models.length <= 3 ? `only ${limits.allowed_models.join(', ')}` : `${limits.allowed_models.length} models`),
    limits.allowed_tools?.length && (limits.allowed_tools[0] === 'none' ? 'no provider tools' : `provider tools: ${limits.allowed_tools.join(', ')}`),
    limits.expires_at && `until ${time(limits.expires_at)}`,
    limits.raised_until && `raised until ${time(limits.raised_until)}`,
  ].filter(Boolean);
}

// amount returns an input for a whole number of at least 1, or for any amount if step is "any".
function amount(value, step) {
  return h('input', { type: 'number', min: step === '1' ? '1' : '0', step, inputmode: step === '1' ? 'numeric' : 'decimal', value: value ?? '' });
}

// read returns the number in an input made by amount, or null if it is empty. It throws the mistake of the field
// member if the number is not allowed.
function read(input, member) {
  if (input.validity.badInput || input.validity.stepMismatch || input.validity.rangeUnderflow) throw mistake(member, input.step === '1' ? 'Enter a whole number of at least 1, or leave the field empty.' : 'Enter an amount above 0, or leave the field empty.');
  return input.value === '' ? null : Number(input.value);
}

// localTime returns a time as the value of an input of type datetime-local.
export function localTime(text) {
  if (!text) return '';
  const at = new Date(text);
  return new Date(at - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

// lines returns the names in a textarea, one per line, or null if there are none.
function lines(area) {
  const list = area.value.split('\n').map((line) => line.trim()).filter(Boolean);
  return list.length ? list : null;
}

// keyLimitFields returns the fields for the limits of a provider key, and a function that reads their values.
export function keyLimitFields(limits) {
  const rate = amount(limits.rate_limit_per_minute, '1');
  const [time, ends] = expiry(limits);
  const [fields, spent] = budgetFields(limits.budgets);
  const value = () => ({ rate_limit_per_minute: read(rate, 'rate_limit_per_minute'), expires_at: ends(), budgets: spent() });
  return [[field('Requests a minute', rate, { name: 'rate_limit_per_minute', hint: 'Leave it empty for no limit.' }), time, ...fields], value];
}

// expiry returns the field for the time of expiry, and a function that reads it.
function expiry(limits) {
  const expires = h('input', { type: 'datetime-local', value: localTime(limits.expires_at) });
  return [field('Expires', expires, { name: 'expires_at', hint: 'Your local time.' }), () => (expires.value ? new Date(expires.value).toISOString() : null)];
}

// budgetFields returns the fields for budgets, and a function that reads their values.
function budgetFields(set) {
  const budgets = {};
  for (const [window] of windows) budgets[`usd_${window}`] = amount(set?.[`usd_${window}`], 'any');
  for (const [window] of windows) budgets[`tokens_${window}`] = amount(set?.[`tokens_${window}`], '1');
  const title = { usd: 'US dollars', tokens: 'Tokens' };
  const fields = Object.entries(budgets).map(([member, input]) => {
    const [unit] = member.split('_');
    const [, text] = windows.find(([window]) => member === `${unit}_${window}`);
    return field(`${title[unit]} ${text}`, input, { name: `budgets.${member}` });
  });
  return [fields, () => Object.fromEntries(Object.entries(budgets).map(([member, input]) => [member, read(input, `budgets.${member}`)]))];
}

// limitFields returns the fields for all limits, and a function that reads their values.
export function limitFields(limits) {
  const whole = (value) => amount(value, '1');
  const rates = { rate_limit_per_minute: whole(limits.rate_limit_per_minute), tokens_per_minute: whole(limits.tokens_per_minute), parallel_requests: whole(limits.parallel_requests) };
  const [time, ends] = expiry(limits);
  const [budgets, spent] = budgetFields(limits.budgets);
  const allowed = h('textarea', { rows: 2, spellcheck: 'false', value: (limits.allowed_models ?? []).join('\n') });
  const tools = h('textarea', { rows: 2, spellcheck: 'false', value: (limits.allowed_tools ?? []).join('\n') });
  const fields = [
    field('Requests a minute', rates.rate_limit_per_minute, { name: 'rate_limit_per_minute', hint: 'Leave it empty for no limit.' }),
    field('Tokens a minute', rates.tokens_per_minute, { name: 'tokens_per_minute' }),
    field('Requests at once', rates.parallel_requests, { name: 'parallel_requests' }),
    time, ...budgets,
    field('Allowed models', allowed, { name: 'allowed_models', wide: true, hint: 'One per line: provider/model, a prefix with an asterisk such as openai/*, or a tier such as keychain-low. Leave it empty to allow all.' }),
    field('Allowed provider tools', tools, { name: 'allowed_tools', wide: true, hint: 'One per line, such as web_search, or the word none. Leave it empty to allow all.' }),
  ];
  const value = () => ({
    ...Object.fromEntries(Object.entries(rates).map(([member, input]) => [member, read(input, member)])),
    expires_at: ends(),
    allowed_models: lines(allowed),
    allowed_tools: lines(tools),
    budgets: spent(),
  });
  return [fields, value];
}
