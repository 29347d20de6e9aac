// Requests to the API, and the API key that they are sent with.
import { tabSecret } from './parts/secret.js';

// The base URL of the service. It is relative to this file, so that the page also works below a path prefix.
export const base = new URL('..', import.meta.url);

export const apiKey = tabSecret('tollgate.answer');

// reasons maps the error codes of the API to messages for users.
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
  const headers = { 'X-Api-Key': apiKey.value };
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
  const details = await response.json().catch(() => null);
  const error = new Error(reason(details?.error) ?? `The server answered ${response.status}.`);
  error.status = response.status;
  const wait = Number(response.headers.get('retry-after'));
  if (wait > 0) error.message += ` Try again in ${wait} s.`;
  throw error;
}

// quota returns the quota of the account.
export const quota = (signal) => get('v1/quota', signal);

// source returns a function that opens a document of the service in a new tab, or null if the address is not one of the
// service's documents.
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

// evidence returns the passages on which an earlier answer is based.
export const evidence = (id, signal) => get(`v1/answers/${encodeURIComponent(id)}/evidence`, signal);

// companies returns the page of companies whose names contain a text that follows the name after.
export const companies = (name, after, signal) => get(`v1/companies?${new URLSearchParams({ name, after })}`, signal);

// company returns the documents and figures of a company.
export const company = (id, signal) => get(`v1/companies/${encodeURIComponent(id)}`, signal);

// ask sends a question and returns the envelope of the answer. previous is the id of the answer that it follows, if any.
// ask calls onStage at the beginning of each stage.
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
