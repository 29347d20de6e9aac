package connections_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/brokers"
	"github.com/tollgate-gateway/tollgate/backends/authserver/connections"
	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// upstream is a provider whose refresh tokens can be used once.
type upstream struct {
	*httptest.Server
	mu       sync.Mutex
	present  string // the valid refresh token
	life     int
	scope    string // the granted scope; empty: r:a r:b
	status   int    // the status of failing refreshes; 0: refreshes succeed
	once     bool   // no refresh tokens are issued
	renewals int
	revoked  []string
	hold     chan struct{} // not nil: refreshes wait until it is closed
	arrived  chan struct{}
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{life: 3600, arrived: make(chan struct{}, 100)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		u.mu.Lock()
		hold := u.hold
		u.mu.Unlock()
		if r.PostForm.Get("grant_type") == "refresh_token" && hold != nil {
			u.arrived <- struct{}{}
			<-hold
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		if r.PostForm.Get("grant_type") == "refresh_token" {
			u.renewals++
			if u.status != 0 {
				w.WriteHeader(u.status)
				return
			}
			if r.PostForm.Get("refresh_token") != u.present {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
				return
			}
		}
		if u.present = fmt.Sprint("refresh-", u.renewals); u.once {
			u.present = ""
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": fmt.Sprint("access-", u.renewals), "refresh_token": u.present, "expires_in": u.life, "scope": cmp.Or(u.scope, "r:a r:b")})
	})
	mux.HandleFunc("POST /revoke", func(_ http.ResponseWriter, r *http.Request) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.revoked = append(u.revoked, r.FormValue("token"))
	})
	u.Server = httptest.NewServer(mux)
	t.Cleanup(u.Close)
	return u
}

func (u *upstream) set(change func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	change()
}

// node is a server's connections, with the packages on which they depend.
type node struct {
	authtest.Kernel
	brokers *brokers.Brokers
	catalog *resources.Catalog
	*connections.Connections
}

// failing is an encryptor whose first calls of Seal fail, as many as failures counts.
type failing struct {
	encryption.Encryptor
	failures *atomic.Int64
}

