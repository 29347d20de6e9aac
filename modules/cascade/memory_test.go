package cascade_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/memory"
)

// TestMemoryShareOfUser checks that the bodies of one user's requests to slow servers take no more than the user's
// share of the memory.
func TestMemoryShareOfUser(t *testing.T) { // not parallel: Caddy runs one configuration
	server, app := startGateway(t)
	gw, err := app.Gateway()
	if err != nil {
		t.Fatal(err)
	}
	gw.Providers.RegisterProtocol("http", &answers{"application/json", chatReply()})
	keys := make(map[string]string)
	for _, user := range []string{"alice", "bob"} {
		if _, _, _, err := gw.Keychain.InitUser(t.Context(), user); err != nil {
			t.Fatal(err)
		}
		if _, err := gw.Keychain.AddProviderKey(t.Context(), user, "openai", "sk-"+user+"-not-a-secret", "", func(string) bool { return true }); err != nil {
			t.Fatal(err)
		}
		key, err := gw.Keychain.CreateKey(t.Context(), user, keychain.KeyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		keys[user] = key.Key
	}
	budget := app.MemoryBudget()
	budget.Resize(4 * memory.MinBudget)
	share := budget.Share("alice")
	defer share.Free()
	if err := share.Grow(t.Context(), 2*memory.MinBudget); err != nil {
		t.Fatal(err)
	}
	large := strings.Replace(chatRequest(false), "{", "{"+strings.Repeat(" ", 100<<10), 1)
	for _, path := range []string{"/v1/chat/completions", "/v1/messages/count_tokens"} {
		for user, refused := range map[string]bool{"alice": true, "bob": false} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+path, strings.NewReader(large))
			r.Header = http.Header{"Authorization": {"Bearer " + keys[user]}, "Content-Type": {"application/json"}}
			w := httptest.NewRecorder()
			server.ServeHTTP(w, r)
			if (w.Code != http.StatusOK) != refused || refused && w.Header().Get("Retry-After") == "" {
				t.Errorf("%s of %s: %d %v\n%s", path, user, w.Code, w.Header(), w.Body)
			}
		}
	}
}
