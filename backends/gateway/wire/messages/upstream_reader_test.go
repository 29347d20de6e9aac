package messages

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// upstreamStreams returns the recorded streams, by name.
func upstreamStreams(t testing.TB) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("testdata/upstream_stream/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no streams: %v", err)
	}
	streams := make(map[string]string, len(paths))
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		streams[strings.TrimSuffix(filepath.Base(path), ".txt")] = string(raw)
	}
	return streams
}

// upstreamGolden compares text with a golden file, or writes it.
func upstreamGolden(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, text, want)
	}
}

func upstreamErrorName(err error) string {
	switch e, ok := errors.AsType[*wire.UpstreamError](err); {
	case err == nil:
		return "none"
	case ok:
		return fmt.Sprintf("upstream %s/%s: %s", e.Type, e.Code, e.Message)
	case errors.Is(err, wire.ErrNoFinish):
		return "no finish"
	case errors.Is(err, wire.ErrNoChoices):
		return "no choices"
	case errors.Is(err, wire.ErrBroken):
		return "broken"
	}
	return err.Error()
}

func upstreamDump(deltas []hub.Delta) string {
	var b strings.Builder
	for _, d := range deltas {
		switch d.Kind {
		case hub.DeltaText:
			fmt.Fprintf(&b, "text %s\n", d.Text)
		case hub.DeltaReasoning:
			fmt.Fprintf(&b, "reasoning %s\n", d.Text)
		case hub.DeltaRefusal:
			fmt.Fprintf(&b, "refusal %s\n", d.Text)
		case hub.DeltaCall:
			fmt.Fprintf(&b, "call %d %s %s\n", d.Call, d.ID, d.Name)
		case hub.DeltaArguments:
			fmt.Fprintf(&b, "arguments %d %s\n", d.Call, d.Text)
		case hub.DeltaState:
			fmt.Fprintf(&b, "state %s %s\n", d.State.Form, d.State.Data)
		case hub.DeltaEnd:
			fmt.Fprintf(&b, "end %d %q %+v\n", d.End.Finish, d.End.StopSequence, d.End.Usage)
		}
	}
	return b.String()
}

// upstreamEvents calls fn with the events of a stream until fn fails or is done.
func upstreamEvents(t testing.TB, r io.Reader, fn func(name, data []byte) (done bool, err error)) (ended bool, failure error) {
	t.Helper()
	events := wire.NewEventReader(r)
	defer events.Release()
	for {
		event, err := events.Next()
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		if event.Comment {
			continue
		}
		if done, err := fn(event.Name, event.Data); done || err != nil {
			return false, err
		}
	}
}

// upstreamRead returns the deltas and the outcome of reading a stream, as text.
func upstreamRead(t testing.TB, stream io.Reader) (deltas, outcome string) {
	reader := Format{}.NewReader(nil)
	var b strings.Builder
	proof := false
	take := func(step hub.Step) {
		b.WriteString(upstreamDump(step.Deltas))
		if step.Proof && !proof {
			proof = true
			b.WriteString("proof\n")
		}
	}
	ended, err := upstreamEvents(t, stream, func(name, data []byte) (bool, error) {
		step, err := reader.Event(name, data)
		take(step)
		return step.Done, err
	})
	if ended {
		var step hub.Step
		step, err = reader.End()
		take(step)
	}
	return b.String(), upstreamErrorName(err)
}

func TestUpstreamReaderStreams(t *testing.T) {
	t.Parallel()
	for name, stream := range upstreamStreams(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deltas, outcome := upstreamRead(t, strings.NewReader(stream))
			upstreamGolden(t, "testdata/upstream_stream/"+name+".deltas", deltas+"error: "+outcome+"\n")
			split, splitOutcome := upstreamRead(t, iotest.OneByteReader(strings.NewReader(stream)))
			if split != deltas || splitOutcome != outcome {
				t.Errorf("split at every byte: got\n%s%s\nwant\n%s%s", split, splitOutcome, deltas, outcome)
			}
		})
	}
}

func TestUpstreamReaderWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, want, err string }{
		{
			"all blocks", `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"Hm","signature":"s"},` +
				`{"type":"text","text":"a\"b"},{"type":"tool_use","id":"t1","name":"f","input":{"x":"y\n"}},{"type":"tool_use","id":"t2","name":"g","input":{}},{"type":"new","text":"z"}],` +
				`"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":4,"cache_read_input_tokens":2,"cache_creation_input_tokens":1,"output_tokens":3}}`,
			"reasoning Hm\nstate signature s\ntext a\\\"b\ncall 0 t1 f\narguments 0 {\\\"x\\\":\\\"y\\\\n\\\"}\ncall 1 t2 g\narguments 1 {}\n" +
				"end 2 \"\" {Prompt:7 Completion:3 CacheRead:2 CacheWrite:1 CacheWriteHour:0 Reasoning:0 Known:true Served:as usual}\n", "none",
		},
		{"stop sequence", `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"stop_sequence","stop_sequence":"X\n"}`, "text a\nend 1 \"X\\n\" {Prompt:0 Completion:0 CacheRead:0 CacheWrite:0 CacheWriteHour:0 Reasoning:0 Known:false Served:as usual}\n", "none"},
		{"empty answer", `{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":-4,"output_tokens":1.5}}`, "end 1 \"\" {Prompt:0 Completion:0 CacheRead:0 CacheWrite:0 CacheWriteHour:0 Reasoning:0 Known:false Served:as usual}\n", "none"},
		{
			"refused", `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"It is \"harm\"."}}`,
			"text a\nrefusal It is \\\"harm\\\".\nend 5 \"\" {Prompt:0 Completion:0 CacheRead:0 CacheWrite:0 CacheWriteHour:0 Reasoning:0 Known:false Served:as usual}\n", "none",
		},
		{"refused without a reason", `{"type":"message","content":[],"stop_reason":"refusal","stop_details":null}`, "end 5 \"\" {Prompt:0 Completion:0 CacheRead:0 CacheWrite:0 CacheWriteHour:0 Reasoning:0 Known:false Served:as usual}\n", "none"},
		{"error", `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, "", "upstream rate_limit_error/: slow"},
		{"nothing", `{}`, "", "no choices"},
		{"another format", `{"choices":[{"message":{"content":"a"}}]}`, "", "no choices"},
		{"page", `<html>`, "", "broken"},
		{"array", `[]`, "", "broken"},
		{"wrong kinds", `{"type":3,"content":[null,"a",{"type":"text","text":4},{"type":"text","text":"b"}],"stop_reason":[],"usage":"no"}`, "text b\nend 1 \"\" {Prompt:0 Completion:0 CacheRead:0 CacheWrite:0 CacheWriteHour:0 Reasoning:0 Known:false Served:as usual}\n", "none"},
		{"call without a name", `{"content":[{"type":"tool_use","id":"a","input":{"b":1}},{"type":"text","text":"x"}],"stop_reason":"tool_use"}`, "", "broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			deltas, err := Format{}.NewReader(nil).Whole([]byte(c.body))
			if got := upstreamDump(deltas); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if got := upstreamErrorName(err); got != c.err {
				t.Errorf("error %s, want %s", got, c.err)
			}
		})
	}
}

func TestUpstreamReaderMakesIDsLegal(t *testing.T) {
	t.Parallel()
	body := `{"content":[{"type":"tool_use","id":"a b","name":"f","input":{}},{"type":"tool_use","id":"ok","name":"f","input":{}},{"type":"tool_use","id":"ok","name":"f","input":{}},{"type":"tool_use","name":"f"}],"stop_reason":"tool_use"}`
	deltas, err := Format{}.NewReader(nil).Whole([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, d := range deltas {
		if d.Kind == hub.DeltaCall {
			if !wire.LegalID(d.ID) || seen[d.ID] {
				t.Errorf("the id %q is illegal or used twice", d.ID)
			}
			seen[d.ID] = true
		}
	}
	if len(seen) != 4 || !seen["ok"] {
		t.Errorf("ids %v", seen)
	}
}

// TestUpstreamUsage checks that the prompt's tokens are known from message_start on, and the output's at the end.
func TestUpstreamUsage(t *testing.T) {
	t.Parallel()
	const start = `{"type":"message_start","message":{"usage":{"input_tokens":7,"cache_read_input_tokens":3,"output_tokens":1}}}`
	const delta = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}`
	for _, c := range []struct {
		name   string
		events []string
		want   wire.Usage
	}{
		{"nothing", []string{delta}, wire.Usage{}},
		{"start", []string{start, delta}, wire.Usage{Prompt: 10, CacheRead: 3, Completion: 1}},
		{"running", []string{start, `{"type":"message_delta","delta":{},"usage":{"output_tokens":4}}`}, wire.Usage{Prompt: 10, CacheRead: 3, Completion: 4}},
		{"end without one", []string{start, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`}, wire.Usage{Prompt: 10, CacheRead: 3, Completion: 1}},
		{"end", []string{start, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}`}, wire.Usage{Prompt: 10, CacheRead: 3, Completion: 9, Known: true}},
		{"end, other order", []string{start, `{"usage":{"output_tokens":9},"delta":{"stop_reason":"end_turn"},"type":"message_delta"}`}, wire.Usage{Prompt: 10, CacheRead: 3, Completion: 9, Known: true}},
		{"behind the end", []string{start, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_delta","delta":{},"usage":{"output_tokens":9}}`}, wire.Usage{Prompt: 10, CacheRead: 3, Completion: 9, Known: true}},
		{"null", []string{start, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":null}`}, wire.Usage{Prompt: 10, CacheRead: 3, Completion: 1}},
	} {
		r, p := Format{}.NewReader(nil), Format{}.NewPass(&hub.Request{Model: "m"}, hub.Reply{})
		for _, event := range c.events {
			if _, err := r.Event(nil, []byte(event)); err != nil {
				t.Fatal(err)
			}
			if _, _, err := p.Event(nil, nil, []byte(event)); err != nil {
				t.Fatal(err)
			}
		}
		if r.Usage() != c.want || p.Usage() != c.want {
			t.Errorf("%s: %+v and %+v, want %+v", c.name, r.Usage(), p.Usage(), c.want)
		}
	}
}

// checkUpstreamOrder fails if deltas are not in the order that package hub documents.
func checkUpstreamOrder(t *testing.T, deltas []hub.Delta) {
	t.Helper()
	arguments := []int{}
	ids := map[string]bool{}
	for i, d := range deltas {
		switch d.Kind {
		case hub.DeltaText, hub.DeltaReasoning, hub.DeltaRefusal:
			if len(d.Text) == 0 {
				t.Fatal("an empty text")
			}
		case hub.DeltaCall:
			if d.Call != len(arguments) || d.Name == "" || !wire.LegalID(d.ID) || ids[d.ID] {
				t.Fatalf("call %+v", d)
			}
			ids[d.ID] = true
			arguments = append(arguments, 0)
		case hub.DeltaArguments:
			if d.Call >= len(arguments) || len(d.Text) == 0 {
				t.Fatalf("arguments %+v", d)
			}
			arguments[d.Call]++
		case hub.DeltaState:
			if d.State.Data == "" || d.State.Form == "" {
				t.Fatalf("state %+v", d)
			}
		case hub.DeltaEnd:
			if i != len(deltas)-1 || d.End.Finish == 0 {
				t.Fatalf("end %d of %d", i, len(deltas))
			}
			for call, n := range arguments {
				if n == 0 {
					t.Fatalf("call %d has no arguments", call)
				}
			}
		default:
			t.Fatalf("kind %d", d.Kind)
		}
	}
}

func FuzzUpstreamReader(f *testing.F) {
	for _, stream := range upstreamStreams(f) {
		f.Add([]byte(stream))
	}
	f.Add([]byte(`{"content":[{"type":"tool_use","id":"a","name":"f"}],"stop_reason":"tool_use"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		reader := Format{}.NewReader(nil)
		var all []hub.Delta
		keep := func(step hub.Step) {
			for _, d := range step.Deltas {
				d.Text = append([]byte(nil), d.Text...)
				all = append(all, d)
			}
		}
		events := wire.NewEventReader(strings.NewReader(string(data)))
		defer events.Release()
		var failure error
		for failure == nil {
			event, err := events.Next()
			if err != nil {
				break
			}
			var step hub.Step
			step, failure = reader.Event(event.Name, event.Data)
			keep(step)
			if step.Done {
				break
			}
		}
		if failure == nil {
			step, err := reader.End()
			failure = err
			keep(step)
		}
		checkUpstreamOrder(t, all)
		if failure == nil && (len(all) == 0 || all[len(all)-1].Kind != hub.DeltaEnd) {
			t.Fatal("complete without an end")
		}
		whole, err := Format{}.NewReader(nil).Whole(data)
		checkUpstreamOrder(t, whole)
		if err == nil && (len(whole) == 0 || whole[len(whole)-1].Kind != hub.DeltaEnd) {
			t.Fatal("a whole answer without an end")
		}
	})
}

func BenchmarkUpstreamReaderText(b *testing.B) {
	b.ReportAllocs()
	reader := Format{}.NewReader(nil)
	name, data := []byte("content_block_delta"), []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"some words of an answer"}}`)
	for b.Loop() {
		if step, err := reader.Event(name, data); err != nil || len(step.Deltas) != 1 {
			b.Fatal(err)
		}
	}
}
