// Forms, and the errors of their fields.
import { busy, errorBox, h, uid } from './dom.js';

// field returns an input with a label, a hint and a place for errors. name is the member
// of the API's body that the input sets: form shows errors about that member here.
export function field(label, input, { hint, name, wide } = {}) {
  input.id ||= uid('f');
  const help = hint && h('p.hint', { id: `${input.id}-hint` }, hint);
  const wrong = h('p.problem', { id: `${input.id}-wrong` });
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

// select returns a select element with options from [value, text] pairs.
export function select(options, value, attributes) {
  const element = h('select', attributes, options.map(([v, text]) => h('option', { value: v }, text)));
  element.value = value;
  return element;
}

// form returns a form that runs submit and shows its errors: at the field of the member
// that the API names, or else above the buttons.
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
  }, h('div.fields', null, fields), errors, h('div.do', null, buttons));
}

// mistake returns an error of one field, for checks before a request is sent.
export function mistake(param, message) {
  return Object.assign(new Error(message), { param });
}
