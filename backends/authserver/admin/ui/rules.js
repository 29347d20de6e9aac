// Rules for the claims of users, set for clients and resources.
import { call } from './api.js';
import { dialog } from './parts/dialog.js';
import { code, h, table } from './parts/dom.js';
import { field, form, mistake } from './parts/form.js';
import { act, card, done } from './view.js';

// written returns rules as text, one per line: the claim, its source, and options.
const written = (rules) => (rules ?? []).map((r) => [
  r.claim, r.from, r.prefix && `prefix=${r.prefix}`, r.strip_prefix && 'strip_prefix', r.type && `type=${r.type}`, r.scope && `scope=${r.scope}`, r.in?.length && `in=${r.in.join(',')}`,
].filter(Boolean).join(' ')).join('\n');

function read(text) {
  return text.split('\n').map((line) => line.trim()).filter(Boolean).map((line) => {
    const [claim, from, ...options] = line.split(/\s+/);
    if (!from) throw mistake('claim_rules', `This line does not say from what the claim is made: ${line}`);
    const rule = { claim, from };
    for (const option of options) {
      const [name, ...rest] = option.split('=');
      const value = rest.join('=');
      if (name === 'strip_prefix' && !value) rule.strip_prefix = true;
      else if (name === 'in' && value) rule.in = value.split(',');
      else if (['prefix', 'type', 'scope'].includes(name) && value) rule[name] = value;
      else throw mistake('claim_rules', `There is no option ${option}.`);
    }
    return rule;
  });
}

function edit(rules, save) {
  const text = h('textarea.code', { rows: 6, spellcheck: 'false', value: written(rules), autofocus: true });
  dialog('Claims of users', (close) => form([
    field('Rules', text, {
      name: 'claim_rules', wide: true,
      hint: 'One per line: the claim, then roles, groups or attributes.<name>, then optionally prefix=…, strip_prefix, type=list, scope=… and in=access_token,id_token,userinfo.',
    }),
  ], [
    h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
    h('button', { type: 'submit' }, 'Save'),
  ], async () => {
    await save(read(text.value));
    close();
  }));
}

// rulesCard returns a section with the rules of the client or resource at a path of the API. fetch reads that client or
// resource again. none is the text without rules.
export function rulesCard(rules, path, fetch, none, refresh) {
  return card('Claims of users', table('Claims of users', [
    { title: 'Claim', class: 'name', cell: (r) => code(r.claim) },
    { title: 'Source', cell: (r) => [code(r.from), r.prefix && ` with the prefix ${r.prefix}`, r.strip_prefix && ', which is removed'] },
    { title: 'If the scope includes', cell: (r) => r.scope && code(r.scope) },
    { title: 'In', cell: (r) => r.in?.join(', ') },
  ], rules ?? [], none), act('Change', async () => {
    const of = await fetch();
    edit(of.claim_rules, async (body) => {
      await call('PATCH', path, { body: { claim_rules: body }, of });
      await done('The rules are changed', refresh);
    });
  }));
}
