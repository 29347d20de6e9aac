// The messages API with @anthropic-ai/sdk.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { jsonSchemaOutputFormat } from '@anthropic-ai/sdk/helpers/json-schema';

import * as gateway from './gateway.mjs';
import { all, failureOf, script } from './gateway.mjs';

const connect = (apiKey, options) => new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0, ...options });
const client = connect(gateway.key);

const say = (content, more) => ({
  model: gateway.model, max_tokens: 1000, system: 'Be kind.', messages: [{ role: 'user', content }], ...more,
});

// Both ways to get a message.
const ways = {
  whole: (params) => client.messages.create(params),
  stream: (params) => client.messages.stream(params).finalMessage(),
};

const textOf = (message) => message.content.filter((b) => b.type === 'text').map((b) => b.text).join('');

const tools = [
  { name: 'weather', description: 'The weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } },
  { name: 'time', description: 'The time', input_schema: { type: 'object', properties: { zone: { type: 'string' } } } },
];

for (const [way, ask] of Object.entries(ways)) {
  test(`text, ${way}`, async () => {
    const message = await ask(say(script(['text', 'Hello there'], ['cached_tokens', 2])));
    assert.equal(textOf(message), 'Hello there');
    assert.equal(message.type, 'message');
    assert.equal(message.role, 'assistant');
    assert.equal(message.model, gateway.model);
    assert.equal(message.stop_reason, 'end_turn');
    assert.match(message.id, /^msg_/);
    assert.equal(message.usage.cache_read_input_tokens, 2);
    assert.ok(message.usage.input_tokens > 0 && message.usage.output_tokens > 0, JSON.stringify(message.usage));
  });

  test(`a cut answer, ${way}`, async () => {
    const message = await ask(say(script(['text', 'Hello'], ['finish', 'length'])));
    assert.equal(message.stop_reason, 'max_tokens');
  });

  test(`thinking goes back in the second turn, ${way}`, async () => {
    const thinking = { type: 'adaptive' };
    const question = script(['reasoning', 'Let me think'], ['text', 'Hello']);
    const message = await ask(say(question, { thinking }));
    assert.deepEqual(message.content.map((b) => b.type), ['thinking', 'text']);
    assert.equal(message.content[0].thinking, 'Let me think');
    assert.ok(message.content[0].signature);

    const next = await ask(say('', {
      thinking,
      messages: [
        { role: 'user', content: question },
        { role: 'assistant', content: message.content },
        { role: 'user', content: gateway.echo },
      ],
    }));
    const sent = JSON.parse(textOf(next));
    assert.deepEqual(sent.messages.map((m) => [m.role, m.content]).slice(0, 3), [
      ['system', 'Be kind.'], ['user', question], ['assistant', 'Hello'],
    ]);
    assert.ok(!JSON.stringify(sent).includes(message.content[0].signature), 'the signature has left the gateway');
  });

  test(`state of a provider's reasoning comes back to it, ${way}`, async () => {
    const question = gateway.stateful(way === 'stream');
    const params = say(question, { model: gateway.statefulModel, tools });
    const message = await ask(params);
    assert.deepEqual(message.content.map((b) => b.type), ['thinking', 'tool_use']);
    const next = await ask({
      ...params,
      messages: [
        ...params.messages,
        { role: 'assistant', content: message.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: message.content[1].id, content: 'rain' }] },
      ],
    });
    const sent = JSON.parse(textOf(next));
    const turn = sent.messages.find((m) => m.role === 'assistant');
    assert.deepEqual(turn.reasoning_details, gateway.details);
  });

  test(`two tools in two turns, ${way}`, async () => {
    const params = say(gateway.twoTools, { tools });
    const message = await ask(params);
    assert.equal(message.stop_reason, 'tool_use');
    const [thinking, weather, time] = message.content;
    assert.equal(thinking.type, 'thinking');
    assert.deepEqual([weather.name, weather.input], ['weather', { city: 'Oslo' }]);
    assert.deepEqual([time.name, time.input], ['time', { zone: 'CET' }]);
    assert.notEqual(weather.id, time.id);

    // The results come in the wrong order.
    const next = await ask({
      ...params,
      messages: [
        ...params.messages,
        { role: 'assistant', content: message.content },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: time.id, content: 'noon' },
            { type: 'tool_result', tool_use_id: weather.id, content: [{ type: 'text', text: 'no such city' }], is_error: true },
          ],
        },
      ],
    });
    const sent = JSON.parse(textOf(next));
    assert.deepEqual(sent.messages.slice(2).map((m) => [m.role, m.tool_call_id, m.content]).slice(1), [
      ['tool', weather.id, 'Error: no such city'], ['tool', time.id, 'noon'],
    ]);
    assert.deepEqual(sent.messages[2].tool_calls.map((c) => [c.id, c.function.arguments]), [
      [weather.id, '{"city":"Oslo"}'], [time.id, '{"zone":"CET"}'],
    ]);
  });

  test(`pictures, ${way}`, async () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: gateway.onePixel } };
    const message = await ask(say([image, { type: 'text', text: gateway.echo }]));
    const sent = JSON.parse(textOf(message));
    assert.deepEqual(sent.messages[1].content[0], {
      type: 'image_url', image_url: { url: `data:image/png;base64,${gateway.onePixel}` },
    });
  });
}

