// Functions that create elements. Texts become text nodes, never markup.

export { announce, copyButton, toast } from './look.js';

const svgNamespace = 'http://www.w3.org/2000/svg';

// h creates an element: h('a.plain', {href, onclick}, ...children). Children are nodes,
// texts and lists of these; null and false are ignored.
export function h(kind, attributes, ...children) {
  return make(document.createElement.bind(document), kind, attributes, children);
}

// s creates an SVG element.
export function s(kind, attributes, ...children) {
  return make((name) => document.createElementNS(svgNamespace, name), kind, attributes, children);
}

function make(create, kind, attributes, children) {
  const [name, ...classes] = kind.split('.');
  const element = create(name);
  if (classes.length) element.setAttribute('class', classes.join(' '));
  for (const [key, value] of Object.entries(attributes ?? {})) set(element, key, value);
  element.append(...children.flat(Infinity).filter((c) => c != null && c !== false).map((c) => (c instanceof Node ? c : String(c))));
  return element;
}

function set(element, key, value) {
  if (value == null || value === false) return;
  if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
  else if (key === 'value' || key === 'checked') element[key] = value;
  else if (key === 'href' && !/^(https?:|#|\.{0,2}\/|[a-z]+$)/.test(value)) return; // no javascript: and other schemes
  else element.setAttribute(key, value === true ? '' : value);
}

// bar replaces the page's part of the top bar.
export function bar(...content) {
  document.getElementById('bar').replaceChildren(...content.filter(Boolean));
}

const name = document.title;

// entitle sets the title of the window.
export function entitle(text) {
  document.title = `${text} – ${name}`;
}

let count = 0;

// uid returns an id that no other element has.
export function uid(prefix = 'x') {
  return `${prefix}-${++count}`;
}

// tag returns a label that shows a state. tone is good, warn, bad or plain.
export function tag(tone, text, title) {
  return h(`span.tag.${tone}`, { title }, text);
}

// code returns a text in the font of code.
export function code(text) {
  return h('code', null, text);
}

// table returns a table of rows, or the text empty if there are none. Columns are
// {title, cell, number, class, head, sorted}: cell(row) returns the content of a cell,
// and number aligns it to the right. A column without a title holds actions. A sortable
// column has a button as its head, and sorted is its aria-sort.
export function table(caption, columns, rows, empty = 'There is nothing to show yet.') {
  if (!rows.length) return h('p.empty', null, empty);
  return tableOf(caption, columns, rows.map((row) => tableRow(columns, row)));
}

// tableOf returns a table of rows made by tableRow. On narrow screens the style sheet
// turns each row into a block, which would remove the roles if they were not explicit.
export function tableOf(caption, columns, rows) {
  return h('table.stack', { role: 'table' },
    h('caption.hidden', null, caption),
    h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, columns.map((c) => h('th', { scope: 'col', role: 'columnheader', class: kind(c), 'aria-sort': c.sorted }, c.head ?? (c.title || h('span.hidden', null, 'Actions')))))),
    h('tbody', { role: 'rowgroup' }, rows));
}

export function tableRow(columns, row) {
  return h('tr', { role: 'row' }, columns.map((c) => h('td', { role: 'cell', 'data-label': c.title, class: kind(c) }, h('div', null, c.cell(row)))));
}

const kind = (column) => [column.number && 'number', column.class].filter(Boolean).join(' ') || null;

// scroller wraps a wide table in an element that can be scrolled, also with the keyboard.
export function scroller(label, content) {
  content.classList.remove('stack');
  return h('div.scroll', { role: 'region', tabindex: '0', 'aria-label': label }, content);
}

// errorBox returns a notice of an error: its title, and its advice or message. If again
// is given, the notice has a button that calls it.
export function errorBox(error, again) {
  return h('div.notice.bad', { role: 'alert' },
    h('p', null, h('strong', null, error.title ?? 'That did not work.'), ` ${error.advice || error.message}`),
    error.advice && h('pre.code', null, error.message),
    error.requestID && h('p.small', null, 'Request ', code(error.requestID)),
    again && h('p', null, h('button.quiet', { type: 'button', onclick: again }, 'Try again')));
}

// notice returns a highlighted remark. tone is that of tag.
export function notice(tone, ...content) {
  return h(`div.notice.${tone}`, null, content);
}

const newest = new WeakMap(); // the show function of the last call of load, by place

// load replaces the content of place by the result of show, or by an error with a button
// that tries again. If load is called again for a place before it is done, only the last
// call has an effect. load reports whether it has replaced the content.
export async function load(place, show) {
  newest.set(place, show);
  const old = () => newest.get(place) !== show;
  place.setAttribute('aria-busy', 'true');
  if (!place.childNodes.length) place.append(h('p.loading', null, 'Loading …'));
  try {
    const content = await show();
    if (old()) return false;
    if (content) place.replaceChildren(...[content].flat(Infinity).filter(Boolean));
    return true;
  } catch (error) {
    if (old() || error.name === 'AbortError' || error.signedOut) return false;
    place.replaceChildren(errorBox(error, () => load(place, show)));
    return false;
  } finally {
    if (!old()) place.removeAttribute('aria-busy');
  }
}

// busy disables a button while work runs.
export async function busy(button, work) {
  if (button.getAttribute('aria-disabled') === 'true') return;
  button.setAttribute('aria-disabled', 'true');
  button.classList.add('working');
  try {
    await work();
  } finally {
    button.removeAttribute('aria-disabled');
    button.classList.remove('working');
  }
}

// act returns a button that runs work when it is pressed. While work runs, the
// button is disabled. An error is shown at the end of the section with the button; the
// next press removes it.
export function act(kind, label, work) {
  const button = h(kind, { type: 'button' }, label);
  let box = null;
  button.addEventListener('click', () => busy(button, async () => {
    box?.remove();
    try {
      await work();
    } catch (error) {
      if (error.name === 'AbortError' || error.signedOut) return;
      box = errorBox(error);
      (button.closest('.panel, .card, .page') ?? document.querySelector('main')).append(box);
      box.scrollIntoView({ block: 'nearest' });
    }
  }));
  return button;
}
