package cascade_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// TestBackgroundCharge checks that a budget in front charges an answer in the background at its end, by its usage, even
// if the client has gone before.
func TestBackgroundCharge(t *testing.T) { // not parallel: Caddy runs one configuration
	mayAnswer := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-mayAnswer
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop",
			"message":{"role":"assistant","content":"ONE"}}],"usage":{"prompt_tokens":60,"completion_tokens":40,"total_tokens":100}}`)
	}))
	t.Cleanup(up.Close)
	server, app := startSite(t, `route {
		api_auth gateway_key
		@asked method POST
		budget @asked {
			key {http.auth.user.id}
			limit 50
			window 1h
			cost 0 *
			charge {http.cascade.total_tokens}
		}
		translate responses
		cascade {
			store_responses
		}
	}`)
	gw, err := app.Gateway()
	if err != nil {
		t.Fatal(err)
	}
	gw.Custom = http.DefaultTransport.(*http.Transport).Clone() // permits the upstream's private address
	gw.Keychain.CheckHost = nil
	_, key, _, err := gw.Keychain.InitUser(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gw.Keychain.AddModel(t.Context(), "alice", keychain.CustomModel{Entry: "own/1", BaseURL: up.URL + "/v1", Model: "m", Tier: catalog.High}); err != nil {
		t.Fatal(err)
	}
	ask := func(method, path, body string) (int, gjson.Result) {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+key.Key)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w.Code, gjson.Parse(w.Body.String())
	}
	const body = `{"model":"own/1","input":"x","background":true}`
	for range 2 { // nothing is charged yet
		if status, begun := ask(http.MethodPost, "/v1/responses", body); status != http.StatusOK || begun.Get("status").Str != "queued" {
			t.Fatalf("%d %s", status, begun.Raw)
		}
	}
	close(mayAnswer)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		status, _ := ask(http.MethodPost, "/v1/responses/resp_none/cancel", "")
		if status == http.StatusTooManyRequests {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the budget is not spent: %d", status)
		}
	}
}
