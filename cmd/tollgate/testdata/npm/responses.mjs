// The Responses API with openai.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import OpenAI from 'openai';
import { ResponsesToolRunner } from 'openai/helpers/responses-tool-runner';

import * as gateway from './gateway.mjs';
import { all, failureOf, script } from './gateway.mjs';

const connect = (apiKey, options) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0, ...options });
const client = connect(gateway.key);

const say = (content, more) => ({
  model: gateway.model, instructions: 'Be kind.', input: [{ role: 'user', content }], store: false,
  include: ['reasoning.encrypted_content'], ...more,
});

// Both ways to get a response.
const ways = {
  whole: (params) => client.responses.create(params),
  stream: (params) => client.responses.stream(params).finalResponse(),
};

const tools = ['weather', 'time'].map((name) => ({
  type: 'function', name, description: name, strict: false, parameters: { type: 'object', properties: {} },
}));

for (const [way, ask] of Object.entries(ways)) {
  test(`text, ${way}`, async () => {
    const response = await ask(say(script(['text', 'Hello there'], ['cached_tokens', 2])));
    assert.equal(response.output_text, 'Hello there');
    assert.equal(response.object, 'response');
    assert.equal(response.status, 'completed');
    assert.equal(response.model, gateway.model);
    assert.match(response.id, /^resp_/);
    assert.equal(response.usage.input_tokens_details.cached_tokens, 2);
    assert.equal(response.usage.total_tokens, response.usage.input_tokens + response.usage.output_tokens);
  });

  test(`a cut answer, ${way}`, async () => {
    const response = await ask(say(script(['text', 'Hello'], ['finish', 'length'])));
    assert.equal(response.status, 'incomplete');
    assert.equal(response.incomplete_details.reason, 'max_output_tokens');
  });

  test(`reasoning goes back in the second turn, ${way}`, async () => {
    const params = say(script(['reasoning', 'Let me think'], ['text', 'Hello']));
    const response = await ask(params);
    assert.deepEqual(response.output.map((item) => item.type), ['reasoning', 'message']);
    assert.equal(response.output[0].summary[0].text, 'Let me think');
    assert.ok(response.output[0].encrypted_content);

    const next = await ask({ ...params, input: [...params.input, ...response.output, { role: 'user', content: gateway.echo }] });
    const sent = JSON.parse(next.output_text);
    assert.deepEqual(sent.messages.map((m) => m.role), ['system', 'user', 'assistant', 'user']);
    assert.equal(sent.messages[2].content, 'Hello');
    assert.ok(!JSON.stringify(sent).includes(response.output[0].encrypted_content), 'the token has left the gateway');
  });

  test(`state of a provider's reasoning comes back to it, ${way}`, async () => {
    const params = say(gateway.stateful(way === 'stream'), { model: gateway.statefulModel, tools });
    const response = await ask(params);
    assert.deepEqual(response.output.map((item) => item.type), ['reasoning', 'function_call']);
    const next = await ask({
      ...params,
      input: [...params.input, ...response.output, { type: 'function_call_output', call_id: response.output[1].call_id, output: 'rain' }],
    });
    const sent = JSON.parse(next.output_text);
    assert.deepEqual(sent.messages.find((m) => m.role === 'assistant').reasoning_details, gateway.details);
  });

  test(`two tools in two turns, ${way}`, async () => {
    const params = say(gateway.twoTools, { tools });
    const response = await ask(params);
    assert.equal(response.status, 'completed');
    const [reasoning, weather, time] = response.output;
    assert.equal(reasoning.type, 'reasoning');
    assert.deepEqual([weather.type, weather.name, weather.arguments], ['function_call', 'weather', '{"city":"Oslo"}']);
    assert.deepEqual([time.type, time.name, time.arguments], ['function_call', 'time', '{"zone":"CET"}']);
    assert.notEqual(weather.call_id, time.call_id);

    // The results come in the wrong order.
    const next = await ask({
      ...params,
      input: [
        ...params.input,
        ...response.output,
        { type: 'function_call_output', call_id: time.call_id, output: 'noon' },
        { type: 'function_call_output', call_id: weather.call_id, output: [{ type: 'input_text', text: 'rain' }] },
      ],
    });
    const sent = JSON.parse(next.output_text);
    assert.deepEqual(sent.messages.slice(-2).map((m) => [m.role, m.tool_call_id, m.content]), [
      ['tool', weather.call_id, 'rain'], ['tool', time.call_id, 'noon'],
    ]);
    assert.deepEqual(sent.messages.at(-3).tool_calls.map((c) => c.id), [weather.call_id, time.call_id]);
  });

  test(`a custom tool, ${way}`, async () => {
    const patch = '*** Begin\n"Patch" \u00e9\\';
    const response = await ask(say(script(['tool', `apply:${JSON.stringify({ input: patch })}`], ['chunk_bytes', 3]), {
      tools: [{ type: 'custom', name: 'apply', description: 'Applies a patch' }],
    }));
    assert.equal(response.output[0].type, 'custom_tool_call');
    assert.equal(response.output[0].input, patch);
  });

  test(`pictures, ${way}`, async () => {
    const url = `data:image/png;base64,${gateway.onePixel}`;
    const response = await ask(say([
      { type: 'input_image', image_url: url, detail: 'low' }, { type: 'input_text', text: gateway.echo },
    ]));
    const sent = JSON.parse(response.output_text);
    assert.deepEqual(sent.messages[1].content[0], { type: 'image_url', image_url: { url, detail: 'low' } });
  });

  test(`structured output, ${way}`, async () => {
    const schema = { type: 'object', properties: { answer: { type: 'integer' } }, required: ['answer'], additionalProperties: false };
    const text = { format: { type: 'json_schema', name: 'answer', strict: true, schema } };
    const params = say(script(['text', '{"answer":42}']), { text });
    const response = way === 'whole' ? await client.responses.parse(params) : await ask(params);
    assert.deepEqual(response.output_parsed, { answer: 42 });

    const sent = JSON.parse((await client.responses.create(say(gateway.echo, { text }))).output_text);
    assert.deepEqual(sent.response_format, { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } });
  });
}

