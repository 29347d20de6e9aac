// The groups, roles and attributes of users, from which claims are made.
import { call } from './api.js';
import { dialog } from './parts/dialog.js';
import { h, load } from './parts/dom.js';
import { field, form, mistake } from './parts/form.js';
import { act, area, card, done, facts, lines } from './view.js';

// written returns attributes as text, one value per line after its name.
const written = (attributes) => Object.entries(attributes).flatMap(([name, values]) => values.map((value) => `${name} = ${value}`));

function read(input) {
  const attributes = {};
  for (const line of lines(input)) {
    const at = line.indexOf('=');
    const [name, value] = [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    if (at < 1 || !value) throw mistake('attributes', `This line is not an attribute: ${line}`);
    (attributes[name] ??= []).push(value);
  }
  return attributes;
}

function edit(path, told, then) {
  const groups = area(told.groups);
  const roles = area(told.roles);
  const attributes = area(written(told.attributes), 5);
  dialog('Groups, roles and attributes', (close) => form([
    field('Groups', groups, { name: 'groups', wide: true, hint: 'One per line. A group within another one is written with a slash: staff/night.' }),
    field('Roles', roles, { name: 'roles', wide: true, hint: 'One per line, in addition to those of the groups.' }),
    field('Attributes', attributes, { name: 'attributes', wide: true, hint: 'One per line: department = Sales. Several lines with one name give it several values.' }),
  ], [
    h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
    h('button', { type: 'submit' }, 'Save'),
  ], async () => {
    await call('PATCH', path, { body: { groups: lines(groups), roles: lines(roles), attributes: read(attributes) } });
    close();
    await done('They are changed. Tokens contain them from the next refresh', then);
  }));
}

// factCard returns a section with the groups, roles and attributes of the user at a path of the API.
export function factCard(user, signal) {
  const place = h('div');
  const path = `${user}/attributes`;
  const show = () => load(place, async () => {
    const told = await call('GET', path, { signal });
    const inherited = told.effective_roles.filter((role) => !told.roles.includes(role));
    const rows = [
      ['Groups', told.groups.join(', '), true], ['Roles', told.roles.join(', '), true], ['Roles of the groups', inherited.join(', '), true],
      ...Object.entries(told.attributes).map(([name, values]) => [name, values.join(', ')]),
    ];
    return card('Groups, roles and attributes', rows.some(([, what]) => what) ? facts(rows) : h('p', null, 'None. Rules for claims of clients and resources use them.'),
      act('Change', async () => edit(path, await call('GET', path, { signal }), show)));
  });
  show();
  return place;
}

// groupRoles opens a dialog for the roles of groups.
export async function groupRoles() {
  const { group_roles: before } = await call('GET', 'group-roles', { query: { limit: 1000 } });
  const text = area(before.map((g) => `${g.group}: ${g.roles.join(', ')}`), 8);
  dialog('Roles of groups', (close) => form([
    field('Groups', text, { name: 'roles', wide: true, hint: 'One per line: staff: reader, writer. A member of a group within another one has the roles of both.' }),
  ], [
    h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
    h('button', { type: 'submit' }, 'Save'),
  ], async () => {
    const wanted = new Map(lines(text).map((line) => {
      const at = line.lastIndexOf(': ');
      if (at < 1) throw mistake('roles', `This line is not a group with its roles: ${line}`);
      return [line.slice(0, at).trim(), line.slice(at + 1).split(',').map((role) => role.trim()).filter(Boolean)];
    }));
    for (const { group } of before) if (!wanted.has(group)) await call('PUT', 'group-roles', { body: { group, roles: [] } });
    for (const [group, roles] of wanted) {
      const old = before.find((g) => g.group === group)?.roles.join(', ');
      if (old !== [...roles].sort().join(', ')) await call('PUT', 'group-roles', { body: { group, roles } });
    }
    close();
  }));
}
