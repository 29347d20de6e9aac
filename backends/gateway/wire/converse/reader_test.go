package converse

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// dump returns deltas as text, one per line.
func dump(deltas []hub.Delta) string {
	var b strings.Builder
	for _, d := range deltas {
		switch d.Kind {
		case hub.DeltaText:
			fmt.Fprintf(&b, "text %s\n", d.Text)
		case hub.DeltaReasoning:
			fmt.Fprintf(&b, "reasoning %s\n", d.Text)
		case hub.DeltaCall:
			fmt.Fprintf(&b, "call %d %s %s\n", d.Call, d.ID, d.Name)
		case hub.DeltaArguments:
			fmt.Fprintf(&b, "arguments %d %s\n", d.Call, d.Text)
		case hub.DeltaState:
			fmt.Fprintf(&b, "state %s %s\n", d.State.Form, d.State.Data)
		case hub.DeltaEnd:
			u := d.End.Usage
			fmt.Fprintf(&b, "end %d prompt %d completion %d read %d written %d hour %d known %v %v\n", d.End.Finish, u.Prompt, u.Completion, u.CacheRead, u.CacheWrite, u.CacheWriteHour, u.Known, u.Served)
		case hub.DeltaRefusal:
			fmt.Fprintf(&b, "refusal %s\n", d.Text)
		}
	}
	return b.String()
}

const usage = `{"inputTokens":10,"outputTokens":5,"totalTokens":15,"cacheReadInputTokens":3,"cacheWriteInputTokens":4,"cacheDetails":[{"ttl":"1h","inputTokens":4}]}`

// same has the deltas of an answer with all kinds of blocks. They are the same for the whole answer and for its stream.
const same = "reasoning I \\\"think\\\"\nstate signature sig\nstate redacted cmVk\ntext Hello\ncall 0 tooluse_1 weather\narguments 0 {\\\"city\\\":\\\"Rome\\\"}\n" +
	"call 1 tooluse_2 now\narguments 1 {}\nend 2 prompt 17 completion 5 read 3 written 4 hour 4 known true priority\n"

func TestWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"all kinds": {`{"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"I \"think\"","signature":"sig"}}},
			{"reasoningContent":{"redactedContent":"cmVk"}},{"text":"Hello"},{"toolUse":{"toolUseId":"tooluse_1","name":"weather","input":{"city":"Rome"}}},
			{"toolUse":{"toolUseId":"tooluse_2","name":"now"}},{"unknown":{}}]}},"stopReason":"tool_use","usage":` + usage + `,"serviceTier":{"type":"priority"}}`, same},
		"length":   {`{"output":{"message":{"content":[{"text":"a"}]}},"stopReason":"max_tokens"}`, "text a\nend 3 prompt 0 completion 0 read 0 written 0 hour 0 known false as usual\n"},
		"window":   {`{"output":{"message":{"content":[]}},"stopReason":"model_context_window_exceeded"}`, "end 4 prompt 0 completion 0 read 0 written 0 hour 0 known false as usual\n"},
		"filtered": {`{"output":{"message":{"content":[{"text":"no"}]}},"stopReason":"guardrail_intervened","usage":{"inputTokens":1,"outputTokens":2}}`, "text no\nend 5 prompt 1 completion 2 read 0 written 0 hour 0 known true as usual\n"},
	} {
		deltas, err := Format{}.NewReader(nil).Whole([]byte(c.body))
		if got := dump(deltas); err != nil || got != c.want {
			t.Errorf("%s: %v, got\n%swant\n%s", name, err, got, c.want)
		}
	}
	for body, want := range map[string]error{
		`{}`: wire.ErrNoChoices, `[]`: wire.ErrBroken, `{"output":`: wire.ErrBroken,
		`{"output":{"message":{"content":[{"toolUse":{"toolUseId":"a"}}]}},"stopReason":"tool_use"}`: wire.ErrBroken,
		`{"output":{"message":{"content":[]}}}`:                                                      wire.ErrNoChoices,
	} {
		if _, err := (Format{}).NewReader(nil).Whole([]byte(body)); !errors.Is(err, want) {
			t.Errorf("%s: %v", body, err)
		}
	}
	_, err := Format{}.NewReader(nil).Whole([]byte(`{"message":"The model is not ready."}`))
	if e, ok := errors.AsType[*wire.UpstreamError](err); !ok || e.Message != "The model is not ready." {
		t.Errorf("an error inside a good answer: %v", err)
	}
}

