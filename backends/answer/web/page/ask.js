// Questions and their answers, each beside the passages on which it is based.
import { ask, evidence, reason } from './api.js';
import { link, marked, shown } from './markdown.js';
import { announce, code, h, load, notice } from './parts/dom.js';
import { field, form, mistake } from './parts/form.js';

// stages maps the stages of the API to texts.
const stages = {
  question: 'Reading the question', plan: 'Parts of the question', search: 'Looking for passages', draft: 'Writing', check: 'Checking figures and references', assemble: 'Combining the results',
};

// asking returns the part with the questions. It calls count when an answer may have been charged, and lost when the key is
// not valid any more.
export function asking({ count, lost }) {
  const query = h('textarea', { maxlength: 2000, required: true, rows: 3 });
  const force = h('input', { type: 'checkbox', id: 'force' });
  const answers = h('div');
  const following = h('div.following');
  const button = h('button', { type: 'submit' }, 'Ask');
  let running = null;
  let previous = null; // the result that the next question follows, or null

  // follow makes the next question follow a result, or none if it is null.
  const follow = (result) => {
    previous = result;
    following.replaceChildren(...(result ? [
      h('p.small', null, 'Follows “', result.query, '”: its company and period are kept unless you name others.'),
      h('button.quiet', { type: 'button', onclick: () => { follow(null); query.focus(); } }, 'Ask something else'),
    ] : []));
  };

  const one = async (text) => {
    const done = h('ul.stages', { 'aria-label': 'Progress' });
    const card = h('section.panel.answer', { 'aria-label': text }, h('div.head', null, h('h2', null, text)), done);
    answers.prepend(card);
    const seen = new Set();
    running = new AbortController();
    try {
      const told = await ask({ query: text, force: force.checked, previous: previous?.id }, running.signal, (stage) => {
        const word = stages[stage] ?? stage;
        if (!seen.has(word)) done.append(h('li', null, word));
        seen.add(word);
      });
      card.replaceChildren(card.firstChild, ...answer(told, (result) => { follow(result); query.focus(); }));
      announce(told.success ? 'The answer is ready' : 'There is no answer');
      query.value = '';
      follow(null);
    } catch (error) {
      if (error.name === 'AbortError') return;
      card.remove();
      if (error.status === 401) {
        lost();
        return;
      }
      throw error;
    } finally {
      await count();
    }
  };

  return {
    main: h('main.wrap.flow', { id: 'main', tabindex: '-1' },
      h('h1', null, 'Ask your documents'),
      h('section.panel.ask', { 'aria-label': 'Question' }, following, form(
        [field('Question', query, { name: 'query', wide: true, hint: 'As you would ask a colleague: a company, a figure, a year.' })],
        [h('label.small', { for: 'force' }, force, ' Also answer questions that are not about investments'), button],
        async () => {
          const text = query.value.trim();
          if (!text) throw mistake('query', 'Write a question first.');
          await one(text);
        },
      )),
      answers),
    focus: () => query.focus(),
    stop: () => running?.abort(),
  };
}

// answer returns the section with the result of a question.
function answer({ success, error, result }, follow) {
  if (!success) return [notice('warn', h('p', null, reason(error)), h('p.small', null, code(error)))];
  const passages = h('div.passages', { role: 'region', 'aria-label': 'Passages' });
  let stands = null;
  load(passages, async () => {
    stands = await evidence(result.id);
    return beside(stands);
  }).then(() => passages.querySelectorAll('.text').forEach(uncover));
  return [
    h('div.beside', null,
      h('div.flow', null,
        h('div.said', null, shown(result.answer)),
        references(result.references),
        ...(result.subqueries ?? []).map((part) => h('div.subquery', null, h('h3', null, part.query), h('div.said', null, shown(part.answer)), references(part.references)))),
      passages),
    h('div.do', null,
      h('button.quiet', { type: 'button', onclick: () => follow(result) }, 'Follow up'),
      h('button.quiet', { type: 'button', onclick: () => save(result, stands) }, 'Export'),
      h('p.small.muted.push', null, 'Answer ', code(result.id))),
  ];
}

function references(list) {
  if (!list?.length) return null;
  return h('ol.references', { 'aria-label': 'References' }, list.map((r) => h('li', null, link(r.title, r.url) ?? r.title)));
}

// beside returns the passages. The parts that the answer repeats are marked.
function beside({ passages, gone }) {
  if (!passages.length) return [h('p.small.muted', null, gone ? 'The passages are no longer in the corpus.' : 'This answer is not based on passages of the corpus.')];
  return passages.map((p) => {
    const text = h('div.text', { tabindex: '0', role: 'region', 'aria-label': `Text of ${p.title}` }, shown(marked(p.parts)));
    return h('article.passage', null,
      h('h3', null, link(p.title, p.page && /^https?:/.test(p.url) && !p.url.includes('#') ? `${p.url}#page=${p.page}` : p.url) ?? p.title),
      h('p.small.muted', null, [p.page && `Page ${p.page}`, p.section].filter(Boolean).join(' · ')),
      text);
  });
}

// uncover scrolls the text of a passage, and a table in it, to its first mark.
function uncover(text) {
  const first = text.querySelector('mark');
  if (!first) return;
  for (const box of [first.closest('.scroll'), text].filter(Boolean)) {
    const [inner, outer] = [first.getBoundingClientRect(), box.getBoundingClientRect()];
    box.scrollTop += inner.top - outer.top - outer.height / 2;
    box.scrollLeft += Math.max(0, inner.right - outer.right + 16);
  }
}

// save downloads an answer as a Markdown file.
function save(result, stands) {
  const lines = [`# ${result.query}`, result.answer, ...(result.subqueries ?? []).flatMap((part) => [`## ${part.query}`, part.answer])];
  if (result.references.length) lines.push('## References', result.references.map((r, i) => `${i + 1}. [${r.title}](${r.url})`).join('\n'));
  for (const p of stands?.passages ?? []) {
    lines.push(`## ${p.title}${p.page ? `, page ${p.page}` : ''}`, p.parts.map((part) => part.text).join(''));
  }
  download(`${result.id}.md`, 'text/markdown', `${lines.join('\n\n')}\n`);
}

// download gives the browser a text as a file.
export function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const anchor = document.createElement('a');
  anchor.download = name;
  anchor.href = address;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}
