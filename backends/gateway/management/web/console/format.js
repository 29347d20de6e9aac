// How amounts and names of this console are written.

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

// moment is a time to the second; the year is left away where it is the present one.
export function moment(at) {
  const date = new Date(at);
  return (date.getFullYear() === new Date().getFullYear() ? toSecond : toSecondInYear).format(date);
}

// model is the name of who answered; a user's own model is named whole.
export function model(r) {
  return r.provider === 'custom' ? r.model : [r.provider, r.model].filter(Boolean).join('/');
}

// words makes a code readable: cooling_down is "cooling down".
export const words = (text) => text.replaceAll('_', ' ');