test('the stream helper reports what comes', async () => {
  const seen = { text: '', thinking: '', blocks: [], snapshots: [] };
  const stream = client.messages
    .stream(say(script(['reasoning', 'Let me think'], ['text', 'one two three'], ['words', 1])))
    .on('text', (delta, snapshot) => { seen.text += delta; seen.snapshots.push(snapshot); })
    .on('thinking', (delta) => { seen.thinking += delta; })
    .on('contentBlock', (block) => seen.blocks.push(block.type));
  const message = await stream.finalMessage();
  assert.equal(await stream.finalText(), 'one two three');
  assert.equal(seen.text, 'one two three');
  assert.equal(seen.thinking, 'Let me think');
  assert.deepEqual(seen.blocks, ['thinking', 'text']);
  assert.ok(seen.snapshots.length >= 3, 'the text came in one piece');
  assert.equal(message.stop_reason, 'end_turn');
  assert.match(stream.request_id, /^req_/);
});

test('events in their order', async () => {
  const events = await all(await client.messages.create(say(script(['text', 'Hello']), { stream: true })));
  const types = events.map((e) => e.type).filter((type) => type !== 'ping');
  assert.deepEqual(types, [
    'message_start', 'content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta', 'message_stop',
  ]);
  assert.ok(events[0].message.usage.input_tokens > 0);
});

for (const stream of [false, true]) {
  test(`the tool runner, ${stream ? 'stream' : 'whole'}`, async () => {
    const asked = [];
    const runnable = (name, field, answer) => betaTool({
      name, description: name,
      inputSchema: { type: 'object', properties: { [field]: { type: 'string' } }, required: [field] },
      run: (input) => { asked.push([name, input[field]]); return answer; },
    });
    const message = await client.beta.messages.toolRunner(say(gateway.twoTools, {
      stream, max_iterations: 3, tools: [runnable('weather', 'city', 'rain'), runnable('time', 'zone', 'noon')],
    })).runUntilDone();
    assert.deepEqual(asked.sort(), [['time', 'CET'], ['weather', 'Oslo']]);
    const sent = JSON.parse(textOf(message));
    assert.deepEqual(sent.messages.slice(-2).map((m) => m.content), ['rain', 'noon']);
  });
}

test('structured output', async () => {
  const schema = { type: 'object', properties: { answer: { type: 'integer' } }, required: ['answer'], additionalProperties: false };
  const params = say(script(['text', '{"answer":42}']), { output_config: { format: jsonSchemaOutputFormat(schema) } });
  const parsed = await client.messages.parse(params);
  assert.deepEqual(parsed.parsed_output, { answer: 42 });
  const streamed = await client.messages.stream(params).finalMessage();
  assert.deepEqual(streamed.parsed_output, { answer: 42 });

  const sent = JSON.parse(textOf(await client.messages.create({
    ...params, messages: [{ role: 'user', content: gateway.echo }], output_config: { format: { type: 'json_schema', schema } },
  })));
  assert.equal(sent.response_format.type, 'json_schema');
  assert.deepEqual(sent.response_format.json_schema.schema, schema);
});

test('count_tokens', async () => {
  const { messages, system } = say('Hi');
  const short = await client.messages.countTokens({ model: gateway.model, messages });
  assert.ok(short.input_tokens >= 4 && short.input_tokens <= 20, JSON.stringify(short));
  const long = await client.messages.countTokens({ model: gateway.model, messages, system, tools });
  assert.ok(long.input_tokens > short.input_tokens + 20, JSON.stringify(long));
});

test('models in pages', async () => {
  const page = await client.models.list({ limit: 2 });
  assert.equal(page.data.length, 2);
  assert.ok(page.hasNextPage());
  const paged = (await all(client.models.list({ limit: 2 }))).map((m) => m.id);
  const whole = (await client.models.list({ limit: 1000 })).data.map((m) => m.id);
  assert.deepEqual(paged, whole);
  assert.equal(new Set(whole).size, whole.length);
  assert.ok(whole.includes(gateway.model), whole.join());
  const one = await client.models.retrieve(gateway.model);
  assert.equal(one.type, 'model');
  assert.equal(one.id, gateway.model);
});

test('a bad key', async () => {
  for (const ask of [
    (c) => c.messages.create(say('Hi')),
    (c) => c.messages.stream(say('Hi')).finalMessage(),
    (c) => c.messages.countTokens({ model: gateway.model, messages: say('Hi').messages }),
    (c) => c.models.list(),
  ]) {
    const error = await failureOf(ask(connect('ak-unknown')));
    assert.ok(error instanceof Anthropic.AuthenticationError, String(error));
    assert.equal(error.type, 'authentication_error');
    assert.match(error.requestID, /^req_/);
  }
});

