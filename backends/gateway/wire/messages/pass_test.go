package messages

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// passAll returns the client's output for a stream.
func passAll(t testing.TB, stream io.Reader) (out, outcome string, p hub.Pass) {
	p = Format{}.NewPass(&hub.Request{Model: `my "model"`}, hub.Reply{})
	var dst []byte
	proof := false
	ended, err := upstreamEvents(t, stream, func(name, data []byte) (bool, error) {
		out, progress, err := p.Event(dst, name, data)
		dst = out
		if progress.Proof && !proof {
			proof = true
			dst = append(dst, ": proof\n\n"...)
		}
		return progress.Done, err
	})
	if ended {
		dst, err = p.End(dst)
	}
	return string(dst), upstreamErrorName(err), p
}

func TestPassStreams(t *testing.T) {
	t.Parallel()
	for name, stream := range upstreamStreams(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, outcome, p := passAll(t, strings.NewReader(stream))
			text := out + ": error " + outcome + "\n"
			upstreamGolden(t, "testdata/upstream_stream/"+name+".pass", text)
			split, splitOutcome, q := passAll(t, iotest.OneByteReader(strings.NewReader(stream)))
			if split != out || splitOutcome != outcome || p.Usage() != q.Usage() || p.TextBytes() != q.TextBytes() {
				t.Errorf("split at every byte: got\n%s%s", split, splitOutcome)
			}
		})
	}
}

// TestPassKeepsBytes checks that a pass changes only the model.
func TestPassKeepsBytes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"text", "thinking-tools", "redacted", "server-tools", "refusal"} {
		stream := upstreamStreams(t)[name]
		out, _, _ := passAll(t, strings.NewReader(stream))
		out = strings.ReplaceAll(out, ": proof\n\n", "")
		want := strings.Replace(stream, `"model":"claude-opus-5-5"`, `"model":"my \"model\""`, 1)
		if out != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, out, want)
		}
	}
}

func TestPassCounts(t *testing.T) {
	t.Parallel()
	_, _, p := passAll(t, strings.NewReader(upstreamStreams(t)["thinking-tools"]))
	want := wire.Usage{Prompt: 130, Completion: 90, CacheRead: 100, CacheWrite: 3, Reasoning: 30, Known: true}
	if p.Usage() != want {
		t.Errorf("usage %+v, want %+v", p.Usage(), want)
	}
	// Text is counted in its escaped form.
	if want := int64(len(`Look at both.Reading.{\"file_path\": \"/x\\n\"}`)); p.TextBytes() != want {
		t.Errorf("%d bytes of text, want %d", p.TextBytes(), want)
	}
}

func TestPassWhole(t *testing.T) {
	t.Parallel()
	body := `{ "model": "up", "id":"msg_1","type":"message","content":[{"type":"text","text":"abc"},{"type":"tool_use","id":"a","name":"f","input":{"model":1}}],"stop_reason":"end_turn","usage":{"input_tokens":2,"output_tokens":1},"new":[1]}`
	p := Format{}.NewPass(&hub.Request{Model: "mine"}, hub.Reply{})
	out, err := p.Whole(nil, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(body, `"up"`, `"mine"`, 1); string(out) != want {
		t.Errorf("got %s", out)
	}
	if p.Usage().Prompt != 2 || p.TextBytes() != int64(len(`abc{"model":1}`)) {
		t.Errorf("usage %+v, %d bytes", p.Usage(), p.TextBytes())
	}
	_, err = Format{}.NewPass(&hub.Request{}, hub.Reply{}).Whole(nil, []byte(`{"type":"error","error":{"type":"api_error","message":"x"}}`))
	if got := upstreamErrorName(err); got != "upstream api_error/: x" {
		t.Errorf("error %s", got)
	}
}

func TestPassFailAndKeepAlive(t *testing.T) {
	t.Parallel()
	p := Format{}.NewPass(&hub.Request{Model: "m"}, hub.Reply{})
	if got := string(p.KeepAlive(nil)); got != ": keep-alive\n\n" {
		t.Errorf("before the start: %q", got)
	}
	if _, _, err := p.Event(nil, nil, []byte(`{"type":"message_start","message":{}}`)); err != nil {
		t.Fatal(err)
	}
	if got := string(p.KeepAlive(nil)); got != "event: ping\ndata: {\"type\":\"ping\"}\n\n" {
		t.Errorf("after the start: %q", got)
	}
	got := string(p.Fail(nil, hub.Failure{Type: "overloaded_error", Message: `a "b"`, RequestID: "req_1"}))
	want := "event: error\ndata: " + `{"type":"error","error":{"type":"overloaded_error","message":"a \"b\""},"request_id":"req_1"}` + "\n\n"
	if got != want {
		t.Errorf("got %q", got)
	}
}

func FuzzPass(f *testing.F) {
	for _, stream := range upstreamStreams(f) {
		f.Add([]byte(stream))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := Format{}.NewPass(&hub.Request{Model: "m"}, hub.Reply{})
		events := wire.NewEventReader(bytes.NewReader(data))
		defer events.Release()
		for {
			event, err := events.Next()
			if err != nil {
				break
			}
			dst, progress, err := p.Event(nil, event.Name, event.Data)
			if err != nil {
				if len(dst) > 0 {
					t.Fatal("an event beside an error")
				}
				break
			}
			if len(dst) > 0 {
				checkPassEvent(t, dst)
			}
			if progress.Done {
				break
			}
		}
		if out, err := (Format{}).NewPass(&hub.Request{Model: "m"}, hub.Reply{}).Whole(nil, data); err == nil && !json.Valid(out) {
			t.Fatalf("no JSON: %s", out)
		}
	})
}

// checkPassEvent fails unless dst is one event with one line of JSON.
func checkPassEvent(t *testing.T, dst []byte) {
	t.Helper()
	lines := strings.Split(string(dst), "\n")
	if len(lines) != 4 || lines[2] != "" || lines[3] != "" || !strings.HasPrefix(lines[0], "event: ") {
		t.Fatalf("no event: %q", dst)
	}
	data, ok := strings.CutPrefix(lines[1], "data: ")
	if !ok || !json.Valid([]byte(data)) {
		t.Fatalf("no JSON: %q", dst)
	}
}

func BenchmarkPassText(b *testing.B) {
	b.ReportAllocs()
	p := Format{}.NewPass(&hub.Request{Model: "m"}, hub.Reply{})
	name, data := []byte("content_block_delta"), []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"some words of an answer"}}`)
	dst := make([]byte, 0, 4096)
	for b.Loop() {
		if _, _, err := p.Event(dst, name, data); err != nil {
			b.Fatal(err)
		}
	}
}
