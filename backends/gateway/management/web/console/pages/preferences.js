import { call, own } from '../api.js';
import { suggestions } from '../inputs.js';
import { announce, h, load, toast } from '../parts/dom.js';
import { field, form, select } from '../parts/form.js';

export const title = 'Preferences';
export const about = 'Providers and models to try first in every tier, and those never to use.';

export function show({ body, signal }) {
  const place = h('div');
  body.append(place);
  return load(place, async () => {
    const [saved, offer, table] = await Promise.all([
      own('GET', 'preferences', { signal }), call('GET', 'providers', { signal, guest: true }), own('GET', 'models', { signal }),
    ]);
    const names = new Map(offer.providers.map((p) => [p.code, p.name]));
    if (table.models.some((m) => m.provider === 'custom')) names.set('custom', 'Your own models');
    const providers = [...names].map(([code, name]) => ({ code, name }));
    const state = h('p.small.muted', { role: 'status' });
    const touched = () => { state.textContent = 'Not saved yet.'; };
    const preferred = picker({
      items: saved.preferred_providers, ordered: true, label: 'Preferred providers', add: 'Prefer', options: providers, names, touched,
      empty: 'None: the catalog decides.',
    });
    const without = picker({
      items: saved.excluded_providers, label: 'Excluded providers', add: 'Exclude', options: providers, names, touched, empty: 'None.',
    });
    const models = picker({
      items: saved.excluded_models, label: 'Excluded models', add: 'Exclude', suggest: [...new Set(table.models.map((m) => m.model_entry))], names, touched, empty: 'None.',
    });
    return form([
      card('Preferred providers', 'Tried first, in this order.', preferred),
      card('Excluded providers', 'Never tried.', without),
      card('Excluded models', 'Never tried.', models),
    ], [state, h('button', { type: 'submit' }, 'Save')], async () => {
      await own('PUT', 'preferences', { body: { preferred_providers: preferred.items, excluded_providers: without.items, excluded_models: models.items } });
      state.textContent = 'Saved. It applies from the next request.';
      toast('The preferences are saved');
    });
  });
}

const card = (name, text, picker) => h('section.panel', { 'aria-label': name }, h('div.head', null, h('h2', null, name), h('span.muted.small', null, text)), picker.element);

// picker returns a field for a list of names, in which names can be added, removed and, if ordered is set, moved.
function picker({ items, ordered = false, label, add, options, suggest, names, touched, empty }) {
  const list = h(ordered ? 'ol.picked' : 'ul.picked', { 'aria-label': label });
  const input = suggest ? h('input', { spellcheck: 'false', autocomplete: 'off' }) : select([], '');
  const state = { items: items.slice(), element: null };
  const name = (item) => names.get(item) ?? item;
  const change = (then, focus) => {
    then();
    touched();
    draw();
    (list.querySelector(focus) ?? input).focus();
  };
  const put = () => {
    const item = input.value.trim();
    if (!item || state.items.includes(item)) return;
    change(() => state.items.push(item), 'none');
    announce(`${name(item)} is added`);
    input.value = suggest ? '' : input.value;
  };
  const draw = () => {
    list.replaceChildren(...state.items.map((item, i) => {
      const step = (to, sign, text) => h('button.plain.arrow', {
        type: 'button', 'aria-label': `Move ${name(item)} ${text}`, 'data-at': `${to}-${text}`, 'aria-disabled': to < 0 || to >= state.items.length ? 'true' : null,
        onclick() {
          if (to < 0 || to >= state.items.length) return;
          change(() => state.items.splice(to, 0, ...state.items.splice(i, 1)), `li:nth-child(${to + 1}) button[aria-label$=" ${text}"]`);
          announce(`${name(item)} is number ${to + 1}`);
        },
      }, h('span', { 'aria-hidden': 'true' }, sign));
      return h('li', null, h('span.pickedname', null, name(item)),
        h('span.row-actions', null, ordered && [step(i - 1, '↑', 'up'), step(i + 1, '↓', 'down')],
          h('button.plain', { type: 'button', 'aria-label': `Remove ${name(item)} from ${label}`, onclick: () => change(() => state.items.splice(i, 1), 'none') }, 'Remove')));
    }));
    if (!state.items.length) list.append(h('li.muted', null, empty));
    if (options) {
      const left = options.filter((o) => !state.items.includes(o.code));
      input.replaceChildren(...left.map((o) => h('option', { value: o.code }, o.name)));
    }
  };
  if (suggest) {
    input.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter') return;
      event.preventDefault();
      put();
    });
  }
  draw();
  state.element = h('div.picker', null, list, suggest && suggestions(input, suggest),
    h('div.adder', null, field(suggest ? 'Model' : 'Provider', input), h('button.quiet', { type: 'button', onclick: put, 'aria-label': `${add}: add to ${label}` }, add)));
  return state;
}
