// Stored responses and conversations with openai.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import OpenAI from 'openai';

import * as gateway from './gateway.mjs';
import { all, failureOf, script } from './gateway.mjs';

const connect = (apiKey) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
const client = connect(gateway.key);
const sameUser = connect(process.env.TOLLGATE_SECOND_KEY);
const other = connect(process.env.TOLLGATE_OTHER_KEY);
const { model } = gateway;

const missing = async (promise) => {
  const error = await failureOf(promise);
  assert.equal(error.status, 404, String(error));
};

// What the upstream was sent: its answer is the request.
const sent = (response) => JSON.parse(response.output_text).messages.map((m) => `${m.role}: ${m.content}`);

// Asks until the answer is over.
async function poll(id) {
  for (;;) {
    const response = await client.responses.retrieve(id);
    if (response.status !== 'queued' && response.status !== 'in_progress') return response;
    await new Promise((done) => { setTimeout(done, 50); });
  }
}

for (const stream of [false, true]) {
  const ask = (params) => (stream ? client.responses.stream({ model, ...params }).finalResponse() : client.responses.create({ model, ...params }));

  test(`three turns by previous_response_id, ${stream ? 'stream' : 'whole'}`, async () => {
    const first = await ask({ input: script(['text', 'ONE']), instructions: 'Be kind.' });
    assert.equal(first.store, true);
    const second = await ask({ input: [{ role: 'user', content: script(['text', 'TWO']) }], previous_response_id: first.id });
    assert.equal(second.previous_response_id, first.id);
    const third = await ask({ input: gateway.echo, previous_response_id: second.id });
    assert.deepEqual(sent(third), [ // instructions are not carried over
      `user: ${script(['text', 'ONE'])}`, 'assistant: ONE', `user: ${script(['text', 'TWO'])}`, 'assistant: TWO', `user: ${gateway.echo}`,
    ]);

    const kept = await client.responses.retrieve(second.id);
    assert.equal(kept.output_text, 'TWO');
    assert.equal(kept.status, 'completed');
    assert.equal((await sameUser.responses.retrieve(second.id)).id, second.id);
    const items = await all(client.responses.inputItems.list(third.id, { order: 'asc', limit: 2 }));
    assert.deepEqual(items.map((item) => item.content[0].text), [script(['text', 'ONE']), 'ONE', script(['text', 'TWO']), 'TWO', gateway.echo]);

    await missing(other.responses.retrieve(second.id));
    await missing(other.responses.inputItems.list(second.id));
    await missing(other.responses.delete(second.id));
    const error = await failureOf(other.responses.create({ model, input: 'Hello', previous_response_id: second.id }));
    assert.equal(error.status, 400);
    assert.equal(error.code, 'previous_response_not_found');

    await client.responses.delete(second.id);
    await missing(client.responses.retrieve(second.id));
    await missing(client.responses.delete(second.id));
    assert.equal((await failureOf(ask({ input: 'Hello', previous_response_id: third.id }))).status, 400);
  });
}

test('store: false keeps nothing', async () => {
  const response = await client.responses.create({ model, input: script(['text', 'ONE']), store: false });
  assert.equal(response.store, false);
  await missing(client.responses.retrieve(response.id));
});

test('a tool is called in a chain', async () => {
  const tools = [{ type: 'function', name: 'weather', description: 'weather', strict: false, parameters: { type: 'object', properties: {} } }];
  const first = await client.responses.create({ model, tools, input: script(['reasoning', 'Hm'], ['tool', 'weather:{"city":"Oslo"}']) });
  const call = first.output.find((item) => item.type === 'function_call');
  const second = await client.responses.create({
    model, tools, previous_response_id: first.id,
    input: [{ type: 'function_call_output', call_id: call.call_id, output: 'wet' }, { role: 'user', content: gateway.echo }],
  });
  const messages = JSON.parse(second.output_text).messages;
  assert.deepEqual(messages.map((m) => m.role), ['user', 'assistant', 'tool', 'user']);
  assert.equal(messages[1].tool_calls[0].function.name, 'weather');
  assert.equal(messages[2].content, 'wet');
});

