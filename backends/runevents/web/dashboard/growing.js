// Tables that get longer on demand.
import { announce, busy, errorBox, h, table, tableRow } from './parts/dom.js';

// growing shows the rows of page(offset), which gets {rows, total}, and more of
// them when asked.
export async function growing(caption, columns, page, empty) {
  const first = await page(0);
  const list = table(caption, columns, first.rows, empty);
  let shown = first.rows.length;
  const errors = h('div');
  const state = h('p.small.muted');
  const more = h('button', { type: 'button' }, 'Show more');
  const tell = (total) => {
    state.textContent = shown < total ? `${shown} of ${total}` : `${total} in all`;
    more.hidden = shown >= total;
  };
  tell(first.total);
  more.addEventListener('click', () => busy(more, async () => {
    errors.replaceChildren();
    try {
      const next = await page(shown);
      list.tBodies[0].append(...next.rows.map((row) => tableRow(columns, row)));
      shown += next.rows.length;
      tell(next.rows.length ? next.total : shown);
      announce(`${next.rows.length} more`);
    } catch (error) {
      if (error.name !== 'AbortError' && !error.signedOut) errors.append(errorBox(error));
    }
  }));
  return [list, errors, shown > 0 && h('div.more', null, state, more)];
}
