package messages

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/blocks"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

func newText(s string) hub.Delta      { return hub.Delta{Kind: hub.DeltaText, Text: []byte(s)} }
func newReasoning(s string) hub.Delta { return hub.Delta{Kind: hub.DeltaReasoning, Text: []byte(s)} }
func newRefusal(s string) hub.Delta   { return hub.Delta{Kind: hub.DeltaRefusal, Text: []byte(s)} }

func newCall(call int, id, name string) hub.Delta {
	return hub.Delta{Kind: hub.DeltaCall, Call: call, ID: id, Name: name}
}

// newArguments returns a delta with arguments. The given JSON text is escaped as in all deltas.
func newArguments(call int, arguments string) hub.Delta {
	return hub.Delta{Kind: hub.DeltaArguments, Call: call, Text: jsontext.AppendEscaped(nil, arguments)}
}

func newState(form hub.Form, data string) hub.Delta {
	return hub.Delta{Kind: hub.DeltaState, State: hub.State{Form: form, Data: data}}
}

func newEnd(finish hub.Finish) hub.Delta {
	return hub.Delta{Kind: hub.DeltaEnd, End: hub.End{Finish: finish, Usage: wire.Usage{
		Known: true, Prompt: 812, Completion: 41, CacheRead: 22, CacheWrite: 10, Reasoning: 7,
	}}}
}

func newStopSequenceEnd(text string) hub.Delta {
	d := newEnd(hub.FinishStop)
	d.End.StopSequence = text
	return d
}

// testReply returns a reply with readable tokens.
func testReply() hub.Reply {
	return hub.Reply{
		InputTokens: 800,
		NewID:       func(prefix string) string { return prefix + "1" },
		Seal:        func(s hub.State) string { return "kcs1." + string(s.Form) + "." + s.Data },
	}
}

func testRequest() *hub.Request {
	return &hub.Request{
		Format: hub.Messages, Model: "claude-sonnet-4-6", Stop: []string{"END"},
		Tools:  []hub.Tool{{Name: hub.LegalName("mcp.read"), ClientName: "mcp.read"}},
		Answer: hub.Answer{Reasoning: true, State: true},
	}
}

