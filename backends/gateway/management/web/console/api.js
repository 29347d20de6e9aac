// Requests to the gateway.
import { renew } from './oidc.js';
import { forget, session } from './session.js';

// Where the gateway is: the folder above these files, so that the console works
// below a prefix too.
export const base = new URL('..', import.meta.url);

// What is done when the gateway takes the token no longer; app.js sets it.
export const events = { signedOut() {} };

const retryAfter = [400, 1500]; // what is tried again when the network fails, in ms

// call sends a request and returns the JSON of the answer, null without content,
// or its text when asked. A guest needs no token; at the door a token that is
// refused ends no session, since there is none yet.
export async function call(method, path, { body, query, signal, text = false, guest = false, door = false } = {}) {
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
  if (response.status === 401 && !guest && !door) {
    error.signedOut = true;
    if (session.token) { // the first of several that are refused at once
      forget();
      events.signedOut(`You are signed out: ${error.message}`);
    }
  }
  throw error;
}

// own is call below the path of the user.
export function own(method, path, options) {
  return call(method, `users/${encodeURIComponent(session.user)}/${path}`, options);
}

async function send(method, url, body, signal, guest) {
  if (!guest && session.refresh && session.expires && Date.now() > session.expires - 30000) await renew();
  const headers = {};
  if (!guest && session.token) headers.Authorization = `Bearer ${session.token}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  // Only what changes nothing is sent again by itself.
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

// refusal makes an error of an answer, whichever of the API's forms it has.
export async function refusal(response) {
  let said = null;
  try {
    said = (await response.json()).error;
  } catch {
    // Not one of the gateway's own.
  }
  const error = new Error(said?.message ?? `The server answered ${response.status} ${response.statusText}`.trim());
  error.status = response.status;
  error.code = said?.code ?? said?.type;
  error.param = said?.param ?? null;
  error.attempts = said?.failed_attempts ?? [];
  error.requestID = response.headers.get('x-request-id');
  const wait = Number(response.headers.get('retry-after'));
  if (response.status === 429 && wait > 0) error.message += ` Try again in ${wait} s.`;
  return error;
}
