// Help for writing a post: a toolbar, a live preview, drafts that save themselves, images by paste and drop, names
// after @, emoji after :, and quotations. The form works without this script. It only changes the form, and sends only
// requests that the form or a link of the page can also send.

const area = document.getElementById('message');
const form = area.form;
const tools = document.getElementById('composer');
const status = tools.querySelector('[role=status]');
const words = status.dataset;
const say = (text) => { status.textContent = text; };
area.before(tools);
tools.hidden = false;

// put replaces a part of the text in such a way that the browser can undo it.
function put(text, from = area.selectionStart, to = area.selectionEnd) {
  area.focus();
  area.setSelectionRange(from, to);
  if (document.execCommand('insertText', false, text)) return;
  area.setRangeText(text, from, to, 'end');
  area.dispatchEvent(new Event('input', { bubbles: true }));
}

// Toolbar

// wrap puts marks around the selection, which stays selected.
function wrap(before, after = before) {
  const from = area.selectionStart;
  const chosen = area.value.slice(from, area.selectionEnd);
  put(before + chosen + after);
  area.setSelectionRange(from + before.length, from + before.length + chosen.length);
}

// begin puts a mark at the beginning of each selected line.
function begin(mark) {
  const from = area.value.slice(0, area.selectionStart).lastIndexOf('\n') + 1;
  const to = area.selectionEnd;
  put(area.value.slice(from, to).split('\n').map((line) => mark + line).join('\n'), from, to);
}

// address turns the selection into a link or an image.
const address = (mark) => wrap(`${mark}[`, '](https://)');

const files = form.querySelector('input[type=file]');
let adding = false; // whether the next chosen files are also inserted into the text

