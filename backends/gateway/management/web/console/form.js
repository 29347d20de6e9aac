// Forms and dialogs.
import { busy, errorBox, h, uid } from './dom.js';

// field puts a label, a hint and a place for errors around an input. name is the
// member of the API that it stands for: a refusal of it is shown here.
export function field(label, input, { hint, name, wide } = {}) {
  input.id ||= uid('f');
  const help = hint && h('p.hint', { id: `${input.id}-hint` }, hint);
  const wrong = h('p.wrong', { id: `${input.id}-wrong` });
  input.setAttribute('aria-describedby', [help?.id, wrong.id].filter(Boolean).join(' '));
  input.addEventListener('input', () => {
    wrong.textContent = '';
    input.removeAttribute('aria-invalid');
  });
  const element = h(wide ? 'div.field.wide' : 'div.field', null, h('label', { for: input.id }, label), input, help, wrong);
  element.complain = (text) => {
    wrong.textContent = text;
    input.setAttribute('aria-invalid', 'true');
    input.focus();
  };
  element.member = name;
  return element;
}

// choice is a check box or a switch with its label beside it.
export function choice(label, attributes) {
  const id = uid('c');
  const input = h('input', { type: 'checkbox', id, ...attributes });
  const element = h('div.choice', null, input, h('label', { for: id }, label));
  element.input = input;
  return element;
}

// select makes a list of [value, text] pairs.
export function select(options, value, attributes) {
  const element = h('select', attributes, options.map(([v, text]) => h('option', { value: v }, text)));
  element.value = value;
  return element;
}

// suggestions offers texts for an input.
export function suggestions(input, texts) {
  const id = uid('l');
  input.setAttribute('list', id);
  return h('datalist', { id }, texts.map((value) => h('option', { value })));
}

// form runs submit and shows its errors: at the field that the API names, else
// above the buttons.
export function form(fields, buttons, submit) {
  const errors = h('div.errors');
  const submitButton = buttons.find((b) => b.type === 'submit');
  return h('form', {
    novalidate: true,
    onsubmit(event) {
      event.preventDefault();
      errors.replaceChildren();
      busy(submitButton, async () => {
        try {
          await submit();
        } catch (error) {
          if (error.name === 'AbortError' || error.signedOut) return;
          const at = error.param && fields.find((f) => f.member && (error.param === f.member || error.param.startsWith(`${f.member}.`) || error.param.startsWith(`${f.member}[`)));
          if (at) at.complain(error.message);
          else errors.replaceChildren(errorBox(error));
        }
      });
    },
  }, h('div.fields', null, fields), errors, h('div.buttons', null, buttons));
}

// mistake is an error of one field, found before anything is sent.
export function mistake(param, message) {
  return Object.assign(new Error(message), { param });
}

// dialog opens a modal one; fill makes its content and gets the function that
// closes it. The focus goes back to where it was.
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

// confirm asks before what cannot be undone.
export function confirm(title, text, action, work) {
  dialog(title, (close) => form(
    [h('p', null, text)],
    [
      h('button', { type: 'button', onclick: close, autofocus: true }, 'Cancel'),
      h('button.danger', { type: 'submit' }, action),
    ],
    async () => {
      await work();
      close();
    },
  ));
}
