import { call } from '../api.js';
import { confirm, dialog } from '../parts/dialog.js';
import { act, code, copyButton, h, tag, toast } from '../parts/dom.js';
import { field, form, select } from '../parts/form.js';
import { when } from '../parts/look.js';
import { at, link, operates, paged } from './view.js';

export const title = 'Invitations';
export const about = 'Links with which people join. Each works once.';

function state(invitation) {
  if (invitation.accepted_at) return ['accepted by ', link('people', invitation.accepted_by, invitation.accepted_by)];
  return new Date(invitation.expires_at) > new Date() ? tag('good', 'open') : tag('plain', 'expired');
}

export function show({ body, actions, signal }) {
  const list = paged({
    caption: 'Invitations',
    empty: () => 'No invitations. Invite somebody, and send them the link.',
    columns: [
      { title: 'Mail address', class: 'name', cell: (i) => i.email },
      { title: 'Team', cell: (i) => (i.team_id ? link('teams', i.team_id, i.role === 'admin' ? 'its administrator' : 'a member') : 'none') },
      { title: 'State', cell: state },
      { title: 'Expires', class: 'when', cell: (i) => when(i.expires_at) },
      { title: '', class: 'row-actions', cell: (i) => operates() && act('button.plain.danger', i.accepted_at ? 'Remove' : 'Withdraw', async () => confirm('Remove the invitation?', 'Its link stops working. Whoever has accepted it stays.', 'Remove', async () => {
        await call('DELETE', at('invitations', i.id));
        toast('The invitation is removed');
        await list.show();
      })) },
    ],
    fetch: (after) => call('GET', at('invitations'), { signal, query: { after } }),
  });
  if (operates()) actions.append(act('button', 'Invite somebody', async () => invite(list)));
  body.append(list);
  return list.show();
}

// invite opens a dialog for a new invitation, and then shows its link.
async function invite(list) {
  const teams = (await call('GET', at('teams'), { query: { limit: 500 } })).data;
  const email = h('input', { type: 'email', maxlength: 320, autocomplete: 'off', autofocus: true });
  const team = select([['', 'As the sign-in rules say'], ...teams.map((t) => [t.id, t.name])], '');
  const role = select([['member', 'Member'], ['admin', 'Administrator']], 'member');
  dialog('Invite somebody', (close) => form([
    field('Mail address', email, { name: 'email', wide: true, hint: 'If the identity provider confirms addresses, it must be this address.' }),
    field('Team', team, { name: 'team_id' }),
    field('Role in the team', role, { name: 'role' }),
  ], [
    h('button.quiet', { type: 'button', onclick: close }, 'Cancel'),
    h('button', { type: 'submit' }, 'Invite'),
  ], async () => {
    const made = await call('POST', at('invitations'), { body: { email: email.value.trim(), role: role.value, ...(team.value && { team_id: team.value }) } });
    close();
    await list.show();
    setTimeout(() => dialog('The invitation', (done) => [ // opens after this dialog has closed
      h('p', null, made.mailed ? 'This link was mailed to ' : 'Send this link to ', code(made.email), '. It is shown only once, and works once.'),
      h('div.copyline', null, field('Link', h('input.code', { value: made.link, readonly: true, spellcheck: 'false' })), copyButton(made.link)),
      h('div.do', null, h('button', { type: 'button', onclick: done }, 'I have copied it')),
    ], { keep: true }));
  }));
}
