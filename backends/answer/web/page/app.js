// The page: a key, a question, what is being done for it, and the answer.
import { ask, door, quota, reason } from './api.js';
import { link, shown } from './markdown.js';
import { announce, code, errorBox, h, logo, notice } from './parts/dom.js';
import { field, form, mistake } from './parts/form.js';
import { number, time } from './parts/format.js';

const app = document.getElementById('app');

const brand = () => h('span.brand', null, logo(), 'Answers');

// stages are the words for what is done.
const stages = {
  question: 'Reading the question', plan: 'Parts of the question', search: 'Looking for passages', draft: 'Writing', check: 'Checking figures and references', assemble: 'Putting it together',
};

function knock(text) {
  const key = h('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', required: true });
  app.replaceChildren(h('main.door', { id: 'main', tabindex: '-1' },
    brand(), h('h1', null, 'Ask your documents'), text && notice('warn', h('p', { role: 'alert' }, text)),
    form(
      [field('API key', key, { name: 'key', wide: true, hint: 'One made on the server, by tollgate answer key create.' })],
      [h('button.primary', { type: 'submit' }, 'Go on')],
      async () => {
        const value = key.value.trim();
        if (!/^[\x21-\x7e]+$/.test(value)) throw mistake('key', 'Paste the key, whole and nothing else.');
        door.keep(value);
        await quota().catch((error) => {
          if (error.status === 403) return; // it is for questions alone
          door.forget();
          throw error.status === 401 ? mistake('key', 'There is no such key.') : error;
        });
        room();
      },
    ),
    h('p.small.muted', null, 'The key stays in this browser tab and ends with it.')));
  key.focus();
}

function room() {
  const left = h('span.quota');
  const query = h('textarea', { maxlength: 2000, required: true, rows: 3 });
  const force = h('input', { type: 'checkbox', id: 'force' });
  const answers = h('div');
  let running = null;
  const count = async () => {
    try {
      const q = await quota();
      left.textContent = `${number(q.used)} of ${number(q.totalLimit)} answers`;
      left.title = `Until ${time(q.end)}`;
    } catch {
      left.textContent = '';
    }
  };
  const button = h('button.primary', { type: 'submit' }, 'Ask');
  app.replaceChildren(
    h('header', null, brand(), left, h('button.quiet', { type: 'button', onclick: () => { running?.abort(); door.forget(); knock(); } }, 'Forget the key')),
    h('main', { id: 'main', tabindex: '-1' },
      h('h1', null, 'Ask your documents'),
      h('section.card.ask', { 'aria-label': 'Question' }, form(
        [field('Question', query, { name: 'query', wide: true, hint: 'As you would ask a colleague: a company, a figure, a year.' })],
        [h('label.small', { for: 'force' }, force, ' Also what is not about investments'), button],
        async () => {
          const text = query.value.trim();
          if (!text) throw mistake('query', 'Write a question first.');
          await one(text);
        },
      )),
      answers),
  );
  const one = async (text) => {
    const done = h('ul.stages', { 'aria-label': 'What is done' });
    const card = h('section.card', { 'aria-label': text }, h('div.cardhead', null, h('h2', null, text)), done);
    answers.prepend(card);
    const seen = new Set();
    running = new AbortController();
    try {
      const told = await ask(text, force.checked, running.signal, (stage) => {
        const word = stages[stage] ?? stage;
        if (!seen.has(word)) done.append(h('li', null, word));
        seen.add(word);
      });
      card.replaceChildren(card.firstChild, ...answer(told));
      announce(told.success ? 'The answer is there' : 'There is no answer');
      query.value = '';
    } catch (error) {
      if (error.name === 'AbortError') return;
      card.remove();
      if (error.status === 401) {
        door.forget();
        knock('The key is taken no longer.');
        return;
      }
      throw error;
    } finally {
      await count();
    }
  };
  count();
  query.focus();
}

// answer is what became of a question.
function answer({ success, error, result }) {
  if (!success) return [notice('warn', h('p', null, reason(error)), h('p.small', null, code(error)))];
  return [
    h('div.said', null, shown(result.answer)),
    references(result.references),
    ...(result.subqueries ?? []).map((part) => h('div.part', null, h('h3', null, part.query), h('div.said', null, shown(part.answer)), references(part.references))),
    h('p.small.muted', null, 'Answer ', code(result.id)),
  ];
}

function references(list) {
  if (!list?.length) return null;
  return h('ol.references', { 'aria-label': 'References' }, list.map((r) => h('li', null, link(r.title, r.url) ?? r.title)));
}

if (door.key) room();
else knock();
