package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestAzure checks that requests to a configured deployment carry a token. The credentials of the organisation's
// application are exchanged for the token once.
func TestAzure(t *testing.T) {
	t.Parallel()
	var fetched atomic.Int32
	azure := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/contoso/token":
			fetched.Add(1)
			if r.FormValue("client_id") != "app" || r.FormValue("client_secret") != "s3cret" {
				t.Errorf("the form is %v", r.Form)
			}
			_, _ = io.WriteString(w, `{"access_token":"from-entra","token_type":"Bearer","expires_in":3600}`)
		case "/openai/v1/chat/completions":
			body, _ := io.ReadAll(r.Body)
			if r.Header.Get("Authorization") != "Bearer from-entra" || !strings.Contains(string(body), `"model":"prod-mini"`) {
				t.Errorf("sent %v %s", r.Header, body)
			}
			_, _ = io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"from azure"},`+
				`"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`)
		default:
			t.Errorf("asked for %s", r.URL)
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer azure.Close()
	g := e2e.NewGateway(t, fmt.Sprintf(`		catalog {
			enable azure
			alias gpt-4o azure/prod-mini
			provider azure {
				base_url %[1]s/openai/v1
				token_url %[1]s/{tenant}/token
				model prod-mini openai/gpt-5.4-mini
			}
		}`, azure.URL))
	key := g.User("ada", e2e.NewUpstream(t))
	if _, err := g.AddProviderKey(t.Context(), "ada", "azure", `{"tenant_id": "contoso", "client_id": "app", "client_secret": "s3cret"}`, "",
		func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		a := e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("gpt-4o", false))
		if text := a.Text(t); text != "from azure" || a.Header.Get("X-Gateway-Model") != "prod-mini" {
			t.Errorf("%q of %v", text, a.Header)
		}
	}
	if fetched.Load() != 1 {
		t.Errorf("%d tokens were fetched", fetched.Load())
	}
	if list := e2e.Get(t, e2e.Client, g.Base+"/models", "").Body; !strings.Contains(list, `"id":"azure/prod-mini"`) {
		t.Error("the list of models has no deployment")
	}
}