// stream has the events of the same answer, as alternating names and payloads.
var stream = []string{
	"messageStart", `{"role":"assistant","p":"abcd"}`,
	"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"I \"think\""}}}`,
	"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"sig"}}}`,
	"contentBlockStop", `{"contentBlockIndex":0}`,
	"contentBlockDelta", `{"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"cmVk"}}}`,
	"contentBlockStop", `{"contentBlockIndex":1}`,
	"contentBlockDelta", `{"contentBlockIndex":2,"delta":{"text":"Hello"}}`,
	"contentBlockStop", `{"contentBlockIndex":2}`,
	"contentBlockStart", `{"contentBlockIndex":3,"start":{"toolUse":{"toolUseId":"tooluse_1","name":"weather"}}}`,
	"contentBlockDelta", `{"contentBlockIndex":3,"delta":{"toolUse":{"input":"{\"city\":\"Rome\"}"}}}`,
	"contentBlockStop", `{"contentBlockIndex":3}`,
	"contentBlockStart", `{"contentBlockIndex":4,"start":{"toolUse":{"toolUseId":"tooluse_2","name":"now"}}}`,
	"contentBlockStop", `{"contentBlockIndex":4}`,
	"messageStop", `{"stopReason":"tool_use"}`,
	"metadata", `{"usage":` + usage + `,"metrics":{"latencyMs":1},"serviceTier":{"type":"priority"}}`,
}

func TestStream(t *testing.T) {
	t.Parallel()
	r := Format{}.NewReader(nil)
	var got strings.Builder
	for i := 0; i < len(stream); i += 2 {
		step, err := r.Event([]byte(stream[i]), []byte(stream[i+1]))
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString(dump(step.Deltas))
		if thinks := strings.Contains(stream[i+1], "reasoningContent"); step.Thinks != thinks || step.Done != (stream[i] == "metadata") ||
			step.Proof != (len(step.Deltas) > 0 || stream[i] == "messageStop") {
			t.Errorf("%s is %+v", stream[i], step)
		}
	}
	if got.String() != same || r.Usage().Prompt != 17 {
		t.Errorf("got\n%swant\n%s", got.String(), same)
	}
	if step, err := r.End(); err != nil || !step.Done || len(step.Deltas) > 0 {
		t.Errorf("after the end: %+v, %v", step, err)
	}
}

// TestStreamBreaks checks streams that end early.
func TestStreamBreaks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events []string
		want   string
		err    error
	}{
		"before its stop":   {stream[:12], "", wire.ErrNoFinish},
		"before its usage":  {stream[:28], "end 2 prompt 0 completion 0 read 0 written 0 hour 0 known false as usual\n", nil},
		"metadata too soon": {[]string{"messageStart", `{}`, "metadata", `{"usage":{}}`}, "", wire.ErrNoFinish},
		"no JSON":           {[]string{"messageStart", `{"role":`}, "", wire.ErrBroken},
	} {
		r := Format{}.NewReader(nil)
		var err error
		for i := 0; i+1 < len(c.events) && err == nil; i += 2 {
			_, err = r.Event([]byte(c.events[i]), []byte(c.events[i+1]))
		}
		var step hub.Step
		if err == nil {
			step, err = r.End()
		}
		if got := dump(step.Deltas); !errors.Is(err, c.err) || got != c.want {
			t.Errorf("%s: %v, %s", name, err, got)
		}
	}
	for name, want := range map[string]string{
		"throttlingException": "rate_limit_error", "serviceUnavailableException": "overloaded_error", "modelStreamErrorException": "", "error": "",
	} {
		_, err := Format{}.NewReader(nil).Event([]byte(name), []byte(`{"message":"sorry"}`))
		if e, ok := errors.AsType[*wire.UpstreamError](err); !ok || e.Type != want || e.Code != name || e.Message != "sorry" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	for i := 0; i < len(stream); i += 2 {
		f.Add(stream[i], stream[i+1], stream[i], stream[i+1])
	}
	f.Fuzz(func(t *testing.T, name, data, name2, data2 string) {
		_, _ = Format{}.NewReader(nil).Whole([]byte(data))
		r := Format{}.NewReader(nil)
		ends := 0
		for _, e := range [][2]string{{name, data}, {name2, data2}, {"messageStop", `{"stopReason":"end_turn"}`}} {
			step, err := r.Event([]byte(e[0]), []byte(e[1]))
			if err != nil {
				return
			}
			ends += strings.Count(dump(step.Deltas), "\nend ")
		}
		step, _ := r.End()
		if ends += strings.Count("\n"+dump(step.Deltas), "\nend "); ends > 1 {
			t.Errorf("%d ends", ends)
		}
	})
}