var writerCases = []struct {
	name   string
	deltas []hub.Delta
}{
	{"text", []hub.Delta{newText(`Hello`), newText(` \"you\"\n`), newEnd(hub.FinishStop)}},
	{"empty", []hub.Delta{newEnd(hub.FinishStop)}},
	{"no_usage", []hub.Delta{newText("Hello there"), {Kind: hub.DeltaEnd, End: hub.End{Finish: hub.FinishStop}}}},
	{"reasoning_text", []hub.Delta{newReasoning("Check the "), newReasoning("file first."), newState(hub.FormItem, "{}"), newText("Done."), newEnd(hub.FinishStop)}},
	{"reasoning_call", []hub.Delta{newReasoning("Check."), newCall(0, "call_a", "Read"), newArguments(0, `{"file_path"`), newArguments(0, `:"/x"}`), newEnd(hub.FinishCalls)}},
	{"reasoning_alone", []hub.Delta{newReasoning("Hm."), newEnd(hub.FinishLength)}},
	{"two_states", []hub.Delta{newReasoning("a"), newState(hub.FormItem, "1"), newState(hub.FormItem, "2"), newReasoning("b"), newState(hub.FormDetails, "[1]"), newState(hub.FormDetails, "[1,2]"), newText("x"), newEnd(hub.FinishStop)}},
	{"state_before_call", []hub.Delta{newText("I look."), newState(hub.FormThought, "sig"), newCall(0, "call_a", "Read"), newArguments(0, `{}`), newEnd(hub.FinishCalls)}},
	{"redacted", []hub.Delta{newReasoning("a"), newState(hub.FormRedacted, "xyz"), newText("x"), newEnd(hub.FinishStop)}},
	{"parallel", []hub.Delta{newText("Both."), newCall(0, "call_a", hub.LegalName("mcp.read")), newArguments(0, `{"a":1}`), newCall(1, "call_b", "Bash"), newArguments(1, `{"b":`), newArguments(1, `2}`), newEnd(hub.FinishCalls)}},
	{"interleaved", []hub.Delta{newCall(0, "call_a", "A"), newCall(1, "call_b", "B"), newArguments(0, `{"a":"}\"`), newArguments(1, `{"b":`), newArguments(0, `"}`), newArguments(1, `[2]}`), newCall(2, "call_c", "C"), newArguments(2, `{}`), newEnd(hub.FinishCalls)}},
	{"text_within_call", []hub.Delta{newCall(0, "call_a", "A"), newArguments(0, `{"a":`), newText("mid"), newReasoning("hm"), newArguments(0, `1}`), newText("after"), newEnd(hub.FinishStop)}},
	{"call_without_arguments", []hub.Delta{newCall(0, "call_a", "A"), newCall(1, "call_b", "B"), newArguments(1, `{"b":2}`), newArguments(0, `{}`), newEnd(hub.FinishStop)}},
	{"length_in_call", []hub.Delta{newCall(0, "call_a", "A"), newArguments(0, `{"a":"half`), newEnd(hub.FinishLength)}},
	{"hopeless_call", []hub.Delta{newCall(0, "call_a", "A"), newArguments(0, `{"a":tr`), newEnd(hub.FinishLength)}},
	{"context", []hub.Delta{newText("a"), newEnd(hub.FinishContext)}},
	{"filtered", []hub.Delta{newText("a"), newEnd(hub.FinishRefusal)}},
	{"refusal", []hub.Delta{newRefusal(`I \"can't\"`), newRefusal(" do it."), newEnd(hub.FinishStop)}},
	{"stop_sequence", []hub.Delta{newText("a"), newStopSequenceEnd("END")}},
	{"stop_sequence_unasked", []hub.Delta{newText("a"), newStopSequenceEnd("\n\n")}},
	{"calls_missing", []hub.Delta{newText("a"), newEnd(hub.FinishCalls)}},
}

func TestWriter(t *testing.T) {
	t.Parallel()
	for _, c := range writerCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stream := Format{}.NewWriter(testRequest(), testReply()).Stream(nil, c.deltas)
			w := Format{}.NewWriter(testRequest(), testReply())
			var single []byte
			for i := range c.deltas {
				single = w.Stream(single, c.deltas[i:i+1])
			}
			if !bytes.Equal(stream, single) {
				t.Errorf("deltas one by one give\n%s\nat once\n%s", single, stream)
			}
			whole, err := Format{}.NewWriter(testRequest(), testReply()).Whole(c.deltas)
			if err != nil {
				t.Fatal(err)
			}
			checkWhole(t, whole)
			m := checkStream(t, stream)
			if !m.done {
				t.Error("the stream is not complete")
			}
			checkGolden(t, string(stream)+"-- whole --\n"+string(whole)+"\n", "writer", c.name+".txt")
		})
	}
}

func TestWriterThinkingDisplay(t *testing.T) {
	t.Parallel()
	deltas := []hub.Delta{newReasoning("secret"), newState(hub.FormItem, "s"), newText("x"), newEnd(hub.FinishStop)}
	for _, c := range []struct {
		name   string
		answer hub.Answer
		deltas []hub.Delta
		blocks string
	}{
		{"omitted", hub.Answer{Reasoning: true, HideReasoningText: true}, deltas, "thinking() text(x)"},
		{"off", hub.Answer{}, deltas, "thinking() text(x)"},
		{"off without state", hub.Answer{}, []hub.Delta{newReasoning("secret"), newText("x"), newEnd(hub.FinishStop)}, "text(x)"},
		{"off with a mark only", hub.Answer{}, []hub.Delta{newReasoning("secret"), newState(hub.FormContent, ""), newText("x"), newEnd(hub.FinishStop)}, "text(x)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := testRequest()
			r.Answer = c.answer
			stream := Format{}.NewWriter(r, testReply()).Stream(nil, c.deltas)
			if got := checkStream(t, stream).outline(); got != c.blocks {
				t.Errorf("got %s, want %s", got, c.blocks)
			}
			whole, err := Format{}.NewWriter(r, testReply()).Whole(c.deltas)
			if err != nil || strings.Contains(string(whole)+string(stream), "secret") {
				t.Errorf("whole %s, %v", whole, err)
			}
		})
	}
}

