package messages

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// editOpen opens tokens of the form kcs1.<name>: fit, redacted and item belong to the target, other does not.
func editOpen(token string) (hub.State, bool) {
	switch token {
	case "kcs1.fit":
		return *upstreamState(hub.FormSignature, `na"tive`), true
	case "kcs1.redacted":
		return *upstreamState(hub.FormRedacted, "hidden"), true
	case "kcs1.item":
		return *upstreamState(hub.FormItem, "{}"), true
	case "kcs1.other":
		return hub.State{Provider: "gemini", Family: "g", Form: hub.FormThought, Data: "x"}, true
	}
	return hub.State{}, false
}

func TestEdit(t *testing.T) {
	t.Parallel()
	thinking := func(signature string) string {
		return `{"type":"thinking", "signature":"` + signature + `","thinking":"Hm"}`
	}
	const call = `{"type":"tool_use","id":"a","name":"f","input":{}}`
	for _, c := range []struct {
		name, body, want, dropped string
		target                    func(*hub.Target)
	}{
		{name: "the model and the limit", body: ` { "max_tokens" : 9, "model":"asked" , "x" : [ 1 ]} `, want: ` { "max_tokens" : 64000, "model":"claude-x" , "x" : [ 1 ]} `},
		{name: "limit", body: `{"max_tokens":100000,"model":"asked"}`, want: `{"max_tokens":64000,"model":"claude-x"}`},
		{
			name: "what only chat drops stays, what was refused goes", body: `{"top_k": 5 , "model":"a","metadata":{"user_id":"u"},"service_tier":"auto","temperature":1}`,
			want: `{"model":"claude-x","metadata":{"user_id":"u"},"service_tier":"auto"}`, dropped: "top_k,temperature",
			target: func(t *hub.Target) { t.Drop = append(t.Drop, "top_k", "temperature", "model") },
		},
		{
			name: "the first ones go", body: `{"top_k":5, "te\u006dperature":1, "model":"a"}`, want: `{"model":"claude-x"}`, dropped: "top_k,temperature",
			target: func(t *hub.Target) { t.Drop = append(t.Drop, "top_k", "temperature") },
		},
		{
			name: "what was refused goes by its own name", body: `{"model":"a","output_config":{"effort":"high" , "format":{"type":"json_schema"}},"tool_choice":{"type":"auto","disable_parallel_tool_use":true},"stop_sequences":["x"],"thinking":{"type":"adaptive"}}`,
			want: `{"model":"claude-x","output_config":{"format":{"type":"json_schema"}},"tool_choice":{"type":"auto"},"thinking":{"type":"adaptive"}}`, dropped: "output_config.effort,tool_choice.disable_parallel_tool_use,stop_sequences",
			target: func(t *hub.Target) { t.Drop = append(t.Drop, "reasoning_effort", "parallel_tool_calls", "stop") },
		},
		{
			name: "what the shape drops is chat's", body: `{"model":"a","output_config":{"effort":"high"},"metadata":{"user_id":"u"}}`,
			want: `{"model":"claude-x","output_config":{"effort":"high"},"metadata":{"user_id":"u"}}`,
			target: func(t *hub.Target) {
				t.Provider.Shape.Drop = []string{"reasoning_effort", "metadata"}
				t.Drop = t.Provider.Shape.Drop
			},
		},
		{
			name: "token restored", body: `{"model":"a","messages":[{"role":"assistant","content":[` + thinking("kcs1.fit") + `,` + call + `]}],"thinking":{"type":"enabled","budget_tokens":1024}}`,
			want: `{"model":"claude-x","messages":[{"role":"assistant","content":[` + thinking(`na\"tive`) + `,` + call + `]}],"thinking":{"type":"enabled","budget_tokens":1024}}`,
		},
		{
			name: "redacted restored", body: `{"model":"a","messages":[{"content":[{"data":"kcs1.redacted","type":"redacted_thinking"}, {"type":"text","text":"kcs1.fit"}],"role":"assistant"}]}`,
			want: `{"model":"claude-x","messages":[{"content":[{"data":"hidden","type":"redacted_thinking"}, {"type":"text","text":"kcs1.fit"}],"role":"assistant"}]}`,
		},
		{
			name: "tokens that do not fit go", body: `{"model":"a","messages":[{"role":"assistant","content":[` + thinking("kcs1.other") + `, ` + thinking("kcs1.broken") + ` ,{"type":"text","text":"t"}, ` + thinking("kcs1.item") + `]}]}`,
			want: `{"model":"claude-x","messages":[{"role":"assistant","content":[{"type":"text","text":"t"}]}]}`,
		},
		{
			name: "foreign stays", body: `{"model":"a","messages":[{"role":"assistant","content":[` + thinking("EqQB") + `,` + thinking("") + `]}]}`,
			want: `{"model":"claude-x","messages":[{"role":"assistant","content":[` + thinking("EqQB") + `,` + thinking("") + `]}]}`,
		},
		{
			name: "a message of nothing else goes", body: `{"model":"a","messages":[{"role":"user","content":"a"}, {"role":"assistant","content":[` + thinking("kcs1.fit") + `,` + thinking("kcs1.other") + `]}, {"role":"assistant","content":[` + thinking("kcs1.other") + `]},{"role":"user","content":[]}]}`,
			want: `{"model":"claude-x","messages":[{"role":"user","content":"a"}, {"role":"assistant","content":[` + thinking(`na\"tive`) + `]},{"role":"user","content":[]}]}`,
		},
		{
			name: "thinking off", body: `{"thinking":{"type":"adaptive"},"context_management":{"edits":[]},"model":"a","messages":[{"role":"assistant","content":[` + thinking("kcs1.other") + `,` + call + `]}]}`,
			want: `{"thinking":{"type":"disabled"},"model":"claude-x","messages":[{"role":"assistant","content":[` + call + `]}]}`, dropped: "context_management",
		},
		{
			name: "thinking by a budget off", body: `{"thinking":{"type":"enabled","budget_tokens":2000},"model":"a","messages":[{"role":"assistant","content":[` + call + `]}]}`,
			want: `{"thinking":{"type":"disabled"},"model":"claude-x","messages":[{"role":"assistant","content":[` + call + `]}]}`,
		},
		{
			name: "adaptive thinking that skipped a turn", body: `{"thinking":{"type":"adaptive"},"model":"a","messages":[{"role":"assistant","content":[` + call + `]}]}`,
			want: `{"thinking":{"type":"adaptive"},"model":"claude-x","messages":[{"role":"assistant","content":[` + call + `]}]}`,
		},
		{
			name: "only the last turn counts", body: `{"thinking":{"type":"adaptive"},"model":"a","messages":[{"role":"assistant","content":[` + thinking("kcs1.other") + `,` + call + `]},{"role":"assistant","content":"done"}]}`,
			want: `{"thinking":{"type":"adaptive"},"model":"claude-x","messages":[{"role":"assistant","content":[` + call + `]},{"role":"assistant","content":"done"}]}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			target := upstreamTarget()
			if c.target != nil {
				c.target(target)
			}
			got, err := Format{}.Edit(&hub.Request{Body: []byte(c.body), MaxTokens: 100000}, target, editOpen)
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Body) != c.want {
				t.Errorf("got\n%s\nwant\n%s", got.Body, c.want)
			}
			if dropped := strings.Join(got.Dropped, ","); dropped != c.dropped {
				t.Errorf("dropped %s, want %s", dropped, c.dropped)
			}
		})
	}
}

func FuzzEdit(f *testing.F) {
	f.Add([]byte(`{"model":"a","max_tokens":10,"top_k":4,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"kcs1.fit"},{"type":"redacted_thinking","data":"kcs1.other"},{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Format{}.Read(body, hub.ReadOptions{Version: "2023-06-01", Open: editOpen})
		if err != nil {
			return
		}
		target := upstreamTarget()
		target.Drop = append(target.Drop, "top_k", "temperature")
		got, err := Format{}.Edit(r, target, editOpen)
		if err != nil || !json.Valid(got.Body) {
			t.Fatalf("error %v: %s", err, got.Body)
		}
	})
}

func BenchmarkEdit75KB(b *testing.B) {
	b.ReportAllocs()
	written, err := Format{}.Write(upstreamLarge(), upstreamTarget())
	if err != nil {
		b.Fatal(err)
	}
	r, t := &hub.Request{Body: written.Body}, upstreamTarget()
	b.SetBytes(int64(len(r.Body)))
	for b.Loop() {
		if _, err := (Format{}).Edit(r, t, editOpen); err != nil {
			b.Fatal(err)
		}
	}
}
