package chat

import (
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

const askWeather = `{"model":"m","messages":[{"role":"user","content":"x"},`

// TestIllegalIDs checks that an id which only one provider accepts is replaced by one that all accept, in the call and
// in its result.
func TestIllegalIDs(t *testing.T) {
	t.Parallel()
	r, err := Format{}.Read([]byte(askWeather+`{"role":"assistant","tool_calls":[{"id":"functions.weather:0","type":"function","function":{"name":"weather","arguments":"{}"}},{"id":"b-1_","type":"function","function":{"name":"weather","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"b-1_","content":"r"},{"role":"tool","tool_call_id":"functions.weather:0","content":"r"}]}`), hub.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{hub.LegalName("functions.weather:0"), "b-1_"}
	calls := r.Messages[1].Calls
	for i, id := range want {
		if !wire.LegalID(id) || calls[i].ID != id || r.Messages[2+i].CallID != id {
			t.Errorf("call %d has the id %q, its result %q, want %q", i, calls[i].ID, r.Messages[2+i].CallID, id)
		}
	}
}

// TestResultWithoutCall checks that the error for a result without a call has the id that the client sent.
func TestResultWithoutCall(t *testing.T) {
	t.Parallel()
	_, err := Format{}.Read([]byte(askWeather+`{"role":"tool","tool_call_id":"functions.weather:0","content":"r"}]}`), hub.ReadOptions{})
	if e, ok := apierror.From(err); !ok || e.Status != 400 || !strings.Contains(e.Message, "functions.weather:0") || e.Param != "messages[1].tool_call_id" {
		t.Errorf("error %v", err)
	}
}

// TestMissingResults checks that a call without a result gets one only for providers that require it.
func TestMissingResults(t *testing.T) {
	t.Parallel()
	const calls = `{"role":"assistant","tool_calls":[{"id":"t1aaaaaaa","type":"function","function":{"name":"w","arguments":"{}"}},{"id":"t2aaaaaaa","type":"function","function":{"name":"w","arguments":"{}"}}]},`
	const result = `{"role":"tool","tool_call_id":"t1aaaaaaa","content":"r1"}`
	const goesOn = `,{"role":"user","content":"go on"}`
	for _, c := range []struct {
		name, messages, provider, roles, contents string
	}{
		{"a result is missing", calls + result + goesOn, "openai", "user assistant tool tool user", "r1 [no result]"},
		{"a result is missing", calls + result + goesOn, "groq", "user assistant tool tool user", "r1 [no result]"},
		{"a result is missing", calls + result + goesOn, "gemini", "user assistant tool tool user", "r1 [no result]"},
		{"a result is missing", calls + result + goesOn, "deepseek", "user assistant tool tool user", "r1 [no result]"},
		{"a result is missing", calls + result + goesOn, "openrouter", "user assistant tool tool user", "r1 [no result]"},
		{"a result is missing", calls + result + goesOn, "mistral", "user assistant tool tool user", "r1 [no result]"},
		{"gaps are taken", calls + result + goesOn, "cerebras", "user assistant tool user", "r1"},
		{"all are missing", calls + `{"role":"user","content":"go on"}`, "openai", "user assistant tool tool user", "[no result] [no result]"},
		{"at the end", calls + result, "openai", "user assistant tool tool", "r1 [no result]"},
		{"nothing has come yet", strings.TrimSuffix(calls, ","), "openai", "user assistant", ""},
	} {
		t.Run(c.name+" "+c.provider, func(t *testing.T) {
			t.Parallel()
			r, err := Format{}.Read([]byte(askWeather+c.messages+`]}`), hub.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			before := clone(r)
			var roles, contents []string
			for _, m := range write(t, r, target(c.provider, nil)).Get("messages").Array() {
				roles = append(roles, m.Get("role").Str)
				if m.Get("role").Str == "tool" {
					contents = append(contents, m.Get("content").Str)
				}
			}
			if got := strings.Join(roles, " "); got != c.roles || strings.Join(contents, " ") != c.contents {
				t.Errorf("%s with %q, want %s with %s", got, contents, c.roles, c.contents)
			}
			if len(before.Messages) != len(r.Messages) {
				t.Error("the request was changed")
			}
		})
	}
}

// TestCutStopList checks that a shortened list of stop sequences is reported by the client's name of the member.
func TestCutStopList(t *testing.T) {
	t.Parallel()
	for format, name := range map[hub.Format]string{hub.Messages: "stop_sequences", hub.Chat: "stop"} {
		for _, drop := range [][]string{nil, {"stop"}} {
			r := &hub.Request{Format: format, Messages: []hub.Message{user("a")}, Stop: []string{"a", "b", "c", "d", "e"}}
			dst := target("groq", nil)
			dst.Drop = slices.Concat(dst.Drop, drop)
			written, err := Format{}.Write(r, dst)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(written.Dropped, []string{name}) {
				t.Errorf("%s, drop %v: dropped %v", format, drop, written.Dropped)
			}
		}
	}
}
