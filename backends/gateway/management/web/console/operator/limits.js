import { call } from '../api.js';
import { usd } from '../format.js';
import { said } from '../limits.js';
import { h, tag } from '../parts/dom.js';
import { field, form, select } from '../parts/form.js';
import { number, time } from '../parts/look.js';
import { at, link, paged } from './view.js';

export const title = 'Limits';
export const about = 'All limits that operators and team administrators have set, and what is left of them.';

const kinds = [['all', 'All'], ['organisation', 'The organisation'], ['team', 'Teams'], ['team_own', 'Teams, by their administrators'], ['user', 'People'], ['key', 'Gateway keys']];

export function show({ body, signal }) {
  const on = select(kinds, 'all');
  const list = paged({
    caption: 'Limits',
    empty: () => 'There are no limits of this kind. Set them on the pages of the organisation, of teams and of people.',
    columns: [
      { title: 'Applies to', class: 'when', cell: whose },
      { title: 'Limits', cell: (l) => [said(l.limits).join(', '), l.raised_until && h('div.small', null, tag('warn', `raised until ${time(l.raised_until)}`))] },
      { title: 'Spent', cell: (l) => l.budgets.map((b) => h('div', null, spent(b))) },
    ],
    fetch: (after) => call('GET', at('limits'), { signal, query: { on: on.value, after } }),
  });
  const filter = form([field('Kind', on)], [h('button', { type: 'submit' }, 'Show')], () => list.show());
  on.addEventListener('change', () => filter.requestSubmit());
  body.append(h('div.filter', null, filter), list);
  return list.show();
}

// whose returns the user, team, key or organisation that a limit applies to, as a link if it has a page.
function whose(l) {
  switch (l.on) {
    case 'organisation': return h('a', { href: '#/organisation' }, 'the organisation');
    case 'team': return ['team ', link('teams', l.holder, l.name)];
    case 'team_own': return ['team ', link('teams', l.holder, l.name), h('div.small.muted', null, 'by its administrators')];
    case 'user': return link('people', l.holder, l.name);
    default: return [`key ${l.name || l.holder} of `, l.user_id?.startsWith('team_') ? link('teams', l.user_id, l.user) : l.user_id ? link('people', l.user_id, l.user) : 'a removed user'];
  }
}

// spent returns a text that says how much of a budget is spent.
function spent(b) {
  const write = b.name.startsWith('usd') ? usd : (n) => `${number(n)} tokens`;
  const part = b.spent / b.limit;
  const window = b.name.replace(/^(usd|tokens)_/, '').replace('per_', 'a ').replace('total', 'in total');
  return [`${write(b.spent)} of ${write(b.limit)} ${window} `, tag(part >= 1 ? 'bad' : part >= 0.8 ? 'warn' : 'plain', `${number(Math.floor(part * 100))} %`)];
}
