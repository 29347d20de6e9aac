package chat

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// seeds adds the inputs of the golden files to the seed corpus.
func seeds(f *testing.F, folder string, add func(in []byte)) {
	f.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.txt"))
	if err != nil || len(paths) == 0 {
		f.Fatalf("no golden files: %v", err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		_, in, _ := bytes.Cut(raw, []byte("-- in --\n"))
		in, _, _ = bytes.Cut(in, []byte("\n-- "))
		add(in)
	}
}

// promises checks the order of deltas that package hub documents.
type promises struct {
	t         *testing.T
	ids       map[string]bool
	arguments []int
	ended     bool
}

func (p *promises) check(deltas []hub.Delta) {
	p.t.Helper()
	for i := range deltas {
		d := &deltas[i]
		if p.ended {
			p.t.Fatalf("%s after the end", show(d))
		}
		switch d.Kind {
		case hub.DeltaCall:
			if d.Call != len(p.arguments) || d.Name == "" || !wire.LegalID(d.ID) || p.ids[d.ID] {
				p.t.Fatalf("call %d of %d: %s", d.Call, len(p.arguments), show(d))
			}
			p.ids[d.ID] = true
			p.arguments = append(p.arguments, 0)
		case hub.DeltaArguments:
			if d.Call >= len(p.arguments) {
				p.t.Fatalf("%s before its call", show(d))
			}
			p.arguments[d.Call]++
		case hub.DeltaState:
			if d.State.Form == "" || d.State.Data == "" || len(d.State.Data) > 2*maxState {
				p.t.Fatalf("state %+v", d.State)
			}
		case hub.DeltaEnd:
			p.ended = true
			for call, n := range p.arguments {
				if n == 0 {
					p.t.Fatalf("call %d has no arguments", call)
				}
			}
		case hub.DeltaText, hub.DeltaReasoning, hub.DeltaRefusal:
		default:
			p.t.Fatalf("kind %d", d.Kind)
		}
		if text := d.Kind != hub.DeltaCall && d.Kind != hub.DeltaState && d.Kind != hub.DeltaEnd; text != (len(d.Text) > 0) {
			p.t.Fatalf("text of %s", show(d))
		}
		if quoted := `"` + string(d.Text) + `"`; !json.Valid([]byte(quoted)) {
			p.t.Fatalf("no inside of a JSON string: %q", d.Text)
		}
		if d.Logprobs != nil && !json.Valid(d.Logprobs) {
			p.t.Fatalf("logprobs %s", d.Logprobs)
		}
	}
}

var forms = [...]hub.Form{"", hub.FormThought, hub.FormDetails}

// FuzzReader reads any lines as the events of a stream and as a whole answer, and writes the result.
func FuzzReader(f *testing.F) {
	seeds(f, "stream", func(in []byte) {
		for options := range byte(6) {
			f.Add(in, options)
		}
	})
	f.Fuzz(func(t *testing.T, in []byte, options byte) {
		state, tags := forms[options%3], options&4 != 0
		request := &hub.Request{Model: "m", IncludeUsage: true, Tools: []hub.Tool{{Name: "patch", ClientName: "patch", Kind: hub.ToolCustom}}}
		request.Answer = hub.Answer{Reasoning: true, Logprobs: true}
		r, w := NewReader(state, tags), Format{}.NewWriter(request, hub.Reply{})
		p := &promises{t: t, ids: make(map[string]bool)}
		take := func(step hub.Step, err error) bool {
			if err != nil && (len(step.Deltas) > 0 || step.Done || step.Proof) {
				t.Fatalf("%+v beside %v", step, err)
			}
			p.check(step.Deltas)
			if len(step.Deltas) > 0 {
				for event := range bytes.SplitSeq(bytes.TrimSuffix(w.Stream(nil, step.Deltas), []byte("\n\n")), []byte("\n\n")) {
					if data := bytes.TrimPrefix(event, []byte("data: ")); len(event) > 0 && string(data) != "[DONE]" && !json.Valid(data) {
						t.Fatalf("wrote %s", event)
					}
				}
			}
			return err == nil && !step.Done
		}
		more := true
		for line := range bytes.SplitSeq(in, []byte("\n")) {
			if more = more && take(r.Event(nil, line)); !more {
				break
			}
		}
		if more {
			take(r.End())
		}
		deltas, err := NewReader(state, tags).Whole(in)
		if err != nil {
			return
		}
		whole := &promises{t: t, ids: make(map[string]bool)}
		if whole.check(deltas); !whole.ended {
			t.Fatal("a whole answer has no end")
		}
		if body, err := (Format{}).NewWriter(request, hub.Reply{}).Whole(deltas); err != nil || !json.Valid(body) {
			t.Fatalf("%v: %s", err, body)
		}
	})
}

// FuzzRead reads any request and writes it for every kind of provider. The request for a provider without changes is
// read again and compared.
func FuzzRead(f *testing.F) {
	seeds(f, "request", func(in []byte) { f.Add(in) })
	f.Add(largeRequest()[:2000])
	targets := []*hub.Target{
		target("openai", nil), target("gemini", nil), target("mistral", nil), target("deepseek", nil),
		target("openrouter", nil), target("perplexity", plain),
	}
	same := target("openai", nil)
	same.Provider.Shape.CallsAnswered = false
	same.Drop = nil
	same.Model.MaxOutput = 0
	same.Model.ReasoningEfforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := Format{}.Read(in, hub.ReadOptions{})
		if err != nil {
			if e, ok := apierror.From(err); !ok || e.Status != 400 || e.Code == "" {
				t.Fatalf("error %v", err)
			}
			return
		}
		for _, dst := range targets {
			written, err := Format{}.Write(r, dst)
			if err == nil && wire.CheckObject(written.Body) != nil {
				t.Fatalf("%s: %v: %s", dst.Provider.Code, wire.CheckObject(written.Body), written.Body)
			}
		}
		written, err := Format{}.Write(r, same)
		if err != nil {
			return // nothing is left to write
		}
		got, err := Format{}.Read(written.Body, hub.ReadOptions{})
		if err != nil {
			t.Fatalf("%v: %s", err, written.Body)
		}
		compare(t, r, got)
	})
}

