import { inEnvironment, note } from '../address.js';
import { orderOf } from '../listing.js';
import { h } from '../parts/dom.js';
import { field, select } from '../parts/form.js';
import { refreshed } from '../refresh.js';
import { columns, runTable } from '../runs.js';
import { part } from './nodes.js';

export const title = 'Reports';
export const about = 'The runs of all nodes, including inactive ones.';

const statuses = [['', 'Any status'], ['failed', 'Failed'], ['changed', 'Changed'], ['unchanged', 'Unchanged'], ['noop', 'Noop']];
const spans = [['', 'All stored runs'], ['1', 'Last hour'], ['24', 'Last 24 hours'], ['168', 'Last 7 days']];
const pageSize = 25;

export function show({ body, signal, parameters }) {
  const known = (list, value) => (list.some(([one]) => one === value) ? value : '');
  const name = h('input', { type: 'search', autocomplete: 'off', spellcheck: 'false', placeholder: 'web', value: parameters.get('name') ?? '' });
  const status = select(statuses, known(statuses, parameters.get('status')));
  const span = select(spans, known(spans, parameters.get('hours')));
  const result = h('div.panel.flush');
  const query = () => inEnvironment('environment', part('certname', name.value),
    status.value === 'noop' ? ['or', ['=', 'noop', true], ['=', 'noop_pending', true]] : status.value && ['=', 'status', status.value],
    span.value && ['>=', 'producer_timestamp', new Date(Date.now() - span.value * 3600000).toISOString()]);
  let order = orderOf(parameters, columns, { field: 'start_time', order: 'desc' });
  const draw = () => runTable({
    place: result, caption: 'Reports', query, empty: 'No report matches this filter.', signal, size: pageSize, file: 'reports.csv', order,
    sorted(by) {
      order = by;
      note({ sort: by.field, order: by.order });
    },
  });
  let list = draw();
  const filter = () => {
    note({ name: name.value.trim(), status: status.value, hours: span.value });
    list = draw();
    return list();
  };
  body.append(h('form.filter', { role: 'search', onsubmit(event) { event.preventDefault(); filter(); } },
    field('Part of the node’s name', name), field('Status', status), field('Received', span),
    h('button', { type: 'submit' }, 'Show')), result);
  for (const choice of [status, span]) choice.addEventListener('change', filter);
  return refreshed(result, () => list());
}
