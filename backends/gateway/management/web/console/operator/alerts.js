import { call } from '../api.js';
import { usd } from '../format.js';
import { code, h, toast } from '../parts/dom.js';
import { exact, number } from '../parts/look.js';
import { act, at, link, operates, paged } from './view.js';

export const title = 'Alerts';
export const about = 'Who was told of what: parts of budgets that are spent, provider keys that fail, and requests that fail or take long. Newest first.';

const pages = { user: 'people', team: 'teams', team_own: 'teams' };

// whose leads to what an alert is on.
function whose(alert) {
  if (pages[alert.on]) return link(pages[alert.on], alert.holder, alert.name);
  if (alert.on === 'organisation') return alert.type.startsWith('budget') ? 'all users' : 'all requests';
  return code(alert.holder);
}

// said tells what an alert is about.
function said(alert) {
  if (alert.type === 'test') return 'A test';
  const share = `${number(alert.errors)} of ${number(alert.requests)} requests`;
  const seconds = (ms) => `${number(Math.round(ms / 100) / 10)} s`;
  switch (alert.type) {
    case 'errors.over': return `${share} failed: ${alert.threshold} % or more`;
    case 'errors.normal': return `Less than ${alert.threshold} % fail again: ${share}`;
    case 'latency.over': return `95 % of the answers take up to ${seconds(alert.latency_ms)}: ${seconds(alert.limit_ms)} or more`;
    case 'latency.normal': return `95 % of the answers come within ${seconds(alert.limit_ms)} again`;
    default:
  }
  if (alert.type === 'provider_key.failing') return `The provider refuses the key: ${alert.budget.replaceAll('_', ' ')}`;
  const write = alert.budget.startsWith('usd') ? usd : (n) => `${number(n)} tokens`;
  return `${alert.threshold} % of ${alert.budget}: ${write(alert.spent)} of ${write(alert.amount)}`;
}

export function show({ body, actions, signal }) {
  const list = paged({
    caption: 'Alerts',
    empty: () => 'Nobody was told of anything yet. The option alerts of the gateway says who is.',
    columns: [
      { title: 'Time', class: 'when', cell: (a) => exact(a.at) },
      { title: 'Of', cell: (a) => (a.type === 'test' ? '' : [a.on === 'organisation' ? '' : `${a.on.replace('_own', '')} `, whose(a)]) },
      { title: 'What', class: 'strong', cell: said },
      { title: 'Told', cell: (a) => a.messages.map((m) => h('div.small', null, `${m.target} (${m.channel}): ${m.state}${m.answer ? `, ${m.answer}` : ''}`)) },
    ],
    fetch: (cursor) => call('GET', at('alerts'), { signal, query: { cursor } }),
  });
  if (operates()) {
    actions.append(act('button.quiet', 'Send a test', async () => {
      await call('POST', at('alerts', 'test'));
      toast('A test is on its way');
      await list.show();
    }));
  }
  body.append(list);
  return list.show();
}
