// The script of every page: local formats of times and numbers, buttons that copy, messages that disappear, and keyboard
// shortcuts. Pages load it directly, and the modules of consoles import from it.

// Language. English pages format times and numbers as the browser is configured. Other pages format them in their
// language, with the texts that the page contains.

const spoken = document.documentElement.lang || 'en';
const written = spoken === 'en' ? undefined : spoken;
const texts = JSON.parse(document.body?.dataset.texts ?? '{}');
const say = (english) => texts[english] ?? english;

// Numbers

const whole = new Intl.NumberFormat(written);
const compact = new Intl.NumberFormat(written, { notation: 'compact', maximumFractionDigits: 1 });

export const number = (n) => (n == null ? '–' : whole.format(n));
export const short = (n) => (n == null ? '–' : Math.abs(n) < 10000 ? whole.format(Math.round(n * 10) / 10) : compact.format(n));

// count returns a number with its noun: count(1, 'request') is "1 request".
export const count = (n, thing) => `${number(n)} ${thing}${n === 1 ? '' : 's'}`;

export function duration(ms) {
  if (ms == null) return '–';
  if (ms < 1) return '<1 ms';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`;
  return `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
}

// Times, in the zone that the user has chosen in the settings, or else in that of the device

const zoned = document.querySelector('[data-zone]');
const timeZone = zoned && zoned.dataset.zone !== 'UTC' ? zoned.dataset.zone : undefined;
const dayAndTime = new Intl.DateTimeFormat(written, { dateStyle: 'medium', timeStyle: 'short', timeZone });
const dayAndSecond = new Intl.DateTimeFormat(written, { dateStyle: 'medium', timeStyle: 'long', timeZone });
const dayAlone = new Intl.DateTimeFormat(written, { dateStyle: 'medium', timeZone });
const thisYear = new Intl.DateTimeFormat(written, { month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit', timeZone });
const relative = new Intl.RelativeTimeFormat(spoken, { numeric: 'auto' }); // used within sentences, so it is in the language of the page
const week = 7 * 86400 * 1000;

export const day = (text) => (text ? dayAlone.format(new Date(text)) : '–');

export const time = (text) => (text ? dayAndTime.format(new Date(text)) : '–');

// exact formats a time to the second, with its zone.
export const exact = (text) => (text ? dayAndSecond.format(new Date(text)) : '–');

// zone returns the time zone of the times that are shown and entered.
export const zone = () => dayAndTime.resolvedOptions().timeZone;

// when formats a time without the year if it is the current one.
export function when(text) {
  const at = new Date(text);
  return (at.getFullYear() === new Date().getFullYear() ? thisYear : dayAndTime).format(at);
}

// ago says how long ago a time was, or how far it is in the future.
export function ago(text, now = Date.now()) {
  if (!text) return say('never');
  const seconds = Math.round((new Date(text) - now) / 1000);
  for (const [unit, size] of [['day', 86400], ['hour', 3600], ['minute', 60]]) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return Math.abs(seconds) < 10 ? say('just now') : relative.format(seconds, 'second');
}

// near formats a time relative to now if it is within a week, and as a day otherwise.
const near = (at) => (Math.abs(Date.now() - at) < week ? ago(at) : day(at));

// adapt formats the times and numbers of a page made by the server in the user's locale.
function adapt(root) {
  for (const element of root.querySelectorAll('time[datetime]:not([data-as-is])')) {
    const at = new Date(element.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    element.textContent = near(at);
    element.title = exact(at);
  }
  if (zoned) zoned.firstChild.data = zoned.firstChild.data.replace(zoned.dataset.zone, zone());
  for (const element of root.querySelectorAll('data[value]')) element.textContent = number(Number(element.value));
}

// Messages

// announce makes screen readers read a text aloud.
export function announce(text) {
  const place = document.getElementById('announcer') ?? document.body.appendChild(create('div', { id: 'announcer', class: 'hidden', role: 'status' }));
  place.textContent = '';
  setTimeout(() => { place.textContent = text; }, 50);
}

// toast shows a message over the page until it is closed, or for ten seconds in which the pointer is not over it.
export function toast(text) {
  const place = document.querySelector('.toasts') ?? document.body.appendChild(create('div', { class: 'toasts', role: 'region', 'aria-label': say('Messages') }));
  const close = create('button', { type: 'button' }, say('Close'));
  const box = create('p', { class: 'notice toast' }, create('span', {}, text), close);
  let timer = 0;
  const wait = () => { timer = setTimeout(() => box.remove(), 10000); };
  const stay = () => clearTimeout(timer);
  close.addEventListener('click', () => box.remove());
  for (const [begin, end] of [['pointerenter', 'pointerleave'], ['focusin', 'focusout']]) {
    box.addEventListener(begin, stay);
    box.addEventListener(end, wait);
  }
  place.append(box);
  announce(text);
  wait();
}

// Copying

// copyButton returns a button that copies a text, or the result of a function, and confirms it.
export function copyButton(text, label = say('Copy')) {
  const button = create('button', { type: 'button', class: 'quiet' }, label);
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(typeof text === 'function' ? text() : text);
      button.textContent = say('Copied');
      announce(say('Copied'));
    } catch {
      button.textContent = say('Select it and copy by hand');
    }
    setTimeout(() => { button.textContent = label; }, 2000);
  });
  return button;
}

// offerCopies adds a copy button to keys, commands and ids.
function offerCopies(root) {
  if (!navigator.clipboard) return; // browsers offer it on secure connections only
  for (const element of root.querySelectorAll('.secret, [data-copy]')) {
    const line = create('div', { class: 'copied' });
    const text = element.dataset.copy || element.textContent.trim();
    element.before(line);
    line.append(element, copyButton(text));
  }
}

// Keys

const writes = (element) => element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName);
const keys = [['/', 'Search, or filter the list'], ['?', 'Show these keys'], ['Tab', 'Go to the next control'], ['Esc', 'Close what is open']];

function help() {
  const close = create('button', { type: 'button' }, say('Close'));
  const list = create('dl', { class: 'keys' }, ...keys.flatMap(([key, text]) => [create('dt', {}, create('kbd', {}, key)), create('dd', {}, say(text))]));
  const box = create('dialog', { 'aria-labelledby': 'keys' }, create('h2', { id: 'keys' }, say('Keyboard')), list, create('div', { class: 'do' }, close));
  close.addEventListener('click', () => box.close());
  box.addEventListener('close', () => box.remove());
  document.body.append(box);
  box.showModal();
}

addEventListener('keydown', (event) => {
  const open = document.querySelector('.services[open]');
  if (event.key === 'Escape' && open) {
    open.open = false;
    open.querySelector('summary').focus();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || writes(event.target) || document.querySelector('dialog[open]')) return;
  if (event.key === '?') help();
  if (event.key !== '/') return;
  const field = [...document.querySelectorAll('[role=search] input, input[type=search], .filter input')].find((one) => one.checkVisibility());
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
});

addEventListener('click', (event) => {
  const skip = event.target.closest?.('.skip');
  if (skip) { // consoles use the fragment for their pages, so the link must not change it
    event.preventDefault();
    document.querySelector('main').focus();
  }
  for (const menu of document.querySelectorAll('.services[open]')) if (!menu.contains(event.target)) menu.open = false;
});

function create(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// This adapts the page that the server has made. Consoles format what they add with the functions above.
adapt(document);
offerCopies(document);
for (const notice of document.querySelectorAll('main > .notice[role=status]:first-child')) {
  notice.remove();
  toast(notice.textContent);
}
