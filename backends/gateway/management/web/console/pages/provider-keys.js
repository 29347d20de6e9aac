import { call, own } from '../api.js';
import { confirm, dialog } from '../parts/dialog.js';
import { countdown, words } from '../format.js';
import { busy, code, h, load, tag, toast } from '../parts/dom.js';
import { field, form, mistake, select } from '../parts/form.js';
import { ago, count, duration, number, time } from '../parts/look.js';

export const title = 'Provider keys';
export const about = 'Your keys at the providers. They are encrypted and never shown again.';

// The result of the last test of each key, by the key's id. It is kept while the console is open.
const outcomes = new Map();

const tones = { active: 'good', cooling_down: 'warn', untested: 'plain', no_credit: 'bad', invalid_key: 'bad' };

export function show({ body, actions, signal, every }) {
  const list = h('div.flow');
  let providers = [];
  let on = []; // the available providers
  let loadedAt = 0;
  let mine = new Set(); // the ids of the user's own keys

  const refresh = () => load(list, async () => {
    const [health, keys, offer] = await Promise.all([
      own('GET', 'providers/health', { signal }),
      own('GET', 'keys', { signal }),
      on.length ? { providers: on } : call('GET', 'providers', { signal, guest: true }),
    ]);
    on = offer.providers;
    loadedAt = Date.now();
    providers = health.providers;
    mine = new Set(keys.keys.map((k) => k.id));
    const listed = new Set(providers.flatMap((p) => p.keys.map((k) => k.key_id)));
    const lost = keys.keys.filter((k) => !listed.has(k.id)); // their providers are not available any more
    for (const k of lost) providers.push({ provider: k.provider, name: `${k.provider} (not on offer here)`, keys: [{ ...k, key_id: k.id, lost: true }] });
    const custom = new Set(providers.filter((p) => p.provider === 'custom').flatMap((p) => p.keys.map((k) => k.key_id)));
    return providers.length ? providers.map((p) => card(p, custom)) : h('p.empty', null, 'No provider keys. Add one, and its models are used from the next request.');
  });

  const card = (p, custom) => h('section.panel', { 'aria-label': p.name },
    h('div.head', null, h('h2', null, p.name), p.status && (p.keys.length > 1 || p.status !== p.keys[0].status) && state(p),
      p.requests_last_day != null && h('span.muted.small', null, `${count(p.requests_last_minute, 'request')} in the last minute, ${number(p.requests_last_day)} in the last day`)),
    h('ul.rows', null, p.keys.map((k) => row(p, k, custom.has(k.key_id)))));

  const row = (p, k, isModel) => {
    const shared = !isModel && !mine.has(k.key_id);
    const label = k.key_label || k.masked || 'key';
    const outcome = h('p.outcome', { role: 'status' }, told(k));
    const test = h('button.plain', { type: 'button', 'aria-label': `Test ${label} of ${p.name}` }, 'Test');
    test.addEventListener('click', () => busy(test, async () => {
      outcome.replaceChildren('Sending a small request to the provider …');
      try {
        const result = await own('POST', `keys/${encodeURIComponent(k.key_id)}/test`, { signal });
        outcomes.set(k.key_id, { at: Date.now(), ok: result.ok, text: result.ok
          ? `It works: ${result.model} answered in ${duration(result.latency_ms)}.`
          : `It does not work: ${result.error?.message ?? words(result.status)}${result.error?.status ? ` (HTTP ${result.error.status})` : ''}` });
      } catch (error) {
        if (error.name === 'AbortError') return;
        outcomes.set(k.key_id, { at: Date.now(), ok: false, text: error.message });
      }
      await refresh();
    }));
    return h('li.keyrow', null,
      h('div.keyname', null, h('strong', null, isModel ? 'Your own server' : k.key_label || '(no label)'), k.masked && code(k.masked)),
      h('div.keystate', null, k.lost ? tag('plain', 'not used') : [
        ['active', 'untested'].includes(k.status) && tested(k)?.ok === false ? tag('bad', 'test failed') : state(k),
        h('span.muted.small', { title: time(k.last_success_at) }, k.last_success_at ? `worked ${ago(k.last_success_at)}` : 'no successful request yet'),
        k.last_429_at && h('span.muted.small', { title: time(k.last_429_at) }, `limited ${ago(k.last_429_at)}`)]),
      h('div.row-actions', null, !k.lost && !shared && test,
        shared ? h('span.muted.small', null, 'used after your own keys') : isModel ? h('a', { href: '#/models' }, 'Models') : h('button.plain.danger', { type: 'button', 'aria-label': `Remove ${label} of ${p.name}`, onclick: () => remove(p, k, label) }, 'Remove')),
      k.cooling_models?.length > 0 && h('ul.cooling', null, k.cooling_models.map((m) => h('li', null, code(m.model), ' ', state(m)))),
      outcome);
  };

  // tested returns the result of the last test of a key, unless the key was used successfully since.
  const tested = (k) => {
    const last = outcomes.get(k.key_id);
    return last && (last.ok || !(Date.parse(k.last_success_at) > last.at)) ? last : null;
  };
  const told = (k) => {
    const last = tested(k);
    return last && h(last.ok ? 'span.good' : 'span.bad', { title: time(last.at) }, last.ok ? last.text : `${last.text} Tested ${ago(last.at)}.`);
  };

  // state returns a key's state. The countdown of a cooling key starts when the page is loaded.
  const state = (c) => {
    const left = Math.max(0, c.cooldown_seconds - Math.floor((Date.now() - loadedAt) / 1000));
    return [
      tag(tones[c.status] ?? 'plain', words(c.status), c.reason ? words(c.reason) : null),
      c.reason && h('span.small.muted', null, words(c.reason)),
      left > 0 && h('span.countdown.small', { 'data-until': String(loadedAt + c.cooldown_seconds * 1000) }, `again in ${countdown(left)}`),
    ];
  };

  every(1000, () => {
    let over = false;
    for (const element of list.querySelectorAll('[data-until]')) {
      const left = Math.ceil((Number(element.dataset.until) - Date.now()) / 1000);
      element.textContent = left > 0 ? `again in ${countdown(left)}` : 'again now';
      over ||= left <= 0;
    }
    if (over || Date.now() - loadedAt > 30000) {
      loadedAt = Date.now();
      if (!list.contains(document.activeElement)) refresh();
    }
  });

  const remove = (p, k, label) => confirm(`Remove ${label}?`, `No more requests to ${p.name} use this key. The key itself stays valid at the provider.`, 'Remove', async () => {
    await own('DELETE', `keys/${encodeURIComponent(k.key_id)}`);
    toast('The key is removed');
    await refresh();
  });

  const add = () => dialog('Add a provider key', (close) => {
    const link = h('p.hint');
    const provider = select(on.map((p) => [p.code, p.name]), on[0]?.code, { autofocus: true, onchange: () => where() });
    const key = h('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', maxlength: 1000 });
    const label = h('input', { maxlength: 100, autocomplete: 'off' });
    const where = () => {
      const p = on.find((one) => one.code === provider.value);
      link.replaceChildren(...(URL.canParse(p?.key_url) ? ['Create a key at ', outside(p.key_url, new URL(p.key_url).host), '.'] : []));
    };
    where();
    return form([
      field('Provider', provider, { name: 'provider' }), field('Label', label, { name: 'key_label', hint: 'A name by which you recognize it.' }),
      field('API key', key, { name: 'api_key', wide: true }), link,
    ], [
      h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
      h('button', { type: 'submit' }, 'Add key'),
    ], async () => {
      if (!key.value.trim()) throw mistake('api_key', 'Paste the key of the provider.');
      await own('POST', 'keys', { body: { provider: provider.value, api_key: key.value.trim(), key_label: label.value.trim() } });
      close();
      toast('The key is stored');
      await refresh();
    });
  });
  actions.append(h('button.quiet', { type: 'button', onclick: refresh }, 'Refresh'), h('button', { type: 'button', onclick: add }, 'Add key'));
  body.append(list);
  return refresh();
}

// outside returns a link to another site.
function outside(href, text) {
  return h('a', { href, target: '_blank', rel: 'noopener noreferrer' }, text, h('span.hidden', null, ' (opens a new tab)'));
}
