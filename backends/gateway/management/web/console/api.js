// Requests to the gateway.
import { renew } from './oidc.js';
import { forget, session } from './session.js';

// The base URL of the gateway. It is relative to this file, so that the console also
// works below a path prefix.
export const base = new URL('..', import.meta.url);

// signedOut is called when the gateway refuses the token of the session. app.js sets it.
export const events = { signedOut() {} };

const retryAfter = [400, 1500]; // pauses before the next try after a network failure, in ms

// call sends a request and returns the parsed JSON of the response, its text if text is
// set, or null if it has no content. With guest, the request has no token. With
// signingIn, a refused token does not end the session, because it has not begun yet.
// call throws the error that refusal makes if the status is not 2xx.
export async function call(method, path, { body, query, signal, text = false, guest = false, signingIn = false } = {}) {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value != null && value !== '') url.searchParams.set(name, value);
  }
  let response = await send(method, url, body, signal, guest);
  if (response.status === 401 && !guest && await renew()) response = await send(method, url, body, signal, guest);
  if (response.ok) {
    if (response.status === 204) return null;
    return text ? response.text() : response.json();
  }
  const error = await refusal(response);
  if (response.status === 401 && !guest && !signingIn) {
    error.signedOut = true;
    if (session.token) { // only once, if several requests are refused at the same time
      forget();
      events.signedOut(`You are signed out: ${error.message}`);
    }
  }
  throw error;
}

// own sends a request to a path below that of the signed-in user.
export function own(method, path, options) {
  return call(method, `users/${encodeURIComponent(session.user)}/${path}`, options);
}

async function send(method, url, body, signal, guest) {
  if (!guest && session.refresh && session.expires && Date.now() > session.expires - 30000) await renew();
  const headers = {};
  if (!guest && session.token) headers.Authorization = `Bearer ${session.token}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  // Only requests that change nothing are repeated automatically.
  const pauses = method === 'GET' ? retryAfter : [];
  for (let tries = 0; ; tries++) {
    try {
      return await fetch(url, {
        method, headers, signal, cache: 'no-store', credentials: 'omit', body: body === undefined ? undefined : JSON.stringify(body),
      });
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      if (tries >= pauses.length) {
        throw Object.assign(new Error('Check that it runs and that this device is connected.'), { title: 'The gateway cannot be reached.', network: true });
      }
      await new Promise((resolve) => { setTimeout(resolve, pauses[tries]); });
    }
  }
}

// refusal returns the error that a response describes, in any of the error formats of
// the model APIs.
export async function refusal(response) {
  let details = null;
  try {
    details = (await response.json()).error;
  } catch {
    // The response is not from the gateway, for example from a proxy before it.
  }
  const error = new Error(details?.message ?? `The server answered ${response.status} ${response.statusText}`.trim());
  error.status = response.status;
  error.code = details?.code ?? details?.type;
  error.param = details?.param ?? null;
  error.attempts = details?.failed_attempts ?? [];
  error.requestID = response.headers.get('x-request-id');
  const wait = Number(response.headers.get('retry-after'));
  if (response.status === 429 && wait > 0) error.message += ` Try again in ${wait} s.`;
  return error;
}
