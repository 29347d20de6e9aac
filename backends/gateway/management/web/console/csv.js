// Tables as CSV files.
import { busy, errorBox, h } from './parts/dom.js';

// csvButton returns a button that downloads the text that get returns. It is not a link,
// because the request needs the token. Errors are shown in the element errors.
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
  link.href = href; // set here, because h refuses URLs that begin with blob:
  link.click();
  setTimeout(() => URL.revokeObjectURL(href), 1000);
}
