// Own prices: their text, and the dialog that sets one.
import { call } from '../api.js';
import { usd } from '../format.js';
import { dialog } from '../parts/dialog.js';
import { h } from '../parts/dom.js';
import { field, form, mistake, select } from '../parts/form.js';
import { at } from './view.js';

const rates = [['input', 'Input'], ['cached_input', 'Cached input'], ['cache_write', 'Cache write'], ['output', 'Output']];

// written returns a price as a text.
export function written(price) {
  if (price.discount) return `${price.discount} % less than the list price`;
  const more = ['long', 'factors', 'calls'].filter((m) => price[m]).length > 0;
  return `${rates.filter(([m]) => price[m] != null).map(([m, text]) => `${text.toLowerCase()} ${usd(price[m])}`).join(', ')}${more ? ', and more' : ''}`;
}

// askPrice opens a dialog for the price of a model or of a prefix, and stores it. It then calls changed with a message.
// Members of the price that the dialog does not show stay unchanged.
export function askPrice(name, price, changed, suggest) {
  const of = h('input', { value: name, maxlength: 300, autocomplete: 'off', spellcheck: 'false', readonly: name !== '', autofocus: name === '' });
  const kind = select([['price', 'A price'], ['discount', 'A discount on the list price']], price.discount || name === '' ? 'discount' : 'price', { autofocus: name !== '' });
  const amount = (value) => h('input', { type: 'number', min: 0, step: 'any', inputmode: 'decimal', value: value ?? '', autocomplete: 'off' });
  const discount = amount(price.discount);
  const inputs = Object.fromEntries(rates.map(([member]) => [member, amount(price[member])]));
  const part = field('Discount in percent', discount, { name: 'discount' });
  const parts = rates.map(([member, text]) => field(text, inputs[member], { name: member, hint: ['input', 'output'].includes(member) ? 'US dollars per million tokens.' : 'Leave it empty for the input price.' }));
  const choose = () => {
    part.hidden = kind.value !== 'discount';
    for (const p of parts) p.hidden = kind.value !== 'price';
  };
  kind.addEventListener('change', choose);
  choose();
  const value = () => {
    if (kind.value === 'discount') {
      if (!(Number(discount.value) > 0)) throw mistake('discount', 'Enter a number above 0 and at most 100.');
      return { discount: Number(discount.value) };
    }
    const { discount: _, ...whole } = price;
    for (const [member] of rates) {
      delete whole[member];
      if (inputs[member].value !== '') whole[member] = Number(inputs[member].value);
      else if (['input', 'output'].includes(member)) throw mistake(member, 'Enter an amount. 0 means free.');
    }
    return whole;
  };
  dialog('Own price', (close) => form([
    field('Model', of, { name: 'name', wide: true, hint: name === '' ? 'A model, or a prefix with a star, such as openai/*.' : null }),
    suggest?.(of) ?? [], field('Kind', kind, { wide: true }), part, ...parts,
  ].flat(), [
    h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
    h('button', { type: 'submit' }, 'Save'),
  ], async () => {
    if (!of.value.trim()) throw mistake('name', 'Enter a model, or a prefix with a star.');
    await call('PUT', at('prices', of.value.trim()), { body: value() });
    close();
    await changed('The price is set');
  }));
}
