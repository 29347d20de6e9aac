package authserver_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// connectFlips are of people who connect an account of theirs.
func connectFlips() map[string]flip {
	base := keys{
		"data_encryption.driver": "aes_master", "data_encryption.aes_master.key_env": "MASTER",
		"connect.state_secret": "0123456789abcdef0123456789abcdef", "connect.allowed_return_urls": []string{"https://app.example/done"},
	}
	// sent is where somebody is sent to who connects a provider.
	sent := func(t *testing.T, key keys) (f *flipped, status int, to *url.URL) {
		t.Helper()
		f = begin(t, base, key)
		f.seals()
		if made := f.admin(http.MethodPost, "/resources", `{"slug":"chat-api","backend_kind":"broker","broker_provider_slug":"chat","scopes":[{"name":"listen"}]}`); made.Code != http.StatusCreated {
			t.Fatalf("%d %s", made.Code, made.Body)
		}
		f.tries("ann@example.com", right)
		response := f.visit("/connect/chat?return_url=https%3A%2F%2Fapp.example%2Fdone")
		to, err := url.Parse(response.location)
		if err != nil {
			t.Fatal(err)
		}
		return f, response.status, to
	}
	status := func(t *testing.T, key keys) string {
		t.Helper()
		_, status, _ := sent(t, key)
		return http.StatusText(status)
	}
	return map[string]flip{
		"connect.allowed_return_urls": {nil, []string{"https://app.example/*"}, status, "Bad Request", "Found"},
		"connect.state_secret":        {nil, "0123456789abcdef0123456789abcdef", status, "Service Unavailable", "Found"},
		"connect.redirect_base_url": {nil, "https://edge.example", func(t *testing.T, key keys) string {
			t.Helper()
			f, _, to := sent(t, key)
			return strings.ReplaceAll(to.Query().Get("redirect_uri"), f.url, "issuer")
		}, "issuer/connect/chat/callback", "https://edge.example/connect/chat/callback"},
	}
}
