// The priorities that bring a list into an order. Lower ones come first. Models with
// equal ones are in the order of the catalog.

// priorities returns the changes [[entry, priority], …] that move the entry at index from
// to index to. It makes the fewest changes: it either raises the entries after the new
// place or lowers those before it.
export function priorities(entries, from, to) {
  const order = entries.slice();
  order.splice(to, 0, ...order.splice(from, 1));
  const moved = order[to];
  const before = order[to - 1];
  const behind = order[to + 1];
  if (!before) return [[moved, behind.priority - 10]];
  if (!behind) return [[moved, before.priority + 10]];
  if (behind.priority - before.priority > 1) return [[moved, Math.floor((before.priority + behind.priority) / 2)]];
  const up = raise(order, to);
  const down = lower(order, to);
  return down.length < up.length ? down : up;
}

function raise(order, at) {
  let least = order[at - 1].priority + 10;
  const changes = [[order[at], least]];
  for (const entry of order.slice(at + 1)) {
    if (entry.priority > least) break;
    least += 10;
    changes.push([entry, least]);
  }
  return changes;
}

function lower(order, at) {
  let most = order[at + 1].priority - 10;
  const changes = [[order[at], most]];
  for (const entry of order.slice(0, at).reverse()) {
    if (entry.priority < most) break;
    most -= 10;
    changes.push([entry, most]);
  }
  return changes;
}

// draggable makes the rows of a list draggable by their handles, with a mouse or a
// finger. It calls moved(from, to) when a row was dropped at another place. fits(row,
// other) reports whether row may take the place of other.
export function draggable(list, fits, moved) {
  list.addEventListener('pointerdown', (event) => {
    const row = event.target.closest('.handle')?.closest('li');
    if (!row || event.button !== 0) return;
    event.preventDefault();
    const rows = () => [...list.children];
    const from = rows().indexOf(row);
    row.classList.add('dragged');
    const controller = new AbortController();
    const on = (name, act) => addEventListener(name, act, { signal: controller.signal });
    // Only the other rows are moved, because removing the dragged row from the document
    // would end the touch.
    const drag = (e) => {
      const { previousElementSibling: previous, nextElementSibling: next } = row;
      const middle = (other) => { const box = other.getBoundingClientRect(); return box.top + box.height / 2; };
      if (previous && e.clientY < middle(previous) && fits(row, previous)) row.after(previous);
      else if (next && e.clientY > middle(next) && fits(row, next)) row.before(next);
    };
    const end = (keep) => {
      controller.abort();
      row.classList.remove('dragged');
      const to = rows().indexOf(row);
      if (to === from) return;
      if (keep) moved(from, to);
      else putBack(list, row, from);
    };
    on('pointermove', drag);
    on('pointerup', () => end(true));
    on('pointercancel', () => end(false));
    on('keydown', (e) => { if (e.key === 'Escape') end(false); });
  });
}

function putBack(list, row, index) {
  const others = [...list.children].filter((r) => r !== row);
  list.insertBefore(row, others[index] ?? null);
}
