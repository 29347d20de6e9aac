// The endpoints that nothing is translated for, and lists of models, as openai and @anthropic-ai/sdk
// see them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { toFile } from 'openai';

const url = process.env.TOLLGATE_URL;
const alice = new OpenAI({ baseURL: url + '/v1', apiKey: process.env.TOLLGATE_KEY, maxRetries: 0 });
const bob = new OpenAI({ baseURL: url + '/v1', apiKey: process.env.TOLLGATE_BOB_KEY, maxRetries: 0 });
const bound = new OpenAI({ baseURL: url + '/v1', apiKey: process.env.TOLLGATE_BOUND_KEY, maxRetries: 0 });

const status = (code) => (e) => e.status === code || assert.fail(`${e.status}: ${e.message}`);

test('models of openai', async () => {
  const all = (await alice.models.list()).data;
  const mini = all.find((m) => m.id === 'openai/gpt-5.4-mini');
  assert.equal(mini.context_window, 400000);
  assert.equal(mini.max_output_tokens, 128000);
  assert.deepEqual(mini.architecture.input_modalities, ['text', 'image', 'file']);
  assert.ok(Number(mini.pricing.prompt) > 0 && Number(mini.pricing.completion) > Number(mini.pricing.prompt));
  assert.equal(all.find((m) => m.id === 'gpt-4o').alias_of, 'openai/gpt-5.4-mini');
  assert.equal((await alice.models.retrieve('gpt-5.4-mini')).owned_by, 'openai');
  assert.ok(!all.some((m) => m.id.startsWith('claude-openai/')));
});

test('models of @anthropic-ai/sdk', async () => {
  const client = new Anthropic({ baseURL: url, apiKey: process.env.TOLLGATE_KEY, maxRetries: 0 });
  const seen = [];
  for await (const m of client.models.list({ limit: 7 })) seen.push(m); // over pages
  const mini = seen.find((m) => m.id === 'claude-openai/gpt-5.4-mini');
  assert.equal(mini.max_input_tokens, 400000);
  assert.equal(mini.lifecycle, 'active');
  assert.equal(mini.capabilities.image_input.supported, true);
  assert.equal(new Set(seen.map((m) => m.id)).size, seen.length);
  const one = await client.models.retrieve('claude-keychain-high');
  assert.equal(one.display_name, 'Best (high)');
});

test('the picker of Claude Code', async () => { // keeps these ids alone, and follows no redirects
  const answer = await fetch(url + '/v1/models?limit=1000', {
    headers: { 'x-api-key': process.env.TOLLGATE_KEY, 'anthropic-version': '2023-06-01' }, redirect: 'error',
  });
  const { data } = await answer.json();
  const kept = data.filter((m) => /^(claude|anthropic)/i.test(m.id)).map((m) => m.id);
  for (const id of ['claude-keychain-low', 'claude-gpt-4o', 'claude-openai/gpt-6.1-sol']) assert.ok(kept.includes(id), id);
  const client = new Anthropic({ baseURL: url, apiKey: process.env.TOLLGATE_KEY, maxRetries: 0 });
  const said = await client.messages.create({ model: 'claude-gpt-4o', max_tokens: 20, messages: [{ role: 'user', content: 'hi' }] });
  assert.equal(said.model, 'claude-gpt-4o');
  assert.equal(said.content.at(-1).text, 'model gpt-5.4-mini');
});

test('model metadata of Codex', async () => {
  const answer = await fetch(url + '/v1/models?client_version=0.171.0', { headers: { authorization: 'Bearer ' + process.env.TOLLGATE_KEY } });
  const { models } = await answer.json();
  const sol = models.find((m) => m.slug === 'openai/gpt-6.1-sol');
  assert.equal(sol.visibility, 'list');
  assert.ok(sol.base_instructions.length > 100 && sol.context_window > 0 && sol.supported_reasoning_levels.length > 2);
});

