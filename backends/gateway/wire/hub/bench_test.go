package hub_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/responses"
)

// benchBody returns a coding client's request of about 75 KB: long instructions, 24 tools and a few turns.
func benchBody() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":"keychain-medium","max_tokens":32000,"stream":true,"system":[{"type":"text","text":"%s","cache_control":{"type":"ephemeral"}}],"messages":[`,
		strings.Repeat(`You edit files.\nUse the \"Read\" tool before you write. `, 440))
	for i := range 8 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"role":"user","content":[{"type":"text","text":"%s"}]},`, strings.Repeat(`What does line 17 say?\n`, 12))
		fmt.Fprintf(&b, `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"tool_%d","input":{"path":"/src/main.go","limit":100}}]},`, i, i)
		fmt.Fprintf(&b, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"%s"}]}`, i, strings.Repeat(`\tif err != nil {\n\t\treturn \"\", err\n\t}\n`, 24))
	}
	b.WriteString(`],"tools":[`)
	for i := range 24 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"tool_%d","description":"%s","input_schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{%s},"required":["path"],"additionalProperties":false}}`,
			i, strings.Repeat(`Does one thing.\n- It needs \"path\". `, 26), benchProperties)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

const benchProperties = `"path":{"type":"string","description":"The absolute path of the file"},"limit":{"type":"number","description":"How many lines are read"},` +
	`"mode":{"type":"string","enum":["content","files","count"],"description":"What is shown"},"edits":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"},"new":{"type":"string"}},"required":["old","new"]}}`

func benchTarget() *hub.Target {
	return &hub.Target{
		Provider: &catalog.Provider{Code: "upstream", Shape: catalog.DefaultShape()},
		Model:    &catalog.Model{Provider: "upstream", ID: "m", Tools: true}, MaxTokensField: "max_tokens", StreamUsage: true,
	}
}

// TestBenchBody checks that the request is as large as the benchmarks assume.
func TestBenchBody(t *testing.T) {
	t.Parallel()
	body := benchBody()
	r, err := messages.Format{}.Read(body, hub.ReadOptions{})
	if err != nil || len(r.Tools) != 24 || len(r.Messages) != 25 {
		t.Fatalf("error %v", err)
	}
	if len(body) < 70<<10 || len(body) > 80<<10 {
		t.Errorf("%d bytes", len(body))
	}
}

// BenchmarkLargeMessages translates a request for a chat upstream, in single steps and as a whole, with the token
// estimate at the beginning of a stream.
func BenchmarkLargeMessages(b *testing.B) {
	body, target := benchBody(), benchTarget()
	r, err := messages.Format{}.Read(body, hub.ReadOptions{})
	if err != nil {
		b.Fatal(err)
	}
	read := func() *hub.Request {
		r, err := messages.Format{}.Read(body, hub.ReadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		return r
	}
	write := func(r *hub.Request) {
		if _, err := (chat.Format{}).Write(r, target); err != nil {
			b.Fatal(err)
		}
	}
	for _, step := range []struct {
		name string
		run  func()
	}{
		{"read", func() { read() }},
		{"write", func() { write(r) }},
		{"count", func() { hub.CountTokens(r) }},
		{"all", func() {
			r := read()
			hub.CountTokens(r)
			write(r)
		}},
	} {
		b.Run(step.name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				step.run()
			}
		})
	}
}

// BenchmarkStream translates whole streams of 100 chunks from a chat upstream. The results are for one event, which
// includes its share of the beginning and the end.
func BenchmarkStream(b *testing.B) {
	const events = 100
	chunk := []byte(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","service_tier":"default","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}`)
	last := []byte(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":100,"total_tokens":107}}`)
	for _, format := range []struct {
		name, body string
		read       func([]byte, hub.ReadOptions) (*hub.Request, error)
		writer     func(*hub.Request, hub.Reply) hub.Writer
	}{
		{"messages", `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`, messages.Format{}.Read, messages.Format{}.NewWriter},
		{"responses", `{"model":"m","stream":true,"input":"Hi"}`, responses.Format{}.Read, responses.Format{}.NewWriter},
	} {
		b.Run(format.name, func(b *testing.B) {
			r, err := format.read([]byte(format.body), hub.ReadOptions{})
			if err != nil {
				b.Fatal(err)
			}
			dst := make([]byte, 0, 64<<10)
			b.ReportAllocs()
			for b.Loop() {
				pass := hub.Translate(chat.NewReader("", false), format.writer(r, hub.Reply{Created: time.Unix(1, 0)}))
				dst = dst[:0]
				for range events {
					if dst, _, err = pass.Event(dst, nil, chunk); err != nil {
						b.Fatal(err)
					}
				}
				if dst, _, err = pass.Event(dst, nil, last); err != nil {
					b.Fatal(err)
				}
				if dst, err = pass.End(dst); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(events+2), "ns/event")
		})
	}
}
