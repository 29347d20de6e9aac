package cascade_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
)

// TestAnonymous checks that requests without a verified key are answered by the models of the user that anonymous
// names, who is charged.
func TestAnonymous(t *testing.T) { // not parallel: Caddy runs one configuration
	server, app := startSite(t, `route {
		api_errors chat_completions
		@keys path /keys/*
		api_auth @keys gateway_key
		uri strip_prefix /keys
		cascade {
			anonymous guest
		}
	}`)
	gw, err := app.Gateway()
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"guest", "alice"} {
		if _, _, _, err := gw.Keychain.InitUser(t.Context(), user); err != nil {
			t.Fatal(err)
		}
		if _, err := gw.Keychain.AddProviderKey(t.Context(), user, "openai", "sk-"+user+"-not-a-secret", "", func(string) bool { return true }); err != nil {
			t.Fatal(err)
		}
	}
	key, err := gw.Keychain.CreateKey(t.Context(), "alice", keychain.KeyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	gw.Providers.RegisterProtocol("http", &answers{"application/json", chatReply()})
	ask := func(path, key string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+path, strings.NewReader(chatRequest(false)))
		r.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w.Code
	}
	for _, c := range []struct {
		path, key string
		want      int
	}{
		{"/v1/chat/completions", "none", http.StatusOK},
		{"/v1/chat/completions", key.Key, http.StatusOK}, // the key is not checked on this path
		{"/keys/v1/chat/completions", key.Key, http.StatusOK},
		{"/keys/v1/chat/completions", "none", http.StatusUnauthorized},
	} {
		if got := ask(c.path, c.key); got != c.want {
			t.Errorf("%s with %s: %d, want %d", c.path, c.key, got, c.want)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/v1/models", nil)
	w := httptest.NewRecorder()
	if server.ServeHTTP(w, r); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"keychain-low"`) {
		t.Errorf("the models: %d %s", w.Code, w.Body)
	}
	if err := gw.Usage.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]int64{"guest": 2, "alice": 1} {
		report, err := gw.Spending.Usage(t.Context(), user, spending.UsageQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if report.Totals.Requests != want {
			t.Errorf("%s is charged for %d requests, want %d", user, report.Totals.Requests, want)
		}
	}
}

// TestUncheckedJSON checks configurations in JSON, in which a route may contain a whole chain of handlers.
func TestUncheckedJSON(t *testing.T) { // not parallel: Caddy runs one configuration
	const (
		check   = `{"handler":"api_auth","provider":{"provider":"gateway_key"}}`
		caddys  = `{"handler":"authentication","providers":{"gateway_key":{}}}`
		token   = `{"handler":"api_auth","provider":{"provider":"user_jwt"}}`
		cascade = `{"handler":"cascade"}`
	)
	sub := func(handlers string) string { return `{"handler":"subroute","routes":[{"handle":[` + handlers + `]}]}` }
	for name, c := range map[string]struct {
		handle  string
		refused bool
	}{
		"alone":              {cascade, true},
		"before":             {cascade + "," + check, true},
		"another check":      {token + "," + cascade, true},
		"one chain":          {check + "," + cascade, false},
		"a handler of Caddy": {caddys + "," + cascade, false},
		"outside":            {check + "," + sub(cascade), false},
		"inside":             {sub(check) + "," + cascade, false},
		"behind a subroute":  {sub(cascade) + "," + check, true},
		"in a subroute":      {sub(check + "," + cascade), false},
		"anonymous":          {`{"handler":"cascade","anonymous":"guest"}`, false},
	} {
		t.Run(name, func(t *testing.T) { // not parallel: see above
			err := caddy.Validate(&caddy.Config{
				Logging: &caddy.Logging{Logs: map[string]*caddy.CustomLog{"default": {BaseLog: caddy.BaseLog{Level: "PANIC"}}}},
				AppsRaw: caddy.ModuleMap{"http": []byte(`{"servers":{"a":{"listen":["127.0.0.1:0"],"routes":[{"handle":[` + c.handle + `]}]}}}`)},
			})
			if refused := err != nil && strings.Contains(err.Error(), "no handler verifies a key before cascade"); refused != c.refused || err != nil && !refused {
				t.Errorf("refused: %t (%v), want %t", refused, err, c.refused)
			}
		})
	}
}
