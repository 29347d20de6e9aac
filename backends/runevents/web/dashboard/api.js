// Queries to the service, through the same API that other clients use.
import { tabSecret } from './parts/secret.js';

// The base URL of the service. It is relative to this file.
const base = new URL('..', import.meta.url);

export const token = tabSecret('tollgate.events.token');

// denied is called with a message when the service refuses a request without a valid token. app.js sets it.
export const events = { denied() {} };

// address returns the URL of a query.
export function address(path, parameters) {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(parameters ?? {})) {
    if (value == null || value === '') continue;
    url.searchParams.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
  return url;
}

// ask sends a query. It returns its rows, and as total the number of rows without the
// limit if include_total was set. With signingIn, a refusal does not show the form for the
// token again.
export async function ask(path, parameters, { signal, signingIn = false } = {}) {
  const headers = { Accept: 'application/json' };
  if (token.value) headers.Authorization = `Bearer ${token.value}`;
  let response;
  try {
    response = await fetch(address(path, parameters), { headers, signal, cache: 'no-store', credentials: 'same-origin' });
    if (response.ok) {
      const total = response.headers.get('x-records');
      return { rows: await response.json(), total: total == null ? null : Number(total) };
    }
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw Object.assign(new Error('Check that it runs and that this device is connected.'), { title: response ? 'The response was interrupted.' : 'The service cannot be reached.' });
  }
  const error = await refusal(response);
  if ((response.status === 401 || response.status === 403) && !signingIn) {
    error.signedOut = true;
    events.denied(error.message);
  }
  throw error;
}

// rows sends a query and returns only its rows.
export const rows = async (...all) => (await ask(...all)).rows;

const advice = {
  400: ['The query was refused.', 'The service says what is wrong with it:'],
  401: ['The token was refused.', 'It may have expired, or may not have been copied completely.'],
  403: ['You may not read run events.', 'The option "read" of the service defines who may.'],
  404: ['This does not exist.', 'It may have been deleted because of its age.'],
  413: ['The query is too large.', 'Ask in several parts.'],
  429: ['Too many requests.', 'Try again a little later.'],
  500: ['The service failed.', 'Its log has the reason.'],
  503: ['The service is not available.', 'Its database may be down, or the query took too long: narrow it, then try again.'],
};

// refusal returns the error that a response describes. Messages are plain text or, on some
// routes, JSON.
async function refusal(response) {
  let message = await response.text(); // fails if the user leaves the page
  try {
    const details = JSON.parse(message).error;
    message = details?.message ?? details ?? message;
  } catch {
    // The message is plain text.
  }
  const [title, hint] = advice[response.status] ?? [];
  return Object.assign(new Error(String(message) || `${response.status} ${response.statusText}`), { status: response.status, title, advice: hint });
}
