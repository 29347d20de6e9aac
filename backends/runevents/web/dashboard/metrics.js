// The metrics that an agent has measured of its run.
import { h } from './parts/dom.js';
import { duration, number } from './parts/look.js';

// metricsCard returns a section with the metrics of a report, or null if it has none.
export function metricsCard(list) {
  if (!list.length) return null;
  const of = (category) => list.filter((m) => m.category === category);
  const part = (category) => [h('h3', null, words(category)), category === 'time' ? times(of(category)) : numbers(of(category))];
  const others = [...new Set(['events', 'changes', ...list.map((m) => m.category)])].filter((category) => !['resources', 'time'].includes(category));
  const columns = [['resources'], others, ['time']].map((categories) => categories.filter((category) => of(category).length)).filter((categories) => categories.length);
  return h('section.panel', { 'aria-label': 'Metrics' }, h('details', { open: !matchMedia('(max-width: 640px)').matches },
    h('summary', null, h('h2', null, 'Metrics')),
    h('div.metrics', null, columns.map((categories) => h('div', { class: categories[0] === 'time' ? 'times' : null }, categories.map(part))))));
}

// numbers returns the counts that are not zero, with the total first.
function numbers(list) {
  const total = (m) => m.name === 'total';
  const shown = list.filter((m) => total(m) || m.value).sort((a, b) => total(b) - total(a) || b.value - a.value);
  return h('dl.counts', null, shown.map((m) => h('div', { class: total(m) ? 'strong' : null }, h('dt', null, words(m.name)), h('dd', null, number(m.value)))));
}

// times returns the durations as bars, longest first.
function times(list) {
  const total = list.find((m) => m.name === 'total')?.value;
  const shown = list.filter((m) => m.name !== 'total').sort((a, b) => b.value - a.value);
  const longest = Math.max(...shown.map((m) => m.value), 0) || 1;
  const bar = (m) => {
    const fill = h('span.fill');
    fill.style.width = `${Math.max(0.5, (100 * m.value) / longest)}%`; // set by script, because the content security policy forbids style attributes
    return h('li', null, h('span.name', null, words(m.name)), h('span.bar', { 'aria-hidden': 'true' }, fill), h('span.value', null, seconds(m.value)));
  };
  return [h('ol.bars', null, shown.map(bar)), total != null && h('p.small.muted', null, `${seconds(total)} in all`)];
}

const seconds = (value) => (value === 0 ? '0 s' : duration(value * 1000));

const words = (name) => {
  const text = name.replaceAll('_', ' ');
  return text.slice(0, 1).toUpperCase() + text.slice(1);
};
