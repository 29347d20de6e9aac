// Parts that the pages of operators share.
import { call } from '../api.js';
import { limitFields, localTime, said } from '../limits.js';
import { dialog } from '../parts/dialog.js';
import { act, busy, h, load, table, toast } from '../parts/dom.js';
import { field, form, mistake } from '../parts/form.js';
import { when } from '../parts/look.js';

// self describes the signed-in user and their roles. app.js sets it.
export const self = { role: 'member', teams: [] };

export const operates = () => self.role === 'operator';

// oversees reports whether the signed-in user may see all users, as operators and auditors do.
export const oversees = () => self.role !== 'member';

// administered returns the teams that the signed-in user administers.
export const administered = () => self.teams.filter((t) => t.role === 'admin');

// manages reports whether the signed-in user may change a team's members, keys and own limits.
export const manages = (id) => operates() || administered().some((t) => t.id === id);

// person returns the name of a user, as a link for those who may open the user's page.
export const person = (id, text) => (oversees() ? link('people', id, text) : text || id);

// at returns the API path below operator/ with the given segments.
export const at = (...parts) => ['operator', ...parts.map(encodeURIComponent)].join('/');

// link returns a link to the page of one entry.
export const link = (page, id, text) => h('a', { href: `#/${page}/${encodeURIComponent(id)}` }, text || id);

// paged returns a list that is loaded page by page. fetch gets the cursor of a page, which is undefined for the first. The
// method show of the list loads it again.
export function paged({ caption, columns, empty, fetch }) {
  const place = h('div');
  const more = h('button.quiet', { type: 'button' }, 'Show more');
  let rows = [];
  let next = null;
  const draw = () => {
    more.hidden = !next;
    return rows.length ? h('div.panel.flush', null, table(caption, columns, rows)) : h('p.empty', null, empty());
  };
  const turn = async (after) => {
    const answer = await fetch(after);
    rows = after ? rows.concat(answer.data) : answer.data;
    next = answer.next_after ?? answer.next_cursor ?? null;
    return draw();
  };
  more.hidden = true;
  more.addEventListener('click', () => busy(more, () => load(place, () => turn(next))));
  const list = h('div.flow', null, place, h('div.do', null, more));
  list.show = () => load(place, () => turn(null));
  return list;
}

// limitCard returns a section with the limits at a path. If may is set, it has buttons that change them and, if raises is
// set, that raise them temporarily.
export function limitCard(title, about, path, signal, { may = operates(), raises = true } = {}) {
  const place = h('div');
  const raisePath = path.replace(/limits$/, 'raise');
  const show = () => load(place, async () => {
    const limits = await call('GET', path, { signal });
    const raise = raises && await call('GET', raisePath, { signal }).catch((error) => { if (error.status !== 404) throw error; });
    const list = said(limits, true);
    return h('section.panel', { 'aria-label': title },
      h('div.head', null, h('h2', null, title), h('span.push'), may && [
        raises && list.length > 0 && act('button.quiet', 'Raise temporarily', async () => lift(raise)),
        act('button.quiet', 'Change', async () => edit(limits)),
      ]),
      h('p.small.muted', null, about),
      list.length ? h('ul.plain', null, list.map((text) => h('li', null, text))) : h('p', null, 'No limits.'),
      raise && [
        h('p', null, 'Until ', when(raise.until), ' these apply instead:'),
        h('ul.plain', null, said(raise.limits, true).map((text) => h('li', null, text))),
        may && h('div.do', null, act('button.plain.danger', 'End the raise', async () => {
          await call('DELETE', raisePath);
          toast('The original limits apply again');
          await show();
        })),
      ]);
  });
  const lift = (raise) => {
    const until = h('input', { type: 'datetime-local', value: localTime(raise?.until), required: true });
    const [fields, value] = limitFields(raise?.limits ?? {});
    dialog('Raise temporarily', (close) => form([
      field('Until', until, { name: 'until', wide: true, hint: 'Your local time. Until then, the values below replace the limits of the same names. The others stay.' }), ...fields,
    ], [
      h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
      h('button', { type: 'submit' }, 'Save'),
    ], async () => {
      if (!until.value) throw mistake('until', 'Enter a time.');
      await call('PUT', raisePath, { body: { until: new Date(until.value).toISOString(), limits: value() } });
      close();
      toast('The limits are raised');
      await show();
    }));
  };
  const edit = (limits) => {
    const [fields, value] = limitFields(limits);
    dialog(title, (close) => form(fields, [
      h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
      h('button', { type: 'submit' }, 'Save'),
    ], async () => {
      await call('PUT', path, { body: value() });
      close();
      toast('The limits are saved');
      await show();
    }));
  };
  show();
  return place;
}
