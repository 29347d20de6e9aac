package limits

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestTags checks that the operator's report shows the tags and the users that clients of the three APIs name in their
// requests, and that no provider receives the header.
func TestTags(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	leaked := make(chan string, 100)
	up.Answer = func(_ http.ResponseWriter, r *http.Request) bool {
		for name := range r.Header {
			if strings.Contains(strings.ToLower(name), "tags") {
				leaked <- name
			}
		}
		return false
	}
	g := e2e.NewGateway(t, "", "\ttollgate gateway\n", "\ttollgate gateway {\n\t\toperators {\n\t\t\tuser root\n\t\t}\n\t}\n")
	key := g.User("ada", up, "scripted")
	send := func(path, tags, body string, status int) (id string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.Base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("x-gateway-tags", tags)
		answer, err := e2e.Client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != status {
			t.Fatalf("%s answers %d", path, answer.StatusCode)
		}
		return answer.Header.Get("X-Request-Id")
	}
	const turn = `[{"role":"user","content":"Hi"}]`
	for _, id := range []string{
		send("/v1/chat/completions", "nightly, batch", `{"model":"keychain-high","messages":`+turn+`,"user":"customer-1"}`, 200),
		send("/v1/responses", "nightly", `{"model":"keychain-high","input":`+turn+`,"safety_identifier":"customer-2","metadata":{"tags":"web"}}`, 200),
		send("/v1/messages", "", `{"model":"keychain-high","max_tokens":50,"messages":`+turn+`,"metadata":{"user_id":"customer-1"}}`, 200),
	} {
		g.AwaitUsage(id)
	}
	send("/v1/chat/completions", strings.Repeat("x", 65), `{"model":"keychain-high","messages":`+turn+`}`, 400)
	select {
	case name := <-leaked:
		t.Errorf("a provider gets %s", name)
	default:
	}
	operator := e2e.NewDocumented(t, g.Base).As(strings.TrimSpace(g.Tool("keychain", "token", "root")))
	for group, want := range map[string]map[string]int64{
		"tag":      {"nightly": 2, "batch": 1, "web": 1},
		"end_user": {"customer-1": 2, "customer-2": 1},
		"user":     {"ada": 3},
	} {
		got := map[string]int64{}
		for _, line := range gjson.Get(operator.Call("GET", "/operator/spending?compare=true&by="+group, "", 200).Body, "data").Array() {
			name := line.Get(group).Str
			if group == "user" {
				name = line.Get("user_id").Str
			}
			got[name] = line.Get("requests").Int()
		}
		for name, n := range want {
			if got[name] != n || len(got) != len(want) {
				t.Errorf("by %s: %v, want %v", group, got, want)
			}
		}
	}
	if table := operator.Call("GET", "/operator/spending?by=tag&format=csv", "", 200).Body; !strings.Contains(table, ",nightly,") {
		t.Errorf("the table is %s", table)
	}
	if text := g.Tool("keychain", "teams", "report", "--by", "tag,model"); !strings.Contains(text, "nightly") || !strings.Contains(text, "USD/1M") {
		t.Errorf("the command says %s", text)
	}
}