const actions = {
  bold: () => wrap('**'),
  italic: () => wrap('*'),
  link: () => address(''),
  quote: () => begin('> '),
  code: () => (area.value.slice(area.selectionStart, area.selectionEnd).includes('\n') ? wrap('```\n', '\n```') : wrap('`')),
  list: () => begin('- '),
  image: () => {
    if (!files) return address('!');
    adding = true;
    return files.click();
  },
};
for (const button of tools.querySelectorAll('button')) button.addEventListener('click', () => actions[button.dataset.tool]());
area.addEventListener('keydown', (event) => {
  const tool = { b: 'bold', i: 'italic', k: 'link' }[event.key.toLowerCase()];
  if (!tool || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  event.preventDefault();
  actions[tool]();
});

// Files, within the limits of the file field, which the server checks again

let chosen = files ? [...files.files] : [];

// take adds files to the file field and inserts them into the text. It reports whether the form accepts files.
function take(list) {
  if (!files || !list.length) return false;
  for (const file of list) {
    if (file.size > Number(files.dataset.largest)) { say(words.large); continue; }
    if (chosen.length >= Number(files.dataset.most)) { say(words.many); break; }
    const given = (file.name || 'image.png').replace(/[^\p{L}\p{N}._-]+/gu, '-');
    let name = given;
    for (let n = 2; chosen.some((one) => one.name === name); n += 1) name = given.replace(/(\.[^.]*)?$/, `-${n}$1`);
    chosen.push(new File([file], name, { type: file.type }));
    put(`${file.type.startsWith('image/') ? '!' : ''}[${name.replace(/\.[^.]*$/, '')}](attachment:${name})\n`);
  }
  const all = new DataTransfer();
  for (const file of chosen) all.items.add(file);
  files.files = all.files;
  return true;
}

files?.addEventListener('change', () => {
  if (adding) take([...files.files]);
  else chosen = [...files.files];
  adding = false;
});
files?.addEventListener('cancel', () => { adding = false; });
area.addEventListener('paste', (event) => {
  if (event.clipboardData.types.includes('text/plain')) return; // some programs add a picture of copied text
  if (take([...event.clipboardData.files])) event.preventDefault();
});
area.addEventListener('dragover', (event) => {
  if (!files || !event.dataTransfer.types.includes('Files')) return;
  event.preventDefault();
  area.classList.add('dropping');
});
area.addEventListener('dragleave', () => area.classList.remove('dropping'));
area.addEventListener('drop', (event) => {
  area.classList.remove('dropping');
  if (take([...event.dataTransfer.files])) event.preventDefault();
});

// send submits the form without its files, as if the given button was pressed.
function send(button, options = {}) {
  const data = new URLSearchParams([...new FormData(form)].filter(([, value]) => typeof value === 'string'));
  data.set(button, '1');
  data.set('script', '1');
  return fetch(form.action, { method: 'POST', body: data, ...options });
}

// page parses the page in a response.
const page = async (answer) => new DOMParser().parseFromString(await answer.text(), 'text/html');

// The preview, which follows the text once it was requested

const previewing = form.querySelector('button[name=preview]');
let preview = document.querySelector('section.preview');
let pending = null; // the request for a preview
let follow = 0;

// show updates the preview. If that fails and the user has requested it, it submits the form without this script, so that
// the server's page shows what is wrong.
async function show(requested) {
  pending?.abort();
  pending = new AbortController();
  try {
    const answer = await send('preview', { signal: pending.signal });
    const found = answer.ok && (await page(answer)).querySelector('section.preview');
    if (!found) {
      if (requested) plainly();
      return;
    }
    if (preview) preview.replaceWith(found);
    else form.before(found);
    preview = found;
    if (requested) say(words.preview);
  } catch (error) {
    if (requested && error.name !== 'AbortError') plainly();
  }
}

// plainly requests the preview without this script.
function plainly() {
  form.append(Object.assign(document.createElement('input'), { type: 'hidden', name: 'preview', value: '1' }));
  form.submit();
}

previewing.addEventListener('click', (event) => {
  event.preventDefault();
  if (form.reportValidity()) show(true);
});
area.addEventListener('input', () => {
  clearTimeout(follow);
  if (preview) follow = setTimeout(show, 1000);
});

// Drafts

const saving = form.querySelector('button[name=draft]');
const state = () => JSON.stringify(['message', 'title', 'recipients', 'prefixId', 'tags'].map((name) => new FormData(form).getAll(name)));
let saved = state();
let waiting = 0;
let left = false; // whether the form is being submitted, so that drafts are no longer saved
let request = null;

async function save(options) {
  clearTimeout(waiting);
  waiting = 0;
  const now = state();
  if (left || now === saved) return;
  request = new AbortController();
  try {
    const answer = await send('draft', { signal: request.signal, ...options });
    if (!answer.ok) throw new Error(answer.statusText);
    saved = now;
    say(words.saved);
  } catch (error) {
    if (error.name !== 'AbortError') say(words.failed);
  }
}

if (saving) {
  saving.addEventListener('click', (event) => {
    event.preventDefault();
    if (state() === saved) say(words.saved);
    else save();
  });
  form.addEventListener('input', () => { waiting ||= setTimeout(save, 4000); });
  form.addEventListener('submit', () => {
    left = true;
    clearTimeout(waiting);
    request?.abort();
  });
  addEventListener('pageshow', () => { left = false; });
  addEventListener('pagehide', () => { if (waiting) save({ keepalive: true }); });
}

// Names after @, and emoji after :

const emoji = {
  angry: '😠', check: '✅', clap: '👏', cool: '😎', cross: '❌', cry: '😢', eyes: '👀', fire: '🔥', heart: '❤️', hug: '🤗', idea: '💡', joy: '😂',
  laugh: '😄', no: '👎', party: '🎉', rocket: '🚀', sad: '🙁', smile: '🙂', star: '⭐', sweat: '😅', thanks: '🙏', think: '🤔', warning: '⚠️', wave: '👋',
  wink: '😉', yes: '👍',
};
const named = /(?:^|\s)(:([a-z]{2,10}))$/;

let list = null; // the list of names or emoji
let start = 0; // the beginning of the text that a choice replaces
let latest = 0; // the number of the latest call of complete
let allowed = true;
const typed = /(?:^|[^\p{L}\p{M}\p{N}_@/.:#=+-])(@(?:"([^"@\n]{2,40})|([\p{L}\p{N}_][\p{L}\p{M}\p{N}_.-]{1,39})))$/u;

function close() {
  list?.remove();
  list = null;
  area.removeAttribute('aria-controls');
  area.removeAttribute('aria-activedescendant');
}

function mark(option) {
  for (const one of list.children) one.setAttribute('aria-selected', String(one === option));
  area.setAttribute('aria-activedescendant', option.id);
}

function choose(option) {
  close();
  put(`${option.dataset.mention} `, start, area.selectionEnd);
}

// offer shows a list of entries that can replace the last letters before the cursor.
function offer(found, letters, label, status) {
  start = area.selectionStart - letters;
  list = Object.assign(document.createElement('ul'), { id: 'names', className: 'names', role: 'listbox', ariaLabel: label });
  for (const [i, one] of found.entries()) {
    const option = Object.assign(document.createElement('li'), { id: `name-${i}`, role: 'option', textContent: one.name });
    option.dataset.mention = one.mention;
    option.addEventListener('pointerdown', (event) => {
      event.preventDefault();
      choose(option);
    });
    list.append(option);
  }
  area.after(list);
  area.setAttribute('aria-controls', 'names');
  mark(list.firstChild);
  say(status);
}

async function complete() {
  const before = area.value.slice(0, area.selectionStart);
  const match = typed.exec(before);
  const sign = named.exec(before);
  const turn = (latest += 1);
  close();
  if (sign) {
    const found = Object.entries(emoji).filter(([name]) => name.startsWith(sign[2])).map(([name, mention]) => ({ name: `${mention} ${name}`, mention }));
    if (found.length) offer(found, sign[1].length, words.emoji, words.pick);
    return;
  }
  if (!match || !allowed) return;
  await new Promise((resolve) => { setTimeout(resolve, 200); });
  if (turn !== latest) return; // more was typed
  const answer = await fetch(`${tools.dataset.names}?${new URLSearchParams({ q: match[2] ?? match[3] })}`, { redirect: 'error' }).catch(() => null);
  if (answer?.status === 403) allowed = false;
  const found = answer?.ok ? await answer.json() : [];
  if (turn !== latest || !found.length) return;
  offer(found, match[1].length, words.names, words.found);
}

area.setAttribute('aria-autocomplete', 'list');
area.addEventListener('input', complete);
area.addEventListener('blur', close);
area.addEventListener('keydown', (event) => {
  if (!list) return;
  const options = [...list.children];
  const at = options.findIndex((one) => one.getAttribute('aria-selected') === 'true');
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) mark(options[(at + step + options.length) % options.length]);
  else if (event.key === 'Enter' || event.key === 'Tab') choose(options[at]);
  else if (event.key === 'Escape') close();
  else return;
  event.preventDefault();
});

// Quotations, inserted into the text on the page of the thread

const quotes = document.getElementById('quotes');

async function quote(url) {
  const answer = await fetch(`${url}&bare=1`, { redirect: 'error' }).catch(() => null);
  const text = answer?.ok && (await page(answer)).getElementById('message')?.value;
  if (text) put((area.value.trim() ? '\n\n' : '') + text, area.value.length, area.value.length);
  else location.href = url;
}

if (quotes) {
  quotes.addEventListener('submit', (event) => {
    const picked = new URLSearchParams(new FormData(quotes));
    if (!picked.size) return;
    event.preventDefault();
    quotes.reset();
    quote(`${quotes.action}?${picked}`);
  });
  for (const link of document.querySelectorAll('a[href*="/reply?quote="]')) {
    link.addEventListener('click', (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      quote(link.href);
    });
  }
}
