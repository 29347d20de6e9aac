// What every page does better with script: times and numbers as the reader writes them, copying, messages that
// go away, keys of the keyboard. Pages load it as it is; the modules of consoles import from it.

// Language. English pages write times and numbers as the browser is set, others as their language does, with
// the texts that the page brings along.

const spoken = document.documentElement.lang || 'en';
const written = spoken === 'en' ? undefined : spoken;
const texts = JSON.parse(document.body?.dataset.texts ?? '{}');
const say = (english) => texts[english] ?? english;

// Numbers

const whole = new Intl.NumberFormat(written);
const compact = new Intl.NumberFormat(written, { notation: 'compact', maximumFractionDigits: 1 });

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

// Times, in the zone that the reader has chosen on a page of settings, or else in that of the device

const zoned = document.querySelector('[data-zone]');
const timeZone = zoned && zoned.dataset.zone !== 'UTC' ? zoned.dataset.zone : undefined;
const dayAndTime = new Intl.DateTimeFormat(written, { dateStyle: 'medium', timeStyle: 'short', timeZone });
const dayAndSecond = new Intl.DateTimeFormat(written, { dateStyle: 'medium', timeStyle: 'long', timeZone });
const dayAlone = new Intl.DateTimeFormat(written, { dateStyle: 'medium', timeZone });
const thisYear = new Intl.DateTimeFormat(written, { month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit', timeZone });
const relative = new Intl.RelativeTimeFormat(spoken, { numeric: 'auto' }); // within sentences of the page
const week = 7 * 86400 * 1000;

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
  if (!text) return say('never');
  const seconds = Math.round((new Date(text) - now) / 1000);
  for (const [unit, size] of [['day', 86400], ['hour', 3600], ['minute', 60]]) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return Math.abs(seconds) < 10 ? say('just now') : relative.format(seconds, 'second');
}

// near is how a time is written on pages: how long ago within a week, else the day.
const near = (at) => (Math.abs(Date.now() - at) < week ? ago(at) : day(at));

// adapt writes the times and numbers of a server-made page as the reader does.
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

// announce tells users of screen readers what others see.
export function announce(text) {
  const place = document.getElementById('announcer') ?? document.body.appendChild(create('div', { id: 'announcer', class: 'hidden', role: 'status' }));
  place.textContent = '';
  setTimeout(() => { place.textContent = text; }, 50);
}

// toast shows a message over the page: until it is closed, or for ten seconds in which nobody points at it.
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

// copyButton copies a text, or what a function returns, and says so.
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

// offerCopies puts a button beside keys, commands and ids.
function offerCopies(root) {
  if (!navigator.clipboard) return; // only where the connection is safe
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
  if (skip) { // consoles have the page in the address behind #
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

// The page that the server has made; what consoles make later they make with the functions above.
adapt(document);
offerCopies(document);
for (const notice of document.querySelectorAll('main > .notice[role=status]:first-child')) {
  notice.remove();
  toast(notice.textContent);
}
