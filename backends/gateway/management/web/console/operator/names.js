// Other names for models, of the organisation or of a team.
import { call } from '../api.js';
import { suggestions } from '../inputs.js';
import { confirm, dialog } from '../parts/dialog.js';
import { code, h, load, table, toast } from '../parts/dom.js';
import { field, form, mistake } from '../parts/form.js';
import { act, operates } from './view.js';

const tiers = ['low', 'medium', 'high'];

// namesCard lists the aliases at a path, and lets those change them who may. targets returns the models that one can be
// for.
export function namesCard(path, about, targets, signal, may = operates()) {
  const place = h('div');
  const show = () => load(place, async () => {
    const { data } = await call('GET', path, { signal });
    return h('section.panel', { 'aria-label': 'Other names' },
      h('div.head', null, h('h2', null, 'Other names'), may && act('button.quiet', 'Add a name', async () => add())),
      h('p.small.muted', null, about),
      table('Other names', [
        { title: 'Name', class: 'name', cell: (a) => code(a.alias) },
        { title: 'Stands for', cell: (a) => code(a.target) },
        { title: '', class: 'row-actions', cell: (a) => may && act('button.plain.danger', 'Remove', async () => confirm(`Remove the name ${a.alias}?`, 'Requests that send it are refused, unless a model has this name.', 'Remove', async () => {
          await call('DELETE', `${path}/${encodeURIComponent(a.alias)}`);
          toast('The name is removed');
          await show();
        })) },
      ], data, 'There is no other name.'));
  });
  const add = () => {
    const name = h('input', { maxlength: 200, autocomplete: 'off', spellcheck: 'false', autofocus: true });
    const target = h('input', { maxlength: 300, autocomplete: 'off', spellcheck: 'false' });
    dialog('Add a name', (close) => form([
      field('Name', name, { name: 'alias', hint: 'What clients send.' }),
      field('Stands for', target, { name: 'target', hint: 'A model, or low, medium or high.' }),
      suggestions(target, [...tiers, ...targets()]),
    ], [
      h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
      h('button', { type: 'submit' }, 'Add'),
    ], async () => {
      if (!name.value.trim()) throw mistake('alias', 'Give a name.');
      if (!target.value.trim()) throw mistake('target', 'Give a model or a tier.');
      await call('PUT', `${path}/${encodeURIComponent(name.value.trim())}`, { body: { target: target.value.trim() } });
      close();
      toast('The name is added');
      await show();
    }));
  };
  show();
  return place;
}
