// Chat completions with openai.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import OpenAI from 'openai';

import * as gateway from './gateway.mjs';
import { all, failureOf, script } from './gateway.mjs';

const connect = (apiKey, options) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0, ...options });
const client = connect(gateway.key);

const say = (content, more) => ({
  model: gateway.model, messages: [{ role: 'developer', content: 'Be kind.' }, { role: 'user', content }], ...more,
});

// Both ways to get a completion.
const ways = {
  whole: (params) => client.chat.completions.create(params),
  stream: (params) => client.chat.completions.stream({ ...params, stream_options: { include_usage: true } }).finalChatCompletion(),
};

const textOf = (completion) => completion.choices[0].message.content;

const tools = ['weather', 'time'].map((name) => ({
  type: 'function', function: { name, description: name, parameters: { type: 'object', properties: {} } },
}));

for (const [way, ask] of Object.entries(ways)) {
  test(`text, ${way}`, async () => {
    const completion = await ask(say(script(['text', 'Hello there'], ['cached_tokens', 2])));
    assert.equal(textOf(completion), 'Hello there');
    assert.equal(completion.object, 'chat.completion');
    assert.equal(completion.model, gateway.model);
    assert.equal(completion.choices[0].finish_reason, 'stop');
    assert.match(completion.id, /^chatcmpl-/);
    assert.equal(completion.usage.prompt_tokens_details.cached_tokens, 2);
    assert.equal(completion.usage.total_tokens, completion.usage.prompt_tokens + completion.usage.completion_tokens);
  });

  test(`two tools in two turns, ${way}`, async () => {
    const params = say(gateway.twoTools, { tools });
    const completion = await ask(params);
    assert.equal(completion.choices[0].finish_reason, 'tool_calls');
    const { message } = completion.choices[0];
    const [weather, time] = message.tool_calls;
    assert.deepEqual([weather.function.name, weather.function.arguments], ['weather', '{"city":"Oslo"}']);
    assert.deepEqual([time.function.name, time.function.arguments], ['time', '{"zone":"CET"}']);
    assert.notEqual(weather.id, time.id);

    // The results come in the wrong order.
    const next = await ask({
      ...params,
      messages: [
        ...params.messages,
        message,
        { role: 'tool', tool_call_id: time.id, content: 'noon' },
        { role: 'tool', tool_call_id: weather.id, content: 'rain' },
      ],
    });
    const sent = JSON.parse(textOf(next));
    assert.deepEqual(sent.messages.slice(-2).map((m) => [m.role, m.tool_call_id, m.content]).sort(), [
      ['tool', weather.id, 'rain'], ['tool', time.id, 'noon'],
    ].sort());
    assert.deepEqual(sent.messages.at(-3).tool_calls.map((c) => c.id), [weather.id, time.id]);
  });

  test(`pictures, ${way}`, async () => {
    const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${gateway.onePixel}`, detail: 'low' } };
    const completion = await ask(say([picture, { type: 'text', text: gateway.echo }]));
    const sent = JSON.parse(textOf(completion));
    assert.deepEqual(sent.messages[1].content[0], picture);
  });

  test(`structured output, ${way}`, async () => {
    const schema = { type: 'object', properties: { answer: { type: 'integer' } }, required: ['answer'], additionalProperties: false };
    const response_format = { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } };
    const params = say(script(['text', '{"answer":42}']), { response_format });
    const completion = way === 'whole' ? await client.chat.completions.parse(params) : await ask(params);
    assert.deepEqual(completion.choices[0].message.parsed, { answer: 42 });

    const sent = JSON.parse(textOf(await ask(say(gateway.echo, { response_format }))));
    assert.deepEqual(sent.response_format, response_format);
  });
}

test('reasoning, and its state back to the provider', async () => {
  const plain = await client.chat.completions.create(say(script(['reasoning', 'Let me think'], ['text', 'Hello'])));
  assert.equal(plain.choices[0].message.reasoning_content, 'Let me think');

  const params = say(gateway.stateful(false), { model: gateway.statefulModel, tools });
  const { message } = (await client.chat.completions.create(params)).choices[0];
  assert.deepEqual(message.reasoning_details, gateway.details);
  const next = await client.chat.completions.create({
    ...params,
    messages: [...params.messages, message, { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'rain' }],
  });
  const sent = JSON.parse(textOf(next));
  assert.deepEqual(sent.messages.find((m) => m.role === 'assistant').reasoning_details, gateway.details);
});

test('reasoning in a stream', async () => {
  const chunks = await all(await client.chat.completions.create(say(script(['reasoning', 'Let me think'], ['text', 'Hello']), { stream: true })));
  assert.equal(chunks.map((c) => c.choices[0].delta.reasoning_content ?? '').join(''), 'Let me think');
  assert.equal(chunks.map((c) => c.choices[0].delta.content ?? '').join(''), 'Hello');
  assert.equal(new Set(chunks.map((c) => c.id)).size, 1);
  assert.ok(chunks.every((c) => c.model === gateway.model && !c.usage), 'usage that nobody asked for');
});

test('the stream helper reports what comes', async () => {
  const seen = [];
  const stream = client.chat.completions
    .stream(say(script(['text', 'one two three'], ['words', 1])))
    .on('content', (delta, snapshot) => seen.push([delta, snapshot]));
  assert.equal(await stream.finalContent(), 'one two three');
  assert.ok(seen.length >= 3, 'the text came in one piece');
  assert.equal(seen.map(([delta]) => delta).join(''), 'one two three');
  assert.equal(seen.at(-1)[1], 'one two three');
});

for (const stream of [false, true]) {
  test(`the tool runner, ${stream ? 'stream' : 'whole'}`, async () => {
    const asked = [];
    const runnable = (name, field, answer) => ({
      type: 'function',
      function: {
        name, description: name, parse: JSON.parse,
        parameters: { type: 'object', properties: { [field]: { type: 'string' } } },
        function: (input) => { asked.push([name, input[field]]); return answer; },
      },
    });
    const runner = client.chat.completions.runTools(say(gateway.twoTools, {
      stream, tools: [runnable('weather', 'city', 'rain'), runnable('time', 'zone', 'noon')],
    }));
    const sent = JSON.parse(await runner.finalContent());
    assert.deepEqual(asked, [['weather', 'Oslo'], ['time', 'CET']]);
    assert.deepEqual(sent.messages.slice(-2).map((m) => m.content), ['rain', 'noon']);
  });
}

test('models', async () => {
  const models = await all(client.models.list());
  const ids = models.map((m) => m.id);
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(ids.includes('keychain-high') && ids.includes(gateway.model), ids.join());
  assert.ok(models.every((m) => m.object === 'model' && Number.isInteger(m.created) && m.owned_by));
  const one = await client.models.retrieve(gateway.model);
  assert.equal(one.id, gateway.model);
  const error = await failureOf(client.models.retrieve('no-such-model'));
  assert.ok(error instanceof OpenAI.NotFoundError, String(error));
  assert.equal(error.code, 'model_not_found');
});

test('a bad key', async () => {
  for (const ask of [
    (c) => c.chat.completions.create(say('Hi')),
    (c) => c.chat.completions.stream(say('Hi')).finalContent(),
    (c) => c.models.list(),
  ]) {
    const error = await failureOf(ask(connect('ak-unknown')));
    assert.ok(error instanceof OpenAI.AuthenticationError, String(error));
    assert.equal(error.code, 'invalid_api_key');
    assert.equal(error.type, 'authentication_error');
    assert.match(error.requestID, /^req_/);
  }
});

test('bad requests', async () => {
  for (const [name, params, kind, code, param] of [
    ['no messages', say('Hi', { messages: undefined }), OpenAI.BadRequestError, 'missing_required_parameter', 'messages'],
    ['messages of a wrong kind', say('Hi', { messages: 'Hi' }), OpenAI.BadRequestError, 'invalid_value', 'messages'],
    ['unknown model', say('Hi', { model: 'no-such-model' }), OpenAI.NotFoundError, 'model_not_found', 'model'],
  ]) {
    const error = await failureOf(client.chat.completions.create(params));
    assert.ok(error instanceof kind, `${name}: ${error}`);
    assert.deepEqual([error.code, error.param], [code, param], name);
  }
});

test('a spent rate limit', async () => {
  const limited = connect(gateway.limitedKey);
  await limited.chat.completions.create(say(script(['text', 'Hello'])));
  const error = await failureOf(limited.chat.completions.create(say('Hi')));
  assert.ok(error instanceof OpenAI.RateLimitError, String(error));
  assert.equal(error.code, 'rate_limit_exceeded');
  assert.ok(Number(error.headers.get('retry-after')) >= 1);
});

test('all providers fail', async () => {
  const error = await failureOf(client.chat.completions.create(say(script(['status', 500]), { model: gateway.failingModel })));
  assert.ok(error instanceof OpenAI.InternalServerError, String(error));
  assert.equal(error.status, 502);
  assert.equal(error.code, 'all_providers_failed');
  assert.equal(error.error.failed_attempts.length, 1);
  assert.equal(error.error.failed_attempts[0].status, 500);
});

test('no retry where none can help', async () => {
  const fetch = gateway.countingFetch();
  const patient = connect(gateway.key, { maxRetries: 2, fetch });
  const error = await failureOf(patient.chat.completions.create(say(script(['status', 402]), { model: gateway.failingModel })));
  assert.equal(error.status, 502);
  assert.equal(fetch.calls, 1);
});

test('an error in the stream', async () => {
  const broken = (fault) => say(script(['text', 'one two three'], ['fault', fault], ['after', 2]), { model: gateway.breakingModel });
  let text = '';
  const raised = await failureOf((async () => {
    for await (const chunk of await client.chat.completions.create({ ...broken('error_mid'), stream: true })) {
      text += chunk.choices[0].delta.content ?? '';
    }
  })());
  assert.equal(text.trim(), 'one two');
  const helped = await failureOf(client.chat.completions.stream(broken('drop_mid')).finalContent());
  for (const error of [raised, helped]) {
    assert.ok(error instanceof OpenAI.APIError, String(error));
    assert.equal(error.code, 'upstream_stream_error');
  }
});

test('an aborted request leaves the upstream too', async () => {
  const hang = say(script(['fault', 'hang']));
  const whole = await gateway.abortedUpstream(({ signal }) => failureOf(client.chat.completions.create(hang, { signal })));
  assert.ok(whole instanceof OpenAI.APIUserAbortError, String(whole));
  const stall = say(script(['text', 'one two three'], ['fault', 'stall'], ['after', 2]));
  const streamed = await gateway.abortedUpstream(({ signal }) => failureOf(client.chat.completions.stream(stall, { signal }).finalContent()));
  assert.ok(streamed instanceof OpenAI.APIUserAbortError, String(streamed));
  // Leaving the loop is a cancellation as well.
  await gateway.abortedUpstream(async () => {
    for await (const chunk of await client.chat.completions.create({ ...stall, stream: true })) {
      if (chunk.choices[0].delta.content) break;
    }
  });
});

test('embeddings', async () => {
  const texts = ['rain over Oslo', 'Oslo in the rain', 'quarterly earnings'];
  // The client asks for base64 by itself, and unpacks it.
  const { data, model, usage } = await client.embeddings.create({ model: gateway.model, input: texts });
  assert.equal(model, gateway.model);
  assert.ok(usage.prompt_tokens > 0);
  assert.deepEqual(data.map((d) => d.index), [0, 1, 2]);
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const [rain, again, earnings] = data.map((d) => d.embedding);
  assert.ok(Math.abs(dot(rain, rain) - 1) < 1e-5);
  assert.ok(dot(rain, again) > dot(rain, earnings) + 0.3);

  const numbers = await client.embeddings.create({ model: gateway.model, input: texts[0], encoding_format: 'float', dimensions: 16 });
  assert.equal(numbers.data[0].embedding.length, 16);
  const refused = await failureOf(client.embeddings.create({ model: gateway.model, input: '' }));
  assert.equal(refused.status, 400);
  assert.equal(refused.param, 'input');
});
