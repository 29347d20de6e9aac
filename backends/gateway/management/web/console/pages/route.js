import { own } from '../api.js';
import { countdown, words } from '../format.js';
import { suggestions } from '../inputs.js';
import { announce, tag, h, load, notice } from '../parts/dom.js';
import { field, form, mistake, select } from '../parts/form.js';
import { count } from '../parts/look.js';
import { surfaces } from '../stream.js';

export const title = 'Route';
export const about = 'Which models a request would try, and why others are left out. Nothing is sent to a provider.';

const example = '{\n  "model": "keychain-high",\n  "messages": [{"role": "user", "content": "Hello"}]\n}';

export function show({ body, signal }) {
  const place = h('div');
  const result = h('div.flow', { 'aria-live': 'polite' });
  body.append(place, result);
  return load(place, async () => {
    const [table, keys] = await Promise.all([own('GET', 'models', { signal }), own('GET', 'keychain-keys', { signal })]);
    const model = h('input', { value: 'keychain-high', spellcheck: 'false', autocomplete: 'off' });
    const surface = select([['', 'A model name only'], ...Object.entries(surfaces).map(([id, s]) => [id, `A request of ${s.name}`])], '', { onchange: () => mode() });
    const request = h('textarea.code', { rows: 8, spellcheck: 'false', value: example });
    const key = select([['', 'None: every model is allowed'], ...keys.keys.filter((k) => k.status === 'active').map((k) => [k.id, k.label || k.masked])], '');
    const modelField = field('Model', model, { name: 'model', hint: 'keychain-high, keychain-medium, keychain-low, or provider/model.' });
    const requestField = field('Request', request, { name: 'request', wide: true, hint: 'The JSON body as a client would send it.' });
    const mode = () => {
      modelField.hidden = surface.value !== '';
      requestField.hidden = surface.value === '';
    };
    mode();
    return h('section.panel', { 'aria-label': 'Question' }, suggestions(model, ['keychain-high', 'keychain-medium', 'keychain-low', ...new Set(table.models.map((m) => m.model_entry))]), form([
      field('API', surface, { name: 'surface' }), field('Gateway key', key, { name: 'key_id' }), modelField, requestField,
    ], [h('button', { type: 'submit' }, 'Show the route')], async () => {
      const ask = {};
      if (surface.value) {
        ask.surface = surface.value;
        try {
          ask.request = JSON.parse(request.value);
        } catch (error) {
          throw mistake('request', `This is not JSON: ${error.message}.`);
        }
      } else {
        if (!model.value.trim()) throw mistake('model', 'Enter a model.');
        ask.model = model.value.trim();
      }
      if (key.value) ask.key_id = key.value;
      result.replaceChildren();
      const answer = await own('POST', 'route', { body: ask, signal });
      result.replaceChildren(...draw(answer));
      announce(`${answer.candidates.length} candidates, ${answer.skipped.length} left out`);
    }));
  });
}

const foreign = (m) => m.reason === 'provider_not_connected';

function draw(answer) {
  const strangers = answer.skipped.filter(foreign);
  return [
    answer.error && notice('bad', h('p', null, h('strong', null, `The client would get ${answer.error.status} ${answer.error.code}. `), answer.error.message)),
    h('section.panel', { 'aria-label': 'Candidates' },
      h('div.head', null, h('h2', null, 'Tried in this order'), answer.tier && tag('plain', `tier ${answer.tier}`)),
      answer.candidates.length ? h('ol.plan', null, answer.candidates.map(step)) : h('p.empty', null, 'None.')),
    answer.skipped.length > 0 && h('section.panel', { 'aria-label': 'Left out' },
      h('div.head', null, h('h2', null, 'Left out'), h('span.muted.small', null, String(answer.skipped.length))),
      h('ul.plan', null, answer.skipped.filter((m) => !foreign(m)).map(step)),
      strangers.length > 0 && h('details', null, h('summary', null, `${count(strangers.length, 'model')} of providers that you have no key for`), h('ul.plan', null, strangers.map(step)))),
  ].filter(Boolean);
}

function step(m) {
  return h('li', null, h('div', null, h('strong', null, m.model_entry), m.tier && h('span.muted.small', null, ` ${m.tier}`),
    m.provider_key_id === 'operator' && h('span.muted.small', null, ' through the operator\'s key'),
    m.message && h('div.small.muted', null, m.message)),
    h('div.tags', null, m.reason && tag('warn', words(m.reason)), m.cooldown_seconds > 0 && h('span.small', null, `again in ${countdown(m.cooldown_seconds)}`)));
}
