// Own prices: how they are written and asked for.
import { call } from '../api.js';
import { usd } from '../format.js';
import { dialog } from '../parts/dialog.js';
import { h } from '../parts/dom.js';
import { field, form, mistake, select } from '../parts/form.js';
import { at } from './view.js';

const rates = [['input', 'Input'], ['cached_input', 'Cached input'], ['cache_write', 'Written to a cache'], ['output', 'Output']];

// written tells a price in words.
export function written(price) {
  if (price.discount) return `${price.discount} % less than the list price`;
  const more = ['long', 'factors', 'calls'].filter((m) => price[m]).length > 0;
  return `${rates.filter(([m]) => price[m] != null).map(([m, text]) => `${text.toLowerCase()} ${usd(price[m])}`).join(', ')}${more ? ', and more' : ''}`;
}

// askPrice asks for the price of a model or of a prefix, and stores it. changed is told what was done. What a price has
// beside the rates that are asked for stays as it is.
export function askPrice(name, price, changed, suggest) {
  const of = h('input', { value: name, maxlength: 300, autocomplete: 'off', spellcheck: 'false', readonly: name !== '', autofocus: name === '' });
  const kind = select([['price', 'A price'], ['discount', 'A discount on the list price']], price.discount || name === '' ? 'discount' : 'price', { autofocus: name !== '' });
  const amount = (value) => h('input', { type: 'number', min: 0, step: 'any', inputmode: 'decimal', value: value ?? '', autocomplete: 'off' });
  const discount = amount(price.discount);
  const inputs = Object.fromEntries(rates.map(([member]) => [member, amount(price[member])]));
  const part = field('Discount in percent', discount, { name: 'discount' });
  const parts = rates.map(([member, text]) => field(text, inputs[member], { name: member, hint: ['input', 'output'].includes(member) ? 'US dollars for a million tokens.' : 'Empty: as input.' }));
  const choose = () => {
    part.hidden = kind.value !== 'discount';
    for (const p of parts) p.hidden = kind.value !== 'price';
  };
  kind.addEventListener('change', choose);
  choose();
  const value = () => {
    if (kind.value === 'discount') {
      if (!(Number(discount.value) > 0)) throw mistake('discount', 'Give a number above 0, at most 100.');
      return { discount: Number(discount.value) };
    }
    const { discount: _, ...whole } = price;
    for (const [member] of rates) {
      delete whole[member];
      if (inputs[member].value !== '') whole[member] = Number(inputs[member].value);
      else if (['input', 'output'].includes(member)) throw mistake(member, 'Give an amount; 0 is free.');
    }
    return whole;
  };
  dialog('Own price', (close) => form([
    field('For', of, { name: 'name', wide: true, hint: name === '' ? 'A model, or the beginning of names with a star, such as openai/*.' : null }),
    suggest?.(of) ?? [], field('What', kind, { wide: true }), part, ...parts,
  ].flat(), [
    h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
    h('button', { type: 'submit' }, 'Save'),
  ], async () => {
    if (!of.value.trim()) throw mistake('name', 'Give the name of a model, or a beginning with a star.');
    await call('PUT', at('prices', of.value.trim()), { body: value() });
    close();
    await changed('The price is set');
  }));
}
