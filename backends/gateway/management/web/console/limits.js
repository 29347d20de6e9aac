// Limits in words and in forms.
import { usd } from './format.js';
import { h } from './parts/dom.js';
import { field, mistake } from './parts/form.js';
import { number, time } from './parts/look.js';

const windows = [['per_day', 'a day'], ['per_week', 'a week'], ['per_month', 'a month'], ['total', 'in total']];

// said lists limits in words, with the names of many models where named asks for them.
export function said(limits, named = false) {
  const b = limits.budgets;
  const has = (value, text) => value && text;
  return [
    has(limits.rate_limit_per_minute, `${number(limits.rate_limit_per_minute)} requests a minute`),
    has(limits.tokens_per_minute, `${number(limits.tokens_per_minute)} tokens a minute`),
    has(limits.parallel_requests, `${number(limits.parallel_requests)} requests at once`),
    ...windows.map(([window, text]) => has(b[`tokens_${window}`], `${number(b[`tokens_${window}`])} tokens ${text}`)),
    ...windows.map(([window, text]) => has(b[`usd_${window}`], `${usd(b[`usd_${window}`])} ${text}`)),
    limits.allowed_models?.length && (named || limits.allowed_models.length === 1 ? `only ${limits.allowed_models.join(', ')}` : `${limits.allowed_models.length} models`),
    limits.allowed_tools?.length && (limits.allowed_tools[0] === 'none' ? 'no tools of providers' : `tools of providers: ${limits.allowed_tools.join(', ')}`),
    limits.expires_at && `until ${time(limits.expires_at)}`,
    limits.raised_until && `raised until ${time(limits.raised_until)}`,
  ].filter(Boolean);
}

// amount is an input for a number from 1 on, or for an amount where step is any.
function amount(value, step) {
  return h('input', { type: 'number', min: step === '1' ? '1' : '0', step, inputmode: step === '1' ? 'numeric' : 'decimal', value: value ?? '' });
}

// read returns the number of such an input, or null.
function read(input, member) {
  if (input.validity.badInput || input.validity.stepMismatch || input.validity.rangeUnderflow) throw mistake(member, input.step === '1' ? 'Give a whole number from 1, or nothing.' : 'Give an amount above 0, or nothing.');
  return input.value === '' ? null : Number(input.value);
}

// localTime is the value of an input for a time.
export function localTime(text) {
  if (!text) return '';
  const at = new Date(text);
  return new Date(at - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

// lines reads a textarea with one name a line; none is null.
function lines(area) {
  const list = area.value.split('\n').map((line) => line.trim()).filter(Boolean);
  return list.length ? list : null;
}

// keyLimitFields makes the fields of the limits of a provider key, and a function that reads them.
export function keyLimitFields(limits) {
  const rate = amount(limits.rate_limit_per_minute, '1');
  const [time, ends] = expiry(limits);
  const [fields, spent] = budgetFields(limits.budgets);
  const value = () => ({ rate_limit_per_minute: read(rate, 'rate_limit_per_minute'), expires_at: ends(), budgets: spent() });
  return [[field('Requests a minute', rate, { name: 'rate_limit_per_minute', hint: 'An empty field is no limit.' }), time, ...fields], value];
}

// expiry makes the field of an end, and a function that reads it.
function expiry(limits) {
  const expires = h('input', { type: 'datetime-local', value: localTime(limits.expires_at) });
  return [field('Expires', expires, { name: 'expires_at', hint: 'Your local time.' }), () => (expires.value ? new Date(expires.value).toISOString() : null)];
}

// budgetFields makes the fields of budgets, and a function that reads them.
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

// limitFields makes the fields of all limits, and a function that reads them.
export function limitFields(limits) {
  const whole = (value) => amount(value, '1');
  const rates = { rate_limit_per_minute: whole(limits.rate_limit_per_minute), tokens_per_minute: whole(limits.tokens_per_minute), parallel_requests: whole(limits.parallel_requests) };
  const [time, ends] = expiry(limits);
  const [budgets, spent] = budgetFields(limits.budgets);
  const allowed = h('textarea', { rows: 2, spellcheck: 'false', value: (limits.allowed_models ?? []).join('\n') });
  const tools = h('textarea', { rows: 2, spellcheck: 'false', value: (limits.allowed_tools ?? []).join('\n') });
  const fields = [
    field('Requests a minute', rates.rate_limit_per_minute, { name: 'rate_limit_per_minute', hint: 'An empty field is no limit.' }),
    field('Tokens a minute', rates.tokens_per_minute, { name: 'tokens_per_minute' }),
    field('Requests at once', rates.parallel_requests, { name: 'parallel_requests' }),
    time, ...budgets,
    field('Allowed models', allowed, { name: 'allowed_models', wide: true, hint: 'One a line: provider/model, the beginning of names and an asterisk, as in openai/*, or a tier such as keychain-low. Empty: all.' }),
    field('Allowed tools of providers', tools, { name: 'allowed_tools', wide: true, hint: 'One a line, such as web_search, or none. Empty: all.' }),
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
