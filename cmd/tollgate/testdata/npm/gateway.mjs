// What the cases of every client need: where the gateway is, and how to tell
// the scripted model behind it what to answer.
import assert from 'node:assert/strict';

function env(name) {
  assert.ok(process.env[name], `${name} is not set: these files are run by go test -run TestNodeClients`);
  return process.env[name];
}

export const url = env('TOLLGATE_URL');
export const key = env('TOLLGATE_KEY');
export const limitedKey = env('TOLLGATE_LIMITED_KEY'); // one request in a minute

// A model that fails cools down, so that those who must fail are apart.
export const model = env('TOLLGATE_MODEL');
export const failingModel = env('TOLLGATE_FAILING_MODEL');
export const breakingModel = env('TOLLGATE_BREAKING_MODEL');
// Its provider wants the state of its reasoning back.
export const statefulModel = env('TOLLGATE_STATEFUL_MODEL');

// A PNG picture.
export const onePixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

// What the user says to get an answer: pairs of the scripted model's language.
export function script(...pairs) {
  return 'scripted?' + new URLSearchParams(pairs);
}

export const twoTools = script(
  ['reasoning', 'The weather'],
  ['tool', 'weather:{"city":"Oslo"}'],
  ['tool', 'time:{"zone":"CET"}'],
);

// The upstream's answer is the request that it got.
export const echo = script(['echo', 'body']);

export const details = [{ type: 'reasoning.encrypted', data: 'c3RhdGU=', id: 'r1', format: 'unknown', index: 0 }];

// An answer of a provider that has state to carry: one tool call, whole or
// streamed.
export function stateful(stream) {
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } };
  const part = { role: 'assistant', content: null, reasoning: 'Hm', reasoning_details: details, tool_calls: [call] };
  const answer = { id: 'chatcmpl-1', object: 'chat.completion', created: 1700000000, model: 'x' };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  if (!stream) {
    return script(['body', JSON.stringify({ ...answer, choices: [{ index: 0, message: part, finish_reason: 'tool_calls' }], usage })]);
  }
  const events = [
    { choices: [{ index: 0, delta: part, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
    { choices: [], usage },
  ].map((e) => `data: ${JSON.stringify({ ...answer, object: 'chat.completion.chunk', ...e })}\n\n`);
  return script(['body', events.join('') + 'data: [DONE]\n\n']);
}

// The upstream's counts, once they have reached these.
async function stats(least = {}) {
  const response = await fetch(`${env('TOLLGATE_UPSTREAM')}/stats?${new URLSearchParams(least)}`);
  const counts = await response.json();
  assert.equal(response.status, 200, `the upstream waits for ${JSON.stringify(least)} and has ${JSON.stringify(counts)}`);
  return counts;
}

// Aborts what ask(controller) does once the upstream has the request, and
// waits until the request has left the upstream too. ask resolves to the error
// that the client sees.
export async function abortedUpstream(ask) {
  const before = await stats();
  const controller = new AbortController();
  const failure = ask(controller);
  await stats({ requests: before.requests + 1 });
  controller.abort();
  await stats({ cancelled: before.cancelled + 1 });
  return failure;
}

// A fetch that counts its calls.
export function countingFetch() {
  const counting = (...request) => {
    counting.calls++;
    return fetch(...request);
  };
  counting.calls = 0;
  return counting;
}

// The error that promise is rejected with.
export async function failureOf(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return assert.fail('there is no error');
}

// Reads an iterator to its end.
export async function all(items) {
  const list = [];
  for await (const item of items) list.push(item);
  return list;
}
