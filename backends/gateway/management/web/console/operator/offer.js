// The available models with their prices, their health and the users who may use them.
import { call } from '../api.js';
import { usd, words } from '../format.js';
import { suggestions } from '../inputs.js';
import { confirm } from '../parts/dialog.js';
import { act, code, h, load, notice, table, tag, toast } from '../parts/dom.js';
import { field, form, select } from '../parts/form.js';
import { count, number, short } from '../parts/look.js';
import { namesCard } from './names.js';
import { askPrice, written } from './prices.js';
import { tones } from './provider-keys.js';
import { at, link, operates } from './view.js';

export const title = 'Models and prices';
export const about = 'All available models, their prices per million tokens, their health, and who may use them.';

const first = 50; // rows that are shown before the button for all rows is pressed

export function show({ body, actions, signal }) {
  const find = h('input', { type: 'search', name: 'q', autocomplete: 'off', spellcheck: 'false', maxlength: 200 });
  const serving = select([['', 'All'], ['shared', 'With an organisation or team key'], ['own', 'With an own price'], ['refused', 'Restricted']], '');
  const list = h('div');
  const prices = h('div');
  let models = [];
  let own = [];
  let shown = first;

  const refresh = () => Promise.all([
    load(list, async () => {
      [models, own] = (await Promise.all([call('GET', at('models'), { signal }), call('GET', at('prices'), { signal })])).map((answer) => answer.data);
      return draw();
    }).then((read) => read && prices.replaceChildren(ownPrices())),
  ]);
  const wanted = (m) => {
    const text = find.value.trim().toLowerCase();
    if (text && ![m.id, m.name, m.provider_name, ...m.tiers].some((t) => t.toLowerCase().includes(text))) return false;
    const { keys } = m.access;
    switch (serving.value) {
      case 'shared': return keys.operator || keys.organisation + keys.teams > 0;
      case 'own': return m.own_price !== null;
      case 'refused': return !m.access.organisation || m.access.refused_teams.length + m.access.refused_users > 0;
      default: return true;
    }
  };

  const draw = () => {
    const found = models.filter(wanted);
    const more = found.length > shown && h('div.do', null, h('button.quiet', { type: 'button', onclick() {
      shown = found.length;
      list.replaceChildren(...draw());
    } }, `Show all ${number(found.length)}`));
    return [h('div.panel.flush', null, table('Models', columns, found.slice(0, shown), 'No model matches.')), more].filter(Boolean);
  };
  const columns = [
    { title: 'Model', class: 'name', cell: (m) => [h('strong', null, m.id), m.context_window > 0 && h('div.muted.small', null, `${short(m.context_window)} tokens`)] },
    { title: 'Tier', class: 'when', cell: (m) => m.tiers.map(words).join(', ') || 'by name' },
    { title: 'Input', number: true, cell: (m) => usd(m.price?.input) },
    { title: 'Cached', number: true, cell: (m) => usd(m.price && (m.price.cached_input ?? m.price.input)) },
    { title: 'Output', number: true, cell: (m) => [usd(m.price?.output), m.own_price !== null && h('div.small', null, tag('plain', 'own price', m.own_price))] },
    { title: 'Health', cell: (m) => (m.health ? tag(tones[m.health.status] ?? 'plain', words(m.health.status), m.health.reason && words(m.health.reason)) : tag('plain', 'no key', 'No organisation or team key')) },
    { title: 'Available to', cell: audience },
    { title: '', class: 'row-actions', cell: (m) => operates() && act('button.plain', 'Price', async () => askPrice(m.id, own.find((p) => p.name === m.id)?.price ?? m.price ?? {}, changed)) },
  ];
  const changed = async (text) => {
    toast(text);
    await refresh();
  };

  const ownPrices = () => h('section.panel', { 'aria-label': 'Own prices' },
    h('div.head', null, h('h2', null, 'Own prices')),
    h('p.small.muted', null, 'Your prices instead of the list prices. An exact name comes first, then the longest prefix. Prices from the configured file are not listed here.'),
    table('Own prices', [
      { title: 'Model', class: 'name', cell: (p) => code(p.name) },
      { title: 'Price', cell: (p) => written(p.price) },
      { title: 'Models', number: true, cell: (p) => number(models.filter((m) => m.own_price === p.name).length) },
      { title: '', class: 'row-actions', cell: (p) => operates() && [
        act('button.plain', 'Change', async () => askPrice(p.name, p.price, changed)),
        act('button.plain.danger', 'Remove', async () => confirm(`Remove the price of ${p.name}?`, 'The list price applies from the next request. Earlier spending does not change.', 'Remove', async () => {
          await call('DELETE', at('prices', p.name));
          await changed('The price is removed');
        })),
      ] },
    ], own, 'No own prices: the list prices apply.'));

  if (operates()) {
    actions.append(act('button', 'Set a price', async () => askPrice('', {}, changed, (input) => suggestions(input, [...new Set(models.map((m) => `${m.provider}/*`)), ...models.map((m) => m.id)]))));
  }
  const filter = form([field('Find', find, { hint: 'Part of the name, or a tier.' }), field('Kind', serving)], [h('button', { type: 'submit' }, 'Show')], async () => {
    shown = first;
    list.replaceChildren(...draw());
  });
  serving.addEventListener('change', () => filter.requestSubmit());
  body.append(notice('plain', h('p', null, 'The configuration defines the providers and models (', code('catalog'), '). Limits on the ', h('a', { href: '#/organisation' }, 'organisation'), ', on ', h('a', { href: '#/teams' }, 'teams'), ' and on ', h('a', { href: '#/people' }, 'people'), ' define who may use them.')),
    h('div.filter', null, filter), list, prices, namesCard(at('organisation', 'aliases'), 'Names that everybody can use instead of a model or tier, for example those of retired models. Aliases of teams and users come first.', () => models.map((m) => m.id), signal));
  return refresh();
}

// audience returns who may use a model: the owners of the keys that pay for it, and those whose limits exclude it.
function audience(m) {
  const { keys, organisation, refused_teams: teams, refused_users: users } = m.access;
  if (!organisation) return tag('warn', 'nobody', 'The organisation’s limits do not allow it');
  const pays = keys.operator || keys.organisation > 0
    ? 'everybody'
    : [keys.teams > 0 && `${count(keys.teams, 'team key')}`, keys.users > 0 && `${count(keys.users, 'user key')}`].filter(Boolean).join(', ') || 'users with their own key';
  const but = [
    teams.length > 0 && [teams.length === 1 ? 'team ' : 'teams ', teams.slice(0, 3).map((t, i) => [i > 0 && ', ', link('teams', t.id, t.name)]), teams.length > 3 && ` and ${number(teams.length - 3)} more`],
    users > 0 && count(users, 'user'),
  ].filter(Boolean);
  return [pays, but.length > 0 && h('div.small', null, 'but not ', but.map((b, i) => [i > 0 && ', ', b]))];
}