func TestWriterWithoutTokens(t *testing.T) {
	t.Parallel()
	stream := string(Format{}.NewWriter(testRequest(), hub.Reply{}).Stream(nil, []hub.Delta{
		newState(hub.FormItem, "s"), newReasoning("a"), newState(hub.FormRedacted, "r"), newText("x"), newEnd(hub.FinishStop),
	}))
	m := checkStream(t, []byte(stream))
	if got := m.outline(); got != "thinking(a) text(x)" || !strings.Contains(stream, `"signature":"kcs1."}`) {
		t.Errorf("%s\n%s", got, stream)
	}
	if !strings.HasPrefix(gjson.Get(stream[strings.Index(stream, "{"):], "message.id").Str, "msg_") {
		t.Error("no id was made")
	}
}

func TestWriterFail(t *testing.T) {
	t.Parallel()
	f := hub.Failure{Code: "upstream_stream_error", Type: "overloaded_error", Message: "it \"broke\"", RequestID: "req_1"}
	want := "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"it \\\"broke\\\"\"},\"request_id\":\"req_1\"}\n\n"
	w := Format{}.NewWriter(testRequest(), testReply())
	if got := string(w.Fail(nil, f)); got != want {
		t.Errorf("at the start: %s", got)
	}
	if got := w.KeepAlive(w.Fail(w.Stream(nil, []hub.Delta{newText("late")}), f)); len(got) != 0 {
		t.Errorf("after the end: %s", got)
	}
	w = Format{}.NewWriter(testRequest(), testReply())
	out := w.Stream(nil, []hub.Delta{newText("a")})
	begun := len(out)
	f.Type = ""
	out = w.Fail(out, f)
	if got := string(out[begun:]); got != strings.Replace(want, "overloaded_error", "api_error", 1) {
		t.Errorf("within: %s", got)
	}
	checkStream(t, out)
}

func TestWriterKeepAlive(t *testing.T) {
	t.Parallel()
	w := Format{}.NewWriter(testRequest(), testReply())
	out := w.KeepAlive(nil)
	if string(out) != ": keep-alive\n\n" {
		t.Errorf("at the start: %s", out)
	}
	out = w.Stream(out, []hub.Delta{newText("a")})
	begun := len(out)
	out = w.KeepAlive(out)
	if got := string(out[begun:]); got != "event: ping\ndata: {\"type\":\"ping\"}\n\n" {
		t.Errorf("within: %s", got)
	}
	out = w.Stream(out, []hub.Delta{newEnd(hub.FinishStop)})
	if end := len(out); len(w.KeepAlive(out)) != end {
		t.Error("a ping after the end")
	}
	checkStream(t, out)
}

func TestWriterWholeArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arguments string
		finish    hub.Finish
		input     string // empty: an error is expected
	}{
		{`{"a": 1}`, hub.FinishCalls, `{"a": 1}`},
		{" {}\n", hub.FinishCalls, `{}`},
		{``, hub.FinishCalls, `{}`},
		{`{"a":["x`, hub.FinishCalls, `{"a":["x"]}`},
		{`{"a":{"b":"\"`, hub.FinishCalls, `{"a":{"b":"\""}}`},
		{`{"a":1`, hub.FinishLength, `{"a":1}`},
		{`{"a":`, hub.FinishLength, `{}`},
		{`{"a":`, hub.FinishCalls, ``},
		{`[1]`, hub.FinishCalls, ``},
		{`"x"`, hub.FinishStop, ``},
		{`null`, hub.FinishStop, ``},
		{`{}{}`, hub.FinishStop, ``},
		{strings.Repeat("[", 10000), hub.FinishStop, ``},
	} {
		whole, err := Format{}.NewWriter(testRequest(), testReply()).Whole([]hub.Delta{newCall(0, "a", "f"), newArguments(0, c.arguments), newEnd(c.finish)})
		if c.input == "" {
			if !errors.Is(err, hub.ErrArguments) {
				t.Errorf("%.20s: got %s, %v", c.arguments, whole, err)
			}
			continue
		}
		if got := gjson.GetBytes(whole, "content.0.input").Raw; err != nil || got != c.input {
			t.Errorf("%s: got %s, %v", c.arguments, got, err)
		}
	}
}

// TestWriterLimitsHeldText checks that the writer does not hold back all text after a call that never ends.
func TestWriterLimitsHeldText(t *testing.T) {
	t.Parallel()
	w := Format{}.NewWriter(testRequest(), testReply())
	out := w.Stream(nil, []hub.Delta{newCall(0, "a", "A"), newArguments(0, `{"a":`)})
	chunk := strings.Repeat("x", 1<<20)
	for range 12 {
		out = w.Stream(out, []hub.Delta{newText(chunk)})
	}
	if len(out) < blocks.MaxHeld {
		t.Errorf("%d bytes came out", len(out))
	}
	out = w.Stream(out, []hub.Delta{newArguments(0, `1}`), newEnd(hub.FinishStop)})
	if m := checkStream(t, out); len(m.blocks) != 2 || len(m.blocks[1].text) != 12<<20 {
		t.Error("text was lost")
	}
}

// message is the message that a client assembles from a stream.
type message struct {
	started, done, failed bool
	blocks                []received
}

type received struct{ kind, text, signature, id, name string }

func (m *message) outline() string {
	all := make([]string, 0, len(m.blocks))
	for _, b := range m.blocks {
		all = append(all, b.kind+"("+b.text+")")
	}
	return strings.Join(all, " ")
}

// checkStream reads a stream like a strict client and checks the invariants of the events of a messages stream.
func checkStream(t *testing.T, stream []byte) *message {
	t.Helper()
	m := &message{}
	open, pings, deltaSeen := -1, 0, false
	for event := range strings.SplitSeq(strings.TrimSuffix(string(stream), "\n\n"), "\n\n") {
		if strings.HasPrefix(event, ":") {
			continue
		}
		name, data, ok := strings.Cut(event, "\ndata: ")
		name, hasName := strings.CutPrefix(name, "event: ")
		if !ok || !hasName || strings.Contains(data, "\n") || !json.Valid([]byte(data)) {
			t.Fatalf("not an event: %.300q", event)
		}
		v := gjson.Parse(data)
		if v.Get("type").Str != name {
			t.Errorf("event %s has type %s", name, v.Get("type"))
		}
		if m.done || m.failed {
			t.Errorf("%s after the end", name)
		}
		index := int(v.Get("index").Int())
		if v.Get("index").Exists() && name != "content_block_start" && index != open {
			t.Errorf("%s of block %d, block %d is open", name, index, open)
		}
		if !m.started && name != "message_start" && name != "error" {
			t.Errorf("%s before message_start", name)
		}
		switch name {
		case "message_start":
			if m.started {
				t.Error("a second message_start")
			}
			m.started = true
		case "ping":
			pings++
		case "content_block_start":
			if open >= 0 || index != len(m.blocks) || deltaSeen {
				t.Errorf("block %d begins, %d is open, %d were begun", index, open, len(m.blocks))
			}
			open = index
			b := v.Get("content_block")
			m.blocks = append(m.blocks, received{kind: b.Get("type").Str, id: b.Get("id").Str, name: b.Get("name").Str, text: b.Get("data").Str})
		case "content_block_delta":
			if open < 0 {
				t.Fatalf("a delta without a block: %s", data)
			}
			m.blocks[open].take(t, v.Get("delta"))
		case "content_block_stop":
			if open < 0 {
				t.Fatalf("a stop without a block: %s", data)
			}
			m.blocks[open].check(t)
			open = -1
		case "message_delta":
			if open >= 0 || deltaSeen || !v.Get("usage.output_tokens").Exists() || v.Get("delta.stop_reason").Str == "" {
				t.Errorf("message_delta, block %d is open: %s", open, data)
			}
			deltaSeen = true
		case "message_stop":
			if !deltaSeen {
				t.Error("no message_delta")
			}
			m.done = true
		case "error":
			m.failed = true
		default:
			t.Errorf("unknown event %s", name)
		}
	}
	if len(m.blocks) > 0 && pings == 0 {
		t.Error("no ping")
	}
	return m
}

