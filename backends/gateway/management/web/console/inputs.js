// Controls that only this console has.
import { h, uid } from './parts/dom.js';

// choice returns a check box or a switch with its label beside it.
export function choice(label, attributes) {
  const id = uid('c');
  const input = h('input', { type: 'checkbox', id, ...attributes });
  const element = h('div.choice', null, input, h('label', { for: id }, label));
  element.input = input;
  return element;
}

// suggestions attaches a list of suggested texts to an input.
export function suggestions(input, texts) {
  const id = uid('l');
  input.setAttribute('list', id);
  return h('datalist', { id }, texts.map((value) => h('option', { value })));
}
