// Dialogs.
import { h, uid } from './dom.js';
import { form } from './form.js';

// dialog opens a modal dialog. fill gets the function that closes it and returns its
// content. With keep, Escape does not close it. When it closes, the element that had the
// focus before gets it again.
export function dialog(title, fill, { keep = false } = {}) {
  const before = document.activeElement;
  const id = uid('d');
  const box = h('dialog', { 'aria-labelledby': id });
  const close = () => box.close();
  box.append(h('h2', { id }, title), ...[fill(close)].flat(Infinity).filter(Boolean));
  if (keep) box.addEventListener('cancel', (event) => event.preventDefault());
  box.addEventListener('close', () => {
    box.remove();
    if (before?.isConnected) before.focus();
    else document.querySelector('main')?.focus();
  });
  document.body.append(box);
  box.showModal();
  return box;
}

// confirm opens a dialog that runs work if the user confirms it.
export function confirm(title, text, action, work) {
  dialog(title, (close) => form(
    [h('p', null, text)],
    [
      h('button.quiet', { type: 'button', onclick: close, autofocus: true }, 'Cancel'),
      h('button.danger', { type: 'submit' }, action),
    ],
    async () => {
      await work();
      close();
    },
  ));
}