func (b *received) take(t *testing.T, delta gjson.Result) {
	t.Helper()
	kind := delta.Get("type").Str
	fits := map[string]string{"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking", "input_json_delta": "tool_use"}
	if fits[kind] != b.kind {
		t.Errorf("%s in a %s block", kind, b.kind)
	}
	if b.signature != "" {
		t.Errorf("%s after the signature", kind)
	}
	b.text += delta.Get("text").Str + delta.Get("thinking").Str + delta.Get("partial_json").Str
	b.signature += delta.Get("signature").Str
}

func (b *received) check(t *testing.T) {
	t.Helper()
	switch {
	case b.kind == "text" && b.text == "", b.kind == "tool_use" && b.text == "":
		t.Errorf("an empty %s block", b.kind)
	case b.kind == "thinking" && b.signature == "":
		t.Error("a thinking block without signature")
	case b.kind == "tool_use" && (b.id == "" || b.name == ""):
		t.Errorf("tool block %+v", b)
	}
}

func checkWhole(t *testing.T, body []byte) {
	t.Helper()
	v := gjson.ParseBytes(body)
	if !json.Valid(body) || v.Get("type").Str != "message" || v.Get("role").Str != "assistant" || v.Get("stop_reason").Str == "" || v.Get("content.#").Int() == 0 {
		t.Errorf("not a message: %s", body)
	}
	v.Get("content").ForEach(func(_, b gjson.Result) bool {
		if b.Get("type").Str == "tool_use" && !b.Get("input").IsObject() || b.Get("type").Str == "thinking" && b.Get("signature").Str == "" {
			t.Errorf("block %s", b.Raw)
		}
		return true
	})
}

// script turns bytes into deltas in an order that package hub allows. It also returns what a client must get: all
// texts, and the arguments of each call.
func script(in []byte) (deltas []hub.Delta, text, reasoning string, arguments []string) {
	pieces := [...]string{`{`, `}`, `\"`, `a`, `\\`, `:1`, `[`, `]`, `,`, `ü`, ` `}
	for _, c := range in {
		piece := pieces[int(c>>3)%len(pieces)]
		switch c % 8 {
		case 0:
			deltas = append(deltas, newText(piece))
			text += piece
		case 1:
			deltas = append(deltas, newReasoning(piece))
			reasoning += piece
		case 2:
			deltas = append(deltas, newCall(len(arguments), fmt.Sprintf("call_%d", len(arguments)), "F"))
			arguments = append(arguments, "")
		case 3, 4, 5:
			if n := len(arguments); n > 0 {
				call := int(c>>5) % n
				// The arguments of a call are an object, and nothing follows it.
				if a := arguments[call]; a == "" {
					piece = `{\"k\":\"`
				} else if strings.HasSuffix(a, "}") {
					continue
				} else if c%8 == 5 {
					piece = `\"}`
				} else {
					piece = "v"
				}
				deltas = append(deltas, hub.Delta{Kind: hub.DeltaArguments, Call: call, Text: []byte(piece)})
				arguments[call] += piece
			}
		case 6:
			forms := [...]hub.Form{hub.FormItem, hub.FormRedacted, hub.FormThought, hub.FormDetails, hub.FormContent}
			deltas = append(deltas, newState(forms[int(c>>3)%len(forms)], piece))
		case 7:
			deltas = append(deltas, newRefusal(piece))
			text += piece
		}
	}
	for call, a := range arguments {
		if !strings.HasSuffix(a, "}") {
			rest := `\"}`
			if a == "" {
				rest = "{}"
			}
			deltas = append(deltas, hub.Delta{Kind: hub.DeltaArguments, Call: call, Text: []byte(rest)})
			arguments[call] += rest
		}
	}
	return append(deltas, newEnd(hub.FinishStop)), text, reasoning, arguments
}

