// Pages that keep themselves up to date.
import { h } from './parts/dom.js';

const period = 60000;

let tasks = [];
let paused = false;
let last = 0;
let control = null;

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

// forget is called when a page is left.
export function forget() {
  tasks = [];
  control = null;
}

// refreshed calls draw now and once a minute, but not while somebody works with
// what it would replace.
export function refreshed(place, draw) {
  tasks.push({ place, draw });
  last = Date.now();
  tell();
  return draw();
}

// refreshControl says when the page was filled, and stops or starts that.
export function refreshControl() {
  const state = h('span.small.muted');
  const button = h('button.plain', { type: 'button', onclick() {
    paused = !paused;
    tell();
    if (!paused) refresh();
  } });
  control = { element: h('div.refresh', { hidden: true }, state, button), state, button };
  return control.element;
}

function tell() {
  if (!control) return;
  control.element.hidden = !tasks.length;
  control.state.textContent = `${paused ? 'Paused at' : 'Updated'} ${clock.format(last)}`;
  control.button.textContent = paused ? 'Keep updating' : 'Pause';
}

// inUse tells whether somebody has gone into what is there: with the keyboard, by
// marking text, or by opening a part.
const inUse = (place) => place.contains(document.activeElement) || (!getSelection().isCollapsed && place.contains(getSelection().anchorNode)) || place.querySelector('details[open]');

async function refresh() {
  if (paused || document.hidden) return;
  const due = tasks.filter(({ place }) => !inUse(place));
  if (!due.length) return;
  last = Date.now();
  await Promise.all(due.map(({ draw }) => draw()));
  tell();
}

setInterval(refresh, period);
document.addEventListener('visibilitychange', () => {
  if (Date.now() - last >= period) refresh();
});
