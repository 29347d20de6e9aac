// Pages that update themselves.
import { h } from './parts/dom.js';

const period = 60000;

let tasks = [];
let paused = false;
let last = 0;
let control = null;

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

// forget ends the updates of the current page. It is called when the user leaves the page.
export function forget() {
  tasks = [];
  control = null;
}

// refreshed calls draw now and once a minute, but not while the user is working with the
// content of place.
export function refreshed(place, draw) {
  tasks.push({ place, draw });
  last = Date.now();
  tell();
  return draw();
}

// refreshControl returns the time of the last update, and a button that pauses and resumes the updates.
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

// inUse reports whether the user is working with the content of place: it has the focus or
// the selection, or a part of it is open.
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
