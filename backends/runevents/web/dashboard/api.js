// Queries to the service, by the API that other clients use too.

// Where the service is: the folder above these files.
const base = new URL('..', import.meta.url);

// What is done when the service asks who the user is; app.js sets it.
export const events = { denied() {} };

const storageKey = 'tollgate.events.token';

// The token lives in this tab alone: a reload keeps it, closing the tab ends it.
let token = restored();

function restored() {
  try {
    return sessionStorage.getItem(storageKey) ?? '';
  } catch {
    return '';
  }
}

export const hasToken = () => token !== '';

export function setToken(text) {
  token = text;
  try {
    if (text) sessionStorage.setItem(storageKey, text);
    else sessionStorage.removeItem(storageKey);
  } catch {
    // Without storage the token ends with a reload.
  }
}

// address is the URL of a query.
export function address(path, parameters) {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(parameters ?? {})) {
    if (value == null || value === '') continue;
    url.searchParams.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
  return url;
}

// ask sends a query and returns its rows, and how many there are without the
// limit when that was asked for. At the door a refusal asks for no token again.
export async function ask(path, parameters, { signal, door = false } = {}) {
  const headers = { Accept: 'application/json' };
  if (token) headers.Authorization = `Bearer ${token}`;
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
  if ((response.status === 401 || response.status === 403) && !door) {
    error.signedOut = true;
    events.denied(error.message);
  }
  throw error;
}

// rows is ask for those who want nothing but the rows.
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

// refusal makes an error of an answer. Messages are plain text or, of some
// routes, JSON.
async function refusal(response) {
  let message = await response.text(); // fails when the page is left, the door included
  try {
    const said = JSON.parse(message).error;
    message = said?.message ?? said ?? message;
  } catch {
    // It is plain text.
  }
  const [title, hint] = advice[response.status] ?? [];
  return Object.assign(new Error(String(message) || `${response.status} ${response.statusText}`), { status: response.status, title, advice: hint });
}