func FuzzWriter(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Add([]byte{2, 2, 3, 35, 0, 1, 6, 5, 37, 0})
	f.Add([]byte{1, 6, 14, 22, 30, 2, 3, 4, 0, 5, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 2000 {
			return
		}
		deltas, text, reasoning, arguments := script(in)
		stream := Format{}.NewWriter(testRequest(), testReply()).Stream(nil, deltas)
		m := checkStream(t, stream)
		if !m.done {
			t.Error("the stream is not complete")
		}
		unescaped := func(s string) string { return string(jsontext.AppendUnquoted(nil, []byte(s))) }
		gotText, gotReasoning := "", ""
		inputs := make([]string, 0, len(arguments))
		for _, b := range m.blocks {
			switch b.kind {
			case "text":
				gotText += b.text
			case "thinking":
				gotReasoning += b.text
			case "tool_use":
				inputs = append(inputs, b.text)
				if want := fmt.Sprintf("call_%d", len(inputs)-1); b.id != want {
					t.Errorf("call %s, want %s", b.id, want)
				}
			}
		}
		for i := range arguments {
			arguments[i] = unescaped(arguments[i])
		}
		if gotText != unescaped(text) || gotReasoning != unescaped(reasoning) || !slices.Equal(inputs, arguments) {
			t.Errorf("text %q of %q, reasoning %q of %q, arguments %q of %q", gotText, text, gotReasoning, reasoning, inputs, arguments)
		}
		whole, err := Format{}.NewWriter(testRequest(), testReply()).Whole(deltas)
		if err != nil {
			t.Fatal(err)
		}
		checkWhole(t, whole)
	})
}

func BenchmarkWriterText(b *testing.B) {
	w := Format{}.NewWriter(testRequest(), testReply())
	deltas := []hub.Delta{newText(`some text of a token \"or\" three`)}
	dst := w.Stream(make([]byte, 0, 4096), deltas)
	b.ReportAllocs()
	for b.Loop() {
		dst = w.Stream(dst[:0], deltas)
	}
}

func BenchmarkWriterArguments(b *testing.B) {
	w := Format{}.NewWriter(testRequest(), testReply())
	dst := w.Stream(make([]byte, 0, 4096), []hub.Delta{newCall(0, "a", "A"), newArguments(0, `{"a":"`)})
	deltas := []hub.Delta{newArguments(0, `some \"text\" of a call`)}
	b.ReportAllocs()
	for b.Loop() {
		dst = w.Stream(dst[:0], deltas)
	}
}

