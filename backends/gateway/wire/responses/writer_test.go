package responses

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// request returns a request whose answer uses every kind of tool.
func request(t testing.TB, include string) *hub.Request {
	t.Helper()
	r, err := Format{}.Read([]byte(with(`"input":"hi","include":[`+include+`],"metadata":{"a":"b"},"tools":[{"type":"function","name":"f"},{"type":"function","name":"mcp.g"},{"type":"namespace","name":"n","tools":[{"type":"function","name":"m"},{"type":"custom","name":"c"}]},
		{"type":"custom","name":"patch"},{"type":"tool_search","execution":"client"},{"type":"local_shell"},{"type":"shell"},{"type":"apply_patch"}]`)), opener)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const (
	wantState    = `"reasoning.encrypted_content"`
	wantLogprobs = `"message.output_text.logprobs"`
)

// newWriter returns a writer with fixed ids and times.
func newWriter(r *hub.Request) *writer {
	n := 0
	return Format{}.NewWriter(r, hub.Reply{
		Created: time.Unix(1790000000, 0),
		Now:     func() time.Time { return time.Unix(1790000007, 0) },
		NewID: func(prefix string) string {
			n++
			return fmt.Sprintf("%s%d", prefix, n)
		},
		Seal: func(s hub.State) string {
			if s.Data == "large" {
				return ""
			}
			return fmt.Sprintf("kcs1.%s:%s", s.Form, s.Data)
		},
	}).(*writer)
}

func newText(text string) hub.Delta { return hub.Delta{Kind: hub.DeltaText, Text: []byte(text)} }
func newReasoning(text string) hub.Delta {
	return hub.Delta{Kind: hub.DeltaReasoning, Text: []byte(text)}
}

func newRefusal(text string) hub.Delta { return hub.Delta{Kind: hub.DeltaRefusal, Text: []byte(text)} }

func newState(form hub.Form, data string) hub.Delta {
	return hub.Delta{Kind: hub.DeltaState, State: hub.State{Form: form, Data: data}}
}

func newCall(n int, name string) hub.Delta {
	return hub.Delta{Kind: hub.DeltaCall, Call: n, ID: fmt.Sprintf("call_%d", n), Name: name}
}

// newArguments returns a delta with the arguments of call n.
func newArguments(n int, text string) hub.Delta {
	return hub.Delta{Kind: hub.DeltaArguments, Call: n, Text: jsontext.AppendEscaped(nil, text)}
}

func newEnd(f hub.Finish) hub.Delta {
	return hub.Delta{Kind: hub.DeltaEnd, End: hub.End{Finish: f, Usage: wire.Usage{
		Prompt: 100, Completion: 20, CacheRead: 60, CacheWrite: 5, Reasoning: 7, Known: true,
	}}}
}

func TestWriter(t *testing.T) {
	t.Parallel()
	logprobs := newText("Hi")
	logprobs.Logprobs = []byte("[ {\"token\":\"Hi\",\n\"logprob\":-0.1,\"bytes\":[72,105],\"top_logprobs\":[]} ]")
	more := newText("!")
	more.Logprobs = []byte(`[{"token":"!","logprob":-1}]`)
	none := newText("?")
	none.Logprobs = []byte(`[]`)
	for name, c := range map[string]struct {
		include string
		deltas  []hub.Delta
	}{
		"text":             {"", []hub.Delta{newText(`Hel\"`), newText(`lo\n\u00e9`), newEnd(hub.FinishStop)}},
		"empty":            {"", []hub.Delta{newEnd(hub.FinishStop)}},
		"reasoning":        {wantState, []hub.Delta{newReasoning("Look "), newReasoning("first."), newText("ok"), newEnd(hub.FinishStop)}},
		"reasoning_plain":  {"", []hub.Delta{newReasoning("Look."), newState(hub.FormItem, "x"), newText("ok"), newEnd(hub.FinishStop)}},
		"reasoning_states": {wantState, []hub.Delta{newReasoning("a"), newState(hub.FormSignature, "1"), newReasoning("b"), newState(hub.FormSignature, "2"), newState(hub.FormRedacted, "3"), newText("ok"), newEnd(hub.FinishStop)}},
		"reasoning_tool":   {wantState, []hub.Delta{newReasoning("a"), newCall(0, "f"), newArguments(0, "{}"), newEnd(hub.FinishCalls)}},
		"state_alone":      {wantState, []hub.Delta{newState(hub.FormThought, "t"), newCall(0, "f"), newArguments(0, "{}"), newEnd(hub.FinishCalls)}},
		"state_too_large":  {wantState, []hub.Delta{newState(hub.FormThought, "large"), newText("ok"), newEnd(hub.FinishStop)}},
		"state_unwanted":   {"", []hub.Delta{newState(hub.FormThought, "t"), newText("ok"), newEnd(hub.FinishStop)}},
		"two_tools":        {"", []hub.Delta{newText("I do."), newCall(0, "f"), newArguments(0, `{"a":`), newArguments(0, `"x\ny"}`), newCall(1, "n__m"), newArguments(1, "{}"), newEnd(hub.FinishCalls)}},
		"interleaved":      {"", []hub.Delta{newCall(0, "f"), newArguments(0, `{"a":`), newCall(1, hub.LegalName("mcp.g")), newArguments(1, `{"b":`), newArguments(0, "1}"), newArguments(1, "2}"), newEnd(hub.FinishCalls)}},
		"late_arguments":   {"", []hub.Delta{newCall(0, "f"), newArguments(0, `{"a":1}`), newCall(1, "f"), newArguments(1, "{}"), newArguments(0, " "), newText("text"), newEnd(hub.FinishCalls)}},
		"object_behind":    {"", []hub.Delta{newCall(0, "shell"), newArguments(0, `{"commands":`), newText("I list. "), newArguments(0, `["ls"]}`), newText("Wait."), newEnd(hub.FinishCalls)}},
		"text_after_call":  {"", []hub.Delta{newCall(0, "f"), newArguments(0, "{}"), newText("and "), newText("text"), newCall(1, "f"), newArguments(1, "{}"), newEnd(hub.FinishCalls)}},
		"unknown_tool":     {"", []hub.Delta{newCall(0, "other"), newArguments(0, "{}"), newEnd(hub.FinishCalls)}},
		"custom":           {"", []hub.Delta{newCall(0, "patch"), newArguments(0, `{"in`), newArguments(0, `put": "*** \`), newArguments(0, `"a\\`), newArguments(0, `n\ud8`), newArguments(0, `3d\ude00`), newArguments(0, `b\n"}`), newCall(1, "n__c"), newArguments(1, `{"input":"x"}`), newEnd(hub.FinishCalls)}},
		"known_by_type": {"", []hub.Delta{
			newCall(0, "tool_search"), newArguments(0, "{\"query\":\n\"x\"}"), newCall(1, "local_shell"), newArguments(1, `{"command":["ls"]}`), newCall(2, "shell"), newArguments(2, `{"commands":["ls"],"timeout_ms":5}`),
			newCall(3, "apply_patch"), newArguments(3, `{"type":"delete_file",`), newCall(4, "f"), newArguments(3, `"path":"x"}`), newArguments(4, "{}"), newEnd(hub.FinishCalls),
		}},
		"length_in_text":      {"", []hub.Delta{newText("Hel"), newEnd(hub.FinishLength)}},
		"length_in_arguments": {"", []hub.Delta{newCall(0, "f"), newArguments(0, "{}"), newCall(1, "f"), newArguments(1, `{"a`), newCall(2, "shell"), newArguments(2, `{"c`), newEnd(hub.FinishLength)}},
		"context":             {"", []hub.Delta{newText("Hel"), newEnd(hub.FinishContext)}},
		"refusal":             {"", []hub.Delta{newText("Well. "), newRefusal("I can"), newRefusal("not."), newEnd(hub.FinishRefusal)}},
		"logprobs":            {wantLogprobs, []hub.Delta{logprobs, more, none, newEnd(hub.FinishStop)}},
		"logprobs_unwanted":   {"", []hub.Delta{logprobs, newEnd(hub.FinishStop)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request(t, c.include)
			var stream []byte
			w := newWriter(r)
			for i := range c.deltas {
				stream = w.Stream(stream, c.deltas[i:i+1])
			}
			checkStream(t, stream)
			golden(t, filepath.Join("writer", name+".sse"), shorter(string(stream)))

			if got := w.Stream(nil, c.deltas); len(got) > 0 {
				t.Errorf("the stream goes on after its end: %s", got)
			}
			if got := w.Fail(nil, hub.Failure{}); len(got) > 0 {
				t.Errorf("the stream fails after its end: %s", got)
			}
			if output := newWriter(r).Stream(nil, c.deltas); !bytes.Equal(output, stream) {
				t.Errorf("all at once gives\n%s", output)
			}

			whole, err := newWriter(r).Whole(c.deltas)
			if err != nil {
				t.Fatal(err)
			}
			events := readEvents(t, stream)
			if last := events[len(events)-1].Get("response").Raw; last != string(whole) {
				t.Errorf("whole is\n%s\nand the stream ends with\n%s", whole, last)
			}
		})
	}
}

// shorter removes the tools, which every response object repeats, from the text of a golden file.
func shorter(stream string) string {
	out := strings.Builder{}
	for line := range strings.Lines(stream) {
		start, end := strings.Index(line, `,"tools":[`), strings.Index(line, `,"top_logprobs"`)
		if start >= 0 && end > start {
			line = line[:start] + `,"tools":[…]` + line[end:]
		}
		out.WriteString(line)
	}
	return out.String()
}

// TestEstimate checks that the usage is estimated if the upstream reports none.
func TestEstimate(t *testing.T) {
	t.Parallel()
	r := request(t, "")
	deltas := []hub.Delta{newText(strings.Repeat("text", 9)), {Kind: hub.DeltaEnd, End: hub.End{Finish: hub.FinishStop}}}
	body, err := newWriter(r).Whole(deltas)
	if err != nil {
		t.Fatal(err)
	}
	usage := gjson.GetBytes(body, "usage")
	if input := hub.CountTokens(r); input == 0 || usage.Get("input_tokens").Int() != input || usage.Get("output_tokens").Int() != 10 || usage.Get("total_tokens").Int() != input+10 {
		t.Errorf("got %s", usage.Raw)
	}
	if stream := newWriter(r).Stream(nil, deltas); !bytes.Contains(stream, []byte(usage.Raw)) {
		t.Errorf("got %s", stream)
	}
}

// TestEcho checks that the response repeats all members of the request.
func TestEcho(t *testing.T) {
	t.Parallel()
	body, err := newWriter(request(t, "")).Whole([]hub.Delta{newText("ok"), newEnd(hub.FinishStop)})
	if err != nil {
		t.Fatal(err)
	}
	got := gjson.ParseBytes(body)
	for _, name := range []string{
		"id", "object", "created_at", "status", "model", "output", "error", "incomplete_details", "instructions", "metadata",
		"parallel_tool_calls", "temperature", "tool_choice", "tools", "top_p", "max_output_tokens", "previous_response_id",
		"reasoning", "store", "text", "truncation", "usage", "user", "service_tier", "background", "completed_at",
	} {
		if !got.Get(name).Exists() {
			t.Errorf("no %s in %s", name, body)
		}
	}
	if got.Get("output_text").Exists() || got.Get("tools.#").Int() != 8 || got.Get("model").Str != "m" || got.Get("metadata.a").Str != "b" {
		t.Errorf("got %s", body)
	}
}

func TestHiddenReasoning(t *testing.T) {
	t.Parallel()
	r := request(t, wantState)
	r.Answer.HideReasoningText = true
	deltas := []hub.Delta{newReasoning("secret"), newState(hub.FormItem, "x"), newText("ok"), newEnd(hub.FinishStop)}
	stream := newWriter(r).Stream(nil, deltas)
	checkStream(t, stream)
	if bytes.Contains(stream, []byte("secret")) || !bytes.Contains(stream, []byte(`"summary":[],"encrypted_content":"kcs1.item:x"`)) {
		t.Errorf("got %s", stream)
	}
	r.Answer.Reasoning, r.Answer.State = false, false
	if stream = newWriter(r).Stream(nil, deltas); bytes.Contains(stream, []byte(`"type":"reasoning"`)) {
		t.Errorf("got %s", stream)
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	r := request(t, wantState)
	w := newWriter(r)
	if got := string(w.KeepAlive(nil)); got != ": keep-alive\n\n" {
		t.Errorf("alive: %q", got)
	}
	got := string(w.Fail(nil, hub.Failure{Code: "upstream_stream_error", Message: "broke \"off\""}))
	const want = "event: error\ndata: {\"type\":\"error\",\"sequence_number\":0,\"code\":\"server_error\",\"message\":\"broke \\\"off\\\"\",\"param\":null}\n\n"
	if got != want {
		t.Errorf("got %s", got)
	}
	if got := w.Fail(nil, hub.Failure{}); len(got) > 0 {
		t.Errorf("it failed again: %s", got)
	}

	w = newWriter(r)
	stream := w.Stream(nil, []hub.Delta{newReasoning("a"), newText("done"), newCall(0, "f"), newArguments(0, `{"a`), newCall(1, "shell"), newArguments(1, "{}"), newCall(2, "patch"), newArguments(2, `{"input":"x`), newText("more")})
	stream = w.Fail(stream, hub.Failure{Code: "rate_limit_exceeded", Message: "Please try again in 1.5s."})
	checkStream(t, stream)
	golden(t, filepath.Join("writer", "fail.sse"), shorter(string(stream)))

	for _, c := range [][3]string{
		{"rate_limit_exceeded", "", "rate_limit_exceeded"},
		{"context_length_exceeded", "", "context_length_exceeded"},
		{"insufficient_quota", "", "insufficient_quota"},
		{"upstream_stream_error", "rate_limit_error", "rate_limit_exceeded"},
		{"upstream_stream_error", "overloaded_error", "server_error"},
		{"", "", "server_error"},
	} {
		if got := failureCode(&hub.Failure{Code: c[0], Type: c[1]}); got != c[2] {
			t.Errorf("%v: got %s", c, got)
		}
	}
}

// TestWholeArguments checks that arguments which cannot be completed to an object fail the answer, unless it was cut
// off at its token limit.
func TestWholeArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, arguments string
		good            bool
	}{
		{"f", `{"a":1}`, true},
		{"f", `{"a":1`, true},
		{"f", `{"a":[1,"x`, true},
		{"f", `{"a":`, false},
		{"f", `[]`, false},
		{"shell", `{"commands":["ls"]}`, true},
		{"shell", `{"commands":["ls"`, true},
		{"shell", `ls`, false},
		{"patch", `{"input":"x"}`, true},
		{"patch", `{"input":"x`, true},
		{"patch", `{"more":1,"input":"x`, true},
		{"patch", `{"inp`, false},
		{"patch", `*** Begin Patch`, true},
	} {
		deltas := []hub.Delta{newCall(0, c.tool), newArguments(0, c.arguments), newEnd(hub.FinishCalls)}
		if _, err := newWriter(request(t, "")).Whole(deltas); (err == nil) != c.good || err != nil && !errors.Is(err, hub.ErrArguments) {
			t.Errorf("%s %s: %v", c.tool, c.arguments, err)
		}
		deltas[2] = newEnd(hub.FinishLength)
		if _, err := newWriter(request(t, "")).Whole(deltas); err != nil {
			t.Errorf("%s %s, cut: %v", c.tool, c.arguments, err)
		}
	}
	// A stream cannot change what it has sent, not even leading white space, so a whole answer keeps it too.
	mended, err := newWriter(request(t, "")).Whole([]hub.Delta{newCall(0, "f"), newArguments(0, ` {"a":[1,"x\ny`), newEnd(hub.FinishCalls)})
	if err != nil || gjson.GetBytes(mended, "output.0.arguments").Str != ` {"a":[1,"x\ny"]}` {
		t.Errorf("mended: %s, error %v", mended, err)
	}
	for arguments, want := range map[string]string{`{"input":"x\ny`: "x\ny", `{"more":1,"input":"x`: "x"} {
		mended, err := newWriter(request(t, "")).Whole([]hub.Delta{newCall(0, "patch"), newArguments(0, arguments), newEnd(hub.FinishCalls)})
		if err != nil || gjson.GetBytes(mended, "output.0.input").Str != want {
			t.Errorf("mended %s: %s, error %v", arguments, mended, err)
		}
	}
	// Arguments that a stream left open are closed, unless the answer was cut off.
	for finish, want := range map[hub.Finish]string{hub.FinishCalls: `{"a":[1,"x"]}`, hub.FinishLength: `{"a":[1,"x`} {
		stream := newWriter(request(t, "")).Stream(nil, []hub.Delta{newCall(0, "f"), newArguments(0, `{"a":[1,"x`), newEnd(finish)})
		checkStream(t, stream)
		events := readEvents(t, stream)
		if got := events[len(events)-1].Get("response.output.0.arguments").Str; got != want {
			t.Errorf("finish %d: arguments %s, want %s", finish, got, want)
		}
	}
	stream := newWriter(request(t, "")).Stream(nil, []hub.Delta{newCall(0, "shell"), newArguments(0, `"ls"`), newEnd(hub.FinishCalls)})
	checkStream(t, stream)
	if !bytes.Contains(stream, []byte(`"action":{"_raw":"\"ls\""}`)) {
		t.Errorf("got %s", stream)
	}
}

// event is the data of an event.
type event struct{ gjson.Result }

func readEvents(t *testing.T, stream []byte) []event {
	t.Helper()
	if len(stream) > 0 && !bytes.HasSuffix(stream, []byte("\n\n")) {
		t.Fatalf("the stream ends with %q", stream[max(0, len(stream)-50):])
	}
	var events []event
	for text := range strings.SplitSeq(strings.TrimSuffix(string(stream), "\n\n"), "\n\n") {
		name, data, _ := strings.Cut(text, "\n")
		name, hasName := strings.CutPrefix(name, "event: ")
		data, hasData := strings.CutPrefix(data, "data: ")
		if !hasName || !hasData || strings.ContainsAny(data, "\r\n") || !json.Valid([]byte(data)) {
			t.Fatalf("not an event: %q", text)
		}
		e := event{gjson.Parse(data)}
		if e.Get("type").Str != name {
			t.Fatalf("event %s has the type %s", name, e.Get("type").Str)
		}
		events = append(events, e)
	}
	return events
}

// seenItem is the state of an item as a client sees it.
type seenItem struct {
	id, kind  string
	parts     []string // text of each content part, or of the summary
	openPart  bool
	text      string // arguments or input
	done      bool
	last      gjson.Result
	textEnded bool
}

// checkStream checks a stream as strict clients do.
func checkStream(t *testing.T, stream []byte) {
	t.Helper()
	events := readEvents(t, stream)
	var items []*seenItem
	var id string
	fail := func(e event, format string, args ...any) {
		t.Helper()
		t.Fatalf("%s\nat %s\nin\n%s", fmt.Sprintf(format, args...), e.Raw, stream)
	}
	for n, e := range events {
		kind := e.Get("type").Str
		if got := e.Get("sequence_number"); got.Type != gjson.Number || got.Int() != int64(n) {
			fail(e, "the sequence number should be %d", n)
		}
		switch n {
		case 0:
			if kind != "response.created" {
				fail(e, "the first event")
			}
		case 1:
			if kind != "response.in_progress" {
				fail(e, "the second event")
			}
		}
		if response := e.Get("response"); response.Exists() {
			if id == "" {
				id = response.Get("id").Str
			}
			if id == "" || response.Get("id").Str != id || response.Get("object").Str != "response" {
				fail(e, "the id of the response")
			}
			last := n == len(events)-1
			if n > 1 != last {
				fail(e, "a lifecycle event in the middle")
			}
			if n <= 1 && (response.Get("output.#").Int() != 0 || response.Get("status").Str != "in_progress" || response.Get("usage").Type != gjson.Null) {
				fail(e, "the beginning")
			}
			if last {
				checkEnd(t, kind, response, items)
			}
			continue
		}
		if n == len(events)-1 {
			fail(e, "the stream ends")
		}
		index := e.Get("output_index")
		if index.Type != gjson.Number {
			fail(e, "no output_index")
		}
		itemIndex := int(index.Int())
		if kind == "response.output_item.added" {
			if itemIndex != len(items) {
				fail(e, "output_index should be %d", len(items))
			}
			item := e.Get("item")
			for _, other := range items {
				if other.id == item.Get("id").Str {
					fail(e, "an id twice")
				}
				if !other.done && (other.kind == "message" || other.kind == "reasoning") {
					fail(e, "item %s is still open", other.id)
				}
			}
			items = append(items, &seenItem{id: item.Get("id").Str, kind: item.Get("type").Str})
			continue
		}
		if itemIndex >= len(items) {
			fail(e, "an item that was not added")
		}
		item := items[itemIndex]
		if item.done {
			fail(e, "an item that is done")
		}
		if kind != "response.output_item.done" && e.Get("item_id").Str != item.id {
			fail(e, "item_id should be %s", item.id)
		}
		part := func() *string {
			number := e.Get("content_index")
			if item.kind == "reasoning" {
				number = e.Get("summary_index")
			}
			if !item.openPart || int(number.Int()) != len(item.parts)-1 {
				fail(e, "a part that is not open")
			}
			return &item.parts[len(item.parts)-1]
		}
		ended := func(kind, text, want string) {
			if item.kind != kind || text != want {
				fail(e, "the text is %q, that of the deltas %q", text, want)
			}
			item.textEnded = true
		}
		switch kind {
		case "response.content_part.added", "response.reasoning_summary_part.added":
			if item.openPart {
				fail(e, "a part is open")
			}
			item.parts, item.openPart = append(item.parts, ""), true
		case "response.output_text.delta", "response.refusal.delta", "response.reasoning_summary_text.delta":
			*part() += e.Get("delta").Str
		case "response.output_text.done", "response.reasoning_summary_text.done":
			ended(item.kind, e.Get("text").Str, *part())
		case "response.refusal.done":
			ended("message", e.Get("refusal").Str, *part())
		case "response.content_part.done", "response.reasoning_summary_part.done":
			ended(item.kind, e.Get("part.text").Str+e.Get("part.refusal").Str, *part())
			item.openPart = false
		case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
			item.text += e.Get("delta").Str
		case "response.function_call_arguments.done":
			if e.Get("name").Str == "" {
				fail(e, "no name")
			}
			ended("function_call", e.Get("arguments").Str, item.text)
		case "response.custom_tool_call_input.done":
			ended("custom_tool_call", e.Get("input").Str, item.text)
		case "response.output_item.done":
			item.last, item.done = e.Get("item"), true
			if item.openPart || item.last.Get("id").Str != item.id || item.last.Get("type").Str != item.kind || item.last.Get("status").Str == "in_progress" {
				fail(e, "the end of item %+v", item)
			}
			if !item.textEnded && (item.kind == "message" || item.kind == "function_call" || item.kind == "custom_tool_call") {
				fail(e, "the text has no end")
			}
		default:
			fail(e, "an unknown event")
		}
	}
}

// checkEnd checks that the output of the last event agrees with the events before it.
func checkEnd(t *testing.T, kind string, response gjson.Result, items []*seenItem) {
	t.Helper()
	status := response.Get("status").Str
	if kind != "response."+status || status != "completed" && status != "incomplete" && status != "failed" {
		t.Fatalf("%s with the status %s", kind, status)
	}
	if (status == "failed") != response.Get("error").IsObject() || (status == "incomplete") != response.Get("incomplete_details").IsObject() ||
		(status == "failed") == response.Get("usage").IsObject() {
		t.Fatalf("the end is %s", response.Raw)
	}
	output := response.Get("output").Array()
	if len(output) != len(items) {
		t.Fatalf("%d items in the output, %d were added: %s", len(output), len(items), response.Raw)
	}
	for i, item := range items {
		got := output[i]
		if got.Get("id").Str != item.id || got.Get("type").Str != item.kind {
			t.Fatalf("output %d is %s", i, got.Raw)
		}
		if item.done && got.Raw != item.last.Raw || !item.done && status != "failed" {
			t.Fatalf("output %d is %s, it was %s", i, got.Raw, item.last.Raw)
		}
		if !item.done && got.Get("status").Str != "incomplete" {
			t.Fatalf("output %d was not done: %s", i, got.Raw)
		}
		var parts []string
		for _, list := range []string{"content", "summary"} {
			for _, p := range got.Get(list).Array() {
				parts = append(parts, p.Get("text").Str+p.Get("refusal").Str)
			}
		}
		if strings.Join(parts, "\x00") != strings.Join(item.parts, "\x00") {
			t.Fatalf("output %d has the texts %q, the deltas %q", i, parts, item.parts)
		}
		if text := got.Get("input").Str; item.kind == "custom_tool_call" && text != item.text {
			t.Fatalf("output %d has the input %q, the deltas %q", i, text, item.text)
		}
		if text := got.Get("arguments").Str; item.kind == "function_call" && text != item.text {
			t.Fatalf("output %d has the arguments %q, the deltas %q", i, text, item.text)
		}
	}
}

// FuzzWriter drives a writer with deltas in an order that readers may produce.
func FuzzWriter(f *testing.F) {
	f.Add([]byte("\x01ab\x02cd\x04x\x05{}\x00"), uint8(0))
	f.Add([]byte("\x02ab\x06c\x01d\x04a\x05{\"a\":\x04c\x05{\"input\":\"\x05\\u00\x01x\x0541\"}"), uint8(3))
	f.Add([]byte("\x03no\x01yes\x04d\x05x\x04e\x05{\"b\":1}\x06y"), uint8(9))
	tools := []string{"f", "n__m", "patch", "n__c", "tool_search", "local_shell", "shell", "apply_patch", "other"}
	f.Fuzz(func(t *testing.T, script []byte, mode uint8) {
		include := []string{"", wantState, wantLogprobs, wantState + "," + wantLogprobs}[mode%4]
		r := request(t, include)
		var deltas []hub.Delta
		count := 0
		given := map[int]bool{}
		for len(script) > 0 && count < 20 {
			op := script[0]
			n := 1
			for n < len(script) && script[n] >= 8 {
				n++
			}
			text := strings.ToValidUTF8(string(script[1:n]), "?")
			script = script[n:]
			switch {
			case op%8 == 4:
				pick := 0
				if text != "" {
					pick = int(text[0]) % len(tools)
				}
				deltas = append(deltas, newCall(count, tools[pick]))
				count++
			case op%8 == 6:
				deltas = append(deltas, newState(hub.FormThought, text))
			case text == "":
			case op%8 == 1:
				d := newText(string(jsontext.AppendEscaped(nil, text)))
				d.Logprobs = []byte(`[{"token":"x"}]`)
				deltas = append(deltas, d)
			case op%8 == 2:
				deltas = append(deltas, newReasoning(string(jsontext.AppendEscaped(nil, text))))
			case op%8 == 3:
				deltas = append(deltas, newRefusal(string(jsontext.AppendEscaped(nil, text))))
			case count > 0:
				call := int(op>>3) % count
				given[call] = true
				deltas = append(deltas, newArguments(call, text))
			}
		}
		for call := range count {
			if !given[call] {
				deltas = append(deltas, newArguments(call, "{}"))
			}
		}
		w := newWriter(r)
		stream := w.Stream(nil, deltas)
		before := newWriter(r).Stream(nil, deltas)
		if mode&16 != 0 {
			checkStream(t, w.Fail(stream, hub.Failure{Message: "broke"}))
			return
		}
		finish := hub.Finish(mode>>5)%5 + 1
		stream = w.Stream(stream, []hub.Delta{newEnd(finish)})
		if !bytes.HasPrefix(stream, before) {
			t.Fatal("the same deltas gave other events")
		}
		checkStream(t, stream)
		whole, err := newWriter(r).Whole(append(deltas, newEnd(finish)))
		if err != nil {
			if !errors.Is(err, hub.ErrArguments) {
				t.Fatal(err)
			}
			return
		}
		if slices.ContainsFunc(w.calls, func(c *call) bool { return c.input == nil && !c.complete() }) {
			return // only the whole answer was repaired
		}
		if events := readEvents(t, stream); events[len(events)-1].Get("response").Raw != string(whole) {
			t.Fatalf("whole is %s", whole)
		}
	})
}

func BenchmarkWriterText(b *testing.B) {
	r := request(b, "")
	deltas := []hub.Delta{newText(`some text of the usual length`)}
	var dst []byte
	w := newWriter(r)
	dst = w.Stream(dst, deltas)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if n++; n%10000 == 0 { // an answer is not endless
			w = newWriter(r)
		}
		dst = w.Stream(dst[:0], deltas)
	}
}

func BenchmarkWriterInput(b *testing.B) {
	r := request(b, "")
	start := []hub.Delta{newCall(0, "patch"), newArguments(0, `{"input":"`)}
	deltas := []hub.Delta{newArguments(0, `+ some \"text\" of a patch\n`)}
	var dst []byte
	w := newWriter(r)
	dst = w.Stream(dst, start)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if n++; n%10000 == 0 {
			w = newWriter(r)
			w.Stream(nil, start)
		}
		dst = w.Stream(dst[:0], deltas)
	}
}

func BenchmarkWriterWhole(b *testing.B) {
	r, err := Format{}.Read(largeRequest(), opener)
	if err != nil {
		b.Fatal(err)
	}
	deltas := []hub.Delta{newReasoning("Hm."), newText(strings.Repeat("some text ", 400)), newCall(0, "tool_1"), newArguments(0, `{"a":1}`), newEnd(hub.FinishCalls)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := newWriter(r).Whole(deltas); err != nil {
			b.Fatal(err)
		}
	}
}