test('events in their order', async () => {
  const events = await all(await client.responses.create(say(script(['text', 'Hello']), { stream: true })));
  assert.deepEqual(events.map((e) => e.sequence_number), events.map((_, i) => i));
  assert.deepEqual(events.map((e) => e.type), [
    'response.created', 'response.in_progress', 'response.output_item.added', 'response.content_part.added',
    'response.output_text.delta', 'response.output_text.done', 'response.content_part.done', 'response.output_item.done',
    'response.completed',
  ]);
});

test('the stream helper reports what comes', async () => {
  const seen = { text: [], reasoning: '' };
  const stream = client.responses
    .stream(say(script(['reasoning', 'Let me think'], ['text', 'one two three'], ['words', 1])))
    .on('response.output_text.delta', (event) => seen.text.push(event.delta))
    .on('response.reasoning_summary_text.delta', (event) => { seen.reasoning += event.delta; });
  const response = await stream.finalResponse();
  assert.equal(response.output_text, 'one two three');
  assert.equal(seen.text.join(''), 'one two three');
  assert.ok(seen.text.length >= 3, 'the text came in one piece');
  assert.equal(seen.reasoning, 'Let me think');
});

for (const stream of [false, true]) {
  test(`the tool runner, ${stream ? 'stream' : 'whole'}`, async () => {
    const asked = [];
    const runnable = (name, field, answer) => ({
      tool: { type: 'function', name, strict: false, parameters: { type: 'object', properties: { [field]: { type: 'string' } } } },
      execute: (input) => { asked.push([name, input[field]]); return answer; },
    });
    const runner = new ResponsesToolRunner({ functions: [runnable('weather', 'city', 'rain'), runnable('time', 'zone', 'noon')] });
    const response = await runner.run(client, say(gateway.twoTools), { stream, maxSteps: 3 });
    assert.deepEqual(asked, [['weather', 'Oslo'], ['time', 'CET']]);
    const sent = JSON.parse(response.output.filter((item) => item.type === 'message').map((item) => item.content[0].text).join(''));
    assert.deepEqual(sent.messages.slice(-2).map((m) => m.content), ['rain', 'noon']);
  });
}

test('a bad key', async () => {
  for (const ask of [(c) => c.responses.create(say('Hi')), (c) => c.responses.stream(say('Hi')).finalResponse()]) {
    const error = await failureOf(ask(connect('ak-unknown')));
    assert.ok(error instanceof OpenAI.AuthenticationError, String(error));
    assert.equal(error.code, 'invalid_api_key');
    assert.match(error.requestID, /^req_/);
  }
});

