package native

import (
	"fmt"
	"strings"
	"testing"
)

func TestCallTraits(t *testing.T) {
	t.Parallel()
	const (
		user  = `{"role":"user","content":"go on"}`
		calls = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b"}]}`
		dup   = `{"tool_calls":[{"id":"a"},{"id":"a"}],"role":"assistant"}`
	)
	result := func(id string) string { return `{"role":"tool","content":"r","tool_call_id":"` + id + `"}` }
	many := make([]string, maxOpenCalls+1)
	for i := range many {
		many[i] = fmt.Sprintf(`{"id":"c%d"}`, i)
	}
	for _, c := range []struct {
		name     string
		messages []string
		want     Traits
	}{
		{"in order", []string{user, calls, result("a"), result("b"), user}, 0},
		{"as they were ready", []string{user, calls, result("b"), result("a"), user}, 0},
		{"two turns with the same ids", []string{user, calls, result("a"), result("b"), calls, result("b"), result("a")}, 0},
		{"one id twice", []string{user, dup, result("a"), result("a"), user}, 0},
		{"not answered yet", []string{user, calls}, 0},
		{"a gap", []string{user, calls, result("a"), user}, TraitGaps},
		{"none answered", []string{user, calls, user}, TraitGaps},
		{"a gap at the end", []string{user, calls, result("b")}, TraitGaps},
		{"a gap before a turn with calls", []string{user, calls, result("a"), calls, result("a"), result("b")}, TraitGaps},
		{"an orphan", []string{user, result("x")}, TraitStray},
		{"another id", []string{user, calls, result("a"), result("x")}, TraitStray},
		{"twice", []string{user, calls, result("a"), result("b"), result("b")}, TraitStray},
		{"without id", []string{user, calls, `{"role":"tool","content":"r"}`}, TraitStray},
		{"late", []string{user, calls, user, result("a"), result("b")}, TraitGaps | TraitStray},
		{"behind a system message", []string{user, calls, `{"role":"system","content":"s"}`, result("a")}, TraitGaps | TraitStray},
		{"another spelling", []string{user, calls, result(`\u0061`), result("b")}, TraitStray},
		{"more than are looked at", []string{user, `{"role":"assistant","tool_calls":[` + strings.Join(many, ",") + `]}`}, TraitStray},
		{"odd types", []string{user, `{"role":"assistant","tool_calls":[1,{"id":2}]}`, user}, TraitGaps},
		{"calls of the user", []string{`{"role":"user","content":"x","tool_calls":null,"tool_call_id":"a"}`}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := Parse([]byte(`{"model":"m","messages":[` + strings.Join(c.messages, ",") + `]}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Traits & (TraitGaps | TraitStray); got != c.want {
				t.Errorf("traits %b, want %b", got, c.want)
			}
		})
	}
}
