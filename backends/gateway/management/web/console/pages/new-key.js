// The dialog that shows a new gateway key, once.
import { base } from '../api.js';
import { dialog } from '../parts/dialog.js';
import { copyButton, h } from '../parts/dom.js';
import { field } from '../parts/form.js';
import { clipboard } from '../session.js';

export function showKey(title, key) {
  const text = h('input.code', { value: key, readonly: true, spellcheck: 'false', onfocus: (event) => event.target.select() });
  dialog(title, (close) => [
    h('p', null, 'Copy it now: it is shown only once. Anyone who has it can send requests in your name.'),
    h('div.copyline', null, field('Gateway key', text), copyButton(key)),
    h('p', null, 'Use it as the API key of your clients, with this base URL (the messages API without ', h('code', null, '/v1'), '):'),
    h('p', null, h('code.line', null, new URL('v1', base).href)),
    h('div.do', null,
      h('button.quiet', { type: 'button', onclick() { clipboard.gatewayKey = key; close(); location.hash = '#/playground'; } }, 'Try it in the playground'),
      h('button', { type: 'button', onclick: close }, 'I have copied it')),
  ], { keep: true });
}
