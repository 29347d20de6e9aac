package native

import (
	"bytes"
	"strings"
	"testing"
)

// benchRequest returns a chat request with tools of about size bytes.
func benchRequest(size int) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"keychain-medium","stream":true,"temperature":0.7,"max_tokens":1024,"messages":[{"role":"system","content":"You are helpful."}`)
	for b.Len() < size-400 {
		b.WriteString(`,{"role":"user","content":"` + strings.Repeat(`What does \"this\" line say?\n`, 12) + `"}`)
	}
	b.WriteString(`],"tools":[{"type":"function","function":{"name":"search","description":"Search","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}}],"user":"u"}`)
	return []byte(b.String())
}

func benchmarkParse(b *testing.B, body []byte) {
	b.Helper()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseChat1KB(b *testing.B)   { benchmarkParse(b, benchRequest(1<<10)) }
func BenchmarkParseChat200KB(b *testing.B) { benchmarkParse(b, benchRequest(200<<10)) }

func BenchmarkShape(b *testing.B) {
	r, err := Parse(benchRequest(200 << 10))
	if err != nil {
		b.Fatal(err)
	}
	shape := &Shape{Model: "gpt-5.4-mini", Drop: []string{"user", "metadata", "store"}, MaxTokensField: "max_completion_tokens", StreamUsage: true}
	b.ReportAllocs()
	for b.Loop() {
		if r.Shape(shape).Len() == 0 {
			b.Fatal("empty")
		}
	}
}

var benchChunk = []byte(`{"id":"chatcmpl-abc","object":"chat.completion.chunk","created":1700000000,"model":"gpt-5.4-mini-2026-01-01","service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}`)

func BenchmarkStreamEvent(b *testing.B) {
	chat := NewStream("keychain-medium", false)
	var dst []byte
	b.SetBytes(int64(len(benchChunk)))
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if dst, _, err = chat.Event(dst[:0], benchChunk); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkInFull alternates between two frames, so that no chunk can use the fast path for a known frame.
func benchmarkInFull(b *testing.B, chunk []byte) {
	b.Helper()
	other := bytes.Replace(chunk, []byte(`"default"`), []byte(`"flex"`), 1)
	chat := NewStream("keychain-medium", false)
	var dst []byte
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if dst, _, err = chat.Event(dst[:0], chunk); err != nil {
			b.Fatal(err)
		}
		chunk, other = other, chunk
	}
}

func BenchmarkStreamEventInFull(b *testing.B) { benchmarkInFull(b, benchChunk) }

// An index after the delta requires a second pass over the chunk.
func BenchmarkStreamEventIndexLast(b *testing.B) {
	chunk := bytes.Replace(benchChunk, []byte(`"index":0,`), nil, 1)
	benchmarkInFull(b, bytes.Replace(chunk, []byte(`"finish_reason":null`), []byte(`"finish_reason":null,"index":0`), 1))
}

func BenchmarkReadChatReply(b *testing.B) {
	body := []byte(`{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` + strings.Repeat("word ", 400) + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	var out []byte
	for b.Loop() {
		var err error
		if out, _, err = ReadReply(out[:0], body, "keychain-medium"); err != nil {
			b.Fatal(err)
		}
	}
}
