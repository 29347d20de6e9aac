import { call } from '../api.js';
import { code, h, load, notice, tag } from '../parts/dom.js';
import { number } from '../parts/look.js';
import { act, card, facts, link, moment } from '../view.js';

export const title = 'Sign-in providers';
export const about = 'The OpenID providers at which people sign in, and whether they respond.';

const where = (u) => (u.slug ? `upstreams: ${u.slug}` : 'oidc');
const registration = (u) => (u.registration ? ['open', u.registration_domains.length > 0 && ` for ${u.registration_domains.join(', ')}`] : 'off');

export function show({ body, actions, signal }) {
  const place = h('div.flow');
  body.append(place);
  const refresh = () => load(place, async () => {
    const { upstreams } = await call('GET', 'upstreams', { signal });
    if (!upstreams.length) return notice('info', h('p', null, 'People sign in only here. Providers are configured in the section oidc and the list upstreams.'));
    return upstreams.map((u) => card(u.display_name, facts([
      ['Discovery', u.discovery === 'ok' ? tag('good', 'works') : [tag('bad', 'fails'), h('p.small', { role: 'status' }, u.error)], u.discovery !== 'ok'],
      ['Issuer', code(u.issuer)],
      ['Configuration', code(where(u))],
      ['Client id', code(u.client_id)],
      ['Redirect URI to register there', code(u.redirect_uri), true],
      ['Button', u.hidden ? 'none' : 'shown'],
      ['Mail domains', u.domains.join(', ')],
      ['New accounts', registration(u)],
      ['Connected users', number(u.users)],
      ['Last sign-in', moment(u.last_sign_in_at) ?? 'none'],
      ['Latest refusal', u.last_failure && [moment(u.last_failure.at), h('p.small', null, u.last_failure.reason, u.last_failure.user_id && [' ', link('users', u.last_failure.user_id, 'Open the user')])], true],
      ['Signing keys', u.keys > 0 && number(u.keys)],
      ['Authorization endpoint', u.authorization_endpoint && code(u.authorization_endpoint), true],
      ['Sends iss (RFC 9207)', u.discovery === 'ok' && (u.tells_issuer ? 'yes' : 'no')],
    ])));
  });
  actions.append(act('Check again', refresh));
  return refresh();
}
