// How numbers and times are written.

const whole = new Intl.NumberFormat('en-US');
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
const dayAndTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const dayAndSecond = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const dayAlone = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const thisYear = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit' });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

export const number = (n) => (n == null ? '–' : whole.format(n));
export const short = (n) => (n == null ? '–' : Math.abs(n) < 10000 ? whole.format(Math.round(n * 10) / 10) : compact.format(n));

// count is a number of things: count(1, 'request') is "1 request".
export const count = (n, thing) => `${number(n)} ${thing}${n === 1 ? '' : 's'}`;

export function duration(ms) {
  if (ms == null) return '–';
  if (ms < 1) return '<1 ms';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`;
  return `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
}

export const day = (text) => (text ? dayAlone.format(new Date(text)) : '–');

export const time = (text) => (text ? dayAndTime.format(new Date(text)) : '–');

// exact is a time to the second, with its zone.
export const exact = (text) => (text ? dayAndSecond.format(new Date(text)) : '–');

// zone is that of the times that are written and typed.
export const zone = () => dayAndTime.resolvedOptions().timeZone;

// when leaves the year away where it is the present one.
export function when(text) {
  const at = new Date(text);
  return (at.getFullYear() === new Date().getFullYear() ? thisYear : dayAndTime).format(at);
}

// ago says how long ago a time was, or how far it is ahead.
export function ago(text, now = Date.now()) {
  if (!text) return 'never';
  const seconds = Math.round((new Date(text) - now) / 1000);
  for (const [unit, size] of [['day', 86400], ['hour', 3600], ['minute', 60]]) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return Math.abs(seconds) < 10 ? 'just now' : relative.format(seconds, 'second');
}