test('a conversation', async () => {
  const conversation = await client.conversations.create({ metadata: { topic: 'rain' }, items: [{ role: 'developer', content: 'Be short.' }] });
  assert.match(conversation.id, /^conv_/);
  const first = await client.responses.create({ model, input: script(['text', 'ONE']), conversation: conversation.id });
  assert.equal(first.conversation.id, conversation.id);
  const second = await client.responses.create({ model, input: gateway.echo, conversation: { id: conversation.id } });
  assert.deepEqual(sent(second).slice(1), [`user: ${script(['text', 'ONE'])}`, 'assistant: ONE', `user: ${gateway.echo}`]);

  const items = await all(client.conversations.items.list(conversation.id, { order: 'asc', limit: 2 }));
  assert.deepEqual(items.map((item) => item.role), ['developer', 'user', 'assistant', 'user', 'assistant']);
  const added = await client.conversations.items.create(conversation.id, { items: [{ type: 'message', role: 'user', content: 'late' }] });
  const item = await client.conversations.items.retrieve(added.data[0].id, { conversation_id: conversation.id });
  assert.equal(item.content[0].text, 'late');
  assert.equal((await client.conversations.items.delete(item.id, { conversation_id: conversation.id })).id, conversation.id);
  await missing(client.conversations.items.retrieve(item.id, { conversation_id: conversation.id }));

  assert.equal((await client.conversations.update(conversation.id, { metadata: { topic: 'snow' } })).metadata.topic, 'snow');
  assert.equal((await client.conversations.retrieve(conversation.id)).metadata.topic, 'snow');
  await missing(other.conversations.retrieve(conversation.id));
  await missing(other.conversations.items.list(conversation.id));
  await missing(other.responses.create({ model, input: 'Hello', conversation: conversation.id }));
  assert.equal((await client.conversations.delete(conversation.id)).deleted, true);
  await missing(client.conversations.retrieve(conversation.id));
});

test('in the background', async () => {
  const begun = await client.responses.create({ model, input: script(['text', 'ONE'], ['delay', '300ms']), background: true, metadata: { a: 'b' } });
  assert.equal(begun.status, 'queued');
  assert.equal(begun.background, true);
  assert.deepEqual(begun.metadata, { a: 'b' });
  const response = await poll(begun.id);
  assert.equal(response.status, 'completed');
  assert.equal(response.output_text, 'ONE');
  const next = await client.responses.create({ model, input: gateway.echo, previous_response_id: begun.id });
  assert.equal(sent(next)[1], 'assistant: ONE');
  assert.equal((await client.responses.cancel(begun.id)).status, 'completed');
  await missing(other.responses.cancel(begun.id));
});

test('a stream in the background is left and resumed', async () => {
  const words = Array.from({ length: 12 }, (_, i) => `word${i}`).join(' ');
  const input = script(['text', words], ['chunks', '12'], ['chunk_delay', '60ms']);
  const stream = await client.responses.create({ model, input, background: true, stream: true });
  const seen = [];
  for await (const event of stream) {
    seen.push(event);
    if (event.type === 'response.output_text.delta') break; // which ends the connection
  }
  assert.deepEqual(seen.slice(0, 3).map((event) => event.type), ['response.created', 'response.queued', 'response.in_progress']);
  const { id } = seen[0].response;
  const last = seen.at(-1).sequence_number;
  await missing(other.responses.retrieve(id, { stream: true }));
  for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: last })) seen.push(event);
  assert.deepEqual(seen.map((event) => event.sequence_number), seen.map((_, i) => i));
  assert.equal(seen.filter((event) => event.type === 'response.output_text.delta').map((event) => event.delta).join(''), words);
  assert.equal(seen.at(-1).type, 'response.completed');
  assert.equal(seen.at(-1).response.id, id);
  assert.equal((await client.responses.stream({ response_id: id }).finalResponse()).output_text, words);
});

test('it is cancelled', async () => {
  const begun = await client.responses.create({ model, input: script(['text', 'ONE'], ['delay', '1m']), background: true });
  assert.equal((await client.responses.cancel(begun.id)).status, 'cancelled');
  assert.equal((await client.responses.cancel(begun.id)).status, 'cancelled');
  assert.equal((await poll(begun.id)).status, 'cancelled');
  const whole = await client.responses.create({ model, input: script(['text', 'ONE']) });
  assert.equal((await failureOf(client.responses.cancel(whole.id))).status, 400);
});

test('it fails with a reason', async () => {
  const begun = await client.responses.create({ model: gateway.failingModel, input: script(['status', '400'], ['message', 'I do not like it']), background: true });
  const response = await poll(begun.id);
  assert.equal(response.status, 'failed');
  assert.match(response.error.message, /I do not like it/);
});

test('mistakes', async () => {
  for (const params of [
    { background: true, store: false }, { previous_response_id: 'resp_none' }, { previous_response_id: 'resp_none', conversation: 'conv_none' },
  ]) {
    assert.equal((await failureOf(client.responses.create({ model, input: 'Hello', ...params }))).status, 400, JSON.stringify(params));
  }
  await missing(client.responses.retrieve('resp_none'));
});
