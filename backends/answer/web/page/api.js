// The API, and the key that it is asked with.

// Where the service is: the folder above these files, so that it works below a prefix too.
export const base = new URL('..', import.meta.url);

const storageKey = 'tollgate.answer';

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

// reasons are what the codes of the API mean to who asks.
const reasons = {
  ContentFiltered: 'This service does not answer this question: it gives no recommendations and stays within its subject.',
  NonInvestmentRelated: 'This does not seem to be about investments.',
  ShouldUseScreener: 'This question searches through many companies. Use a screener for it.',
  FailedToAnswer: 'The documents contain no answer that can be verified.',
  RateLimited: 'Too many questions at once.',
  QuotaExceeded: 'The quota of this key is spent.',
  Timeout: 'It took too long. The question was not charged.',
  ServiceUnavailable: 'The service cannot answer right now.',
  InternalError: 'The service failed. The question was not charged.',
  InvalidRequest: 'A question has 1 to 2,000 characters.',
};

export const reason = (code) => reasons[code] ?? code;

async function send(method, path, { body, signal, accept } = {}) {
  const headers = { 'X-Api-Key': door.key };
  if (body) headers['Content-Type'] = 'application/json';
  if (accept) headers.Accept = accept;
  let response;
  try {
    response = await fetch(new URL(path, base), { method, headers, signal, cache: 'no-store', credentials: 'omit', body: body && JSON.stringify(body) });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw Object.assign(new Error('Check that it runs and that this device is connected.'), { title: 'The service cannot be reached.' });
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => null);
  const error = new Error(reason(said?.error) ?? `The server answered ${response.status}.`);
  error.status = response.status;
  const wait = Number(response.headers.get('retry-after'));
  if (wait > 0) error.message += ` Try again in ${wait} s.`;
  throw error;
}

// quota tells how the account stands.
export const quota = (signal) => get('v1/quota', signal);

// source gives what opens a document of the service in a tab; null: the address is another
// one.
export function source(address) {
  const url = new URL(address, base);
  const at = url.pathname.indexOf('/v1/sources/');
  if (at < 0 || (url.origin !== base.origin && !address.startsWith('/'))) return null;
  return async () => {
    const tab = open('', '_blank');
    const text = await send('GET', `.${url.pathname.slice(at)}`).then((r) => r.text()).catch((error) => error.message);
    const shown = URL.createObjectURL(new Blob([text], { type: 'text/plain;charset=utf-8' }));
    if (tab) tab.location = shown;
    setTimeout(() => URL.revokeObjectURL(shown), 60000);
  };
}

const get = async (path, signal) => (await (await send('GET', path, { signal })).json()).result;

// evidence returns the passages on which an own answer is based.
export const evidence = (id, signal) => get(`v1/answers/${encodeURIComponent(id)}/evidence`, signal);

// companies returns a page of the companies whose name contains a text, behind the name after.
export const companies = (name, after, signal) => get(`v1/companies?${new URLSearchParams({ name, after })}`, signal);

// company returns the documents and the figures of one.
export const company = (id, signal) => get(`v1/companies/${encodeURIComponent(id)}`, signal);

// ask sends a question, which may follow the answer with the id previous, tells onStage each stage as it begins, and returns the envelope.
export async function ask({ query, force, previous }, signal, onStage) {
  const response = await send('POST', 'v1/answer', { body: { query, ...(force && { forceAnswer: true }), ...(previous && { previous }) }, signal, accept: 'text/event-stream' });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ''; ;) {
    const { value, done } = await reader.read();
    if (done) throw Object.assign(new Error('The connection ended before the answer.'), { title: 'There was no answer.' });
    text += value;
    for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
      const lines = text.slice(0, end).split('\n');
      const event = lines.find((l) => l.startsWith('event: '))?.slice(7);
      const data = lines.find((l) => l.startsWith('data: '))?.slice(6);
      if (event === 'stage') onStage(JSON.parse(data).stage);
      if (event === 'answer') return JSON.parse(data);
    }
  }
}
