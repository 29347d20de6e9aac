// Formats of amounts, times and names in this console.

export function usd(n) {
  if (n == null) return '–';
  const digits = n === 0 || n >= 1 ? 2 : n >= 0.01 ? 3 : 6;
  return `$${n.toLocaleString('en-US', { minimumFractionDigits: Math.min(2, digits), maximumFractionDigits: digits })}`;
}

export function percent(part) {
  return part == null ? '–' : `${(part * 100).toFixed(part === 1 || part === 0 ? 0 : 1)} %`;
}

export function countdown(seconds) {
  if (seconds >= 7200) return `${Math.round(seconds / 3600)} h`;
  if (seconds >= 120) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${seconds} s`;
}

const toSecond = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit', second: '2-digit' });
const toSecondInYear = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

// moment formats a time to the second, without the year if it is the current one.
export function moment(at) {
  const date = new Date(at);
  return (date.getFullYear() === new Date().getFullYear() ? toSecond : toSecondInYear).format(date);
}

// model returns the name of the model that answered. A user's own model has its full name.
export function model(r) {
  return r.provider === 'custom' ? r.model : [r.provider, r.model].filter(Boolean).join('/');
}

// words makes a code readable: cooling_down becomes "cooling down".
export const words = (text) => text.replaceAll('_', ' ');
