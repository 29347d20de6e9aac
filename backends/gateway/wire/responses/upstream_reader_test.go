package responses

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
			if d.Logprobs != nil {
				fmt.Fprintf(&b, "logprobs %s\n", d.Logprobs)
			}
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
	const none = "{Prompt:0 Completion:0 CacheRead:0 CacheWrite:0 CacheWriteHour:0 Reasoning:0 Known:false Served:as usual}\n"
	for _, c := range []struct{ name, body, want, err string }{
		{
			"all items", `{"id":"resp_1","object":"response","status":"completed","model":"m","error":null,"output":[{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Hm"},{"type":"summary_text","text":"so"}], "encrypted_content":"gA"},` +
				`{"type":"message","content":[{"type":"output_text","text":"a\"b","logprobs":[]},{"type":"refusal","refusal":"no"}]},{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"x\":1}"},{"type":"function_call","call_id":"c2","name":"g","arguments":""},{"type":"custom_tool_call","call_id":"c3","name":"p","input":"a\nb"},{"type":"web_search_call","id":"w"}],` +
				`"usage":{"input_tokens":7,"input_tokens_details":{"cached_tokens":2,"cache_write_tokens":1},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":12}}`,
			"reasoning Hm\nreasoning \\n\\n\nreasoning so\nstate item {\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"Hm\"},{\"type\":\"summary_text\",\"text\":\"so\"}], \"encrypted_content\":\"gA\"}\n" +
				"text a\\\"b\nrefusal no\ncall 0 c1 f\narguments 0 {\\\"x\\\":1}\ncall 1 c2 g\narguments 1 {}\ncall 2 c3 p\narguments 2 {\\\"input\\\":\\\"a\\\\nb\\\"}\n" +
				"end 2 \"\" {Prompt:7 Completion:5 CacheRead:2 CacheWrite:1 CacheWriteHour:0 Reasoning:2 Known:true Served:web_search=1}\n", "none",
		},
		{"empty answer", `{"status":"completed","output":[]}`, "end 1 \"\" " + none, "none"},
		{"incomplete", `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}]}`, "text a\nend 3 \"\" " + none, "none"},
		{"failed", `{"status":"failed","error":{"code":"server_error","message":"x"},"output":[]}`, "", "upstream /server_error: x"},
		{"error", `{"error":{"code":"insufficient_quota","message":"x"}}`, "", "upstream /insufficient_quota: x"},
		{"in progress", `{"status":"queued","output":[]}`, "", "no finish"},
		{"nothing", `{}`, "", "no choices"},
		{"hollow", `{"output":[]}`, "", "no choices"},
		{"page", `<html>`, "", "broken"},
		{"wrong kinds", `{"status":4,"output":[null,3,{"type":"message","content":[null,{"type":"output_text","text":3},{"type":"output_text","text":"a"}]},{"type":"reasoning","summary":"x","encrypted_content":{}}],"usage":[]}`, "text a\nend 1 \"\" " + none, "none"},
		{"call without a name", `{"status":"completed","output":[{"type":"function_call","call_id":"a","arguments":"{}"}]}`, "", "broken"},
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
	f.Add([]byte(`{"output":[{"type":"custom_tool_call","call_id":"a","name":"f","input":"x"}],"status":"completed"}`))
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
	name, data := []byte("response.output_text.delta"), []byte(benchTextDelta)
	for b.Loop() {
		if step, err := reader.Event(name, data); err != nil || len(step.Deltas) != 1 {
			b.Fatal(err)
		}
	}
}