test('bad requests', async () => {
  for (const [name, params, kind, code, param] of [
    ['no input', say('Hi', { input: undefined }), OpenAI.BadRequestError, 'missing_required_parameter', 'input'],
    ['an unknown item', say('Hi', { input: [{ type: 'hologram' }] }), OpenAI.BadRequestError, 'invalid_value', 'input[0].type'],
    ['background', say('Hi', { background: true }), OpenAI.BadRequestError, 'unsupported_parameter', 'background'],
    ['a stored response', say('Hi', { previous_response_id: 'resp_1' }), OpenAI.BadRequestError, 'previous_response_not_found', 'previous_response_id'],
    ['unknown model', say('Hi', { model: 'no-such-model' }), OpenAI.NotFoundError, 'model_not_found', 'model'],
  ]) {
    const error = await failureOf(client.responses.create(params));
    assert.ok(error instanceof kind, `${name}: ${error}`);
    assert.deepEqual([error.code, error.param], [code, param], name);
  }
  for (const ask of [() => client.responses.retrieve('resp_1'), () => client.responses.delete('resp_1'), () => client.responses.compact({ model: gateway.model })]) {
    const error = await failureOf(ask());
    assert.ok(error instanceof OpenAI.NotFoundError, String(error));
    assert.equal(error.code, 'unsupported_endpoint');
  }
});

test('unknown fields are dropped and listed', async () => {
  const { data, response } = await client.responses.create(say(gateway.echo, { no_such_field: 1 })).withResponse();
  assert.match(response.headers.get('x-gateway-dropped-params'), /no_such_field/);
  assert.ok(!('no_such_field' in JSON.parse(data.output_text)));
});

test('counted tokens', async () => {
  const { input, instructions } = say('Hi');
  const short = await client.responses.inputTokens.count({ model: gateway.model, input });
  assert.equal(short.object, 'response.input_tokens');
  assert.ok(short.input_tokens >= 4 && short.input_tokens <= 20, JSON.stringify(short));
  const long = await client.responses.inputTokens.count({ model: gateway.model, input, instructions, tools });
  assert.ok(long.input_tokens > short.input_tokens + 20, JSON.stringify(long));
  const error = await failureOf(client.responses.inputTokens.count({ model: 'no-such-model', input }));
  assert.ok(error instanceof OpenAI.NotFoundError, String(error));
  assert.equal(error.code, 'model_not_found');
});

test('a spent rate limit', async () => {
  const limited = connect(gateway.limitedKey);
  await limited.responses.create(say(script(['text', 'Hello'])));
  const error = await failureOf(limited.responses.create(say('Hi')));
  assert.ok(error instanceof OpenAI.RateLimitError, String(error));
  assert.equal(error.code, 'rate_limit_exceeded');
  assert.ok(Number(error.headers.get('retry-after')) >= 1);
});

test('all providers fail', async () => {
  const error = await failureOf(client.responses.create(say(script(['status', 500]), { model: gateway.failingModel })));
  assert.ok(error instanceof OpenAI.InternalServerError, String(error));
  assert.equal(error.status, 502);
  assert.equal(error.code, 'all_providers_failed');
  assert.equal(error.error.failed_attempts[0].status, 500);
});

test('no retry where none can help', async () => {
  const fetch = gateway.countingFetch();
  const patient = connect(gateway.key, { maxRetries: 2, fetch });
  const error = await failureOf(patient.responses.create(say(script(['status', 402]), { model: gateway.failingModel })));
  assert.equal(error.status, 502);
  assert.equal(fetch.calls, 1);
});

test('an error in the stream', async () => {
  const broken = (fault) => say(script(['text', 'one two three'], ['fault', fault], ['after', 2]), { model: gateway.breakingModel });
  const events = await all(await client.responses.create({ ...broken('error_mid'), stream: true }));
  assert.equal(events.at(-1).type, 'response.failed');
  assert.equal(events.at(-1).response.status, 'failed');
  assert.equal(events.at(-1).response.error.code, 'server_error');
  assert.equal(events.at(-1).response.output[0].status, 'incomplete');
  assert.equal(events.at(-1).response.output[0].content[0].text.trim(), 'one two');
  const helped = await client.responses.stream(broken('drop_mid')).finalResponse();
  assert.equal(helped.status, 'failed');
});

test('an aborted request leaves the upstream too', async () => {
  const hang = say(script(['fault', 'hang']));
  const whole = await gateway.abortedUpstream(({ signal }) => failureOf(client.responses.create(hang, { signal })));
  assert.ok(whole instanceof OpenAI.APIUserAbortError, String(whole));
  const stall = say(script(['text', 'one two three'], ['fault', 'stall'], ['after', 2]));
  const streamed = await gateway.abortedUpstream(({ signal }) => failureOf(client.responses.stream(stall, { signal }).finalResponse()));
  assert.ok(streamed instanceof OpenAI.APIUserAbortError, String(streamed));
  // Leaving the loop is a cancellation as well.
  await gateway.abortedUpstream(async () => {
    for await (const event of await client.responses.create({ ...stall, stream: true })) {
      if (event.type === 'response.output_text.delta') break;
    }
  });
});