func (f failing) Seal(ctx context.Context, plaintext, place []byte) (string, error) {
	if f.failures.Add(-1) >= 0 {
		return "", errors.New("out of order")
	}
	return f.Encryptor.Seal(ctx, plaintext, place)
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

func newNode(t *testing.T, k authtest.Kernel, failures *atomic.Int64) *node {
	t.Helper()
	master, err := encryption.NewMaster(strings.Repeat("0a", 32), "")
	if err != nil {
		t.Fatal(err)
	}
	var seals encryption.Encryptor = master
	if failures != nil {
		seals = failing{master, failures}
	}
	n := &node{Kernel: k}
	n.brokers = brokers.New(k.Server, brokers.Options{Encryptor: master, Networks: loopback})
	n.catalog = resources.New(k.Server, resources.Options{})
	n.Connections = connections.New(k.Server, connections.Options{
		Brokers: n.brokers, Catalog: n.catalog, Encryptor: seals, StateSecret: strings.Repeat("s", 32), ReturnURLs: []string{"https://app.example/done", "https://app.example/in/*"},
	})
	return n
}

// fill creates a provider, a resource that uses it, and a user.
func (n *node) fill(t *testing.T, u *upstream) (user string, r *resources.Resource) {
	t.Helper()
	config, err := json.Marshal(map[string]any{"client_id": "c", "client_secret": "hush", "authorize_url": u.URL + "/authorize", "token_url": u.URL + "/token", "revoke_url": u.URL + "/revoke"})
	if err != nil {
		t.Fatal(err)
	}
	p := &brokers.Provider{Slug: "chat", DisplayName: "Chat", Protocol: brokers.OAuth, Config: config}
	if err := n.brokers.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	r = &resources.Resource{Slug: "chat-api", Kind: resources.Broker, Provider: p.ID, Scopes: []resources.Scope{{Name: "read", Upstream: []string{"r:a", "r:b"}}, {Name: "write", Upstream: []string{"w"}}}}
	if err := n.catalog.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	newUser, err := (&users.Users{Server: n.Kernel.Server, Passwords: authtest.Quick}).Create(t.Context(), users.New{Email: "ann@example.com", Password: "correct horse"}, "")
	if err != nil {
		t.Fatal(err)
	}
	return newUser.ID, r
}

// begin returns the parameters of the authorization request.
func (n *node) begin(t *testing.T, s connections.Start) url.Values {
	t.Helper()
	location, err := n.Begin(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	authURL, err := url.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	return authURL.Query()
}

// connect connects a user to the provider.
func (n *node) connect(t *testing.T, user string) {
	t.Helper()
	q := n.begin(t, connections.Start{User: user, Provider: "chat", ReturnURL: "https://app.example/done", Scope: "read"})
	location, err := n.Finish(t.Context(), connections.End{User: user, Provider: "chat", State: q.Get("state"), Code: "x"})
	if err != nil || location != "https://app.example/done?connected=chat" {
		t.Fatalf("%q, error %v", location, err)
	}
}

func refused(t *testing.T, name string, err error, code string) {
	t.Helper()
	if e, ok := apierror.From(err); !ok || e.Code != code {
		t.Errorf("%s: error %v, want %s", name, err, code)
	}
}

// lacking checks that an error asks for the user's consent, with the given cause and address.
func lacking(t *testing.T, name string, err error, cause, consentURL string) {
	t.Helper()
	refused(t, name, err, kernel.ConsentRequired)
	if lacks, ok := errors.AsType[*kernel.ConsentError](err); !ok || lacks.Cause != cause || lacks.URL != consentURL {
		t.Errorf("%s: %+v", name, lacks)
	}
}

// TestStates checks that a state can be used once, by the user who started, at the same provider, for ten minutes.
func TestStates(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		n, u := newNode(t, k, nil), newUpstream(t)
		ann, _ := n.fill(t, u)
		other := &brokers.Provider{Slug: "other", Protocol: brokers.OAuth, Config: json.RawMessage(`{"client_id":"c","client_secret":"s","authorize_url":"https://o.example/a","token_url":"https://o.example/t"}`)}
		if err := n.brokers.Create(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		q := n.begin(t, connections.Start{User: ann, Provider: "chat", Resource: "chat-api", ReturnURL: "https://app.example/in/here?x=1", Scope: "read"})
		if q.Get("scope") != "r:a r:b" || q.Get("redirect_uri") != authtest.Issuer+"/connect/chat/callback" || q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || q.Get("response_type") != "code" {
			t.Errorf("%v", q)
		}
		state := q.Get("state")
		random, _, _ := strings.Cut(state, ".")
		finish := func(user, provider, state, code, failed string) (string, error) {
			return n.Finish(t.Context(), connections.End{User: user, Provider: provider, State: state, Code: code, Error: failed})
		}
		for name, bad := range map[string]string{"none": "", "another": "x.y", "no signature": random, "another signature": random + ".AAAA", "longer": state + "A"} {
			_, err := finish(ann, "chat", bad, "x", "")
			refused(t, name, err, kernel.InvalidRequest)
		}
		_, err := finish(ann, "other", state, "x", "")
		refused(t, "another provider", err, kernel.InvalidRequest)
		_, err = finish("bob", "chat", state, "x", "")
		refused(t, "somebody else", err, kernel.AccessDenied)
		if location, err := finish(ann, "chat", state, "x", ""); err != nil || location != "https://app.example/in/here?connected=chat&x=1" {
			t.Errorf("%q, error %v", location, err)
		}
		_, err = finish(ann, "chat", state, "x", "")
		refused(t, "again", err, kernel.InvalidRequest)
		for failed, want := range map[string]string{"access_denied": "access_denied", "<script>": "server_error", "": "server_error"} {
			q := n.begin(t, connections.Start{User: ann, Provider: "chat", ReturnURL: "https://app.example/done"})
			if location, err := finish(ann, "chat", q.Get("state"), "", failed); err != nil || location != "https://app.example/done?error="+want+"&provider=chat" {
				t.Errorf("%q, error %v", location, err)
			}
		}
		q = n.begin(t, connections.Start{User: ann, Provider: "chat", ReturnURL: "https://app.example/done"})
		k.Clock.Pass(10 * time.Minute)
		_, err = finish(ann, "chat", q.Get("state"), "x", "")
		refused(t, "late", err, kernel.InvalidRequest)

		for name, s := range map[string]connections.Start{
			"no return": {}, "another return": {ReturnURL: "https://evil.example/"}, "another host": {ReturnURL: "https://app.example.evil.example/in/x"}, "a user": {ReturnURL: "https://app.example@evil.example/in/x"},
			"above": {ReturnURL: "https://app.example/in/../out"}, "above, escaped": {ReturnURL: "https://app.example/in/%2e%2e/out"}, "a slash, escaped": {ReturnURL: "https://app.example/in/..%2fout"}, "beside": {ReturnURL: "https://app.example/inside"},
			"without TLS": {ReturnURL: "http://app.example/in/x"}, "the pattern": {ReturnURL: "https://app.example/in/*#"}, "another scheme": {ReturnURL: "javascript:alert(1)"},
		} {
			s.User, s.Provider = ann, "chat"
			_, err := n.Begin(t.Context(), s)
			refused(t, name, err, kernel.InvalidRequest)
		}
		_, err = n.Begin(t.Context(), connections.Start{User: ann, Provider: "chat", ReturnURL: "https://app.example/done", Scope: "all"})
		refused(t, "a scope", err, kernel.InvalidScope)
		_, err = n.Begin(t.Context(), connections.Start{User: ann, Provider: "chat", ReturnURL: "https://app.example/done", Resource: "x"})
		refused(t, "a resource", err, kernel.InvalidTarget)
		_, err = n.Begin(t.Context(), connections.Start{User: ann, Provider: "nobody", ReturnURL: "https://app.example/done"})
		refused(t, "a provider", err, "not_found")
	})
}

// TestRootReturn checks return URLs at the root of a site, which browsers write with a "/".
func TestRootReturn(t *testing.T) {
	t.Parallel()
	n, u := newNode(t, authtest.SQLite(t), nil), newUpstream(t)
	ann, r := n.fill(t, u)
	_, err := n.catalog.Edit(t.Context(), r.ID, func(r *resources.Resource) error {
		r.URI = "https://chat.example"
		r.Policy.Connect.AllowedReturnURLs = []string{"https://bare.example", "https://rooted.example/", "https://below.example/*", "https://query.example?a"}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for returnURL, good := range map[string]bool{
		"https://bare.example": true, "https://bare.example/": true, "https://rooted.example": true, "https://rooted.example/": true, "https://below.example": true, "https://below.example/": true,
		"https://query.example/?a": true, "https://query.example?a": true,
		"https://bare.example//": false, "https://bare.example/?": false, "https://bare.example/x": false, "http://bare.example": false, "https://bare.example.evil.example": false,
		"https://below.example.evil.example": false, "https://below.example@evil.example": false, "https://query.example": false,
	} {
		_, err := n.Begin(t.Context(), connections.Start{User: ann, Provider: "chat", Resource: "https://chat.example/", ReturnURL: returnURL})
		if (err == nil) != good {
			t.Errorf("%s: error %v", returnURL, err)
		}
	}
}

// TestRenewedOnce checks that for concurrent requests on two nodes the provider is asked once, and that the new
// credential is stored before anybody gets it.
func TestRenewedOnce(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		first, u := newNode(t, k, nil), newUpstream(t)
		second := newNode(t, authtest.On(t, k.DB), nil)
		ann, r := first.fill(t, u)
		_, err := first.Exchange(t.Context(), ann, r, []string{"read"})
		lacking(t, "nothing connected", err, kernel.ConsentMissing, authtest.Issuer+"/connect/chat")
		u.set(func() { u.life = 60 })
		first.connect(t, ann)
		_, err = first.Exchange(t.Context(), ann, r, []string{"read", "write"})
		lacking(t, "less granted", err, kernel.ScopeInsufficient, authtest.Issuer+"/connect/chat")
		if a, err := first.Exchange(t.Context(), ann, r, []string{"read"}); err != nil || a.AccessToken != "access-0" || a.ExpiresIn != time.Minute {
			t.Errorf("%+v, error %v", a, err)
		}
		for _, n := range []*node{first, second} {
			n.Clock.Pass(31 * time.Second)
		}
		u.set(func() { u.life = 3600 })
		var all sync.WaitGroup
		for i := range 50 {
			n := []*node{first, second}[i%2]
			all.Go(func() {
				if a, err := n.Exchange(t.Context(), ann, r, []string{"read"}); err != nil || a.AccessToken != "access-1" {
					t.Errorf("%+v, error %v", a, err)
				}
			})
		}
		all.Wait()
		u.set(func() {
			if u.renewals != 1 {
				t.Errorf("the provider was asked %d times", u.renewals)
			}
		})
		var row string
		if err := k.Read(t.Context(), func(c store.Conn) error {
			return c.Row("SELECT credential || lease FROM authserver_connections").Scan(&row)
		}); err != nil || strings.Contains(row, "refresh-") || strings.Contains(row, "access-") {
			t.Errorf("%s, error %v", row, err)
		}

		// If the caller that started a renewal is cancelled, the new credential is stored nevertheless.
		for _, n := range []*node{first, second} {
			n.Clock.Pass(time.Hour)
		}
		u.set(func() { u.hold = make(chan struct{}) })
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := first.Exchange(ctx, ann, r, []string{"read"})
			left <- err
		}()
		<-u.arrived
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		close(u.hold)
		if a, err := second.Exchange(t.Context(), ann, r, []string{"read"}); err != nil || a.AccessToken != "access-2" {
			t.Errorf("%+v, error %v", a, err)
		}

		// A provider's outage does not end the connection; a refused refresh token does.
		for _, n := range []*node{first, second} {
			n.Clock.Pass(time.Hour)
		}
		u.set(func() { u.hold, u.status = nil, http.StatusBadGateway })
		_, err = first.Exchange(t.Context(), ann, r, []string{"read"})
		refused(t, "down", err, kernel.Unavailable)
		u.set(func() { u.status, u.present = 0, "stolen and used" })
		_, err = second.Exchange(t.Context(), ann, r, []string{"read"})
		lacking(t, "ended", err, kernel.ConsentMissing, authtest.Issuer+"/connect/chat")
		if list, err := first.Of(t.Context(), ann); err != nil || len(list) != 0 {
			t.Errorf("%v, error %v", list, err)
		}
		first.connect(t, ann)
		if a, err := second.Exchange(t.Context(), ann, r, []string{"read"}); err != nil || a.AccessToken == "" {
			t.Errorf("%+v, error %v", a, err)
		}
		p, err := first.brokers.Find(t.Context(), "chat")
		if err == nil {
			err = first.Disconnect(t.Context(), ann, p)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = second.Exchange(t.Context(), ann, r, []string{"read"})
		refused(t, "disconnected", err, kernel.ConsentRequired)
		first.Kernel.Close() // waits for the background work
		u.set(func() {
			if len(u.revoked) != 1 || u.revoked[0] != u.present {
				t.Errorf("revoked: %v", u.revoked)
			}
		})
	})
}

// TestStoredBeforeUse checks that a renewed credential that cannot be stored is kept until it can, that nobody gets it
// before, and that its refresh token is not sent again.
func TestStoredBeforeUse(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		var failures atomic.Int64
		n, u := newNode(t, k, &failures), newUpstream(t)
		ann, r := n.fill(t, u)
		n.connect(t, ann)
		n.Clock.Pass(time.Hour)
		failures.Store(3)
		a, err := n.Exchange(t.Context(), ann, r, []string{"read"})
		if err != nil || a.AccessToken != "access-1" || failures.Load() >= 0 {
			t.Errorf("%+v, error %v, %d", a, err, failures.Load())
		}
		u.set(func() {
			if u.renewals != 1 {
				t.Errorf("the provider was asked %d times", u.renewals)
			}
		})
	})
}

