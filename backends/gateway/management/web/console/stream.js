// The three model APIs from the view of a client: the request, and the meaning of the
// events of a streamed response.

export const surfaces = {
  chat_completions: {
    name: 'Chat completions',
    path: 'v1/chat/completions',
    headers: (key) => ({ Authorization: `Bearer ${key}` }),
    body: (ask) => ({
      model: ask.model,
      messages: [ask.system && { role: 'system', content: ask.system }, { role: 'user', content: ask.text }].filter(Boolean),
      ...(ask.limit && { max_completion_tokens: ask.limit }),
      stream: true,
      stream_options: { include_usage: true },
    }),
    read(event, out) {
      const delta = event.choices?.[0]?.delta;
      if (delta?.content) out.text(delta.content);
      if (delta?.reasoning_content || delta?.reasoning) out.reasoning(delta.reasoning_content || delta.reasoning);
      if (event.choices?.[0]?.finish_reason) out.finish(event.choices[0].finish_reason);
      if (event.usage) out.usage(event.usage.prompt_tokens, event.usage.completion_tokens);
      if (event.error) out.error(event.error);
    },
  },
  messages: {
    name: 'Messages',
    path: 'v1/messages',
    headers: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
    body: (ask) => ({
      model: ask.model,
      max_tokens: ask.limit || 1024,
      ...(ask.system && { system: ask.system }),
      messages: [{ role: 'user', content: ask.text }],
      stream: true,
    }),
    read(event, out) {
      if (event.delta?.type === 'text_delta') out.text(event.delta.text);
      if (event.delta?.type === 'thinking_delta') out.reasoning(event.delta.thinking);
      if (event.type === 'message_start') out.usage(event.message?.usage?.input_tokens, null);
      if (event.type === 'message_delta') {
        out.usage(event.usage?.input_tokens, event.usage?.output_tokens);
        if (event.delta?.stop_reason) out.finish(event.delta.stop_reason);
      }
      if (event.type === 'error') out.error(event.error);
    },
  },
  responses: {
    name: 'Responses',
    path: 'v1/responses',
    headers: (key) => ({ Authorization: `Bearer ${key}` }),
    body: (ask) => ({
      model: ask.model,
      ...(ask.system && { instructions: ask.system }),
      input: ask.text,
      ...(ask.limit && { max_output_tokens: ask.limit }),
      stream: true,
      store: false,
    }),
    read(event, out) {
      if (event.type === 'response.output_text.delta' || event.type === 'response.refusal.delta') out.text(event.delta);
      if (event.type === 'response.reasoning_summary_text.delta' || event.type === 'response.reasoning_text.delta') out.reasoning(event.delta);
      if (event.response?.usage) out.usage(event.response.usage.input_tokens, event.response.usage.output_tokens);
      if (event.type === 'response.completed' || event.type === 'response.incomplete') out.finish(event.response?.incomplete_details?.reason ?? event.response?.status);
      if (event.type === 'error') out.error(event.error ?? event);
      if (event.type === 'response.failed') out.error(event.response?.error ?? event);
    },
  },
};

// events yields the parsed JSON of each server-sent event of a response.
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    for (const line of lines) {
      const data = /^data: ?(.*)$/.exec(line)?.[1];
      if (!data || data === '[DONE]') continue;
      let event;
      try {
        event = JSON.parse(data);
      } catch {
        continue;
      }
      yield event;
    }
  }
}
