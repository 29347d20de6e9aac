package chat

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

func (g *golden) request() *hub.Request {
	r := &hub.Request{
		Format: hub.Chat, Model: "asked", IncludeUsage: g.has("include_usage"),
		Tools: []hub.Tool{
			{Name: "f", ClientName: "f"},
			{Name: "long_12345678", ClientName: "long.name"},
			{Name: "patch", ClientName: "patch", Kind: hub.ToolCustom},
		},
	}
	r.Answer.Reasoning = !g.has("no reasoning")
	r.Answer.Logprobs = g.has("logprobs")
	return r
}

func (g *golden) state() hub.Form {
	switch {
	case g.has("thought"):
		return hub.FormThought
	case g.has("details"):
		return hub.FormDetails
	}
	return ""
}

var steadyReply = hub.Reply{
	Created: time.Unix(1_700_000_000, 0),
	NewID:   func(prefix string) string { return prefix + "MADE" },
}

// TestStream reads an upstream's chunks and writes them for a client, as a stream and as a whole answer.
func TestStream(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t, "stream") {
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			r := g.request()
			reader := steadyReader(g.state(), false)
			pass := hub.Translate(reader, Format{}.NewWriter(r, steadyReply))
			var out []byte
			var all []hub.Delta
			whole := steadyReader(g.state(), false)
			for line := range strings.Lines(g.sections["in"]) {
				var err error
				if out, _, err = pass.Event(out, nil, []byte(line)); err != nil {
					out = pass.Fail(out, hub.Failure{Message: err.Error()})
					break
				}
				step, _ := whole.Event(nil, []byte(line))
				all = append(all, step.Deltas...)
			}
			g.check(t, "out", string(out))
			if len(all) > 0 && all[len(all)-1].Kind == hub.DeltaEnd {
				body, err := Format{}.NewWriter(r, steadyReply).Whole(all)
				if err != nil || !json.Valid(body) {
					t.Fatalf("%v: %s", err, body)
				}
				g.check(t, "whole", string(body))
			}
			for event := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n\n") {
				data, ok := strings.CutPrefix(event, "data: ")
				if !ok || (data != "[DONE]" && !json.Valid([]byte(data))) {
					t.Errorf("no event: %q", event)
				}
			}
			g.save(t)
		})
	}
}

// TestStreamReadsBack checks that the reader and the identity path understand the writer's output.
func TestStreamReadsBack(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t, "stream") {
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			r := g.request()
			w := Format{}.NewWriter(r, steadyReply)
			reader, outputReader := steadyReader(g.state(), false), steadyReader(g.state(), false)
			identity := native.NewStream("asked", true)
			for line := range strings.Lines(g.sections["in"]) {
				step, err := reader.Event(nil, []byte(line))
				if err != nil {
					return
				}
				for event := range bytes.SplitSeq(w.Stream(nil, step.Deltas), []byte("\n\n")) {
					data := bytes.TrimPrefix(event, []byte("data: "))
					if _, err := outputReader.Event(nil, data); err != nil {
						t.Errorf("%s: %v", data, err)
					}
					if _, _, err := identity.Event(nil, data); err != nil {
						t.Errorf("%s: %v", data, err)
					}
				}
			}
		})
	}
}

func TestWriterKeepAlive(t *testing.T) {
	t.Parallel()
	w := Format{}.NewWriter(&hub.Request{}, hub.Reply{})
	if got := string(w.KeepAlive(nil)); got != ": keep-alive\n\n" {
		t.Errorf("got %q", got)
	}
}

func BenchmarkReaderText(b *testing.B) {
	chunks := [][]byte{
		[]byte(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","service_tier":"default","choices":[{"index":0,"delta":{"content":"Hello"},"logprobs":null,"finish_reason":null}],"obfuscation":"abc"}`),
		[]byte(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","service_tier":"default","choices":[{"index":0,"delta":{"content":" world"},"logprobs":null,"finish_reason":null}],"obfuscation":"ab"}`),
	}
	for _, framed := range []bool{true, false} {
		name := "framed"
		if !framed {
			name = "unframed"
		}
		b.Run(name, func(b *testing.B) {
			r := NewReader("", false).(*reader)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if !framed {
					r.frame.kind = 0
				}
				if step, err := r.Event(nil, chunks[i&1]); err != nil || len(step.Deltas) != 1 {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReaderArguments(b *testing.B) {
	r := NewReader("", false)
	if _, err := r.Event(nil, []byte(tool(`"index":0,"id":"a","function":{"name":"f"}`))); err != nil {
		b.Fatal(err)
	}
	chunk := []byte(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"path\""}}]},"finish_reason":null}]}`)
	b.ReportAllocs()
	for b.Loop() {
		if step, err := r.Event(nil, chunk); err != nil || len(step.Deltas) != 1 {
			b.Fatal(err)
		}
	}
}

func BenchmarkTranslateText(b *testing.B) {
	pass := hub.Translate(NewReader("", false), Format{}.NewWriter(&hub.Request{Model: "asked"}, steadyReply))
	chunk := []byte(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}`)
	dst := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if dst, _, err = pass.Event(dst[:0], nil, chunk); err != nil {
			b.Fatal(err)
		}
	}
}

// TestCustomInput checks that arguments other than {"input": text} are taken as the text itself, and that arguments may
// be cut within an escape.
func TestCustomInput(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{\"input\":\"a\\nb\"}`:    `a\nb`,
		`{\"input\":1}`:            `{\"input\":1}`,
		`{\"other\":\"a\"}`:        `{\"other\":\"a\"}`,
		`{\"input\":\"a\"} more`:   `{\"input\":\"a\"} more`,
		`{\"input\":\"a\\nb`:       `a\nb`,
		`{\"n\":[1],\"input\":\"a`: `a`,
		`{\"input`:                 `{\"input`,
		`plain`:                    `plain`,
		`cut \`:                    `cut `,
		`cut \u00`:                 `cut `,
	} {
		c := freeTextCall{arguments: []byte(in)}
		if got := string(c.input()); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
