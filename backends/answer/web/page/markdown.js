// The Markdown of answers as elements: paragraphs, lists, tables, emphasis, code and links.
// Everything else is text. Nothing is read as HTML.
import { source } from './api.js';
import { h, scroller } from './parts/dom.js';

// shown returns the elements of a text.
export function shown(text) {
  const blocks = text.replaceAll('\r\n', '\n').split(/\n{2,}/);
  return blocks.map((block) => block.trim()).filter(Boolean).map((block) => {
    const lines = block.split('\n');
    if (lines.length > 1 && lines.every((l) => l.trim().startsWith('|'))) return tableOf(lines);
    if (lines.every((l) => /^\s*[-*] /.test(l))) return h('ul', null, lines.map((l) => h('li', null, inline(l.replace(/^\s*[-*] /, '')))));
    const heading = /^#{1,6} (.*)$/.exec(block);
    if (heading) return h('h3', null, inline(heading[1]));
    return h('p', null, lines.flatMap((line, i) => [i > 0 && h('br'), ...inline(line)]));
  });
}

function tableOf(lines) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, '').split('|').map((c) => c.trim());
  const [head, ...rows] = lines.filter((line) => !/^[\s|:-]+$/.test(line)).map(cells);
  return scroller('Table', h('table', null, h('caption.hidden', null, 'Table'),
    h('thead', null, h('tr', null, head.map((c) => h('th', { scope: 'col' }, inline(c))))),
    h('tbody', null, rows.map((row) => h('tr', null, row.map((c) => h('td', null, inline(c))))))));
}

// The beginning and the end of a marked text, as characters for private use, which texts do not contain.
const [begin, end] = ['\uE000', '\uE001'];

// marked returns the Markdown of parts, [{text, marked}]. It puts begin and end around each line and each table cell of the
// marked parts.
export function marked(parts) {
  return parts.map(({ text, marked: on }) => {
    const clean = text.replace(/[\uE000\uE001]/g, '');
    return on ? clean.split(/(\n|\|)/).map((piece) => (/^(\n|\||\s*)$/.test(piece) ? piece : begin + piece + end)).join('') : clean;
  }).join('');
}

// words returns the nodes of a text, with a mark element for each marked part.
function words(text) {
  return text.split(/(\uE000[^\uE001]*\uE001)/).filter(Boolean).map((piece) => (piece.startsWith(begin) ? h('mark', null, piece.slice(1, -1)) : piece.replace(/[\uE000\uE001]/g, '')));
}

const pattern = /\[([^\]]+)\]\(([^)\s]+)\)|\*\*([^*]+)\*\*|`([^`]+)`/g;

function inline(text) {
  const out = [];
  let last = 0;
  for (const found of text.matchAll(pattern)) {
    out.push(...words(text.slice(last, found.index)));
    const [whole, label, url, strong, code] = found;
    if (label) out.push(link(label, url) ?? words(whole));
    else if (strong) out.push(h('strong', null, words(strong)));
    else out.push(h('code', null, words(code)));
    last = found.index + whole.length;
  }
  return [...out, ...words(text.slice(last))];
}

// link returns a link to a document, or plain text if the address is not an HTTP URL.
export function link(label, url) {
  if (!/^(https?:\/\/|\/v1\/sources\/)/.test(url)) return null;
  const open = source(url); // set for documents of the service, which need the key
  return h('a', { href: url, rel: 'noreferrer', target: '_blank', onclick: open && ((event) => { event.preventDefault(); open(); }) }, label);
}
