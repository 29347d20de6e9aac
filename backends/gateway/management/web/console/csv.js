// Tables as files.
import { busy, errorBox, h } from './parts/dom.js';

// csvButton hands the text that get returns to the user: got with the token, so
// that it is no mere link. What goes wrong is shown in errors.
export function csvButton(kind, label, name, get, errors) {
  const button = h(kind, { type: 'button', 'aria-label': label }, 'CSV');
  button.addEventListener('click', () => busy(button, async () => {
    errors.replaceChildren();
    try {
      save(name, await get());
    } catch (error) {
      if (error.name !== 'AbortError') errors.replaceChildren(errorBox(error));
    }
  }));
  return button;
}

function save(name, text) {
  const href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  const link = h('a', { download: name });
  link.href = href; // h takes no address that begins with blob:
  link.click();
  setTimeout(() => URL.revokeObjectURL(href), 1000);
}