test('a key in x-api-key', async () => {
  const old = connect(null, { authToken: null, defaultHeaders: { 'x-api-key': gateway.key } });
  assert.equal(textOf(await old.messages.create(say(script(['text', 'Hello'])))), 'Hello');
});

test('bad requests', async () => {
  for (const [name, params, kind, words] of [
    ['no limit', say('Hi', { max_tokens: undefined }), Anthropic.BadRequestError, /max_tokens/],
    ['no messages', say('Hi', { messages: [] }), Anthropic.BadRequestError, /messages/],
    ['an unknown block', say([{ type: 'hologram' }]), Anthropic.BadRequestError, /messages\.?\[?0\]?\.content.*type/],
    ['a result of no call', say([{ type: 'tool_result', tool_use_id: 'toolu_x', content: 'x' }]), Anthropic.BadRequestError, /toolu_x/],
    ['temperature of an old version', say('Hi', { temperature: 1 }), Anthropic.BadRequestError, /temperature/],
    ['unknown model', say('Hi', { model: 'no-such-model' }), Anthropic.NotFoundError, /no-such-model/],
  ]) {
    const error = await failureOf(client.messages.create(params));
    assert.ok(error instanceof kind, `${name}: ${error}`);
    assert.match(error.message, words, name);
    assert.equal(error.type, kind === Anthropic.NotFoundError ? 'not_found_error' : 'invalid_request_error', name);
  }
});

test('unknown fields are dropped and listed', async () => {
  const { data, response } = await client.messages.create(say(gateway.echo, { no_such_field: 1 })).withResponse();
  assert.match(response.headers.get('x-gateway-dropped-params'), /no_such_field/);
  assert.ok(!('no_such_field' in JSON.parse(textOf(data))));
});

test('a spent rate limit', async () => {
  const limited = connect(gateway.limitedKey);
  await limited.messages.create(say(script(['text', 'Hello'])));
  for (const ask of [() => limited.messages.create(say('Hi')), () => limited.messages.stream(say('Hi')).finalMessage()]) {
    const error = await failureOf(ask());
    assert.ok(error instanceof Anthropic.RateLimitError, String(error));
    assert.equal(error.type, 'rate_limit_error');
    assert.ok(Number(error.headers.get('retry-after')) >= 1);
  }
});

test('all providers fail', async () => {
  const error = await failureOf(client.messages.create(say(script(['status', 500]), { model: gateway.failingModel })));
  assert.ok(error instanceof Anthropic.InternalServerError, String(error));
  assert.equal(error.status, 502);
  assert.equal(error.type, 'api_error');
  assert.match(error.message, /All providers failed/);
});

test('no retry where none can help', async () => {
  const fetch = gateway.countingFetch();
  const patient = connect(gateway.key, { maxRetries: 2, fetch });
  const error = await failureOf(patient.messages.create(say(script(['status', 402]), { model: gateway.failingModel })));
  assert.equal(error.status, 502);
  assert.equal(fetch.calls, 1);
});

test('an error in the stream', async () => {
  const params = say(script(['text', 'one two three'], ['fault', 'error_mid'], ['after', 2]), { model: gateway.breakingModel });
  let text = '';
  const stream = client.messages.stream(params).on('text', (delta) => { text += delta; });
  const error = await failureOf(stream.finalMessage());
  assert.ok(error instanceof Anthropic.APIError, String(error));
  assert.equal(error.type, 'api_error');
  assert.equal(text.trim(), 'one two');
});

test('an error raised by the iterator', async () => {
  const params = say(script(['text', 'one two three'], ['fault', 'drop_mid'], ['after', 2]), { model: gateway.breakingModel, stream: true });
  const error = await failureOf(client.messages.create(params).then(all));
  assert.ok(error instanceof Anthropic.APIError, String(error));
  assert.equal(error.type, 'api_error');
});

test('an aborted request leaves the upstream too', async () => {
  const hang = say(script(['fault', 'hang']));
  const whole = await gateway.abortedUpstream(({ signal }) => failureOf(client.messages.create(hang, { signal })));
  assert.ok(whole instanceof Anthropic.APIUserAbortError, String(whole));
  const stall = say(script(['text', 'one two three'], ['fault', 'stall'], ['after', 2]));
  const streamed = await gateway.abortedUpstream((controller) => {
    const stream = client.messages.stream(stall);
    controller.signal.addEventListener('abort', () => stream.abort());
    return failureOf(stream.finalMessage());
  });
  assert.ok(streamed instanceof Anthropic.APIUserAbortError, String(streamed));
  // Leaving the loop is a cancellation as well.
  await gateway.abortedUpstream(async () => {
    for await (const event of await client.messages.create({ ...stall, stream: true })) {
      if (event.type === 'content_block_delta') break;
    }
  });
});
