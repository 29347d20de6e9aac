package chat

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// steadyReader returns a reader with predictable ids.
func steadyReader(state hub.Form, tags bool) *reader {
	r := NewReader(state, tags).(*reader)
	n := 0
	r.newID = func(prefix string) string { n++; return fmt.Sprintf("%sMADE%d", prefix, n) }
	return r
}

var kinds = map[hub.DeltaKind]string{
	hub.DeltaText: "text", hub.DeltaReasoning: "reasoning", hub.DeltaRefusal: "refusal", hub.DeltaArguments: "args",
}

var finishes = map[hub.Finish]string{
	hub.FinishStop: "stop", hub.FinishCalls: "calls", hub.FinishLength: "length", hub.FinishContext: "context", hub.FinishRefusal: "refusal",
}

// show returns a delta as one line.
func show(d *hub.Delta) string {
	switch d.Kind {
	case hub.DeltaCall:
		return fmt.Sprintf("call %d %s %s", d.Call, d.ID, d.Name)
	case hub.DeltaArguments:
		return fmt.Sprintf("args %d %s", d.Call, d.Text)
	case hub.DeltaState:
		return fmt.Sprintf("state %s %s", d.State.Form, d.State.Data)
	case hub.DeltaEnd:
		s := "end " + finishes[d.End.Finish]
		if d.End.StopSequence != "" {
			s += " at " + d.End.StopSequence
		}
		if u := d.End.Usage; u.Known {
			s += fmt.Sprintf(" usage %d/%d read %d write %d reasoning %d", u.Prompt, u.Completion, u.CacheRead, u.CacheWrite, u.Reasoning)
		}
		return s
	default:
		s := kinds[d.Kind] + " " + string(d.Text)
		if d.Logprobs != nil {
			s += " logprobs " + string(d.Logprobs)
		}
		return s
	}
}

// play reads a stream to its end and returns its deltas. The last line is the error, if there is one.
func play(r hub.Reader, events ...string) []string {
	var out []string
	take := func(step hub.Step, err error) bool {
		for i := range step.Deltas {
			out = append(out, show(&step.Deltas[i]))
		}
		if err != nil {
			out = append(out, "error "+err.Error())
		}
		return err == nil && !step.Done
	}
	for _, e := range events {
		if !take(r.Event(nil, []byte(e))) {
			return out
		}
	}
	take(r.End())
	return out
}

func delta(members string) string { return `{"choices":[{"index":0,"delta":{` + members + `}}]}` }

