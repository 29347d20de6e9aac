import { call } from '../api.js';
import { code, h, load, notice, table } from '../parts/dom.js';
import { field, form, mistake } from '../parts/form.js';
import { number } from '../parts/look.js';
import { act, card, done, facts, learn } from '../view.js';
import { eventColumns } from './audit.js';

export const title = 'Mail';
export const about = 'Whether mails are sent, from whom, and which were sent or failed.';

export function show({ body, actions, signal }) {
  const place = h('div');
  const trial = h('div');
  const recent = h('div');
  const server = () => load(place, async () => {
    const told = await call('GET', 'mail', { signal });
    trial.hidden = !told.configured;
    if (!told.configured) return notice('info', h('p', null, 'Mail is off: ', code('mail.url'), ' is not set. Pages that need mail are missing, and you pass on invitations by hand.'));
    return card('Mail server', facts([
      ['Server', told.server ? code(told.server) : 'set by the program'],
      ['From', told.from && code(told.from)],
      ['Waiting', [number(told.waiting), told.retrying > 0 && `, ${number(told.retrying)} of them to be sent again after a failure`]],
    ]));
  });
  const events = () => load(recent, async () => {
    const { events: found, names } = await call('GET', 'audit', { query: { action: 'mail.', limit: 20, names: 'true' }, signal });
    learn(names);
    return card('Latest mails', table('Latest mails', eventColumns, found, 'No mail was sent recently.'), h('a', { href: '#/audit?action=mail.' }, 'All'));
  });
  const refresh = () => Promise.all([server(), events()]);
  trial.append(test(refresh, events));
  trial.hidden = true;
  actions.append(act('Refresh', refresh));
  body.append(place, trial, recent);
  return refresh();
}

// test returns a form that sends a test mail and then loads the list of mails.
function test(refresh, events) {
  const to = h('input', { type: 'email', autocomplete: 'email', spellcheck: 'false' });
  return card('Test', form(
    [field('Your mail address', to, { name: 'email', wide: true, hint: 'A short mail is sent there immediately.' })],
    [h('button', { type: 'submit' }, 'Send a test mail')],
    async () => {
      if (!to.value.trim()) throw mistake('email', 'Enter the address first.');
      try {
        await call('POST', 'mail/test', { body: { email: to.value.trim() } });
      } catch (error) {
        if (!error.signedOut) await events();
        throw error;
      }
      await done('The mail server has accepted the mail', refresh);
    },
  ));
}
