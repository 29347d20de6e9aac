package authserver

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// rotating is a provider whose refresh tokens can be used once. Like providers that tolerate lost answers, it also
// accepts the previous token as long as the newest has not been used.
type rotating struct {
	*httptest.Server

	mu             sync.Mutex
	life           int // of access tokens, in seconds; those with less than 30 are renewed before use
	newest, before int // the numbers of the newest refresh token and of the previous one
	stored         int // a refresh token that the server must have stored, as it has answered with its access token
	renewals       int
	strange        []string      // unexpected requests
	hold           chan struct{} // requests are held until it is closed; nil: no request is
	held           chan struct{} // gets a value for each held request
}

func newRotating(t *testing.T) *rotating {
	t.Helper()
	p := &rotating{life: 20, held: make(chan struct{}, 10)}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *rotating) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *rotating) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/authorize" {
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"c"}, "state": {q.Get("state")}}.Encode(), http.StatusFound) //nolint:gosec // of a test
		return
	}
	w.Header().Set("Content-Type", "application/json")
	answer, hold := p.grant(r.FormValue("grant_type"), r.FormValue("refresh_token"))
	if hold != nil {
		p.held <- struct{}{}
		<-hold
	}
	if answer == "" {
		w.WriteHeader(http.StatusBadRequest)
		answer = `{"error":"invalid_grant"}`
	}
	_, _ = w.Write([]byte(answer))
}

// grant returns the answer to a token request, or "" if the request is refused.
func (p *rotating) grant(kind, token string) (answer string, hold chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.newest + 1
	if kind == "refresh_token" {
		p.renewals++
		n, err := strconv.Atoi(strings.TrimPrefix(token, "refresh-"))
		if err != nil || n != p.newest && (n != p.before || p.stored >= p.newest) {
			p.strange = append(p.strange, token)
			return "", nil
		}
		p.before = n
	}
	p.newest = next
	return fmt.Sprintf(`{"access_token":"access-%d","refresh_token":"refresh-%d","expires_in":%d,"token_type":"Bearer"}`, next, next, p.life), p.hold
}

// TestBrokerKilled checks two processes on one PostgreSQL database that hand out tokens of another provider. However
// many clients request a token, the provider gets one request. If a process is killed during a renewal, no token that
// was handed out is lost, and the other process continues.
func TestBrokerKilled(t *testing.T) {
	t.Parallel()
	provider := newRotating(t)
	text := `
server: {address: '127.0.0.1:PORT', issuer: 'http://localhost:` + e2e.FreePort(t) + `', allow_networks: [127.0.0.0/8]}
admin: {address: '127.0.0.1:ADMIN'}
storage: {driver: postgres, postgres: {dsn: '` + testenv.Postgres(t).DSN() + `'}}
signing: {key_store: postgres_key}
data_encryption: {driver: aes_master, aes_master: {key_env: MASTER}}
session: {secret: a secret of both nodes for the cookies of browsers}
rate_limit: {enabled: false}
connect: {state_secret: a secret of the way there and back, redirect_base_url: 'http://localhost:PORT', allowed_return_urls: ['` + back + `']}
broker_providers:
  - slug: chat
    display_name: Chat
    protocol: oauth
    config_data: {client_id: chat, client_secret_ref: CONNECTOR_CHAT, authorize_url: '` + provider.URL + `/authorize', token_url: '` + provider.URL + `/token'}
resources:
  - {slug: chat-api, backend_kind: broker, broker_provider_slug: chat, scopes: [{name: 'notes:read', upstream: read}]}
`
	env := []string{"MASTER=" + strings.Repeat("0123456789abcdef", 4), "CONNECTOR_CHAT=a secret of chat, long enough"}
	node1, url1, admin := e2e.NewAuthserver(t, text, env...)
	node2, url2, _ := e2e.NewAuthserver(t, text, env...)
	for _, base := range []string{url1, url2} {
		e2e.AnswersWith(t, base+"/ready", http.StatusOK)
	}
	addAnn(node1, "--config", "config.yaml", "--adapter", "authserver")
	app := createFor(t, admin, "Assistant", newAnn(t), "chat-api", "notes:read")
	administer(t, admin, http.MethodPost, "/admin/resources/chat-api/policy/exchange/allowed-clients", `{"client_id":"`+app.id+`"}`, nil)
	subject := app.grants(app.redeem(url1, app.code(url1))).Access
	connect := func() {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url1+"/connect/chat?return_url="+url.QueryEscape(back), nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := app.ann.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if end, err := response.Location(); err != nil || end.Query().Get("connected") != "chat" {
			t.Fatalf("connecting leads to %s, error %v", end, err)
		}
	}
	// takes records the access token in an answer, and returns its number.
	takes := func(a *e2e.Answer) (n int, err error) {
		g, err := read(a)
		if err != nil {
			return 0, err
		}
		n, err = strconv.Atoi(strings.TrimPrefix(g.Access, "access-"))
		provider.set(func() { provider.stored = max(provider.stored, n) })
		return n, err
	}

	connect()
	provider.set(func() { provider.life = 3600 })
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			if n, err := takes(app.exchange([]string{url1, url2}[i%2], subject)); err != nil || n != 2 {
				t.Errorf("at once: access-%d, %v", n, err)
			}
		})
	}
	all.Wait()
	provider.set(func() {
		if provider.renewals != 1 {
			t.Errorf("the provider was asked %d times", provider.renewals)
		}
		provider.life = 20
	})

	// The process is killed repeatedly during exchanges, each of which renews the token.
	connect()
	for range 3 {
		answered := make(chan int, 1000)
		for range 2 {
			all.Go(func() {
				for {
					n, err := takes(app.exchange(url1, subject))
					if err != nil {
						return // the server was killed
					}
					answered <- n
				}
			})
		}
		for range 5 {
			<-answered
		}
		node1.Kill()
		all.Wait()
		node1.Start()
		e2e.AnswersWith(t, url1+"/ready", http.StatusOK)
	}
	if _, err := takes(app.exchange(url1, subject)); err != nil {
		t.Errorf("after a crash: %v", err)
	}

	// The process is killed while the provider answers: the refresh token is used up, and the new token is lost.
	hold := make(chan struct{})
	provider.set(func() { provider.hold = hold })
	all.Go(func() { _, _ = takes(app.exchange(url1, subject)) })
	<-provider.held
	node1.Kill()
	provider.set(func() { provider.hold = nil })
	close(hold)
	all.Wait()
	if _, err := takes(app.exchange(url2, subject)); err != nil {
		t.Errorf("on the node that is left: %v", err)
	}
	provider.set(func() {
		if len(provider.strange) > 0 {
			t.Errorf("the provider was sent %q, refresh-%d is the newest and refresh-%d was stored", provider.strange, provider.newest, provider.stored)
		}
	})
	node2.Stop()
}
