import { note } from '../address.js';
import { address, ask, token } from '../api.js';
import { nodeLink, reportLink } from '../marks.js';
import { announce, busy, copyButton, errorBox, h, notice, scroller, table } from '../parts/dom.js';
import { field, select } from '../parts/form.js';
import { count, number } from '../parts/look.js';

export const title = 'Query';
export const about = 'Queries to the API, in both of its languages.';

const longestCell = 400;
const entities = ['events', 'reports', 'nodes', 'environments', 'producers'];

const examples = [
  ['Failures of the latest runs', 'pql', 'events[certname, resource_type, resource_title, message]{ latest_report? = true and status = \'failure\' order by certname }'],
  ['Nodes with the most failures', 'pql', 'events[certname, count()]{ status = \'failure\' group by certname }'],
  ['Failed runs', 'pql', 'reports[hash, certname, start_time, puppet_version]{ status = \'failed\' order by start_time desc }'],
  ['Changes of files below /etc', 'ast', ['and', ['=', 'resource_type', 'File'], ['~', 'resource_title', '/etc/'], ['=', 'status', 'success']], 'events'],
  ['Events by type and status', 'ast', ['extract', ['resource_type', 'status', ['function', 'count']], ['null?', 'certname', false], ['group_by', 'resource_type', 'status']], 'events'],
  ['Nodes that are in noop', 'ast', ['or', ['=', 'latest_report_noop', true], ['=', 'latest_report_noop_pending', true]], 'nodes'],
];

export function show({ body, signal, parameters }) {
  const language = select([['pql', 'PQL'], ['ast', 'JSON (AST)']], parameters.get('language') === 'ast' ? 'ast' : 'pql');
  const entity = select(entities.map((e) => [e, e]), entities.includes(parameters.get('entity')) ? parameters.get('entity') : 'events');
  const limit = h('input', { type: 'number', min: 1, max: 10000, required: true, value: parameters.get('limit') ?? '100' });
  const text = h('textarea.code', { rows: 5, spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', value: parameters.get('query') ?? '' });
  const hint = h('span');

  const line = h('pre.code', { tabindex: '0', 'aria-label': 'The same as a curl command' });
  const result = h('div.flow');
  const run = h('button', { type: 'submit' }, 'Run');
  const entityField = field('Entity', entity);

  // asked returns the path and the parameters of the query.
  const asked = () => {
    const query = text.value.trim();
    if (language.value === 'pql') return ['query/v4', { ...limited(query, limit.value), include_total: true }];
    return [`query/v4/${entity.value}`, { query, limit: limit.value, include_total: true }];
  };
  const tell = () => {
    const pql = language.value === 'pql';
    entityField.hidden = pql;
    hint.textContent = pql
      ? 'PQL names the entity: events[certname, status]{ status = \'failure\' }'
      : 'An array such as ["=", "status", "failure"]; empty for all rows.';
    line.textContent = curl(...asked());
  };
  for (const input of [language, entity, limit, text]) input.addEventListener('input', tell);

  const send = () => busy(run, async () => {
    const [path, values] = asked();
    note({ language: language.value, entity: entity.value, limit: limit.value, query: text.value });
    try {
      const started = performance.now();
      const answer = await ask(path, values, { signal });
      result.replaceChildren(...shown(answer, performance.now() - started));
      announce(count(answer.rows.length, 'row'));
    } catch (error) {
      if (error.name !== 'AbortError' && !error.signedOut) result.replaceChildren(errorBox(error));
    }
  });

  const form = h('form.panel', {
    onsubmit(event) {
      event.preventDefault();
      send();
    },
  },
  h('div.fields', null, field('Language', language), entityField, field('Limit', limit)),
  field('Query', text, { hint }),
  h('div.do', null, run));
  text.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });

  body.append(
    h('section', { 'aria-label': 'Examples' }, h('ul.chips', null, examples.map(([name, kind, query, of]) => h('li', null, h('button.plain', {
      type: 'button',
      onclick() {
        language.value = kind;
        text.value = typeof query === 'string' ? query : JSON.stringify(query);
        if (of) entity.value = of;
        tell();
        send();
      },
    }, name))))),
    form, result,
    h('section.panel', { 'aria-label': 'As a curl command' },
      h('div.head', null, h('h2', null, 'As a curl command'), h('span.push'), copyButton(() => line.textContent)), line),
  );
  tell();
  if (parameters.has('query')) return send();
  return null;
}

// limited adds a limit to a PQL query unless it has its own.
function limited(query, limit) {
  const bare = query.replace(/'[^']*'|"[^"]*"/g, '');
  return /\blimit\s+\d/.test(bare) ? { query } : { query, limit };
}

// curl returns the command that sends the same query. It does not contain the token.
function curl(path, { query, ...others }) {
  const quote = (text) => `'${text.replaceAll('\'', '\'\\\'\'')}'`;
  const plain = Object.entries(others).filter(([, value]) => value !== '').map(([name, value]) => `-d ${name}=${value}`);
  return ['curl -G', token.value && '-H "Authorization: Bearer $TOKEN"', ...plain, query && `--data-urlencode ${quote(`query=${query}`)}`, quote(address(path).href)].filter(Boolean).join(' ');
}

function shown({ rows, total }, ms) {
  const all = total == null || total === rows.length ? '' : ` of ${number(total)}`;
  const head = h('div.head', null, h('h2', null, `${number(rows.length)}${all} ${total === 1 ? 'row' : 'rows'}`),
    h('span.muted.small', null, `${Math.round(ms)} ms`), h('span.push'), copyButton(() => JSON.stringify(rows, null, 2), 'Copy as JSON'));
  if (!rows.length) return [h('section.panel', { 'aria-label': 'Answer' }, head, h('p.empty', null, 'No rows match.'))];
  const names = [...new Set(rows.flatMap((row) => (row && typeof row === 'object' ? Object.keys(row) : [])))];
  if (!names.length) return [notice('warn', h('p', null, 'The result has no columns.')), h('pre.code', null, JSON.stringify(rows).slice(0, 10000))];
  return [h('section.panel', { 'aria-label': 'Answer' }, head,
    scroller('Answer, all columns', table('Answer', names.map((name) => ({ title: name, number: typeof rows[0][name] === 'number', cell: (row) => cell(name, row) })), rows)))];
}

function cell(name, row) {
  const v = row[name];
  if (v == null) return h('span.muted', null, 'null');
  if (name === 'certname') return nodeLink(v);
  if ((name === 'report' || name === 'hash' || name === 'latest_report_hash') && typeof v === 'string') return reportLink(v, `${v.slice(0, 10)}…`);
  const text = typeof v === 'string' ? v : JSON.stringify(v);
  return text.length > longestCell ? `${text.slice(0, longestCell)}…` : text;
}
