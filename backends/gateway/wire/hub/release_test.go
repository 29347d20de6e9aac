package hub

import (
	"reflect"
	"strings"
	"testing"
)

// TestReleaseBody checks that only the parts of a request needed for its answer, and its number of tokens, are kept. If
// these parts are large, nothing is released.
func TestReleaseBody(t *testing.T) {
	t.Parallel()
	newRequest := func(instructions string) *Request {
		return &Request{
			Format: Responses, Body: []byte("{}"), Model: "m", Stream: true, IncludeUsage: true, Stop: []string{"end"},
			Messages: []Message{{Role: User, Parts: []Part{{Kind: PartText, Text: strings.Repeat("word ", 100)}}}},
			Tools:    []Tool{{Name: "a_b", ClientName: "b", Namespace: "a", Kind: ToolCustom, Description: "what it does", Parameters: "{}"}},
			Params:   []Param{{"user", "\"u\""}}, Dropped: []string{"x"}, Output: &Output{Schema: "{}"},
			Answer: Answer{Reasoning: true, State: true, Echo: []Param{{"instructions", instructions}}},
		}
	}
	r, before := newRequest("be brief"), newRequest("be brief")
	if !r.ReleaseBody() {
		t.Fatal("it keeps all")
	}
	if r.Messages != nil || r.Body != nil || r.Params != nil || r.Output != nil || r.Tools[0].Parameters != "" {
		t.Errorf("%+v is kept", r)
	}
	tool := r.Tool("a_b")
	if r.Format != Responses || r.Model != "m" || !r.Stream || !r.IncludeUsage || !reflect.DeepEqual(r.Stop, before.Stop) || !reflect.DeepEqual(r.Answer, before.Answer) ||
		tool.ClientName != "b" || tool.Namespace != "a" || tool.Kind != ToolCustom || r.Tool("other").ClientName != "other" {
		t.Errorf("%+v is left", r)
	}
	if got, want := CountTokens(r), CountTokens(before); got != want {
		t.Errorf("%d tokens, were %d", got, want)
	}
	if !r.ReleaseBody() || CountTokens(r) != CountTokens(before) {
		t.Error("a second release changes the number of tokens")
	}
	large, same := newRequest(strings.Repeat("x", maxRetained)), newRequest(strings.Repeat("x", maxRetained))
	if large.ReleaseBody() || !reflect.DeepEqual(large, same) {
		t.Error("a request with a large answer part was released")
	}
}
