package responses

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

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
			if split != out || splitOutcome != outcome || !reflect.DeepEqual(p.Usage(), q.Usage()) || p.TextBytes() != q.TextBytes() {
				t.Errorf("split at every byte: got\n%s%s", split, splitOutcome)
			}
		})
	}
}

// TestPassKeepsBytes checks that a pass changes only the model.
func TestPassKeepsBytes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"text", "reasoning-tools", "interleaved", "hosted", "refusal", "incomplete", "logprobs"} {
		stream := upstreamStreams(t)[name]
		out, _, _ := passAll(t, strings.NewReader(stream))
		out = strings.ReplaceAll(out, ": proof\n\n", "")
		want := strings.ReplaceAll(stream, `"model":"gpt-x-2026"`, `"model":"my \"model\""`)
		if out != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, out, want)
		}
	}
}

func TestPassCounts(t *testing.T) {
	t.Parallel()
	_, _, p := passAll(t, strings.NewReader(upstreamStreams(t)["reasoning-tools"]))
	want := wire.Usage{Prompt: 30, Completion: 12, CacheRead: 10, Reasoning: 5, Known: true}
	if p.Usage() != want {
		t.Errorf("usage %+v, want %+v", p.Usage(), want)
	}
	// Text is counted in its escaped form.
	if want := int64(len(`Look at it.Then go.Doing.{\"p\":\"x\\n\"}*** \"Begin\n*** End`)); p.TextBytes() != want {
		t.Errorf("%d bytes of text, want %d", p.TextBytes(), want)
	}
}

func TestPassWhole(t *testing.T) {
	t.Parallel()
	body := `{ "model": "up", "id":"resp_1","status":"completed","output":[{"type":"message","model":"x","content":[{"type":"output_text","text":"abc"}]},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}],"usage":{"input_tokens":2,"output_tokens":1},"new":[1]}`
	p := Format{}.NewPass(&hub.Request{Model: "mine"}, hub.Reply{})
	out, err := p.Whole(nil, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(body, `"up"`, `"mine"`, 1); string(out) != want {
		t.Errorf("got %s", out)
	}
	if p.Usage().Prompt != 2 || p.TextBytes() != int64(len(`abc{}`)) {
		t.Errorf("usage %+v, %d bytes", p.Usage(), p.TextBytes())
	}
	for body, want := range map[string]string{
		`{"status":"failed","error":{"code":"server_error","message":"x"}}`: "upstream /server_error: x",
		`{"id":"resp_1","output":[ ]}`:                                      "no choices",
		`{"id":"resp_1","status":"completed","output":[]}`:                  "none",
	} {
		_, err := Format{}.NewPass(&hub.Request{}, hub.Reply{}).Whole(nil, []byte(body))
		if got := upstreamErrorName(err); got != want {
			t.Errorf("%s: error %s, want %s", body, got, want)
		}
	}
}

func TestPassFailAndKeepAlive(t *testing.T) {
	t.Parallel()
	p := Format{}.NewPass(&hub.Request{Model: "m"}, hub.Reply{Created: time.Unix(9, 0)})
	if got := string(p.KeepAlive(nil)); got != ": keep-alive\n\n" {
		t.Errorf("keep-alive %q", got)
	}
	got := string(p.Fail(nil, hub.Failure{Code: "upstream_stream_error", Message: `a "b"`}))
	want := "event: error\ndata: " + `{"type":"error","sequence_number":0,"code":"server_error","message":"a \"b\"","param":null}` + "\n\n"
	if got != want {
		t.Errorf("before the start: %s", got)
	}
	if _, _, err := p.Event(nil, nil, []byte(`{"type":"response.created","sequence_number":4,"response":{"id":"resp_9"}}`)); err != nil {
		t.Fatal(err)
	}
	for _, item := range []string{`{"id":"msg_1",` + "\n" + `"type":"message"}`, `{"id":"fc_1","type":"function_call"}`} {
		event := `{"type":"response.output_item.done","sequence_number":4,"output_index":0,"item":` + item + `}`
		if _, _, err := p.Event(nil, nil, []byte(event)); err != nil {
			t.Fatal(err)
		}
	}
	got = string(p.Fail(nil, hub.Failure{Code: "rate_limit_exceeded", Message: "slow"}))
	data, ok := strings.CutPrefix(got, "event: response.failed\ndata: ")
	if !ok || !json.Valid([]byte(data)) {
		t.Fatalf("got %s", got)
	}
	for _, part := range []string{`"sequence_number":5`, `"id":"resp_9"`, `"created_at":9`, `"status":"failed"`, `"error":{"code":"rate_limit_exceeded","message":"slow"}`, `"output":[{"id":"msg_1", "type":"message"},{"id":"fc_1","type":"function_call"}]`} {
		if !strings.Contains(data, part) {
			t.Errorf("no %s in %s", part, data)
		}
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
	name, data := []byte("response.output_text.delta"), []byte(benchTextDelta)
	dst := make([]byte, 0, 4096)
	for b.Loop() {
		if _, _, err := p.Event(dst, name, data); err != nil {
			b.Fatal(err)
		}
	}
}

const benchTextDelta = `{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"some words of an answer","logprobs":[],"obfuscation":"abcdef"}`
