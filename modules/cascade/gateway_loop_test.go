package cascade_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// loopTransport is a network in which every server is the gateway itself.
type loopTransport struct {
	gateway *caddyhttp.Server
	asked   int
}

func (a *loopTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if a.asked++; a.asked > 20 { // the loop would not end
		w.WriteHeader(http.StatusTeapot)
		return w.Result(), nil
	}
	inner := r.Clone(r.Context())
	inner.RemoteAddr, inner.Host = "127.0.0.1:1234", "localhost"
	a.gateway.ServeHTTP(w, inner)
	return w.Result(), nil
}

// TestGatewayLoop checks that a user's model whose base URL is the gateway itself is refused in the client's format,
// and that SDKs do not repeat the request.
func TestGatewayLoop(t *testing.T) { // not parallel: Caddy runs one configuration
	server, app := startGateway(t)
	gw, err := app.Gateway()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := gw.Keychain.InitUser(t.Context(), "loop"); err != nil {
		t.Fatal(err)
	}
	key, err := gw.Keychain.CreateKey(t.Context(), "loop", keychain.KeyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gw.Keychain.AddModel(t.Context(), "loop", keychain.CustomModel{
		Entry: "loop/x", BaseURL: "http://gateway.example/v1", Model: "loop/x", Tier: catalog.Low, APIKey: key.Key,
	}); err != nil {
		t.Fatal(err)
	}
	network := &loopTransport{gateway: server}
	gw.Custom.RegisterProtocol("http", network)
	for path, c := range map[string]struct{ body, code, want string }{
		"/v1/chat/completions": {`"messages":[{"role":"user","content":"hi"}]`, "error.code", "loop_detected"},
		"/v1/responses":        {`"input":"hi"`, "error.code", "loop_detected"},
		"/v1/messages":         {`"max_tokens":9,"messages":[{"role":"user","content":"hi"}]`, "error.type", "api_error"},
	} {
		for _, stream := range []string{"true", "false"} {
			network.asked = 0
			r := httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(`{"model":"loop/x","stream":`+stream+`,`+c.body+`}`))
			r.Header = http.Header{"Authorization": {"Bearer " + key.Key}, "Content-Type": {"application/json"}}
			w := httptest.NewRecorder()
			server.ServeHTTP(w, r)
			if w.Code != http.StatusLoopDetected || w.Header().Get("X-Should-Retry") != "false" || gjson.Get(w.Body.String(), c.code).Str != c.want {
				t.Errorf("%s, stream %s: %d %v\n%s", path, stream, w.Code, w.Header(), w.Body)
			}
			if network.asked != 1 {
				t.Errorf("%s, stream %s: the gateway asked itself %d times", path, stream, network.asked)
			}
		}
	}
}