func finished(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

func tool(members string) string { return delta(`"tool_calls":[{` + members + `}]`) }

func TestReader(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state hub.Form
		tags  bool
		in    []string
		want  []string
	}{
		"text": {
			in:   []string{delta(`"role":"assistant","content":""`), delta(`"content":"Hel"`), delta(`"content":"lo\n"`), finished("stop"), "[DONE]"},
			want: []string{"text Hel", `text lo\n`, "end stop"},
		},
		"end of body instead of [DONE]": {in: []string{delta(`"content":"a"`), finished("stop")}, want: []string{"text a", "end stop"}},
		"nothing behind [DONE]":         {in: []string{finished("stop"), "[DONE]", delta(`"content":"x"`), "[DONE]"}, want: []string{"end stop"}},
		"no finish":                     {in: []string{delta(`"content":"a"`), "[DONE]"}, want: []string{"text a", "error " + wire.ErrNoFinish.Error()}},
		"empty finish":                  {in: []string{`{"choices":[{"delta":{"content":"a"},"finish_reason":""}]}`}, want: []string{"text a", "error " + wire.ErrNoFinish.Error()}},
		"finish in the middle": {
			in:   []string{finished("stop"), delta(`"content":"late"`), "[DONE]"},
			want: []string{"text late", "end stop"},
		},
		"usage: the last that counts": {
			in: []string{
				`{"choices":[{"delta":{"content":"a"}}],"usage":null}`, finished("stop"),
				`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":5,"cache_write_tokens":1},"completion_tokens_details":{"reasoning_tokens":2}}}`,
				`{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}`, "[DONE]",
			},
			want: []string{"text a", "end stop usage 9/4 read 5 write 1 reasoning 2"},
		},
		"reasoning beside the completion": {
			in:   []string{`{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":20,"completion_tokens_details":{"reasoning_tokens":7}}}`},
			want: []string{"end stop usage 9/11 read 0 write 0 reasoning 7"},
		},
		"reasoning then text": {
			in:   []string{delta(`"reasoning_content":"hm","content":null`), delta(`"reasoning":" so"`), delta(`"content":"a"`), finished("stop")},
			want: []string{"reasoning hm", "reasoning  so", "text a", "end stop"},
		},
		"one text under two names": {
			in:   []string{delta(`"reasoning_content":"hm","reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}]`), finished("stop")},
			want: []string{"reasoning hm", "end stop"},
		},
		"thinking parts": {
			in:   []string{delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]`), delta(`"content":[{"type":"thinking","thinking":"x"}]`), finished("stop")},
			want: []string{"reasoning hm", "text a", "reasoning x", "end stop"},
		},
		"refusal": {in: []string{delta(`"refusal":"no"`), finished("stop")}, want: []string{"refusal no", "end stop"}},
		"logprobs": {
			in:   []string{`{"choices":[{"delta":{"content":"a"},"logprobs":{"content":[{"token":"a"}],"refusal":null}}]}`, finished("stop")},
			want: []string{`text a logprobs [{"token":"a"}]`, "end stop"},
		},
		"only the first choice": {
			in:   []string{`{"choices":[{"delta":{"content":"b"},"index":1},{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}`, finished("length")},
			want: []string{"text a", "end length"},
		},
		"stop sequence":   {in: []string{`{"choices":[{"finish_reason":"stop","matched_stop":"END\n"}]}`}, want: []string{"end stop at END\n"}},
		"stop token":      {in: []string{`{"choices":[{"finish_reason":"stop","stop_reason":12}]}`}, want: []string{"end stop"}},
		"context":         {in: []string{finished("model_length")}, want: []string{"end context"}},
		"safety":          {in: []string{finished("SAFETY")}, want: []string{"end refusal"}},
		"unknown finish":  {in: []string{finished("whatever")}, want: []string{"end stop"}},
		"calls, no calls": {in: []string{finished("tool_calls")}, want: []string{"end stop"}},
		"call": {
			in: []string{
				tool(`"index":0,"id":"call_a","type":"function","function":{"name":"f","arguments":""}`),
				tool(`"index":0,"function":{"arguments":"{\"a\""}`), tool(`"index":0,"function":{"arguments":":1}"}`), finished("tool_calls"),
			},
			want: []string{"call 0 call_a f", `args 0 {\"a\"`, "args 0 :1}", "end calls"},
		},
		"stop with calls":    {in: []string{tool(`"index":0,"id":"a","function":{"name":"f","arguments":"{}"}`), finished("stop")}, want: []string{"call 0 a f", "args 0 {}", "end calls"}},
		"cut in a call":      {in: []string{tool(`"index":0,"id":"a","function":{"name":"f","arguments":"{"}`), finished("length")}, want: []string{"call 0 a f", "args 0 {", "end length"}},
		"no arguments":       {in: []string{tool(`"index":0,"id":"a","function":{"name":"f"}`), finished("stop")}, want: []string{"call 0 a f", "args 0 {}", "end calls"}},
		"object arguments":   {in: []string{tool(`"index":0,"id":"a","function":{"name":"f","arguments":{"x": "y"}}`), finished("stop")}, want: []string{"call 0 a f", `args 0 {\"x\": \"y\"}`, "end calls"}},
		"arguments twice":    {in: []string{tool(`"index":0,"id":"a","function":{"name":"f","arguments":{"x":1},"arguments":"0"}`), finished("stop")}, want: []string{"call 0 a f", "args 0 0", "end calls"}},
		"empty object first": {in: []string{tool(`"index":0,"id":"a","function":{"name":"f","arguments":{ }}`), tool(`"index":0,"function":{"arguments":"{\"x\":1}"}`), finished("stop")}, want: []string{"call 0 a f", `args 0 {\"x\":1}`, "end calls"}},
		"no index": {
			in:   []string{tool(`"id":"a","function":{"name":"f","arguments":"{}"}`), tool(`"id":"b","function":{"name":"g","arguments":"{"}`), tool(`"function":{"arguments":"}"}`), finished("stop")},
			want: []string{"call 0 a f", "args 0 {}", "call 1 b g", "args 1 {", "args 1 }", "end calls"},
		},
		"no index and no id": {
			in:   []string{tool(`"function":{"name":"f","arguments":"{}"}`), tool(`"function":{"name":"f","arguments":"{}"}`), finished("stop")},
			want: []string{"call 0 call_MADE1 f", "args 0 {}", "call 1 call_MADE2 f", "args 1 {}", "end calls"},
		},
		"two of one tool with index 0": {
			in: []string{
				tool(`"index":0,"id":"a","function":{"name":"f","arguments":""}`), tool(`"index":0,"function":{"arguments":"{\"x\":1}"}`),
				tool(`"index":0,"id":"b","function":{"name":"f","arguments":""}`), tool(`"index":0,"function":{"arguments":"{\"x\":2}"}`), finished("stop"),
			},
			want: []string{"call 0 a f", `args 0 {\"x\":1}`, "call 1 b f", `args 1 {\"x\":2}`, "end calls"},
		},
		"all with index 0": {
			in: []string{
				delta(`"tool_calls":[{"index":0,"id":"","function":{"name":"f","arguments":"{\"x\":1}"}},{"index":0,"id":"","function":{"name":"f","arguments":"{\"x\":2}"}}]`),
				tool(`"index":0,"id":"b","function":{"name":"g","arguments":"{}"}`), finished("stop"),
			},
			want: []string{"call 0 call_MADE1 f", `args 0 {\"x\":1}`, "call 1 call_MADE2 f", `args 1 {\"x\":2}`, "call 2 b g", "args 2 {}", "end calls"},
		},
		"name late": {
			in:   []string{tool(`"index":0,"id":"a","function":{"arguments":"{"}`), tool(`"index":0,"function":{"arguments":"}"}`), tool(`"index":0,"function":{"name":"f"}`), finished("stop")},
			want: []string{"call 0 a f", "args 0 {}", "end calls"},
		},
		"never a name": {
			in:   []string{tool(`"index":0,"id":"a","function":{"arguments":"{}"}`), finished("stop")},
			want: []string{"error " + wire.ErrBroken.Error() + "\na tool call has no name"},
		},
		"repeated id and name": {
			in:   []string{tool(`"index":0,"id":"a","function":{"name":"f","arguments":"{"}`), tool(`"index":0,"id":"a","function":{"name":"f","arguments":"}"}`), finished("stop")},
			want: []string{"call 0 a f", "args 0 {", "args 0 }", "end calls"},
		},
		"repeated arguments": {
			in:   []string{tool(`"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}`), tool(`"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1"}`), tool(`"index":0,"function":{"arguments":"{\"x\":1}"}`), tool(`"index":0,"function":{"arguments":"{\"x\":1}"}`), finished("stop")},
			want: []string{"call 0 a f", `args 0 {\"x\"`, "args 0 :1", "args 0 }", "end calls"},
		},
		"nested arguments are no repetition": {
			in:   []string{tool(`"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}`), tool(`"index":0,"function":{"arguments":"{\"x\":1}"}`), tool(`"index":0,"function":{"arguments":"}"}`), finished("stop")},
			want: []string{"call 0 a f", `args 0 {\"x\":`, `args 0 {\"x\":1}`, "args 0 }", "end calls"},
		},
		"interleaved": {
			in: []string{
				tool(`"index":0,"id":"a","function":{"name":"f"}`), tool(`"index":1,"id":"b","function":{"name":"g"}`),
				delta(`"tool_calls":[{"index":1,"function":{"arguments":"{1"}},{"index":0,"function":{"arguments":"{0"}}]`), finished("stop"),
			},
			want: []string{"call 0 a f", "call 1 b g", "args 1 {1", "args 0 {0", "end calls"},
		},
		"illegal and equal ids": {
			in:   []string{tool(`"index":0,"id":"a b","function":{"name":"f"}`), tool(`"index":1,"id":"x","function":{"name":"g"}`), tool(`"index":2,"id":"x","function":{"name":"h"}`), finished("stop")},
			want: []string{"call 0 call_MADE1 f", "call 1 x g", "call 2 call_MADE2 h", "args 0 {}", "args 1 {}", "args 2 {}", "end calls"},
		},
		"the form before tools": {
			in:   []string{delta(`"function_call":{"name":"f","arguments":"{"}`), delta(`"function_call":{"arguments":"}"}`), finished("function_call")},
			want: []string{"call 0 call_MADE1 f", "args 0 {", "args 0 }", "end calls"},
		},
		"thought signature": {
			state: hub.FormThought,
			in:    []string{tool(`"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"S\/1"}}`), delta(`"content":"x","extra_content":{"google":{"thought_signature":"S2"}}`), finished("stop")},
			want:  []string{"state thought S/1", "call 0 a f", "args 0 {}", "state thought S2", "text x", "end calls"},
		},
		"thought signature elsewhere": {in: []string{delta(`"content":"x","extra_content":{"google":{"thought_signature":"S2"}}`), finished("stop")}, want: []string{"text x", "end stop"}},
		"reasoning details": {
			state: hub.FormDetails,
			in: []string{
				delta(`"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0,"signature":null}]`),
				delta(`"reasoning_details":[{"type":"reasoning.text","text":"b\n","index":0}]`),
				delta(`"reasoning_details":[{"type":"reasoning.text","signature":"S","text":"","index":0},{"type":"reasoning.encrypted","data":"D","index":1}]`),
				delta(`"content":"x"`), delta(`"reasoning_details":[{"type":"reasoning.encrypted","data":"E"}]`),
				tool(`"index":0,"id":"a","function":{"name":"f"}`), finished("stop"),
			},
			want: []string{
				"reasoning a", `reasoning b\n`,
				`state details [{"type":"reasoning.text","index":0,"signature":"S","text":"ab\n"},{"type":"reasoning.encrypted","data":"D","index":1}]`,
				"text x", `state details [{"type":"reasoning.encrypted","data":"E"}]`, "call 0 a f", "args 0 {}", "end calls",
			},
		},
		"think tags": {
			tags: true,
			in:   []string{delta(`"content":"<th"`), delta(`"content":"ink>hm <"`), delta(`"content":"b> </thi"`), delta(`"content":"nk>\n\na"`), delta(`"content":"<think>"`), finished("stop")},
			want: []string{"reasoning hm ", "reasoning <b> ", `text \n\na`, "text <think>", "end stop"},
		},
		"think tags, escaped": {
			tags: true, in: []string{delta(`"content":"\u003cthink\u003ehm\u003c\/think\u003ea"`), finished("stop")},
			want: []string{"reasoning hm", "text a", "end stop"},
		},
		"think tag not finished": {tags: true, in: []string{delta(`"content":"<think>hm</"`), finished("stop")}, want: []string{"reasoning hm", "reasoning </", "end stop"}},
		"think tag not begun":    {tags: true, in: []string{delta(`"content":"<t"`), finished("stop")}, want: []string{"text <t", "end stop"}},
		"think tags not at the start": {
			tags: true, in: []string{delta(`"content":"a<think>b"`), delta(`"content":"<think>"`), finished("stop")},
			want: []string{"text a<think>b", "text <think>", "end stop"},
		},
		"think tags off": {in: []string{delta(`"content":"<think>b"`), finished("stop")}, want: []string{"text <think>b", "end stop"}},
		"error":          {in: []string{delta(`"content":"a"`), `{"error":{"message":"down","code":502}}`}, want: []string{"text a", "error upstream answered 200 502: down"}},
		"error of a choice": {
			in:   []string{`{"choices":[{"delta":{},"finish_reason":"error","error":{"message":"down","code":502}}]}`},
			want: []string{"error upstream answered 200 502: down"},
		},
		"finish error":    {in: []string{finished("error")}, want: []string{"error upstream answered 200 error: the model ended with an error"}},
		"object error":    {in: []string{`{"object":"error","message":"down","code":400}`}, want: []string{"error upstream answered 200 400: down"}},
		"error in a list": {in: []string{`[{"error":{"message":"down","code":503,"status":"UNAVAILABLE"}}]`}, want: []string{"error upstream answered 200 UNAVAILABLE: down"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := play(steadyReader(c.state, c.tags), c.in...); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestReaderWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"order": {
			`{"choices":[{"finish_reason":"tool_calls","message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"a","type":"function","function":{"name":"f","arguments":""}}],"content":"x","reasoning_content":"hm"}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
			"reasoning hm|text x|call 0 a f|args 0 {}|call 1 call_MADE1 f|args 1 {}|end calls usage 1/2 read 0 write 0 reasoning 0",
		},
		"blank lines":    {"\n\n" + `{"choices":[{"message":{"content":"x"},"finish_reason":"length"}]}` + "\n", "text x|end length"},
		"no finish":      {`{"choices":[{"message":{"content":"x"}}]}`, "text x|end stop"},
		"empty choices":  {`{"choices":[]}`, wire.ErrNoChoices.Error()},
		"no choices":     {`{}`, wire.ErrNoChoices.Error()},
		"hollow":         {`{"choices":[{"message":{"content":""}}]}`, wire.ErrNoChoices.Error()},
		"empty answer":   {`{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}`, "end stop"},
		"error":          {`{"error":"down"}`, "upstream answered 200 : down"},
		"html":           {`<html>`, wire.ErrBroken.Error()},
		"broken":         {`{"choices":[`, wire.ErrBroken.Error()},
		"more behind it": {`{"choices":[]} x`, wire.ErrBroken.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deltas, err := steadyReader("", false).Whole([]byte(c.in))
			if err != nil {
				if !strings.HasPrefix(err.Error(), c.want) {
					t.Errorf("error %v, want %s", err, c.want)
				}
				return
			}
			lines := make([]string, 0, len(deltas))
			for i := range deltas {
				lines = append(lines, show(&deltas[i]))
			}
			if got := strings.Join(lines, "|"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestReaderErrors(t *testing.T) {
	t.Parallel()
	r := NewReader("", false)
	var upstream *wire.UpstreamError
	if _, err := r.Event([]byte("error"), []byte(`{"message":"down"}`)); !errors.As(err, &upstream) || upstream.Message != "down" {
		t.Errorf("an error event gave %v", err)
	}
	for _, data := range []string{`{"choices":[{"delta":`, `[`, `"x"`, `{"choices":[{"delta":{"content":"` + "\x01" + `"}}]}`} {
		_, err := NewReader("", false).Event(nil, []byte(data))
		if !errors.Is(err, wire.ErrBroken) && !errors.As(err, &upstream) {
			t.Errorf("%s gave %v", data, err)
		}
	}
	long := strings.Repeat("x", maxName+1)
	if _, err := r.Event(nil, []byte(tool(`"index":0,"function":{"name":"`+long+`"}`))); !errors.Is(err, wire.ErrBroken) {
		t.Errorf("a long name gave %v", err)
	}
}

func TestReaderBounds(t *testing.T) {
	t.Parallel()
	t.Run("calls", func(t *testing.T) {
		t.Parallel()
		r := NewReader("", false)
		var err error
		n := 0
		for ; err == nil && n < 2*maxCalls; n++ {
			_, err = r.Event(nil, []byte(tool(fmt.Sprintf(`"index":%d,"id":"c%d","function":{"name":"f"}`, n, n))))
		}
		if !errors.Is(err, wire.ErrBroken) || n != maxCalls+1 {
			t.Errorf("%v after %d calls", err, n)
		}
	})
	t.Run("held arguments", func(t *testing.T) {
		t.Parallel()
		r := NewReader("", false)
		piece := []byte(tool(`"index":0,"function":{"arguments":"` + strings.Repeat("x", 1<<20) + `"}`))
		var err error
		n := 0
		for ; err == nil && n < 20; n++ {
			_, err = r.Event(nil, piece)
		}
		if !errors.Is(err, wire.ErrBroken) || n != 9 {
			t.Errorf("%v after %d MiB", err, n)
		}
	})
	t.Run("details", func(t *testing.T) {
		t.Parallel()
		r := NewReader(hub.FormDetails, false).(*reader)
		piece := []byte(delta(`"reasoning_details":[{"type":"reasoning.text","text":"` + strings.Repeat("x", 1000) + `"}]`))
		for range 100 {
			if _, err := r.Event(nil, piece); err != nil {
				t.Fatal(err)
			}
		}
		step, err := r.Event(nil, []byte(delta(`"content":"x"`)))
		if err != nil || len(step.Deltas) != 1 || len(r.details.list) != 0 {
			t.Errorf("%d deltas, %d details kept, %v", len(step.Deltas), len(r.details.list), err)
		}
	})
}

func TestReaderProof(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]bool{
		delta(`"role":"assistant"`):                           false,
		delta(`"content":""`):                                 false,
		`{"choices":[]}`:                                      false,
		`{"choices":[],"usage":{"prompt_tokens":1}}`:          false,
		tool(`"index":0,"id":"a"`):                            false,
		delta(`"content":"a"`):                                true,
		delta(`"reasoning":"a"`):                              true,
		delta(`"refusal":"a"`):                                true,
		tool(`"index":0,"function":{"name":"f"}`):             true,
		finished("stop"):                                      true,
		delta(`"reasoning_details":[{"type":"x","data":""}]`): false,
	} {
		step, err := NewReader(hub.FormDetails, false).Event(nil, []byte(data))
		if err != nil || step.Proof != want {
			t.Errorf("%s: proof %v, want %v; %v", data, step.Proof, want, err)
		}
	}
}

// TestFrame compares the fast path for chunks in a known frame with the slow path.
func TestFrame(t *testing.T) {
	t.Parallel()
	chunks := []string{
		`{"id":"1","choices":[{"index":0,"delta":{"content":"a"}}],"obfuscation":"xyz"}`,
		`{"id":"1","choices":[{"index":0,"delta":{"content":"b\"c"}}],"obfuscation":""}`,
		`{"id":"1","choices":[{"index":0,"delta":{"content":"d"}}],"obfuscation":"x"}`,
		`{"id":"1","choices":[{"index":0,"delta":{"content":"e"},"finish_reason":"stop"}],"obfuscation":"x"}`,
		`{"id":"2","choices":[{"index":0,"delta":{"content":"f"}}]}`,
		`{"id":"2","choices":[{"index":0,"delta":{"content":""}}]}`,
		`{"id":"2","choices":[{"index":0,"delta":{"content":"g"}}]}`,
		`{"id":"2","choices":[{"index":0,"delta":{"content":"h"}}],"usage":{"prompt_tokens":1}}`,
		`{"id":"2","choices":[{"index":0,"delta":{"content":"","x":"i"}}]}`,
		`{"id":"2","choices":[{"index":0,"delta":{"content":"j"},"finish_reason":"","a":"k"}]}`,
		`{"id":"2","choices":[{"index":0,"delta":{"reasoning":"l"}}]}`,
		`{"id":"2","choices":[{"index":0,"delta":{"reasoning":"m"}}]}`,
		`{"id":"2","choices":[{"index":0,"delta":{"reasoning":"m"}}],"obfuscation":"x"} `,
	}
	fast, slow := NewReader("", false), NewReader("", false).(*reader)
	matched := 0
	for _, c := range chunks {
		if _, _, ok := fast.(*reader).frame.match([]byte(c)); ok {
			matched++
		}
		a, errA := fast.Event(nil, []byte(c))
		slow.frame.kind = 0
		b, errB := slow.Event(nil, []byte(c))
		if fmt.Sprint(errA) != fmt.Sprint(errB) || a.Proof != b.Proof || len(a.Deltas) != len(b.Deltas) {
			t.Fatalf("%s: %v %v, want %v %v", c, a, errA, b, errB)
		}
		for i := range a.Deltas {
			if show(&a.Deltas[i]) != show(&b.Deltas[i]) {
				t.Errorf("%s: %s, want %s", c, show(&a.Deltas[i]), show(&b.Deltas[i]))
			}
		}
	}
	if matched != 5 {
		t.Errorf("%d chunks went the short way", matched)
	}
}
