// Sign-in at an OpenID provider as a public client: authorization code flow with PKCE
// (RFC 7636). The ID token comes directly from the token endpoint over TLS, so its
// signature need not be checked here (OpenID Connect Core 3.1.3.7). The gateway checks
// every token completely.
import { claims, keep, session } from './session.js';

const flowKey = 'tollgate.sign-in';

let provider = null; // the member oidc of settings.json
let metadata = null; // the provider's metadata, once discover has read it

export function configure(settings) {
  provider = settings;
}

// target returns the parameter that says for which resource the token is (RFC 8707).
const target = () => (provider.resource ? { resource: provider.resource } : {});

const callback = () => new URL('callback', import.meta.url).href;

async function discover() {
  if (metadata) return metadata;
  const issuer = provider.issuer.replace(/\/$/, '');
  let found;
  try {
    const response = await fetch(`${issuer}/.well-known/openid-configuration`, { credentials: 'omit', signal: AbortSignal.timeout(15000) });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    found = await response.json();
  } catch (error) {
    throw new Error(`The sign-in service ${provider.issuer} cannot be reached: ${error.message}.`);
  }
  if (found.issuer !== provider.issuer) throw new Error(`The sign-in service says that its issuer is ${found.issuer}, not ${provider.issuer}.`);
  if (!/^https?:/.test(found.authorization_endpoint ?? '') || !/^https?:/.test(found.token_endpoint ?? '')) {
    throw new Error('The sign-in service publishes no authorization and token endpoints.');
  }
  metadata = found;
  return found;
}

function random() {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

// begin stores the state of the sign-in and opens the page of the provider.
export async function begin() {
  const found = await discover();
  const flow = { state: random(), nonce: random(), verifier: random(), back: location.hash };
  sessionStorage.setItem(flowKey, JSON.stringify(flow));
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(flow.verifier));
  const url = new URL(found.authorization_endpoint);
  for (const [name, value] of Object.entries({
    response_type: 'code', client_id: provider.client_id, redirect_uri: callback(), scope: provider.scopes.join(' '),
    state: flow.state, nonce: flow.nonce, code_challenge: base64url(new Uint8Array(digest)), code_challenge_method: 'S256', ...target(),
  })) url.searchParams.set(name, value);
  location.assign(url);
}

// returned reports whether this page is the redirect URI, to which the provider sends users back.
export function returned() {
  return location.pathname === new URL(callback()).pathname;
}

// finish checks the response of the provider, exchanges the code and stores the session.
export async function finish() {
  const query = new URLSearchParams(location.search);
  let flow = null;
  try {
    flow = JSON.parse(sessionStorage.getItem(flowKey));
  } catch {
    // A broken entry counts as none.
  }
  sessionStorage.removeItem(flowKey);
  history.replaceState(null, '', new URL(`./${flow?.back ?? ''}`, import.meta.url));
  if (!provider || !flow || query.get('state') !== flow.state) throw new Error('This sign-in was not started in this tab, or it has expired. Please sign in again.');
  if (query.has('error')) throw new Error(`The sign-in service refused: ${query.get('error_description') || query.get('error')}.`);
  const found = await discover();
  if (query.has('iss') && query.get('iss') !== provider.issuer) throw new Error('The answer came from another sign-in service.'); // RFC 9207
  await exchange(found, { grant_type: 'authorization_code', code: query.get('code') ?? '', redirect_uri: callback(), code_verifier: flow.verifier }, flow.nonce);
}

async function exchange(found, parameters, nonce) {
  let response;
  try {
    response = await fetch(found.token_endpoint, {
      method: 'POST', credentials: 'omit', signal: AbortSignal.timeout(15000), body: new URLSearchParams({ client_id: provider.client_id, ...target(), ...parameters }),
    });
  } catch {
    throw Object.assign(new Error('The sign-in service cannot be reached.'), { network: true });
  }
  const got = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(`The sign-in service refused: ${got.error_description || got.error || response.status}.`);
  const id = got.id_token && claims(got.id_token);
  if (nonce) {
    const audience = [id?.aud].flat();
    if (!id || id.nonce !== nonce || id.iss !== provider.issuer || !audience.includes(provider.client_id)) {
      throw new Error('The sign-in service sent a token that is not for this sign-in.');
    }
  }
  const token = provider.token === 'id' ? got.id_token : got.access_token;
  if (!token) throw new Error(`The sign-in service sent no ${provider.token} token.`);
  const seconds = Number(got.expires_in) || 0;
  const expires = provider.token === 'id' && id?.exp ? id.exp * 1000 : seconds ? Date.now() + seconds * 1000 : 0;
  keep({ token, refresh: got.refresh_token ?? session.refresh, expires, name: id?.name || id?.email || session.name });
}

let renewing = null;

// renew requests a new token with the refresh token, and reports whether it has one. Concurrent calls share one
// request, because a provider may revoke a refresh token that is used twice.
export function renew() {
  if (!session.refresh || !provider) return Promise.resolve(false);
  renewing ??= (async () => {
    try {
      await exchange(await discover(), { grant_type: 'refresh_token', refresh_token: session.refresh });
      return true;
    } catch (error) {
      if (!error.network) keep({ refresh: null });
      return false;
    } finally {
      renewing = null;
    }
  })();
  return renewing;
}

// end revokes the refresh token at the provider (RFC 7009), if the provider has an
// endpoint for that. Errors are ignored: a token that is not revoked expires by itself.
export async function end() {
  const token = session.refresh;
  if (!token || !provider) return;
  try {
    const { revocation_endpoint: at } = await discover();
    if (!at) return;
    await fetch(at, { method: 'POST', credentials: 'omit', keepalive: true, body: new URLSearchParams({ client_id: provider.client_id, token, token_type_hint: 'refresh_token' }) });
  } catch {
    // See above.
  }
}