// TestRenewedForLess checks that nobody gets a token with a smaller scope than requested if the provider grants less at
// a renewal.
func TestRenewedForLess(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		n, u := newNode(t, k, nil), newUpstream(t)
		ann, r := n.fill(t, u)
		n.connect(t, ann)
		n.Clock.Pass(time.Hour)
		u.set(func() { u.scope = "r:a" })
		for _, name := range []string{"as it is renewed", "afterwards"} {
			_, err := n.Exchange(t.Context(), ann, r, []string{"read"})
			lacking(t, name, err, kernel.ScopeInsufficient, authtest.Issuer+"/connect/chat")
		}
	})
}

// TestLeaseEnds checks that a process that crashes during a renewal blocks other processes only until its lease
// expires.
func TestLeaseEnds(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		n, u := newNode(t, k, nil), newUpstream(t)
		ann, r := n.fill(t, u)
		n.connect(t, ann)
		n.Clock.Pass(time.Hour)
		if err := k.Write(t.Context(), func(c store.Conn) error {
			_, err := c.Exec("UPDATE authserver_connections SET lease = 'the dead', lease_until = ?", k.Clock.Now().Add(20*time.Second).UnixMicro())
			return err
		}); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := n.Exchange(t.Context(), ann, r, []string{"read"})
			done <- err
		}()
		select {
		case err := <-done:
			t.Fatalf("it did not wait: error %v", err)
		case <-time.After(200 * time.Millisecond): // the second process waits
		}
		k.Clock.Pass(20 * time.Second)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestKeys checks that a key that an administrator stores is handed out unchanged.
