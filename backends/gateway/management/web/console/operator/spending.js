import { call } from '../api.js';
import { csvButton } from '../csv.js';
import { percent, usd } from '../format.js';
import { chart } from '../parts/chart.js';
import { h, load, scroller, table } from '../parts/dom.js';
import { field, form, select } from '../parts/form.js';
import { number, short } from '../parts/look.js';
import { at } from './view.js';

export const title = 'Spending';
export const about = 'Spending of all users by team, user, tag and model. Days are UTC.';

const day = 86400000;

// The largest number of rows in a table.
const maxRows = 500;

// The groupings of the first table, by their names in the API. Each has a heading and a function that names a row.
const groups = {
  team: ['Team', (l) => l.team || (l.team_id ? `${l.team_id} (removed)` : '(no team)')],
  user: ['User', (l) => l.user || l.user_id || '(nobody)'],
  key: ['Key', (l) => [l.key, l.key_id].filter(Boolean).join(' ') || '(none)'],
  tag: ['Tag', (l) => l.tag],
  end_user: ['End user', (l) => l.end_user],
  provider: ['Provider', (l) => l.provider || '(nobody)'],
};

export function show({ body, actions, signal }) {
  const span = select([['1', 'Today'], ['7', 'Last 7 days'], ['30', 'Last 30 days'], ['90', 'Last 90 days'], ['365', 'Last year']], '30');
  const group = select(Object.entries(groups).map(([name, [label]]) => [name, label]), 'team');
  const result = h('div.flow');
  const errors = h('div');
  const query = () => ({ from: new Date((Math.floor(Date.now() / day) - Number(span.value) + 1) * day).toISOString().slice(0, 10) });
  const ask = (by, more) => call('GET', at('spending'), { signal, ...more, query: { ...query(), by, ...more?.query } });
  const refresh = () => load(result, async () => {
    const [label, name] = groups[group.value];
    const [first, models, days] = await Promise.all([ask(group.value, { query: { compare: true, limit: maxRows } }), ask('model', { query: { compare: true, limit: maxRows } }), ask('day')]);
    if (!days.data.length) return h('p.empty', null, 'No usage in this period.');
    const total = (member) => days.data.reduce((sum, line) => sum + line[member], 0);
    const tile = (name, value) => h('div.tile', null, h('dt', null, name), h('dd', null, value));
    const answered = total('succeeded') + total('failed');
    return [
      h('dl.tiles', null, tile('Cost', usd(total('cost_usd'))), tile('Requests', short(total('requests'))), tile('Tokens', short(total('total_tokens'))),
        tile('Success', percent(answered ? total('succeeded') / answered : null))),
      h('section.panel', { 'aria-label': 'Over time' }, chart('Cost', timeline(days.data, query().from), [{ name: 'Cost', value: (l) => l.cost_usd, tone: 1 }], { write: usd, wide: true })),
      part(label, first.data, name),
      part('Model', models.data, (l) => [l.provider, l.model].filter(Boolean).join('/') || '(nobody)'),
    ];
  });
  const part = (label, lines, name) => h('section.panel', { 'aria-label': `By ${label.toLowerCase()}` }, h('h2', null, `By ${label.toLowerCase()}`),
    scroller(`Spending by ${label.toLowerCase()}`, table(`Spending by ${label.toLowerCase()}`, [
      { title: label, class: 'strong', cell: name },
      { title: 'Cost', number: true, cell: (l) => usd(l.cost_usd) },
      { title: 'Previous period', number: true, cell: (l) => usd(l.before.cost_usd) },
      { title: 'Per 1M tokens', number: true, cell: (l) => (l.usd_per_million === null ? '' : usd(l.usd_per_million)) },
      { title: 'Requests', number: true, cell: (l) => number(l.requests) },
      { title: 'Tokens in', number: true, cell: (l) => short(l.input_tokens) },
      { title: 'Cached', number: true, cell: (l) => short(l.cached_tokens) },
      { title: 'Cache writes', number: true, cell: (l) => short(l.written_tokens) },
      { title: 'Tokens out', number: true, cell: (l) => short(l.output_tokens) },
      { title: 'Without a price', number: true, cell: (l) => number(l.unpriced_requests) },
    ], lines)), lines.length >= maxRows && h('p.muted', null, `The ${maxRows} rows with the highest cost.`));
  actions.append(csvButton('button.quiet', 'Download spending by day, team and model as CSV', 'spending.csv',
    () => ask('day,team,model', { text: true, query: { format: 'csv' } }), errors));
  body.append(h('div.filter', null, form([field('Period', span), field('Group by', group)], [h('button', { type: 'submit' }, 'Show')], refresh)), errors, result);
  for (const choice of [span, group]) choice.addEventListener('change', () => body.querySelector('form').requestSubmit());
  return refresh();
}

// timeline returns a row for each day since from, including those without usage.
export function timeline(lines, from) {
  const found = new Map(lines.map((line) => [line.day, line]));
  const rows = [];
  for (let at = Date.parse(from); at <= Date.now(); at += day) {
    const text = new Date(at).toISOString().slice(0, 10);
    rows.push({ cost_usd: 0, ...found.get(text), label: text.slice(5), title: text });
  }
  return rows;
}
