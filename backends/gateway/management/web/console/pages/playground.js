import { base, own, refusal } from '../api.js';
import { languages } from '../code.js';
import { suggestions } from '../inputs.js';
import { announce, code, copyButton, errorBox, h } from '../parts/dom.js';
import { field, form, mistake, select } from '../parts/form.js';
import { duration, number } from '../parts/look.js';
import { clipboard } from '../session.js';
import { events, surfaces } from '../stream.js';
import { attempts } from './requests.js';

export const title = 'Playground';
export const about = 'A request as your programs would send it, with a gateway key.';

export function show({ body, signal }) {
  const surface = select(Object.entries(surfaces).map(([id, s]) => [id, s.name]), 'chat_completions');
  const key = h('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', value: clipboard.gatewayKey });
  const model = h('input', { value: 'keychain-low', spellcheck: 'false', autocomplete: 'off' });
  const limit = h('input', { type: 'number', min: '1', step: '1', inputmode: 'numeric', placeholder: 'none' });
  const system = h('textarea', { rows: 2 });
  const text = h('textarea', { rows: 4, value: 'Say hello in one short sentence.' });
  const names = h('div');
  const send = h('button', { type: 'submit' }, 'Send');
  const stop = h('button.quiet', { type: 'button', hidden: true }, 'Stop');
  const language = select(Object.entries(languages).map(([id, l]) => [id, l.name]), clipboard.language, { onchange: () => { clipboard.language = language.value; describe(); } });
  const sample = h('pre.code', { tabindex: '0', 'aria-label': 'The same request as code' });
  const note = h('p.small.muted');
  const reasoning = h('pre.reasoning', { hidden: true });
  const answer = h('pre.answer', { tabindex: '0', 'aria-label': 'Answer' });
  const facts = h('dl.facts');
  const errors = h('div');
  const result = h('section.panel', { 'aria-label': 'Answer' }, h('div.head', null, h('h2', null, 'Answer')), errors, reasoning, answer, facts);
  result.hidden = true;

  const ask = () => ({ model: model.value.trim(), system: system.value.trim(), text: text.value, limit: Number(limit.value) || 0 });
  const describe = () => {
    const s = surfaces[surface.value];
    const l = languages[language.value];
    sample.textContent = l.write(new URL(base), surface.value, s, s.body(ask()));
    note.textContent = `Set the environment variable TOLLGATE_KEY to your key. ${l.note(surface.value)}`;
  };

  const run = async () => {
    const s = surfaces[surface.value];
    const secret = key.value.trim();
    if (!secret) throw mistake('key', 'Enter a gateway key. It begins with ak-.');
    if (!/^[\x21-\x7e]+$/.test(secret)) throw mistake('key', 'A gateway key has no spaces or special characters.');
    if (!model.value.trim()) throw mistake('model', 'Enter a model.');
    if (!text.value.trim()) throw mistake('text', 'Enter a message.');
    clipboard.gatewayKey = secret;
    const ending = new AbortController();
    const halt = () => ending.abort();
    signal.addEventListener('abort', halt);
    stop.onclick = halt;
    stop.hidden = false;
    result.hidden = false;
    errors.replaceChildren();
    facts.replaceChildren();
    answer.textContent = '';
    reasoning.textContent = '';
    reasoning.hidden = true;
    answer.classList.add('running');
    const start = performance.now();
    const said = { first: null, input: null, output: null, finish: null };
    let headers = new Headers();
    const add = (place, part) => {
      said.first ??= performance.now() - start;
      place.append(part);
    };
    try {
      const response = await fetch(new URL(s.path, base), {
        method: 'POST', signal: ending.signal, credentials: 'omit', cache: 'no-store',
        headers: { ...s.headers(secret), 'Content-Type': 'application/json' }, body: JSON.stringify(s.body(ask())),
      });
      headers = response.headers;
      if (!response.ok) throw await refusal(response);
      for await (const event of events(response)) {
        s.read(event, {
          text: (part) => add(answer, part),
          reasoning: (part) => { reasoning.hidden = false; add(reasoning, part); },
          usage(input, output) { said.input = input ?? said.input; said.output = output ?? said.output; },
          finish(why) { said.finish = why; },
          error(e) { throw Object.assign(new Error(e?.message ?? 'The stream has ended with an error.'), { title: 'The answer was interrupted.', requestID: headers.get('x-request-id') }); },
        });
      }
      announce(`The answer is complete: ${answer.textContent.slice(0, 500)}`);
    } catch (error) {
      if (error.name === 'AbortError') said.finish = 'stopped here';
      else if (error instanceof TypeError) errors.replaceChildren(errorBox(Object.assign(new Error('The gateway cannot be reached.'), { title: 'No answer.' })));
      else errors.replaceChildren(errorBox(error), ...(error.attempts?.length ? [attempts(error.attempts)] : []));
    } finally {
      answer.classList.remove('running');
      stop.hidden = true;
      signal.removeEventListener('abort', halt);
    }
    const fact = (name, value) => value != null && value !== '' && h('div', null, h('dt', null, name), h('dd', null, value));
    facts.replaceChildren(...[
      fact('Provider', headers.get('x-gateway-provider')), fact('Model', headers.get('x-gateway-model')), fact('Tier', headers.get('x-gateway-tier')),
      fact('Attempts', headers.get('x-gateway-attempts')), fact('Tokens in', said.input == null ? null : number(said.input)), fact('Tokens out', said.output == null ? null : number(said.output)),
      fact('First token', said.first == null ? null : duration(said.first)), fact('Total time', duration(performance.now() - start)), fact('Finish reason', said.finish),
      fact('Dropped parameters', headers.get('x-gateway-dropped-params')), fact('Request', headers.get('x-request-id') && code(headers.get('x-request-id'))),
    ].filter(Boolean));
  };

  const inputs = form([
    field('API', surface), field('Model', model, { name: 'model', hint: 'keychain-high, keychain-medium, keychain-low, or provider/model.' }),
    field('Gateway key', key, { name: 'key', hint: 'It stays in the memory of this page.' }), field('Maximum tokens of the answer', limit),
    field('Instructions', system, { wide: true, hint: 'The system prompt. Optional.' }), field('Message', text, { name: 'text', wide: true }),
  ], [stop, send], run);
  inputs.addEventListener('input', describe);
  text.addEventListener('keydown', (event) => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) inputs.requestSubmit(); });
  describe();
  body.append(h('section.panel', { 'aria-label': 'Request' }, names, inputs), result,
    h('section.panel', { 'aria-label': 'Code' }, h('div.head', null, h('h2', null, 'As code'), h('span.push'), copyButton(() => sample.textContent)),
      h('div.flow', null, field('Language', language), sample, note)));
  own('GET', 'models', { signal }).then(({ models }) => {
    names.append(suggestions(model, ['keychain-high', 'keychain-medium', 'keychain-low', ...new Set(models.filter((m) => m.enabled && m.provider_connected).map((m) => m.model_entry))]));
  }, () => {}); // without models there are no suggestions
}