test('bare names and aliases', async () => {
  const ask = (client, model) => client.chat.completions.create({ model, messages: [{ role: 'user', content: 'hi' }] });
  for (const model of ['gpt-5.4-mini', 'gpt-4o', 'openai/gpt-5.4-mini']) {
    const said = await ask(alice, model);
    assert.equal(said.choices[0].message.content, 'model gpt-5.4-mini');
    assert.equal(said.model, model);
  }
  assert.equal((await alice.responses.create({ model: 'gpt-4o', input: 'hi' })).output_text, 'model gpt-5.4-mini');
  await assert.rejects(ask(bound, 'gpt-4o'), status(403)); // an alias lifts no limit
});

test('audio', async () => {
  const speech = await alice.audio.speech.create({ model: 'tts-1', voice: 'alloy', input: 'Hello, wörld' });
  assert.equal(speech.headers.get('content-type'), 'audio/mpeg');
  assert.equal(speech.headers.get('x-secret'), null);
  assert.equal((await speech.arrayBuffer()).byteLength, 200000);
  const audio = await toFile(new Uint8Array(3_000_000).fill(7), 'a.wav');
  const heard = await alice.audio.transcriptions.create({ file: audio, model: 'whisper-1', language: 'en' });
  assert.equal(heard.text, 'whisper-1 a.wav 3000000 en');
  const ear = await alice.audio.transcriptions.create({ model: 'openai/whisper-1', file: audio });
  assert.equal(ear.text, 'whisper-1 a.wav 3000000 ');
  await assert.rejects(bound.audio.transcriptions.create({ file: audio, model: 'whisper-1' }), status(403));
  await assert.rejects(alice.audio.speech.create({ model: 'nothing', voice: 'alloy', input: 'x' }), status(404));
});

test('images and moderations', async () => {
  const made = await alice.images.generate({ model: 'gpt-image-1', prompt: 'a cat' });
  assert.equal(made.data[0].b64_json.length, 400000);
  const png = await toFile(new Uint8Array(100), 'p.png', { type: 'image/png' });
  assert.equal((await alice.images.edit({ model: 'openai/gpt-image-new', image: png, prompt: 'a dog' })).created, 1);
  assert.equal((await alice.moderations.create({ input: 'hello' })).model, 'omni-moderation-latest');
  await assert.rejects(alice.images.generate({ model: 'gpt-image-1', prompt: 'refuse' }), (e) => e.status === 400 && /safety/.test(e.message));
});

