// Requests to the administration API, and the key that they are sent with.
import { tabSecret } from './parts/secret.js';

// The base URL of the API. It is relative to this file, so that the pages also work below a path prefix.
const base = new URL('..', import.meta.url);

export const apiKey = tabSecret('tollgate.authserver');

// signedOut is called when the server refuses the key. app.js sets it.
export const events = { signedOut() {} };

// The ETag of each object that call has returned.
const versions = new WeakMap();

// call sends a request and returns the parsed JSON of the response, or null if it has no
// content. With quiet, a refused key does not end the session. of is an object that call
// has returned and that the request changes: the server refuses the change if somebody
// else has changed the object since.
export async function call(method, path, { body, query, signal, of, quiet = false } = {}) {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value != null && value !== '') url.searchParams.set(name, value);
  }
  const headers = {};
  if (apiKey.value) headers.Authorization = `Bearer ${apiKey.value}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (of && versions.has(of)) headers['If-Match'] = versions.get(of);
  let response;
  try {
    response = await fetch(url, { method, headers, signal, cache: 'no-store', credentials: 'omit', body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw Object.assign(new Error('Check that it runs and that this device is connected.'), { title: 'The server cannot be reached.' });
  }
  if (response.ok) {
    if (response.status === 204) return null;
    const found = await response.json();
    const version = response.headers.get('etag');
    if (version) versions.set(found, version);
    return found;
  }
  const error = await refusal(response);
  if (error.status === 401 && !quiet) {
    error.signedOut = true;
    if (apiKey.value) { // only once, if several requests are refused at the same time
      apiKey.forget();
      events.signedOut('The key is not valid any more.');
    }
  }
  throw error;
}

async function refusal(response) {
  let problem = null;
  try {
    problem = await response.json();
  } catch {
    // The response is not from the server, for example from a proxy before it.
  }
  const error = new Error(problem?.detail || `The server answered ${response.status} ${response.statusText}`.trim());
  error.status = response.status;
  if (response.status === 412) error.message = 'Somebody else has changed this in the meantime. Reload the page and make your change again.';
  const wait = Number(response.headers.get('retry-after'));
  if (response.status === 429 && wait > 0) error.message += ` Try again in ${wait} s.`;
  return error;
}

// at returns the path of an entry of a collection.
export const at = (path, id) => `${path}/${encodeURIComponent(id)}`;
