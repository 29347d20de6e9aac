// The AI SDK with its default provider for OpenAI, which speaks the Responses API and refers
// to the items of earlier answers by their ids.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createOpenAI } from '@ai-sdk/openai';
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';

const env = process.env;
const bodies = [];
const connect = (apiKey) => createOpenAI({
  apiKey,
  baseURL: `${env.TOLLGATE_URL}/v1`,
  fetch: (url, init) => {
    bodies.push(JSON.parse(init.body));
    return fetch(url, init);
  },
});
const provider = connect(env.TOLLGATE_KEY);

const asked = [];
const tools = {
  weather: tool({
    description: 'Tells the weather',
    inputSchema: jsonSchema({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }),
    execute: async ({ city }) => {
      asked.push(city);
      return `${city} is wet`;
    },
  }),
};

const ask = (messages, model = provider(env.TOLLGATE_MODEL)) => ({
  model,
  messages,
  tools,
  maxRetries: 0,
  stopWhen: stepCountIs(6),
  providerOptions: { openai: { reasoningEffort: 'high', forceReasoning: true } },
});

// Both ways to get an answer.
const ways = {
  whole: async (params) => {
    const { text, steps, response } = await generateText(params);
    return { text, steps, messages: response.messages };
  },
  stream: async (params) => {
    const result = streamText({ ...params, onError: ({ error }) => { throw error; } });
    await result.consumeStream();
    return { text: await result.text, steps: await result.steps, messages: (await result.response).messages };
  },
};

const references = (body) => body.input.filter((item) => item.type === 'item_reference').map((item) => item.id);

for (const [way, run] of Object.entries(ways)) {
  test(`tools in a loop over two turns, ${way}`, async () => {
    asked.length = bodies.length = 0;
    const history = [{ role: 'user', content: 'How is the weather?' }];
    const first = await run(ask(history));
    assert.equal(first.steps.length, 3, 'two calls and a text');
    assert.deepEqual(asked, ['Oslo', 'Oslo']);
    assert.match(first.text, /^the tools say: .*Oslo is wet.*Oslo is wet/);

    history.push(...first.messages, { role: 'user', content: 'And now?' });
    const second = await run(ask(history));
    assert.match(second.text, /^the tools say/);
    assert.equal(bodies.length, 6);
    assert.ok(references(bodies[1]).length > 0, `the second request refers to no item: ${JSON.stringify(bodies[1].input)}`);
    assert.ok(references(bodies[5]).length > references(bodies[1]).length);
  });
}

test('another key finds none of them', async () => {
  const history = [{ role: 'user', content: 'How is the weather?' }];
  const { messages } = await ways.whole(ask(history));
  history.push(...messages, { role: 'user', content: 'And now?' });
  await assert.rejects(ways.whole(ask(history, connect(env.TOLLGATE_OTHER_KEY)(env.TOLLGATE_MODEL))), (error) => {
    assert.equal(error.statusCode, 400, String(error));
    assert.match(error.message, /refers to the item/);
    return true;
  });
});
