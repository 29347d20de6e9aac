// Lists of rows that can be sorted, extended and downloaded.
import { download } from './csv.js';
import { announce, busy, errorBox, h, load, notice, table, tableRow, toast } from './parts/dom.js';
import { select } from './parts/form.js';
import { number } from './parts/look.js';

const mostInFile = 10000;

// listing fills place with rows. page(offset, limit, order, bare) returns {rows, total}; if
// bare is set, the rows are for a file and need only the given fields. A column with a field
// can be sorted by it, and sorted is called with the new order, {field, order}. fields are
// the columns of the file. listing returns a function that loads the same number of rows
// again.
export function listing({ place, caption, columns, page, size, empty, order, sorted, file, fields }) {
  let shown = size;
  const sort = (field, direction) => {
    order = { field, order: direction };
    sorted?.(order);
    return draw();
  };
  const headed = () => columns.map((column) => {
    if (!column.field || !sorted) return column;
    const active = order.field === column.field;
    const next = active ? (order.order === 'asc' ? 'desc' : 'asc') : column.first ?? 'asc';
    return {
      ...column,
      sorted: active ? (order.order === 'asc' ? 'ascending' : 'descending') : 'none',
      head: h('button.plain.sort', {
        type: 'button',
        async onclick(event) {
          const { field } = column;
          await sort(field, next);
          announce(`Sorted by ${column.title}`);
          if (event.detail === 0) place.querySelector(`[data-field="${field}"]`)?.focus(); // the head was pressed with the keyboard
        },
        'data-field': column.field,
      }, column.title, h('span.direction', { 'aria-hidden': 'true' }, active ? (order.order === 'asc' ? '▲' : '▼') : '↕')),
    };
  });
  const draw = () => load(place, async () => {
    const first = await page(0, shown, order, false);
    if (!first.rows.length) return empty instanceof Node ? empty : h('p.empty', null, empty);
    const list = table(caption, headed(), first.rows);
    let here = first.rows.length;
    const errors = h('div');
    const state = h('p.small.muted');
    const more = h('button.quiet', { type: 'button' }, 'Show more');
    const tell = (total) => {
      state.textContent = here < total ? `${number(here)} of ${number(total)}` : `${number(total)} in all`;
      more.hidden = here >= total;
    };
    const attempt = (button, work) => busy(button, async () => {
      errors.replaceChildren();
      try {
        await work();
      } catch (error) {
        if (error.name !== 'AbortError' && !error.signedOut) errors.append(errorBox(error));
      }
    });
    tell(first.total);
    more.addEventListener('click', () => attempt(more, async () => {
      const next = await page(here, size, order, false);
      list.tBodies[0].append(...next.rows.map((row) => tableRow(columns, row)));
      here += next.rows.length;
      shown = Math.max(shown, here);
      tell(next.rows.length ? next.total : here);
      announce(`${next.rows.length} more`);
    }));
    const save = fields && h('button.plain', { type: 'button', onclick: () => attempt(save, async () => {
      const all = await page(0, mostInFile, order, true);
      download(file, fields, all.rows);
      if (all.total > all.rows.length) errors.append(notice('warn', h('p', { role: 'status' }, `The file has the first ${number(all.rows.length)} of ${number(all.total)} rows.`)));
      else toast('The file is saved');
    }) }, 'Download CSV');
    const whole = here >= first.total && !save; // all rows are shown, so the line below is not needed
    return [sorted && sorter(columns, order, sort), list, errors, !whole && h('div.more', null, state, more, save && h('span.push'), save)];
  });
  return draw;
}

// sorter returns the selection of the order for narrow windows, which show no column heads.
function sorter(columns, order, sort) {
  const options = columns.filter((c) => c.field).flatMap((c) => [[`${c.field} asc`, `${c.title}, ascending`], [`${c.field} desc`, `${c.title}, descending`]]);
  const choice = select(options, `${order.field} ${order.order}`, { 'aria-label': 'Sorted by' });
  choice.addEventListener('change', () => sort(...choice.value.split(' ')));
  return h('div.sorter', null, choice);
}

// orderOf returns the order in the address if a column has it, and otherwise the default.
export function orderOf(parameters, columns, otherwise) {
  const field = parameters.get('sort');
  if (!columns.some((c) => c.field === field)) return otherwise;
  return { field, order: parameters.get('order') === 'asc' ? 'asc' : 'desc' };
}