func TestKeys(t *testing.T) {
	t.Parallel()
	n, u := newNode(t, authtest.SQLite(t), nil), newUpstream(t)
	ann, _ := n.fill(t, u)
	p := &brokers.Provider{Slug: "maps", Protocol: brokers.APIKey, Config: json.RawMessage(`{"header_name":"X-Key","issuance_instructions_url":"https://maps.example/keys"}`)}
	if err := n.brokers.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	r := &resources.Resource{Slug: "maps", Kind: resources.Broker, Provider: p.ID, Scopes: []resources.Scope{{Name: "see"}}}
	if err := n.catalog.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	_, err := n.Begin(t.Context(), connections.Start{User: ann, Provider: "maps", ReturnURL: "https://app.example/done"})
	refused(t, "connecting", err, kernel.InvalidTarget)
	_, err = n.Exchange(t.Context(), ann, r, []string{"see"})
	lacking(t, "no key", err, kernel.ConsentMissing, "https://maps.example/keys")
	for _, bad := range []string{"", "a b", "a\nb", strings.Repeat("a", 9000)} {
		if err := n.SetKey(t.Context(), ann, p, bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if err := n.SetKey(t.Context(), ann, p, "key-1"); err != nil {
		t.Fatal(err)
	}
	if a, err := n.Exchange(t.Context(), ann, r, []string{"see"}); err != nil || a.AccessToken != "key-1" || a.ExpiresIn != 0 {
		t.Errorf("%+v, error %v", a, err)
	}
}

// TestNoRefreshToken checks that a token that cannot be renewed is handed out until it expires.
func TestNoRefreshToken(t *testing.T) {
	t.Parallel()
	n, u := newNode(t, authtest.SQLite(t), nil), newUpstream(t)
	u.set(func() { u.life, u.once = 60, true })
	ann, r := n.fill(t, u)
	n.connect(t, ann)
	n.Clock.Pass(59 * time.Second)
	for range 2 {
		if a, err := n.Exchange(t.Context(), ann, r, []string{"read"}); err != nil || a.AccessToken != "access-0" || a.ExpiresIn != time.Second {
			t.Errorf("%+v, error %v", a, err)
		}
	}
	n.Clock.Pass(time.Second)
	_, err := n.Exchange(t.Context(), ann, r, []string{"read"})
	lacking(t, "it has ended", err, kernel.ConsentMissing, authtest.Issuer+"/connect/chat")
}
