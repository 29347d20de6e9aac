package responses

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

const editNative = `{"type":"reasoning","id":"rs_n","summary":[],"encrypted_content":"gA"}`

// editOpen opens tokens of the form kcs1.<name>: fit belongs to the target.
func editOpen(token string) (hub.State, bool) {
	switch token {
	case "kcs1.fit":
		return *upstreamState(hub.FormItem, editNative), true
	case "kcs1.signature":
		return *upstreamState(hub.FormSignature, "s"), true
	case "kcs1.other":
		return hub.State{Provider: "gemini", Family: "g", Form: hub.FormItem, Data: "{}"}, true
	}
	return hub.State{}, false
}

func TestEdit(t *testing.T) {
	t.Parallel()
	item := func(encrypted string) string {
		return `{"type":"reasoning", "summary":[],"encrypted_content":"` + encrypted + `"}`
	}
	const message = `{"role":"user","content":"encrypted_content"}`
	for _, c := range []struct {
		name, body, want, dropped string
		target                    func(*hub.Target)
	}{
		{name: "model and limit", body: ` { "max_output_tokens" : 9999, "model":"asked" , "x" : [ 1 ], "store" : false} `, want: ` { "max_output_tokens" : 1000, "model":"gpt-x" , "x" : [ 1 ], "store" : false} `},
		{
			name: "refused verbosity", body: `{"text": {"verbosity" : "low", "format":{"type":"text"}},"model":"a","store":false}`,
			want: `{"text": {"format":{"type":"text"}},"model":"gpt-x","store":false}`, dropped: "text.verbosity",
			target: func(t *hub.Target) { t.Drop = []string{"verbosity"} },
		},
		{
			name: "nothing but a refused verbosity", body: `{"model":"a","store":false,"text":{"verbosity":"low"}}`,
			want: `{"model":"gpt-x","store":false,"text":{}}`, dropped: "text.verbosity",
			target: func(t *hub.Target) { t.Drop = []string{"verbosity"} },
		},
		{name: "never stored", body: `{"store":true,"model":"a"}`, want: `{"store":false,"model":"gpt-x"}`},
		{name: "stored by default", body: `{"input":"x","model":"a" }`, want: `{"input":"x","model":"gpt-x","store":false }`},
		{
			name: "refused ones go", body: `{"temperature":1,"model":"a","reasoning":{"effort":"low"}, "top_p":1}`, want: `{"model":"gpt-x","store":false}`, dropped: "temperature,reasoning,top_p",
			target: func(t *hub.Target) { t.Drop = []string{"temperature", "reasoning_effort", "top_p", "store", "model"} },
		},
		{name: "token restored", body: `{"model":"a","store":false,"input":[` + message + `,` + item("kcs1.fit") + `]}`, want: `{"model":"gpt-x","store":false,"input":[` + message + `,` + editNative + `]}`},
		{
			name: "what does not fit goes", body: `{"model":"a","store":false,"input":[` + item("kcs1.other") + `, ` + item("kcs1.signature") + `,` + message + ` , ` + item("kcs1.broken") + `,` + item("") + `,{"type":"reasoning","summary":[]}, ` + message + `]}`,
			want: `{"model":"gpt-x","store":false,"input":[` + message + `, ` + message + `]}`,
		},
		{name: "foreign stays", body: `{"model":"a","store":false,"input":[` + item("gAAAA") + `]}`, want: `{"model":"gpt-x","store":false,"input":[` + item("gAAAA") + `]}`},
		{name: "hosted tools stay", body: `{"model":"a","store":false,"tools":[{"type":"web_search"},{"type":"function","name":"f"}]}`, want: `{"model":"gpt-x","store":false,"tools":[{"type":"web_search"},{"type":"function","name":"f"}]}`},
		{
			name: "hosted tools go", body: `{"model":"a","store":false,"tools":[{"type":"web_search"}, {"type":"function","name":"f"}]}`, want: `{"model":"gpt-x","store":false,"tools":[{"type":"function","name":"f"}]}`,
			target: func(t *hub.Target) { t.Provider.NativeTools = false },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			target := upstreamTarget()
			if c.target != nil {
				c.target(target)
			}
			got, err := Format{}.Edit(&hub.Request{Body: []byte(c.body), MaxTokens: 9999}, target, editOpen)
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
	f.Add([]byte(`{"temperature":1,"model":"a","max_output_tokens":99999,"input":[{"role":"user","content":"a"},{"type":"reasoning","summary":[],"encrypted_content":"kcs1.fit"},{"type":"reasoning","summary":[],"encrypted_content":"kcs1.other"},{"type":"function_call","call_id":"b","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"b","output":"y"}],"tools":[{"type":"web_search"},{"type":"function","name":"f"}],"store":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Format{}.Read(body, hub.ReadOptions{Open: editOpen})
		if err != nil {
			return
		}
		target := upstreamTarget()
		target.Provider.NativeTools = false
		target.Drop = []string{"top_p", "temperature"}
		got, err := Format{}.Edit(r, target, editOpen)
		if err != nil || !json.Valid(got.Body) {
			t.Fatalf("error %v: %s", err, got.Body)
		}
		if store := gjson.GetBytes(got.Body, "store"); store.Raw != "false" {
			t.Fatalf("store is %s", store.Raw)
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
