import { call, own } from '../api.js';
import { confirm, dialog } from '../parts/dialog.js';
import { choice } from '../inputs.js';
import { announce, busy, code, errorBox, h, load, tag, toast } from '../parts/dom.js';
import { field, form, mistake, select } from '../parts/form.js';
import { short } from '../parts/look.js';
import { draggable, priorities } from './order.js';

export const title = 'Models';
export const about = 'In the order in which they are tried, best tier first. Drag a model, or use its arrows.';

const tiers = [['high', 'High'], ['medium', 'Medium'], ['low', 'Low'], [null, 'Only by name']];

export function show({ body, actions, signal }) {
  const list = h('div.flow');
  const errors = h('div');
  const all = choice('Show models of providers without a key', { onchange: () => draw() });
  let models = [];
  let preferred = [];
  let excluded = { providers: [], models: [] };
  let facts = new Map(); // the models of the catalog by name
  let focus = null; // the button that gets the focus after the next drawing: [model, action, tier]

  const fetchAll = async () => {
    const [table, preferences, registry] = await Promise.all([
      own('GET', 'models', { signal }),
      own('GET', 'preferences', { signal }),
      facts.size ? null : call('GET', 'models', { signal, guest: true }),
    ]);
    models = table.models;
    preferred = preferences.preferred_providers;
    excluded = { providers: preferences.excluded_providers, models: preferences.excluded_models };
    if (registry) facts = new Map(registry.models.map((m) => [m.id, m]));
  };
  const refresh = () => load(list, async () => {
    await fetchAll();
    return sections();
  });
  const draw = () => list.replaceChildren(...sections());

  // change runs a change, loads the models again, and announces it with the text that done returns.
  const change = async (work, done) => {
    errors.replaceChildren();
    try {
      await work();
      await fetchAll();
      draw();
      announce(done());
    } catch (error) {
      if (error.name === 'AbortError' || error.signedOut) return;
      errors.replaceChildren(errorBox(error));
      await refresh();
    }
  };

  const visible = (m) => all.input.checked || m.provider_connected;
  const sections = () => {
    const made = tiers.map(([tier, name]) => [name, models.filter((m) => (m.tier ?? null) === tier && visible(m)), tier]).filter(([, entries]) => entries.length).map(section);
    if (!made.length) made.push(h('p.empty', null, 'No provider is connected. ', h('a', { href: '#/provider-keys' }, 'Add a provider key'), ', or a model of your own.'));
    const wanted = focus;
    focus = null;
    if (wanted) {
      queueMicrotask(() => {
        const row = [...list.querySelectorAll('li.model')].find((r) => r.dataset.entry === wanted[0] && r.dataset.tier === wanted[2]);
        const button = row?.querySelector(`[data-action=${wanted[1]}]`);
        (button?.getAttribute('aria-disabled') === 'true' ? row.querySelector('button[data-action]:not([aria-disabled=true])') : button)?.focus();
      });
    }
    return made;
  };

  // rank returns the same number for models whose order is decided by their priorities.
  const rank = (m) => { const at = preferred.indexOf(m.provider); return at < 0 ? preferred.length : at; };

  const section = ([name, entries, tier]) => {
    const rows = h('ol.models', null, entries.map((m, i) => row(m, i, entries, name, tier)));
    draggable(rows, (a, b) => rank(entry(a)) === rank(entry(b)), (from, to) => move(entries, from, to, name));
    return h('section.panel', { 'aria-label': `Tier ${name}` }, h('div.head', null, h('h2', null, name),
      h('span.muted.small', null, tier ? `${entries.length} ${entries.length === 1 ? 'model' : 'models'}, tried from the top` : 'Used when a request names them')), rows);
  };
  const entry = (element) => models.find((m) => m.model_entry === element.dataset.entry);

  const row = (m, i, entries, name, tier) => {
    const fact = facts.get(m.model_entry);
    const off = excluded.providers.includes(m.provider) || excluded.models.includes(m.model_entry);
    const arrow = (action, text, to, sign) => {
      const possible = to >= 0 && to < entries.length && rank(entries[to]) === rank(m);
      return h('button.plain.arrow', {
        type: 'button', 'data-action': action, 'aria-label': `Move ${m.model_entry} ${text}`, 'aria-disabled': possible ? null : 'true',
        title: possible ? null : to >= 0 && to < entries.length ? 'Preferred providers come first: see Preferences' : null,
        onclick() {
          if (!possible) return;
          focus = [m.model_entry, action, String(tier)];
          move(entries, i, to, name);
        },
      }, h('span', { 'aria-hidden': 'true' }, sign));
    };
    const toggle = h('input.switch', { type: 'checkbox', role: 'switch', checked: m.enabled, 'aria-label': `Use ${m.model_entry}`, 'data-action': 'toggle' });
    toggle.addEventListener('change', () => {
      focus = [m.model_entry, 'toggle', String(tier)];
      change(() => put(m, { enabled: toggle.checked }), () => `${m.model_entry} is ${toggle.checked ? 'enabled' : 'disabled'}`);
    });
    const changed = m.id !== m.model_entry;
    return h(m.enabled && !off ? 'li.model' : 'li.model.off', { 'data-entry': m.model_entry, 'data-tier': String(tier) },
      h('span.handle', { 'aria-hidden': 'true', title: 'Drag to reorder' }, '⠿'),
      h('div.modelname', null, h('strong', null, m.model_entry), h('div.muted.small', null, description(m, fact))),
      h('div.tags', null,
        m.is_custom && tag('plain', 'your own'),
        preferred.includes(m.provider) && tag('good', 'preferred'),
        off && tag('warn', 'excluded', 'By your preferences'),
        !m.provider_connected && tag('plain', 'no key')),
      h('div.row-actions', null, arrow('up', 'up', i - 1, '↑'), arrow('down', 'down', i + 1, '↓'), toggle,
        changed && h('button.plain', {
          type: 'button', 'aria-label': m.is_custom ? `Remove ${m.model_entry}` : `Reset ${m.model_entry}`, title: m.is_custom ? null : 'Restores the settings of the catalog',
          onclick: () => (m.is_custom
            ? confirm(`Remove ${m.model_entry}?`, 'No more requests go to this server. Its address and key are deleted.', 'Remove', async () => { await drop(m); toast('The model is removed'); await refresh(); })
            : change(() => drop(m), () => `${m.model_entry} has the settings of the catalog again`)),
        }, m.is_custom ? 'Remove' : 'Reset')));
  };

  const move = (entries, from, to, name) => {
    const moved = entries[from];
    return change(async () => {
      for (const [m, priority] of priorities(entries, from, to)) await put(m, { priority });
    }, () => `${moved.model_entry} is number ${to + 1} of ${entries.length} in the tier ${name}`);
  };
  const put = (m, what) => own('PUT', `models/${path(m)}`, { body: what });
  const drop = (m) => own('DELETE', `models/${path(m)}`);

  const add = () => dialog('Add a model of your own', (close) => {
    const input = (attributes) => h('input', { autocomplete: 'off', spellcheck: 'false', ...attributes });
    const name = input({ placeholder: 'local/qwen3', autofocus: true });
    const address = input({ type: 'url', placeholder: 'http://127.0.0.1:8000/v1' });
    const model = input({ placeholder: 'qwen3' });
    const tier = select(tiers.slice(0, 3), 'medium');
    const wire = select([['chat', 'Chat completions'], ['responses', 'Responses'], ['messages', 'Messages']], 'chat');
    const key = input({ type: 'password' });
    return form([
      field('Name', name, { name: 'model_entry', hint: 'The name that clients send: two words separated by a slash.' }),
      field('Tier', tier, { name: 'tier' }),
      field('Base URL', address, { name: 'base_url', wide: true, hint: 'The part of the URL before /chat/completions, /responses or /messages.' }),
      field('Format', wire, { name: 'wire', hint: 'The API of the server.' }),
      field('Model on that server', model, { name: 'model' }),
      field('API key', key, { name: 'api_key', hint: 'If the server needs one.' }),
    ], [
      h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
      h('button', { type: 'submit' }, 'Add model'),
    ], async () => {
      for (const [member, field, what] of [['model_entry', name, 'a name'], ['base_url', address, 'the address of the server'], ['model', model, 'the name of the model']]) {
        if (!field.value.trim()) throw mistake(member, `Enter ${what}.`);
      }
      await own('POST', 'models', { body: { model_entry: name.value.trim(), base_url: address.value.trim(), model: model.value.trim(), tier: tier.value, wire: wire.value, ...(key.value && { api_key: key.value }) } });
      close();
      toast('The model is added');
      await refresh();
    });
  });

  const again = h('button.quiet', { type: 'button' }, 'Refresh');
  again.addEventListener('click', () => busy(again, refresh));
  actions.append(again, h('button', { type: 'button', onclick: add }, 'Add a model'));
  body.append(errors, list, all);
  return refresh();
}

// path returns the id of a model as a URL path. Its slashes stay slashes.
const path = (m) => m.id.split('/').map(encodeURIComponent).join('/');

function description(m, fact) {
  if (m.is_custom) return [code(m.base_url), ` as ${m.model}`];
  if (!fact) return m.provider;
  return [
    fact.name,
    fact.context_window && `${short(fact.context_window)} tokens`,
    fact.price && `$${fact.price.input_usd_per_million_tokens} in, $${fact.price.output_usd_per_million_tokens} out per million`,
  ].filter(Boolean).join(' · ');
}
