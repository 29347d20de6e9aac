// Requests to the administration API, and the key that they are sent with.

// Where the API is: the folder above these files, so that it works below a prefix too.
const base = new URL('..', import.meta.url);

const storageKey = 'tollgate.authserver';

// What is done when the key is taken no longer; app.js sets it.
export const events = { signedOut() {} };

// The key lives in this tab alone: a reload keeps it, and closing the tab ends it.
export const door = {
  key: stored(),
  keep(key) {
    this.key = key;
    try {
      sessionStorage.setItem(storageKey, key);
    } catch {
      // Without storage it ends with a reload.
    }
  },
  forget() {
    this.key = '';
    try {
      sessionStorage.removeItem(storageKey);
    } catch {
      // There was none.
    }
  },
};

function stored() {
  try {
    return sessionStorage.getItem(storageKey) ?? '';
  } catch {
    return '';
  }
}

// The versions (ETag) of what was read.
const versions = new WeakMap();

// call sends a request and returns the JSON of the answer, null without content. quiet
// leaves a refused key to the caller. of is what was read and is changed now: the change is
// refused where somebody else has changed it since.
export async function call(method, path, { body, query, signal, of, quiet = false } = {}) {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value != null && value !== '') url.searchParams.set(name, value);
  }
  const headers = {};
  if (door.key) headers.Authorization = `Bearer ${door.key}`;
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
    const told = await response.json();
    const version = response.headers.get('etag');
    if (version) versions.set(told, version);
    return told;
  }
  const error = await refusal(response);
  if (error.status === 401 && !quiet) {
    error.signedOut = true;
    if (door.key) { // the first of several that are refused at once
      door.forget();
      events.signedOut('The key is not valid any more.');
    }
  }
  throw error;
}

async function refusal(response) {
  let said = null;
  try {
    said = await response.json();
  } catch {
    // Not one of the server's own.
  }
  const error = new Error(said?.detail || `The server answered ${response.status} ${response.statusText}`.trim());
  error.status = response.status;
  if (response.status === 412) error.message = 'Somebody else has changed this in the meantime. Reload the page and make your change again.';
  const wait = Number(response.headers.get('retry-after'));
  if (response.status === 429 && wait > 0) error.message += ` Try again in ${wait} s.`;
  return error;
}

// at is the path of one of many.
export const at = (path, id) => `${path}/${encodeURIComponent(id)}`;
