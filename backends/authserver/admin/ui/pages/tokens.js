import { at, call } from '../api.js';
import { tag, code, h, load } from '../parts/dom.js';
import { field, form, mistake } from '../parts/form.js';
import { exact } from '../parts/look.js';
import { ask, card, done, facts, instant, learn, link, links, list, moment, stamp } from '../view.js';

export const title = 'Tokens';
export const about = 'The issued access tokens, and an inspector for tokens.';

export function show(page) {
  return page.id ? one(page) : all(page);
}

// ends returns when a token expires, or that it has ended.
const ends = (t) => (t.revoked_at ? tag('bad', 'revoked') : new Date(t.expires_at) < Date.now() ? tag('plain', 'expired') : moment(t.expires_at));

// revoke returns a button that revokes a token, if it is still valid.
const revoke = (t, then, kind) => !t.revoked_at && new Date(t.expires_at) > Date.now()
  && ask('Revoke', 'Revoke this token?', `It is refused from now on, and so is every token exchanged from it. Its id: ${t.jti}`, async () => {
    await call('DELETE', at('tokens', t.jti));
    await done('The token is revoked', then);
  }, kind);

// tokenList returns a list of issued tokens. given has values of filters. With ended, it includes expired and revoked ones.
export function tokenList(signal, given, filters = [], { ended = false } = {}) {
  const found = list({
    caption: 'Tokens',
    rows: ended ? 'issuances' : 'tokens',
    empty: ended ? 'No token was issued yet.' : 'There are no live tokens.',
    missing: 'No such token.',
    signal,
    given,
    filters,
    columns: [
      { title: 'Issued', class: 'when', cell: (t) => h('a', { href: `#/tokens/${t.id}` }, moment(t.issued_at)) },
      (ended || !given.client) && { title: 'Client', cell: (t) => link('clients', t.client_id) },
      (ended || !given.user) && { title: 'User', cell: (t) => link('users', t.subject_user_id) },
      { title: 'Scope', cell: (t) => [t.scopes.join(' '), t.agent_chain?.length > 0 && h('div.small.muted', null, 'by ', chain(t))] },
      { title: 'Resource', cell: (t) => links('resources', t.resource_id) },
      { title: 'Expires', class: 'when', cell: ends },
      { title: '', class: 'row-actions', cell: (t) => revoke(t, found.show, 'button.plain.danger') },
    ].filter(Boolean),
    fetch: (q, stop) => call('GET', ended ? 'issuances' : 'tokens', { query: { ...q, names: 'true' }, signal: stop }),
  });
  return found;
}

// chain returns the agents through which a token was passed, oldest first.
const chain = (t) => t.agent_chain.map((id, i) => [i > 0 && ' → ', link('clients', id)]);

const kinds = { mint: 'of this server', broker: 'of a provider' };

function one({ body, actions, heading, id, signal }) {
  const place = h('div');
  const refresh = () => load(place, async () => {
    const t = await call('GET', at('issuances', id), { signal });
    learn((await call('GET', 'issuances', { query: { jti: t.jti, limit: 1, names: 'true' }, signal })).names);
    heading.textContent = 'A token';
    actions.replaceChildren(...[revoke(t, refresh, 'button.danger')].filter(Boolean));
    return card('Token', facts([
      ['Token id (jti)', code(t.jti), true], ['Issued', stamp(t.issued_at)], ['Expires', stamp(t.expires_at)], ['Revoked', stamp(t.revoked_at)], ['Kind', kinds[t.backend_kind] ?? t.backend_kind],
      ['Client', link('clients', t.client_id)], ['User', link('users', t.subject_user_id)], ['Resource', links('resources', t.resource_id)], ['Scope', t.scopes.join(' '), true],
      ['Client with the consent', t.consent_client_id !== t.client_id && link('clients', t.consent_client_id)],
      ['Exchanged from', t.parent_jti && h('a', { href: `#/tokens?jti=${encodeURIComponent(t.parent_jti)}` }, t.parent_jti)],
      ['Bound to a key (DPoP)', t.dpop_jkt && code(t.dpop_jkt), true], ['Agent', link('clients', t.agent_id)], ['Through agents', t.agent_chain?.length > 0 && chain(t), true],
    ]));
  });
  body.append(place);
  return refresh();
}

function all({ body, signal, query }) {
  body.append(inspector(signal), h('h2', null, 'Issued'), tokenList(signal, Object.fromEntries(['client', 'user', 'resource', 'jti'].map((name) => [name, query.get(name) ?? ''])), [
    { name: 'client', label: 'Client', hint: 'Its id.' },
    { name: 'user', label: 'User', hint: 'Their id.' },
    { name: 'resource', label: 'Resource', hint: 'Its id or slug.' },
    { name: 'jti', label: 'Token id (jti)' },
    { name: 'since', label: 'Since', type: 'datetime-local', read: instant },
  ], { ended: true }));
}

// inspector returns a form that decodes a token in this tab. It sends only the token's id, to look up its state.
function inspector(signal) {
  const input = h('textarea.code', { rows: 3, spellcheck: 'false' });
  const shown = h('div.flow');
  return card('Inspector', [
    form([field('Access token or id token', input, { name: 'token', wide: true, hint: 'It is decoded in this tab and not sent. Only its id is looked up. Its signature is not checked.' })], [h('button', { type: 'submit' }, 'Inspect')], async () => {
      shown.replaceChildren();
      const parts = input.value.trim().split('.');
      let header;
      let claims;
      try {
        [header, claims] = parts.slice(0, 2).map(decode);
      } catch {
        header = null;
      }
      if (parts.length !== 3 || !header || !claims) throw mistake('token', 'This is not a JSON Web Token. A token has three parts separated by dots.');
      const said = h('div');
      shown.append(
        h('div', null, h('h3', null, 'Header'), h('pre.code', null, JSON.stringify(header, null, 2))),
        h('div', null, h('h3', null, 'Claims'), h('pre.code', null, JSON.stringify(claims, null, 2))),
        facts([['Issued', claims.iat && exact(claims.iat * 1000)], ['Expires', claims.exp && h(claims.exp * 1000 < Date.now() ? 'span.expired' : 'span', null, exact(claims.exp * 1000))], ['Bound to a key (DPoP)', claims.cnf?.jkt && code(claims.cnf.jkt)]]),
        said,
      );
      if (typeof claims.jti !== 'string') return;
      await load(said, async () => {
        const { issuances } = await call('GET', 'issuances', { query: { jti: claims.jti, limit: 1 }, signal });
        const [known] = issuances;
        return h('p', null, !known ? 'This server has not issued a token with this id, or has already forgotten it.' : known.revoked_at ? ['The token was revoked ', moment(known.revoked_at), '.'] : ['This server has issued a token with this id, and has not revoked it.', ' ', h('a', { href: `#/tokens/${known.id}` }, 'Open it')]);
      });
    }),
    shown,
  ]);
}

function decode(part) {
  const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
  const value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  return value && typeof value === 'object' ? value : null;
}
