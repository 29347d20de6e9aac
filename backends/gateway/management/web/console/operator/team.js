// The page of one team, for operators, auditors and its administrators.
import { call } from '../api.js';
import { model, usd } from '../format.js';
import { chart } from '../parts/chart.js';
import { confirm, dialog } from '../parts/dialog.js';
import { act, h, load, table, tag, toast } from '../parts/dom.js';
import { field, form, select } from '../parts/form.js';
import { number, short, when } from '../parts/look.js';
import { changes } from './audit.js';
import { keyCard } from './keys.js';
import { keysCard } from './provider-keys.js';
import { timeline } from './spending.js';
import { at, limitCard, manages, operates, paged, person } from './view.js';

const day = 86400000;

// showTeam shows the team with the given id. It calls named with the team and with a function that reads it again.
export function showTeam({ body, heading, id, signal }, named = () => {}) {
  const path = at('teams', id);
  const may = manages(id);
  const place = h('div');
  const refresh = () => load(place, async () => {
    const team = await call('GET', path, { signal });
    heading.textContent = team.name;
    named(team, refresh);
    return [];
  });
  const list = memberList(path, may, signal);
  const log = changes('Changes', `${path}/audit`, signal);
  const [spent, showSpent] = spending(path, signal);
  body.append(place,
    limitCard('Limits on the team', `Set by the operator${operates() ? '' : '; only operators can change them'}. All members share them.`, `${path}/limits`, signal),
    limitCard('The team’s own limits', 'Set by its administrators in addition to the operator’s limits. The stricter limit applies. All members share them.', `${path}/own-limits`, signal, { may, raises: false }),
    h('section.flow', { 'aria-label': 'Members' }, h('div.head', null, h('h2', null, 'Members'), may && act('button.quiet', 'Add a member', async () => add(path, list))), list),
    keyCard('Keys of the team', 'For services: these keys belong to no person, and keep working when somebody leaves.', `${path}/keychain-keys`, signal, () => may, true),
    keysCard(`${path}/provider-keys`, 'They are used for the team’s requests, before the keys of the organisation.', may, signal),
    spent,
    h('section.flow', { 'aria-label': 'Changes' }, h('div.head', null, h('h2', null, 'Changes')), h('p.small.muted', null, 'Who changed the team, its members, limits and keys, newest first.'), log));
  return Promise.all([refresh(), list.show(), showSpent(), log.show()]);
}

// memberList returns a list of the members. If may is set, it has buttons that change them.
function memberList(path, may, signal) {
  const at = (m) => `${path}/members/${encodeURIComponent(m.user_id)}`;
  const name = (m) => m.name || m.email || m.user_id;
  const turn = (m, role, label, text) => act('button.plain', label, async () => confirm(`${label}: ${name(m)}?`, text, label, async () => {
    await call('PUT', at(m), { body: { role } });
    await list.show();
  }));
  const list = paged({
    caption: 'Members',
    empty: () => 'This team has no members. Add somebody.',
    columns: [
      { title: 'User', class: 'name', cell: (m) => person(m.user_id, name(m)) },
      { title: 'Role', cell: (m) => (m.role === 'admin' ? tag('plain', 'administrator') : 'member') },
      { title: 'Default team', cell: (m) => (m.default ? 'yes' : 'no') },
      { title: 'Since', class: 'when', cell: (m) => when(m.added_at) },
      { title: '', class: 'row-actions', cell: (m) => may && [
        m.role === 'admin' ? turn(m, 'member', 'Make a member', 'They can no longer manage the team.') : turn(m, 'admin', 'Make administrator', 'They can manage the members, the keys and the own limits of the team, and see its spending.'),
        act('button.plain.danger', 'Remove', async () => confirm(`Remove ${name(m)}?`, 'Their keys for this team will count for their default team.', 'Remove', async () => {
          await call('DELETE', at(m));
          toast('The user is removed from the team');
          await list.show();
        })),
      ] },
    ],
    fetch: (after) => call('GET', `${path}/members`, { signal, query: { after } }),
  });
  return list;
}

// add opens a dialog that adds a member to the team.
function add(path, list) {
  const user = h('input', { autocomplete: 'off', spellcheck: 'false', maxlength: 254, autofocus: true });
  const role = select([['member', 'Member'], ['admin', 'Administrator: manages members, keys and the team’s own limits']], 'member');
  dialog('Add a member', (close) => form([field('User', user, { name: 'user_id', hint: 'Id or mail address.' }), field('Role', role, { name: 'role' })], [
    h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
    h('button', { type: 'submit' }, 'Add'),
  ], async () => {
    await call('PUT', `${path}/members/${encodeURIComponent(user.value.trim())}`, { body: { role: role.value } }).catch((error) => { throw Object.assign(error, { param: 'user_id' }); });
    close();
    await list.show();
  }));
}

// spending returns the section with the team's spending, and a function that loads it.
function spending(path, signal) {
  const span = select([['7', 'Last 7 days'], ['30', 'Last 30 days'], ['90', 'Last 90 days'], ['365', 'Last year']], '30');
  const result = h('div.flow');
  const show = () => load(result, async () => {
    const from = new Date((Math.floor(Date.now() / day) - Number(span.value) + 1) * day).toISOString().slice(0, 10);
    const ask = (by) => call('GET', `${path}/spending`, { signal, query: { from, by } });
    const [days, members, models] = await Promise.all([ask('day'), ask('user'), ask('model')]);
    if (!days.data.length) return h('p.empty', null, 'The team has not used any model in this period.');
    return [
      chart('Cost', timeline(days.data, from), [{ name: 'Cost', value: (l) => l.cost_usd, tone: 1 }], { write: usd, wide: true }),
      part('member', members.data, (l) => l.user || l.user_id),
      part('model', models.data, (l) => model(l) || '(nobody)'),
    ];
  });
  const part = (label, lines, name) => table(`Spending by ${label}`, [
    { title: label[0].toUpperCase() + label.slice(1), class: 'name', cell: name },
    { title: 'Cost', number: true, cell: (l) => usd(l.cost_usd) },
    { title: 'Requests', number: true, cell: (l) => number(l.requests) },
    { title: 'Tokens', number: true, cell: (l) => short(l.total_tokens) },
  ], lines, 'No data for this period.');
  span.addEventListener('change', show);
  return [h('section.panel', { 'aria-label': 'Spending' }, h('div.head', null, h('h2', null, 'Spending'), h('span.push'), field('Period', span)), result), show];
}