// compare compares a request with the request that was read from a provider's form of it.
func compare(t *testing.T, r, got *hub.Request) {
	t.Helper()
	if !reflect.DeepEqual(essence(r), essence(got)) {
		t.Fatalf("%+v\ncame back as\n%+v", essence(r), essence(got))
	}
	if len(r.Tools) != len(got.Tools) || r.Choice != got.Choice || r.MaxTokens != got.MaxTokens || r.Effort != got.Effort || r.Stream != got.Stream {
		t.Fatalf("%+v\ncame back as\n%+v", r, got)
	}
}

// essence returns a conversation in a form that survives writing and reading: the texts of an assistant message, or of
// a result, are joined.
func essence(r *hub.Request) []hub.Message {
	w := &body{request: r}
	out := make([]hub.Message, 0, len(r.Messages))
	for _, m := range r.Messages {
		if w.isEmpty(&m) {
			continue
		}
		m.Reasoning = nil
		m.Extra = nil
		parts := make([]hub.Part, 0, len(m.Parts))
		for _, p := range m.Parts {
			p.Cache = ""
			if p.Kind == hub.PartRefusal {
				p.Kind = hub.PartText
			}
			if joint := "\n"; isText(&p) && len(parts) > 0 && isText(&parts[len(parts)-1]) && (m.Role == hub.Assistant || m.Role == hub.ToolResult) {
				if m.Role == hub.Assistant {
					joint = ""
				}
				parts[len(parts)-1].Text += joint + p.Text
				continue
			}
			parts = append(parts, p)
		}
		m.Parts = parts
		m.Calls = append([]hub.Call(nil), m.Calls...)
		for i := range m.Calls {
			m.Calls[i].Extra = nil
		}
		out = append(out, m)
	}
	return out
}

// FuzzSchema computes the supported subset of any schema.
func FuzzSchema(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"items":[true,{"$ref":"#"}]}}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		if wire.CheckObject(in) != nil {
			return
		}
		work := 0
		out, err := appendSubset(nil, string(in), &work)
		if err == nil && !json.Valid(out) {
			t.Fatalf("%s became %s", in, out)
		}
	})
}
