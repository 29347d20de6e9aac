package cascade_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// TestModelLookup checks that clients can look up every model name that requests may have, whether or not it is in the
// list.
func TestModelLookup(t *testing.T) { // not parallel: Caddy runs one configuration
	server, app := startSite(t, `route {
		api_errors chat_completions
		api_auth gateway_key
		@any path /any/*
		route @any {
			uri strip_prefix /any
			cascade {
				default_tier low
			}
		}
		cascade
	}`)
	gw, err := app.Gateway()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := gw.Keychain.InitUser(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	for _, provider := range []string{"openai", "anthropic"} {
		if _, err := gw.Keychain.AddProviderKey(t.Context(), "alice", provider, "sk-not-a-secret", "", func(string) bool { return true }); err != nil {
			t.Fatal(err)
		}
	}
	key, err := gw.Keychain.CreateKey(t.Context(), "alice", keychain.KeyOptions{Limits: keychain.Limits{AllowedModels: []string{"openai/*"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, id, name string
		status         int
	}{
		{"/v1/models/keychain-high", "keychain-high", "Best (high)", http.StatusOK},
		{"/v1/models/claude-sonnet-4-6", "claude-sonnet-4-6", "Balanced (medium)", http.StatusOK},
		{"/v1/models/claude-3-5-haiku-latest", "claude-3-5-haiku-latest", "Fast (low)", http.StatusOK},
		{"/v1/models/claude-opus-5%5B1m%5D", "claude-opus-5[1m]", "Best (high)", http.StatusOK},
		{"/v1/models/anthropic/claude-haiku-5-5", "", "", http.StatusNotFound}, // an entry that the key may not use
		{"/v1/models/gpt-4o", "", "", http.StatusNotFound},
		{"/v1/models/gpt-5.4-mini", "gpt-5.4-mini", "GPT-5.4 mini", http.StatusOK}, // the name without the provider
		{"/any/v1/models/gpt-4o", "gpt-4o", "Fast (low)", http.StatusOK},
		{"/any/v1/models/anthropic/claude-haiku-5-5", "", "", http.StatusNotFound},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+c.path, nil)
		r.Header.Set("Authorization", "Bearer "+key.Key)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		var got struct {
			ID, Type    string
			DisplayName string `json:"display_name"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if w.Code != c.status || got.ID != c.id || got.DisplayName != c.name {
			t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
		}
	}
}
