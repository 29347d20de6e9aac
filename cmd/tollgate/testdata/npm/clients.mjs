// Agents and SDKs that speak to the gateway as to their own vendor, each with a loop of tools and a stream.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createAzure } from '@ai-sdk/azure';
import { ChatOpenAI } from '@langchain/openai';
import { tool as langTool } from '@langchain/core/tools';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, run, setTracingDisabled, tool as agentTool } from '@openai/agents';
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import OpenAI, { AzureOpenAI } from 'openai';

import * as gateway from './gateway.mjs';
import { all, script } from './gateway.mjs';

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
const oneTool = script(['reasoning', 'The weather'], ['tool', 'weather:{"city":"Oslo"}']);
const hello = script(['text', 'Hello there']);

// The AI SDK with providers other than its default one.
const providers = {
  anthropic: () => createAnthropic({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key })(gateway.model),
  bedrock: () => createAmazonBedrock({ baseURL: gateway.url, apiKey: gateway.key })(gateway.model),
  'azure, Responses': () => createAzure({ baseURL: `${gateway.url}/openai`, apiKey: gateway.key })(gateway.model),
  'azure, chat': () => createAzure({ baseURL: `${gateway.url}/openai/v1`, apiKey: gateway.key }).chat(gateway.model),
  'azure, deployments': () => createAzure({
    baseURL: `${gateway.url}/openai`, apiKey: gateway.key, apiVersion: '2024-10-21', useDeploymentBasedUrls: true,
  }).chat(gateway.model),
};

for (const [name, connect] of Object.entries(providers)) {
  test(`AI SDK, ${name}: tools`, async () => {
    const asked = [];
    const weather = tool({
      description: 'Tells the weather', inputSchema: jsonSchema(city),
      execute: async (input) => {
        asked.push(input.city);
        return 'rain';
      },
    });
    const { text, steps } = await generateText({
      model: connect(), prompt: oneTool, tools: { weather }, maxRetries: 0, stopWhen: stepCountIs(4),
    });
    assert.deepEqual(asked, ['Oslo']);
    assert.equal(steps.length, 2);
    assert.match(text, /rain/, 'the model has got the result');
  });

  test(`AI SDK, ${name}: a stream`, async () => {
    const result = streamText({ model: connect(), prompt: hello, maxRetries: 0 });
    assert.equal((await all(result.textStream)).join(''), 'Hello there');
    assert.equal(await result.finishReason, 'stop');
    assert.ok((await result.usage).outputTokens > 0);
  });
}

test('AI SDK, bedrock: an error', async () => {
  const model = createAmazonBedrock({ baseURL: gateway.url, apiKey: gateway.key })('no-such-model:0');
  await assert.rejects(generateText({ model, prompt: 'Hi', maxRetries: 0 }), (error) => {
    assert.equal(error.statusCode, 404, String(error));
    assert.match(error.message, /no-such-model:0/);
    assert.equal(error.responseHeaders['x-amzn-errortype'], 'ResourceNotFoundException');
    assert.match(error.responseHeaders['x-amzn-requestid'], /^req_/);
    return true;
  });
});

test('openai, as a client of Azure with a dated version', async () => {
  const client = new AzureOpenAI({ endpoint: gateway.url, apiKey: gateway.key, apiVersion: '2024-10-21', maxRetries: 0 });
  const completion = await client.chat.completions.create({ model: gateway.model, messages: [{ role: 'user', content: hello }] });
  assert.equal(completion.choices[0].message.content, 'Hello there');
});

setTracingDisabled(true);
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });

for (const [name, Model] of Object.entries({ Responses: OpenAIResponsesModel, chat: OpenAIChatCompletionsModel })) {
  test(`agents, ${name}: tools`, async () => {
    const asked = [];
    const weather = agentTool({
      name: 'weather', description: 'Tells the weather', parameters: city, strict: true,
      execute: async (input) => {
        asked.push(input.city);
        return 'rain';
      },
    });
    const agent = new Agent({ name: 'forecaster', instructions: 'Be kind.', model: new Model(client, gateway.model), tools: [weather] });
    const result = await run(agent, oneTool);
    assert.deepEqual(asked, ['Oslo']);
    assert.match(result.finalOutput, /rain/);
  });

  test(`agents, ${name}: a stream`, async () => {
    const agent = new Agent({ name: 'greeter', instructions: 'Be kind.', model: new Model(client, gateway.model) });
    const stream = await run(agent, hello, { stream: true });
    assert.equal((await all(stream.toTextStream())).join(''), 'Hello there');
    await stream.completed;
    assert.equal(stream.finalOutput, 'Hello there');
  });
}

for (const useResponsesApi of [false, true]) {
  const name = useResponsesApi ? 'Responses' : 'chat';
  const model = new ChatOpenAI({
    model: gateway.model, apiKey: gateway.key, useResponsesApi, maxRetries: 0, configuration: { baseURL: `${gateway.url}/v1` },
  });

  test(`LangChain, ${name}: tools`, async () => {
    const weather = langTool(async () => 'rain', { name: 'weather', description: 'Tells the weather', schema: city });
    const asking = [new HumanMessage(oneTool)];
    const bound = model.bindTools([weather]);
    const answer = await bound.invoke(asking);
    assert.deepEqual(answer.tool_calls.map((c) => [c.name, c.args]), [['weather', { city: 'Oslo' }]]);
    const result = await weather.invoke(answer.tool_calls[0]);
    assert.ok(result instanceof ToolMessage);
    const next = await bound.invoke([...asking, answer, result]);
    assert.match(next.text, /rain/);
  });

  test(`LangChain, ${name}: a stream`, async () => {
    const chunks = await all(await model.stream(hello));
    assert.equal(chunks.map((c) => c.text).join(''), 'Hello there');
    assert.ok(chunks.some((c) => c.usage_metadata?.output_tokens > 0));
  });
}
