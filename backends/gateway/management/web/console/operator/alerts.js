import { call } from '../api.js';
import { usd } from '../format.js';
import { act, code, h, toast } from '../parts/dom.js';
import { exact, number } from '../parts/look.js';
import { at, link, operates, paged } from './view.js';

export const title = 'Alerts';
export const about = 'The alerts that were sent: about spent budgets, failing provider keys, and requests that fail or are slow. Newest first.';

const pages = { user: 'people', team: 'teams', team_own: 'teams' };

// whose returns the subject of an alert, as a link if it has a page.
function whose(alert) {
  if (pages[alert.on]) return link(pages[alert.on], alert.holder, alert.name);
  if (alert.on === 'organisation') return alert.type.startsWith('budget') ? 'all users' : 'all requests';
  return code(alert.holder);
}

// said returns the message of an alert.
function said(alert) {
  if (alert.type === 'test') return 'A test';
  const share = `${number(alert.errors)} of ${number(alert.requests)} requests`;
  const seconds = (ms) => `${number(Math.round(ms / 100) / 10)} s`;
  switch (alert.type) {
    case 'errors.over': return `${share} failed (limit: ${alert.threshold} %)`;
    case 'errors.normal': return `Failures are below ${alert.threshold} % again: ${share}`;
    case 'latency.over': return `95 % of the responses take up to ${seconds(alert.latency_ms)} (limit: ${seconds(alert.limit_ms)})`;
    case 'latency.normal': return `95 % of the responses take less than ${seconds(alert.limit_ms)} again`;
    default:
  }
  if (alert.type === 'provider_key.failing') return `The provider refuses the key: ${alert.budget.replaceAll('_', ' ')}`;
  const write = alert.budget.startsWith('usd') ? usd : (n) => `${number(n)} tokens`;
  return `${alert.threshold} % of ${alert.budget}: ${write(alert.spent)} of ${write(alert.amount)}`;
}

export function show({ body, actions, signal }) {
  const list = paged({
    caption: 'Alerts',
    empty: () => 'No alerts yet. The gateway’s option alerts defines who receives them.',
    columns: [
      { title: 'Time', class: 'when', cell: (a) => exact(a.at) },
      { title: 'Subject', cell: (a) => (a.type === 'test' ? '' : [a.on === 'organisation' ? '' : `${a.on.replace('_own', '')} `, whose(a)]) },
      { title: 'Alert', class: 'strong', cell: said },
      { title: 'Sent to', cell: (a) => a.messages.map((m) => h('div.small', null, `${m.target} (${m.channel}): ${m.state}${m.answer ? `, ${m.answer}` : ''}`)) },
    ],
    fetch: (cursor) => call('GET', at('alerts'), { signal, query: { cursor } }),
  });
  if (operates()) {
    actions.append(act('button.quiet', 'Send a test', async () => {
      await call('POST', at('alerts', 'test'));
      toast('A test alert is being sent');
      await list.show();
    }));
  }
  body.append(list);
  return list.show();
}
