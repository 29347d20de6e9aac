// Aliases for models, of the organisation or of a team.
import { call } from '../api.js';
import { suggestions } from '../inputs.js';
import { confirm, dialog } from '../parts/dialog.js';
import { act, code, h, load, table, toast } from '../parts/dom.js';
import { field, form, mistake } from '../parts/form.js';
import { operates } from './view.js';

const tiers = ['low', 'medium', 'high'];

// namesCard returns a section with the aliases at a path. If may is set, it has buttons that change them. targets returns
// the models that an alias can stand for.
export function namesCard(path, about, targets, signal, may = operates()) {
  const place = h('div');
  const show = () => load(place, async () => {
    const { data } = await call('GET', path, { signal });
    return h('section.panel', { 'aria-label': 'Aliases' },
      h('div.head', null, h('h2', null, 'Aliases'), may && act('button.quiet', 'Add an alias', async () => add())),
      h('p.small.muted', null, about),
      table('Aliases', [
        { title: 'Name', class: 'name', cell: (a) => code(a.alias) },
        { title: 'Stands for', cell: (a) => code(a.target) },
        { title: '', class: 'row-actions', cell: (a) => may && act('button.plain.danger', 'Remove', async () => confirm(`Remove the alias ${a.alias}?`, 'Requests for the alias are refused, unless a model has this name.', 'Remove', async () => {
          await call('DELETE', `${path}/${encodeURIComponent(a.alias)}`);
          toast('The alias is removed');
          await show();
        })) },
      ], data, 'No aliases.'));
  });
  const add = () => {
    const name = h('input', { maxlength: 200, autocomplete: 'off', spellcheck: 'false', autofocus: true });
    const target = h('input', { maxlength: 300, autocomplete: 'off', spellcheck: 'false' });
    dialog('Add an alias', (close) => form([
      field('Name', name, { name: 'alias', hint: 'The name that clients send.' }),
      field('Stands for', target, { name: 'target', hint: 'A model, or low, medium or high.' }),
      suggestions(target, [...tiers, ...targets()]),
    ], [
      h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
      h('button', { type: 'submit' }, 'Add'),
    ], async () => {
      if (!name.value.trim()) throw mistake('alias', 'Enter a name.');
      if (!target.value.trim()) throw mistake('target', 'Enter a model or a tier.');
      await call('PUT', `${path}/${encodeURIComponent(name.value.trim())}`, { body: { target: target.value.trim() } });
      close();
      toast('The alias is added');
      await show();
    }));
  };
  show();
  return place;
}
