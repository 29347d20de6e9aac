package cascade_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// TestCountRefusals checks that requests to count tokens are refused with the same messages as requests for answers.
func TestCountRefusals(t *testing.T) { // not parallel: Caddy runs one configuration
	server, app := startGateway(t)
	gw, err := app.Gateway()
	if err != nil {
		t.Fatal(err)
	}
	keys := make(map[string]string)
	for user, allowed := range map[string][]string{"alice": {"openai/none*"}, "bob": nil} {
		if _, _, _, err := gw.Keychain.InitUser(t.Context(), user); err != nil {
			t.Fatal(err)
		}
		key, err := gw.Keychain.CreateKey(t.Context(), user, keychain.KeyOptions{Limits: keychain.Limits{AllowedModels: allowed}})
		if err != nil {
			t.Fatal(err)
		}
		keys[user] = key.Key
	}
	if _, err := gw.Keychain.AddProviderKey(t.Context(), "alice", "openai", "sk-alice-not-a-secret", "", func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		user, model string
		status      int
	}{
		"unknown model":     {"alice", "nonsense", http.StatusNotFound},
		"forbidden by key":  {"alice", "keychain-low", http.StatusConflict},
		"no provider's key": {"bob", "keychain-low", http.StatusBadRequest},
	} {
		bodies := make([]string, 0, 4)
		for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens", "/v1/responses", "/v1/responses/input_tokens"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+path,
				strings.NewReader(`{"model":"`+c.model+`","max_tokens":5,"messages":[{"role":"user","content":"hi"}],"input":"hi"}`))
			r.Header = http.Header{"X-Api-Key": {keys[c.user]}, "Content-Type": {"application/json"}}
			w := httptest.NewRecorder()
			server.ServeHTTP(w, r)
			if w.Code != c.status {
				t.Errorf("%s: %s is %d %s, want %d", name, path, w.Code, w.Body, c.status)
			}
			bodies = append(bodies, gjson.Get(w.Body.String(), "error").Raw)
		}
		if bodies[0] != bodies[1] || bodies[2] != bodies[3] || bodies[0] == "" || bodies[2] == "" {
			t.Errorf("%s: messages say %s, count_tokens %s, Responses %s, input_tokens %s", name, bodies[0], bodies[1], bodies[2], bodies[3])
		}
	}
}