// TestArguments checks that arguments that are not an object are wrapped in one if the client has not yet
// got their beginning. Objects and arrays that were left open are closed.
func TestArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		pieces []string
		finish hub.Finish
		want   string
	}{
		{"an object", []string{` {"a"`, `:1} `}, hub.FinishCalls, ` {"a":1} `},
		{"a text", []string{"ls", ` -l "x"`}, hub.FinishCalls, `{"_raw":"ls -l \"x\""}`},
		{"a text behind spaces", []string{"  ", "\n", "ls"}, hub.FinishStop, `{"_raw":"  \nls"}`},
		{"an array", []string{"[1", "]"}, hub.FinishCalls, `{"_raw":"[1]"}`},
		{"spaces", []string{" ", " "}, hub.FinishCalls, "{}"},
		{"left open", []string{`{"a":[1,`, `{"b":"x`}, hub.FinishCalls, `{"a":[1,{"b":"x"}]}`},
		{"cut off", []string{`{"a":[1,`, `{"b":"x`}, hub.FinishLength, `{"a":[1,{"b":"x`},
		{"a text cut off", []string{"l"}, hub.FinishLength, "{}"},
		{"at once, and broken", []string{`{"a":1,}`}, hub.FinishCalls, `{"_raw":"{\"a\":1,}"}`},
		{"a long text", []string{"x" + strings.Repeat(" ", blocks.MaxDoubtful), "y"}, hub.FinishCalls, `{"_raw":"x` + strings.Repeat(" ", blocks.MaxDoubtful) + `y"}`},
		// The client already has a valid beginning. It stays, and all arguments are added as _raw.
		{"a word", []string{`{"a":1,"b":`, `nope}`}, hub.FinishCalls, `{"a":1,"b":null,"_raw":"{\"a\":1,\"b\":nope}"}`},
		{"a word, in pieces", []string{`{`, `"b":[`, `no`, `pe`, `]}`}, hub.FinishStop, `{"b":[null],"_raw":"{\"b\":[nope]}"}`},
		{"no quotes", []string{`{`, `b:1}`}, hub.FinishStop, `{"_raw":"{b:1}"}`},
		{"a line end", []string{`{"a":"x`, "\ny\"}"}, hub.FinishStop, `{"a":"x","_raw":"{\"a\":\"x\ny\"}"}`},
		{"a comma too many", []string{`{"a":{"b":1`, `,},"c":2}`}, hub.FinishStop, `{"a":{"b":1,"":null},"_raw":"{\"a\":{\"b\":1,},\"c\":2}"}`},
		{"another object behind", []string{`{"a":1`, `}`, `{"b":2}`}, hub.FinishStop, `{"a":1,"_raw":"{\"a\":1}{\"b\":2}"}`},
		{"an empty one before", []string{`{`, `} `, `{"b":2}`}, hub.FinishStop, `{"_raw":"{} {\"b\":2}"}`},
		{"left open behind a colon", []string{`{"a":1,`, `"b":`}, hub.FinishStop, `{"a":1,"b":null,"_raw":"{\"a\":1,\"b\":"}`},
		{"left open in a key", []string{`{"a":1,`, `"b`}, hub.FinishStop, `{"a":1,"b":null,"_raw":"{\"a\":1,\"b"}`},
		{"left open in an escape", []string{`{"a":"`, `\u00`}, hub.FinishStop, `{"a":"\u0000","_raw":"{\"a\":\"\\u00"}`},
		{"a word, and cut off", []string{`{"a":`, `nope`}, hub.FinishLength, `{"a":`},
		{"ended, and cut off", []string{`{"a":`, `1}`}, hub.FinishLength, `{"a":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, queued := range []bool{false, true} { // after a call that is still open
				deltas := []hub.Delta{newCall(0, "call_a", "f"), newArguments(0, `{"x"`), newCall(1, "call_b", "f")}
				if !queued {
					deltas = []hub.Delta{newCall(1, "call_b", "f")}
				}
				for _, piece := range c.pieces {
					deltas = append(deltas, newArguments(1, piece))
				}
				if queued {
					deltas = append(deltas, newArguments(0, `:1}`))
				}
				w := Format{}.NewWriter(testRequest(), testReply())
				var stream []byte
				for i := range deltas {
					stream = w.Stream(stream, deltas[i:i+1])
				}
				stream = w.Stream(stream, []hub.Delta{newEnd(c.finish)})
				input := ""
				for line := range strings.Lines(string(stream)) {
					data, _ := strings.CutPrefix(line, "data: ")
					if e := gjson.Parse(data); e.Get("type").Str == "content_block_delta" {
						if e.Get("index").Int() == int64(strings.Count(string(stream), "content_block\":")-1) {
							input += e.Get("delta.partial_json").Str
						}
					}
				}
				if input != c.want {
					t.Errorf("queued %t: got %.200s, want %.200s", queued, input, c.want)
				}
			}
		})
	}
}

// TestLongArguments checks that long arguments are not kept after they were sent, so that _raw has only the rest.
func TestLongArguments(t *testing.T) {
	t.Parallel()
	x, spaces := strings.Repeat("x", blocks.MaxKept), strings.Repeat(" ", blocks.MaxDoubtful)
	for want, pieces := range map[string][]string{
		`{"a":"` + x + `y", "_raw":"y\", nope}"}`: {`{"a":"`, x, `y`, `", nope}`},
		spaces + `{"_raw":"y"}`:                   {spaces, "y"},
	} {
		w := Format{}.NewWriter(testRequest(), testReply())
		stream := w.Stream(nil, []hub.Delta{newCall(0, "call_a", "f")})
		for _, piece := range pieces {
			stream = w.Stream(stream, []hub.Delta{newArguments(0, piece)})
		}
		m := checkStream(t, w.Stream(stream, []hub.Delta{newEnd(hub.FinishCalls)}))
		if got := m.blocks[0].text; got != want {
			t.Errorf("got %s", strings.NewReplacer(x, "…", spaces, "_").Replace(got))
		}
	}
}

// FuzzArguments checks that the client of a stream gets an object for any arguments of a model, in any pieces.
func FuzzArguments(f *testing.F) {
	f.Add(`{"a":[1,{"b":"x"}]}`, uint8(3), false)
	f.Add(`{"a":{"b":1,},"c":2}`, uint8(5), true)
	f.Add("{\"a\":\"x\ny", uint8(1), false)
	f.Add(`{} {"b":2}`, uint8(2), true)
	f.Fuzz(func(t *testing.T, arguments string, size uint8, more bool) {
		if len(arguments) > 1<<16 || !utf8.ValidString(arguments) {
			return
		}
		w := Format{}.NewWriter(testRequest(), testReply())
		stream := w.Stream(nil, []hub.Delta{newCall(0, "call_a", "f")})
		for rest := []rune(arguments); len(rest) > 0; {
			n := min(int(size)+1, len(rest))
			stream = w.Stream(stream, []hub.Delta{newArguments(0, string(rest[:n]))})
			rest = rest[n:]
		}
		if more {
			stream = w.Stream(stream, []hub.Delta{newCall(1, "call_b", "f"), newArguments(1, "{}")})
		}
		m := checkStream(t, w.Stream(stream, []hub.Delta{newEnd(hub.FinishCalls)}))
		input := m.blocks[0].text
		if !hub.IsObject([]byte(input)) {
			t.Fatalf("%q becomes %q", arguments, input)
		}
		if hub.IsObject([]byte(arguments)) && strings.TrimSpace(input) != strings.TrimSpace(arguments) {
			t.Fatalf("%q becomes %q, and was right", arguments, input)
		}
	})
}

// TestEstimate checks that the usage is estimated if the upstream reports none, even if the prompt's tokens were not
// counted before.
func TestEstimate(t *testing.T) {
	t.Parallel()
	r := testRequest()
	r.Messages = []hub.Message{{Role: hub.User, Parts: []hub.Part{{Kind: hub.PartText, Text: "What is in the file?"}}}}
	body, err := Format{}.NewWriter(r, hub.Reply{}).Whole([]hub.Delta{newText(strings.Repeat("text", 9)), {Kind: hub.DeltaEnd, End: hub.End{Finish: hub.FinishStop}}})
	if err != nil {
		t.Fatal(err)
	}
	usage := gjson.GetBytes(body, "usage")
	if input := hub.CountTokens(r); input == 0 || usage.Get("input_tokens").Int() != input || usage.Get("output_tokens").Int() != 10 {
		t.Errorf("got %s", usage.Raw)
	}
}
