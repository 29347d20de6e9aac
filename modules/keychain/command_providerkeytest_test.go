package keychain

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// TestProviderKeyTest checks the test of a valid key and of a key that the provider refuses, for each kind of owner.
func TestProviderKeyTest(t *testing.T) { // not parallel: commands set Caddy's default logger
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Authorization") != "Bearer sk-good-0123456789" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":{"message":"No such key.","type":"invalid_request_error","code":"invalid_api_key"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,` +
			`"message":{"role":"assistant","content":"OK"},"finish_reason":"stop"}],` +
			`"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`))
	}))
	t.Cleanup(provider.Close)
	l, _ := sqliteCommandLine(t)
	text, err := os.ReadFile(l.config)
	if err != nil {
		t.Fatal(err)
	}
	catalog := "\ttollgate {\n\t\tcatalog {\n\t\t\tprovider openai {\n\t\t\t\tbase_url " + provider.URL + "/v1\n\t\t\t}\n\t\t}\n"
	caddyfile := strings.Replace(string(text), "\ttollgate {\n", catalog, 1)
	if err := os.WriteFile(l.config, []byte(caddyfile), 0o600); err != nil {
		t.Fatal(err)
	}
	l.run("users", "add", "alice")
	l.run("teams", "add", "red")
	for _, owner := range [][]string{{"--user", "alice"}, {"--team", "red"}, {"--organisation"}} {
		ids := map[string]string{}
		for _, key := range []string{"good", "bad"} {
			l.stdin = "sk-" + key + "-0123456789"
			out, _ := l.run(append([]string{"provider-keys", "add", "openai"}, owner...)...)
			ids[key] = idText.FindString(out)
		}
		out, _ := l.run(append([]string{"provider-keys", "test", ids["good"]}, owner...)...)
		if want := ids["good"] + " works: "; !strings.HasPrefix(out, want) || !strings.Contains(out, " of openai has answered in ") {
			t.Errorf("%v: %q, want %q", owner, out, want)
		}
		l.wantError("the provider key "+ids["bad"]+" does not work: openai: No such key.",
			append([]string{"provider-keys", "test", ids["bad"]}, owner...)...)
		l.wantError("there is no provider key", append([]string{"provider-keys", "test", "pk_0"}, owner...)...)
	}
}
