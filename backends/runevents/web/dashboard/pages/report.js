import { ask, rows } from '../api.js';
import { marks, nodeLink, queryLink, resource, run, statuses, value } from '../marks.js';
import { metricsCard } from '../metrics.js';
import { tag, code, h, load, notice, table, tableRow } from '../parts/dom.js';
import { count, duration, number, time } from '../parts/look.js';

export const title = 'Run';

const eventsShown = 1000;
// On a phone a long report is folded: longer sections are closed, and lists begin with this
// many entries.
const narrow = matchMedia('(max-width: 640px)');
const folded = 12;
const linesShown = () => (narrow.matches ? 20 : 200);
const fields = ['hash', 'certname', 'environment', 'status', 'noop', 'noop_pending', 'corrective_change', 'type', 'puppet_version',
  'configuration_version', 'start_time', 'end_time', 'producer_timestamp', 'receive_time', 'producer', 'transaction_uuid'];

export function show({ body, about, entitle, signal, subject: hash }) {
  return load(body, async () => {
    const [report] = await rows('query/v4/reports', { query: ['extract', fields, ['and', ['=', 'hash', hash], ['=', 'type', 'any']]] }, { signal });
    if (!report) return notice('warn', h('p', null, 'There is no run with this id. It may have been deleted because of its age.'));
    const [events, lines, metrics] = await Promise.all([
      ask(`query/v4/reports/${hash}/events`, { order_by: [{ field: 'timestamp' }], limit: eventsShown, include_total: true }, { signal }),
      rows(`query/v4/reports/${hash}/logs`, {}, { signal }),
      rows(`query/v4/reports/${hash}/metrics`, {}, { signal }),
    ]);
    entitle(`Run of ${report.certname}`);
    about.replaceChildren(nodeLink(report.certname), ', ', time(report.start_time), ' ', run(report.status),
      ...marks({ noop: report.noop, pending: report.noop_pending, corrective: report.corrective_change }));
    return [facts(report), ...eventCards(events, hash), metricsCard(metrics), logs(lines)];
  });
}

function facts(r) {
  const fact = (name, content) => content != null && content !== '' && h('div', null, h('dt', null, name), h('dd', null, content));
  return h('section.panel', { 'aria-label': 'The run' }, h('dl.facts', null,
    fact('Started', time(r.start_time)), fact('Duration', duration(Date.parse(r.end_time) - Date.parse(r.start_time))),
    fact('Received', time(r.receive_time)), fact('Environment', r.environment), fact('Agent', r.puppet_version),
    r.type !== 'agent' && fact('Type', r.type), fact('Producer', r.producer),
    fact('Configuration', code(r.configuration_version)), fact('Report', code(r.hash))));
}

function eventCards({ rows: events, total }, hash) {
  if (!events.length) return [h('section.panel', { 'aria-label': 'Events' }, h('p.empty', null, 'No events: the run changed nothing, or they have been deleted because of their age.'))];
  const known = statuses.map(([status]) => status);
  const others = [...new Set(events.map((e) => e.status))].filter((status) => !known.includes(status)).map((status) => [status, status, 'plain']);
  const cards = [...statuses, ...others].map(([status, name, tone]) => [name, tone, events.filter((e) => e.status === status)])
    .filter(([, , list]) => list.length).map(([name, tone, list]) => {
      const shown = name === 'Skipped' ? columns.slice(0, 1) : columns;
      const first = narrow.matches ? list.slice(0, folded) : list;
      const whole = table(`${name}: events`, shown, first);
      const more = h('button.quiet', { type: 'button' }, `Show ${number(list.length - first.length)} more`);
      more.addEventListener('click', () => {
        whole.tBodies[0].append(...list.slice(first.length).map((e) => tableRow(shown, e)));
        more.parentElement.remove();
      });
      return h('section.panel', { 'aria-label': name }, h('details', { open: name !== 'Skipped' && (name === 'Failed' || first.length === list.length) },
        h('summary', null, h('h2', null, name), tag(tone, number(list.length))),
        whole, first.length < list.length && h('div.more', null, more)));
    });
  if (total > events.length) {
    cards.push(notice('warn', h('p', null, `These are the first ${number(events.length)} of ${count(total, 'event')}. `,
      queryLink('Query them', { language: 'ast', entity: 'events', limit: '1000', query: JSON.stringify(['=', 'report', hash]) }))));
  }
  return cards;
}

const columns = [
  { title: 'Resource', class: 'what', cell: (e) => [resource(e.resource_type, e.resource_title),
    e.containing_class && h('div.small.muted', null, e.containing_class), e.file && h('div.small.muted.place', null, `${e.file}${e.line == null ? '' : `:${e.line}`}`)] },
  { title: 'Property', class: 'property', cell: (e) => e.property ?? h('span.muted', null, e.name ?? '–') },
  { title: 'Old → new', class: 'change', cell: (e) => (blank(e.old_value) && blank(e.new_value)
    ? h('span.muted', null, '–')
    : [value(e.old_value), h('span.arrow', { 'aria-hidden': 'true' }, ' → '), h('span.hidden', null, ' became '), value(e.new_value)]) },
  { title: 'Message', class: 'message', cell: (e) => [e.message ?? '', e.corrective_change && [' ', tag('warn', 'corrective')]] },
];

const blank = (v) => v == null || v === '';

// The levels of log lines, worst first.
const levels = ['emerg', 'alert', 'crit', 'err', 'warning', 'notice', 'info', 'debug'];
const tones = new Map([['emerg', 'bad'], ['alert', 'bad'], ['crit', 'bad'], ['err', 'bad'], ['warning', 'warn']]);

function logs(lines) {
  const rank = (level) => (levels.includes(level) ? levels.indexOf(level) : levels.length);
  const present = [...new Set(lines.map((l) => l.level))].sort((a, b) => rank(a) - rank(b));
  const place = h('div');
  const draw = (level) => {
    const list = level ? lines.filter((l) => l.level === level) : lines;
    const part = (from) => list.slice(from, from + linesShown()).map(line);
    const all = h('ol.log', null, part(0));
    const more = h('button.quiet', { type: 'button' }, 'Show more');
    more.hidden = list.length <= linesShown();
    more.addEventListener('click', () => {
      all.append(...part(all.childElementCount));
      more.hidden = all.childElementCount >= list.length;
    });
    place.replaceChildren(all, more);
  };
  const choose = (level, text) => h('button.quiet.choice', {
    type: 'button', 'aria-pressed': String(!level),
    onclick(event) {
      for (const button of event.currentTarget.parentElement.children) button.setAttribute('aria-pressed', String(button === event.currentTarget));
      draw(level);
    },
  }, text);
  if (lines.length) draw(null);
  else place.append(h('p.empty', null, 'The run wrote no log lines.'));
  return h('section.panel', { 'aria-label': 'Log' },
    h('div.head', null, h('h2', null, 'Log'),
      lines.length > 0 && h('div.choices', { role: 'group', 'aria-label': 'Level' }, choose(null, `all ${number(lines.length)}`),
        present.map((level) => choose(level, `${level} ${number(lines.filter((l) => l.level === level).length)}`)))),
    place);
}

function line(l) {
  return h('li', null, tag(tones.get(l.level) ?? 'plain', l.level), h('div', null,
    h('div.said', null, l.message),
    h('div.small.muted.place', null, [clock(l.time), l.source, l.file && `${l.file}${l.line == null ? '' : `:${l.line}`}`].filter(Boolean).join('  ·  '))));
}

const clockTime = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const clock = (text) => (text ? clockTime.format(new Date(text)) : '–');
