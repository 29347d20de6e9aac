// The request of the playground as code in several languages. All of them send the same body.

// The SDKs that the samples use: the names of their packages, and the base URL that they expect.
const openai = { python: 'openai', node: 'openai', base: (base) => new URL('v1', base).href };
const anthropic = { python: 'anthropic', node: '@anthropic-ai/sdk', base: (base) => base.href.replace(/\/$/, '') };

// kinds describes each API: its SDK, the function to call, and the lines that print the text of a streamed response.
const kinds = {
  chat_completions: {
    sdk: openai, call: 'chat.completions.create',
    python: ['for chunk in stream:', '    if chunk.choices:', '        print(chunk.choices[0].delta.content or "", end="", flush=True)'],
    node: "for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '');",
  },
  responses: {
    sdk: openai, call: 'responses.create',
    python: ['for event in stream:', '    if event.type == "response.output_text.delta":', '        print(event.delta, end="", flush=True)'],
    node: "for await (const event of stream) if (event.type === 'response.output_text.delta') process.stdout.write(event.delta);",
  },
  messages: {
    sdk: anthropic, call: 'messages.create',
    python: ['for event in stream:', '    if event.type == "content_block_delta" and event.delta.type == "text_delta":', '        print(event.delta.text, end="", flush=True)'],
    node: "for await (const event of stream) if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') process.stdout.write(event.delta.text);",
  },
};

// languages lists the samples. write gets the base URL of the gateway, the id of an API, its entry in surfaces and the
// body, and returns the code.
export const languages = {
  curl: { name: 'curl', note: () => 'If the certificate comes from Caddy’s own authority, add -k.', write: curl },
  python: { name: 'Python', note: (id) => `Install the package first: pip install ${kinds[id].sdk.python}`, write: python },
  node: { name: 'Node.js', note: (id) => `Save it as a .mjs file, and install the package first: npm install ${kinds[id].sdk.node}`, write: node },
  go: { name: 'Go', note: () => 'It needs no packages, and prints the events of the response.', write: go },
};

function curl(base, _, surface, body) {
  const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
  const headers = Object.entries(surface.headers('$TOLLGATE_KEY')).map(([name, value]) => `-H "${name}: ${value}"`);
  return [`curl -N ${quote(new URL(surface.path, base).href)}`, ...headers, `-H 'Content-Type: application/json'`, `-d ${quote(JSON.stringify(body))}`].join(' \\\n  ');
}

// fields returns a line for each member of a body, made by write(name, value).
const fields = (body, write) => Object.entries(body).map(([name, value]) => write(name, value));

// pythonic returns a JSON value as a Python literal. JSON strings are valid Python strings.
function pythonic(value) {
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (value === null) return 'None';
  if (Array.isArray(value)) return `[${value.map(pythonic).join(', ')}]`;
  if (typeof value === 'object') return `{${Object.entries(value).map(([name, v]) => `${JSON.stringify(name)}: ${pythonic(v)}`).join(', ')}}`;
  return JSON.stringify(value);
}

function python(base, id, _, body) {
  const { sdk, call, python: read } = kinds[id];
  const client = sdk === openai ? 'OpenAI' : 'Anthropic';
  return [
    'import os', `from ${sdk.python} import ${client}`, '',
    `client = ${client}(base_url=${JSON.stringify(sdk.base(base))}, api_key=os.environ["TOLLGATE_KEY"])`,
    `stream = client.${call}(`, ...fields(body, (name, value) => `    ${name}=${pythonic(value)},`), ')',
    ...read, 'print()', '',
  ].join('\n');
}

function node(base, id, _, body) {
  const { sdk, call, node: read } = kinds[id];
  const client = sdk === openai ? 'OpenAI' : 'Anthropic';
  return [
    `import ${client} from '${sdk.node}';`, '',
    `const client = new ${client}({ baseURL: ${JSON.stringify(sdk.base(base))}, apiKey: process.env.TOLLGATE_KEY });`,
    `const stream = await client.${call}({`, ...fields(body, (name, value) => `  ${name}: ${JSON.stringify(value)},`), '});',
    read, 'console.log();', '',
  ].join('\n');
}

function go(base, _, surface, body) {
  // A raw string of Go cannot contain backquotes, so they are escaped as JSON allows.
  const text = JSON.stringify(body, null, '  ').replaceAll('`', '\\u0060').replaceAll('\n', '\n\t');
  const headers = Object.entries(surface.headers('\u0000')).map(([name, value]) => {
    const [before, after] = value.split('\u0000');
    const written = after === undefined ? JSON.stringify(value) : `${before ? `${JSON.stringify(before)}+` : ''}os.Getenv("TOLLGATE_KEY")`;
    return `\trequest.Header.Set(${JSON.stringify(name)}, ${written})`;
  });
  return `package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	body := \`${text}\`
	request, err := http.NewRequest("POST", ${JSON.stringify(new URL(surface.path, base).href)}, strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
${headers.join('\n')}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
		log.Fatal(err)
	}
}
`;
}