test('files and batches', async () => {
  const lines = await toFile(Buffer.from('{"custom_id":"1","method":"POST","url":"/v1/chat/completions","body":{"model":"gpt-5.4-mini"}}\n'.repeat(20_000)), 'in.jsonl');
  const file = await alice.files.create({ file: lines, purpose: 'batch' }); // more than is held in memory
  assert.match(file.id, /^file-\d+$/);
  assert.equal((await alice.files.retrieve(file.id)).bytes, lines.size);
  await assert.rejects(bob.files.retrieve(file.id), status(404));
  await assert.rejects(bob.batches.create({ input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' }), status(404));
  await assert.rejects(bound.batches.create({ input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' }), status(404));
  const batch = await alice.batches.create({ input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' });
  assert.equal(batch.status, 'in_progress');
  await assert.rejects(bob.batches.retrieve(batch.id), status(404));
  let done = batch;
  for (let i = 0; i < 5 && done.status !== 'completed'; i++) done = await alice.batches.retrieve(batch.id);
  assert.equal(done.status, 'completed');
  await alice.batches.retrieve(batch.id); // is not charged again
  assert.equal(await (await alice.files.content(done.output_file_id)).text(), '{"custom_id":"1"}\n');
  await assert.rejects(bob.files.content(done.output_file_id), status(404));
  const mine = [];
  for await (const f of alice.files.list()) mine.push(f.id);
  assert.deepEqual(mine.sort(), [done.output_file_id, file.id].sort());
  for await (const f of bob.files.list()) assert.fail('bob sees ' + f.id);
  assert.equal((await alice.batches.list()).data.length, 1);
  assert.equal((await alice.files.delete(file.id)).deleted, true);
  await assert.rejects(alice.files.retrieve(file.id), status(404));
});

const request = (id, model) => JSON.stringify({ custom_id: id, method: 'POST', url: '/v1/chat/completions', body: { model, messages: [] } });
const made = async (client, ...models) => {
  const file = await client.files.create({ file: await toFile(Buffer.from(models.map((m, i) => request(`r${i}`, m)).join('\n')), 'in.jsonl'), purpose: 'batch' });
  return client.batches.create({ input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' });
};

test('models in the file of a batch', async () => {
  await assert.rejects(made(alice, 'gpt-5.4-mini', 'gpt-4o'), (e) => e.status === 400 && /line 2 of the file.*write "gpt-5.4-mini"/.test(e.message) || assert.fail(e));
  await assert.rejects(made(alice, 'openai/gpt-5.4-nano'), (e) => e.status === 400 && /write "gpt-5.4-nano"/.test(e.message) || assert.fail(e));
  await assert.rejects(made(alice, 'keychain-low'), (e) => e.status === 400 && /is a tier/.test(e.message) || assert.fail(e));
  await assert.rejects(made(bound, 'gpt-5.4-nano', 'gpt-5.4-mini'), (e) => e.status === 403 && /line 2 of the file.*allowed_models/.test(e.message) || assert.fail(e));
  assert.equal((await made(bound, 'gpt-5.4-nano')).status, 'in_progress');
});

test('a batch that states no usage', async () => {
  const batch = await made(alice, 'gpt-5.4-mini', 'gpt-5.4-nano');
  let done = batch;
  for (let i = 0; i < 5 && done.status !== 'completed'; i++) done = await alice.batches.retrieve(batch.id);
  assert.equal(done.usage, undefined);
  assert.equal((await (await alice.files.content(done.output_file_id)).text()).trim().split('\n').length, 3);
  await alice.files.delete(done.output_file_id); // the cost is read from it before
});

test('message batches', async () => {
  const claude = new Anthropic({ baseURL: url, apiKey: process.env.TOLLGATE_KEY, maxRetries: 0 });
  const params = (model) => ({ model, max_tokens: 20, messages: [{ role: 'user', content: 'hi' }] });
  const requests = [{ custom_id: 'a', params: params('smart') }, { custom_id: 'b', params: params('anthropic/claude-sonnet-5-5') }, { custom_id: 'c', params: params('claude-haiku-new') }];
  const create = (client, ...models) => client.messages.batches.create({ requests: models.map((m, i) => ({ custom_id: `r${i}`, params: params(m) })) });
  await assert.rejects(create(claude, 'smart', 'gpt-5.4-mini'), (e) => e.status === 400 && e.error.type === 'error' && /requests.1: .*openai\/gpt-5.4-mini/.test(e.message) || assert.fail(e));
  const carol = new Anthropic({ baseURL: url, apiKey: process.env.TOLLGATE_BOUND_KEY, maxRetries: 0 });
  await assert.rejects(create(carol, 'smart'), status(403));
  const batch = await claude.messages.batches.create({ requests });
  assert.equal(batch.processing_status, 'in_progress');
  assert.equal(batch.request_counts.processing, 3);
  await assert.rejects(carol.messages.batches.retrieve(batch.id), status(404));
  await assert.rejects(carol.messages.batches.results(batch.id), status(404));
  let done = batch;
  for (let i = 0; i < 5 && done.processing_status !== 'ended'; i++) done = await claude.messages.batches.retrieve(batch.id);
  assert.equal(done.results_url, `${url}/v1/messages/batches/${batch.id}/results`);
  const said = [];
  for await (const result of await claude.messages.batches.results(batch.id)) said.push(`${result.custom_id} ${result.result.type} ${result.result.message?.model}`);
  assert.deepEqual(said, ['a succeeded claude-sonnet-5-5', 'b succeeded claude-sonnet-5-5', 'c errored undefined']);
  const listed = [];
  for await (const b of claude.messages.batches.list({ limit: 1 })) listed.push(b.id);
  assert.deepEqual(listed, [batch.id]);
  for await (const b of carol.messages.batches.list()) assert.fail('carol sees ' + b.id);
  assert.ok((await alice.batches.list()).data.every((b) => b.object === 'batch'));
  const other = await create(claude, 'smart');
  assert.equal((await claude.messages.batches.cancel(other.id)).processing_status, 'canceling');
  assert.equal((await claude.messages.batches.delete(batch.id)).type, 'message_batch_deleted');
  await assert.rejects(claude.messages.batches.retrieve(batch.id), status(404));
});
