import { rows } from '../api.js';
import { lateMark, queryLink } from '../marks.js';
import { h } from '../parts/dom.js';
import { refreshed } from '../refresh.js';
import { runTable } from '../runs.js';
import { gone } from './nodes.js';

export const title = 'Node';

const pageSize = 25;

export function show({ body, about, entitle, signal, subject: certname }) {
  entitle(certname);
  const result = h('div.panel.flush');
  const state = h('span');
  about.append('Its runs, newest first. ', queryLink('Query its failures', {
    language: 'ast', entity: 'events', query: JSON.stringify(['and', ['=', 'certname', certname], ['=', 'status', 'failure']]),
  }), ' ', state);
  body.append(result);
  const list = runTable({
    place: result, caption: `Runs of ${certname}`, empty: 'No run of this node is stored.', signal, size: pageSize, without: ['Node'], file: `${certname}.csv`,
    order: { field: 'start_time', order: 'desc' }, query: () => ['and', ['=', 'certname', certname], ['=', 'type', 'any']],
  });
  return refreshed(result, () => {
    tell(state, certname, signal).catch(() => {}); // the table shows errors
    return list();
  });
}

// tell shows what is special about the node.
async function tell(place, certname, signal) {
  const [node] = await rows('query/v4/nodes', { query: ['and', ['=', 'certname', certname], ['=', 'node_state', 'any']] }, { signal });
  if (!node) return;
  const inactive = gone(node);
  place.replaceChildren(...[inactive.length ? inactive : lateMark(node)].flat().filter(Boolean));
}
