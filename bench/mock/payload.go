package mock

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/bench/load"
)

// streamChunks is the number of chunks with content in a stream. A stream also has chunks with the role, the finish
// reason and the usage, and [DONE].
const streamChunks = 100

// streamEvents is the minimum number of events that a client gets. The usage chunk comes only on request.
const streamEvents = streamChunks + 3

// Model is the model in requests. The gateway maps it to its lowest tier.
const Model = "keychain-low"

// The chunks are as large as those of real providers, which repeat the text around the content in each chunk.
const (
	chunkHead = `data: {"id":"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG","object":"chat.completion.chunk","created":1741570283,` +
		`"model":"gpt-5.4-nano-2026-03-17","service_tier":"default","system_fingerprint":"fp_a288987b44","choices":`
	chunkTail = `,"usage":null}` + "\n\n"
	usageJSON = `{"prompt_tokens":212,"completion_tokens":101,"total_tokens":313,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},` +
		`"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`
)

var (
	plainChunks  = makeChunks(false)
	paddedChunks = makeChunks(true)
	plainStream  = makeStream(plainChunks)
	paddedStream = makeStream(paddedChunks)
	wholeReply   = makeWhole()
)

// tokens are typical tokens of models, in JSON. The tokens differ in length and in the need for escapes, so that no
// implementation profits from equal chunks.
var tokens = [...]string{
	" A", " gateway", " stands", " between", " those", " who", " ask", ",", " and", " those", " who", " answer", ".",
	`\n\n`,
	" It", " says", ` \"`, "no", `\"`, " —", " più", " di", " rado", " than", " one", " would", " think", " 世界", "-",
	"wide", ";", " see",
}

// makeChunks makes the chunks with content. Padded chunks end with a text of random length, which OpenAI adds to hide
// the length of the token.
func makeChunks(padded bool) [][]byte {
	chunks := make([][]byte, streamChunks)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same in every run
	for i := range chunks {
		tail := chunkTail
		if padded {
			text := strconv.FormatUint(random.Uint64()|1<<63, 36)
			tail = `,"usage":null,"obfuscation":"` + text[:1+i%len(text)] + `"}` + "\n\n"
		}
		chunks[i] = []byte(chunkHead + `[{"index":0,"delta":{"content":"` + tokens[i%len(tokens)] +
			`"},"logprobs":null,"finish_reason":null}]` + tail)
	}
	return chunks
}

// makeStream adds the first and the last events to the chunks with content.
func makeStream(content [][]byte) [][]byte {
	events := make([][]byte, 0, len(content)+4)
	events = append(events, []byte(chunkHead+`[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}]`+chunkTail))
	events = append(events, content...)
	return append(events,
		[]byte(chunkHead+`[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]`+chunkTail),
		[]byte(chunkHead+`[],"usage":`+usageJSON+"}\n\n"),
		[]byte("data: [DONE]\n\n"))
}

// makeWhole returns a response of 1 KB.
func makeWhole() []byte {
	const head = `{"id":"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT","object":"chat.completion","created":1741569952,"model":"gpt-5.4-nano-2026-03-17",` +
		`"choices":[{"index":0,"message":{"role":"assistant","content":"`
	const tail = `","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":` + usageJSON +
		`,"service_tier":"default","system_fingerprint":"fp_a288987b44"}`
	return []byte(head + Prose(1024-len(head)-len(tail)) + tail)
}

// Prose returns n bytes of text that looks like English.
func Prose(n int) string {
	const sentence = "A gateway stands between those who ask and those who answer, and it should cost neither of them much. "
	return strings.Repeat(sentence, n/len(sentence)+1)[:max(n, 0)]
}

// Chat returns the body of a chat request of about size bytes. If size is greater than about 4 KB, the body is a
// conversation with messages of 2 KB.
func Chat(ask string, stream bool, size int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":%q,"stream":%v,"max_tokens":256,"messages":[{"role":"system","content":"You are helpful. %s"}`, Model, stream, ask)
	for role := 0; size-b.Len() > 4<<10; role++ {
		fmt.Fprintf(&b, `,{"role":%q,"content":"%s"}`, [...]string{"user", "assistant"}[role%2], Prose(2<<10))
	}
	const tail = `"}]}`
	b.WriteString(`,{"role":"user","content":"`)
	return b.String() + Prose(size-b.Len()-len(tail)) + tail
}

// Tools is the number of tools in a request of a coding client.
const Tools = 24

// Tooled returns the body of a messages request of about 75 KB, as a coding client sends it. The body has long
// instructions, tools with their schemas, and a conversation with calls of the tools.
func Tooled(ask string) string {
	text := func(n int) string { return strings.Repeat(`It says \"no\".\n- A gateway stands between two. `, n) }
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":%q,"stream":true,"max_tokens":256,"system":[{"type":"text","text":"You are helpful. %s %s","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"%s"}]}`,
		Model, ask, text(380), text(4))
	for i := range 10 {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"tool_%d","input":{"path":"/src/main.go","limit":100}}]}`+
			`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"%s"}]}`, i, i, i, text(20))
	}
	b.WriteString(`],"tools":[`)
	for i := range Tools {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"tool_%d","description":"%s","input_schema":{"type":"object","properties":{"path":{"type":"string","description":"The absolute path of the file"},`+
			`"limit":{"type":"number","description":"How many lines are read"},"mode":{"type":"string","enum":["content","files","count"],"description":"What is shown"},`+
			`"edits":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"},"new":{"type":"string"}},"required":["old","new"]}}},"required":["path"],"additionalProperties":false}}`,
			i, text(28))
	}
	b.WriteString(`]}`)
	return b.String()
}

// IsWhole checks the response to Whole.
func IsWhole(got load.Reply) error {
	if got.Status != 200 || got.Bytes < 900 {
		return fmt.Errorf("status %d with %d bytes instead of 200 with a chat completion", got.Status, got.Bytes)
	}
	return nil
}

// IsStream checks the response to Burst, Padded and Paced.
func IsStream(got load.Reply) error {
	if got.Status != 200 || got.Lines < 2*streamEvents {
		return fmt.Errorf("status %d with %d lines instead of 200 with %d events", got.Status, got.Lines, streamEvents)
	}
	return nil
}
