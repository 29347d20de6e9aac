package home

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/home/documents"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin/oidclogintest"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
	"github.com/tollgate-gateway/tollgate/internal/signed"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

var databases = storetest.Fixture{Schemas: []store.Schema{Schema()}}

func TestMain(m *testing.M) { storetest.Main(m) }

// secrets are words of the state, which only administrators may see.
var secrets = []string{"9.9.9-secret", "secret.example", "secret-fault", "Secret Authority", "/backups/secret", "secret.db"}

// site returns a home page with two services and a state.
func site(t *testing.T, change func(*Options)) (base string) {
	t.Helper()
	key := []byte(strings.Repeat("k", 32))
	o := Options{
		Services: func(*http.Request) []Service {
			return []Service{
				{Name: "board", Title: "Forum", Summary: "Where people talk.", URL: "/forum/", API: "/api/v1/openapi.json"},
				{Name: "events", Title: "Run <events>", Summary: "What has run.", URL: "https://events.example/store/", Address: "events.example"},
			}
		},
		State: func(context.Context) State {
			return State{
				Version: "9.9.9-secret", Started: time.Now().Add(-26 * time.Hour), Loaded: time.Now(),
				Services:     []ServiceState{{Title: "Forum", Addresses: []string{"https://secret.example"}, Faults: []Fault{{"database", "secret-fault"}}, Database: "SQLite"}},
				Databases:    []Database{{Engine: "SQLite", Place: "secret.db", Size: 2 << 20, Services: []string{"board"}}, {Engine: "PostgreSQL", Place: "on a server", Size: -1, Reason: "is down"}},
				Certificates: []Certificate{{Names: []string{"secret.example"}, Issuer: "Secret Authority", Ends: time.Now().Add(-time.Hour)}},
				Backup:       &Backup{At: time.Now().Add(-time.Hour), Folder: "/backups/secret"},
			}
		},
		Local:  func(r *http.Request) bool { return r.Header.Get("X-Local") != "" },
		Signer: func() signed.Signer { return signed.Signer{Key: key, Label: "form"} },
		Documents: func() (*documents.Library, error) {
			return documents.New(documents.Options{Base: DocumentsPath, Files: fstest.MapFS{
				"README.md":         {Data: []byte("# Documents\n\n[Budgets](how-to/budgets.md)\n")},
				"how-to/budgets.md": {Data: []byte("# Set budgets\n\n## One & each key\n\nA needle & a thread.\n")},
				"images/a.svg":      {Data: []byte("<svg/>")},
			}})
		},
		Bar:    func(*http.Request) look.Bar { return look.Bar{Brand: &look.Brand{Name: "Example & Co"}} },
		Logger: zap.NewNop(),
	}
	if change != nil {
		change(&o)
	}
	server := httptest.NewServer(New(o))
	t.Cleanup(server.Close)
	return server.URL
}

// local makes a browser send requests that Options.Local accepts.
func local(b *pagestest.Browser) *pagestest.Browser {
	b.Always.Set("X-Local", "yes")
	return b
}

// TestVisitor checks that everybody sees the services, and that only administrators see their state.
func TestVisitor(t *testing.T) {
	t.Parallel()
	base := site(t, nil)
	visitor := pagestest.New(t, base, false)
	for _, path := range []string{"/", Mount, Mount + "/"} {
		page := visitor.Get(path).Want(http.StatusOK, "Example &amp; Co", `<a href="/forum/">Forum</a>`, "Run &lt;events&gt;", "events.example", `<a href="/api/v1/openapi.json">API reference</a>`)
		page.Lacks(append(secrets, "State", "/docs")...)
		administrator := local(pagestest.New(t, base, false)).Get(path).Want(http.StatusOK, append(secrets, "Running since", "2.0\u00a0MiB", "is down", "expired", `href="/_tollgate/docs"`)...)
		if cache := administrator.Header.Get("Cache-Control"); cache != "no-store" {
			t.Errorf("%s: Cache-Control is %q, want no-store", path, cache)
		}
	}
	visitor.Get("/other").Want(http.StatusNotFound)
	visitor.Get(Mount + "/login").Want(http.StatusNotFound)
	visitor.Get(Mount + "/login/callback?code=x").Want(http.StatusNotFound)
	local(pagestest.New(t, site(t, func(o *Options) {
		o.Services = func(*http.Request) []Service { return nil }
		o.State = func(context.Context) State { return State{Started: time.Now(), Loaded: time.Now()} }
	}), false)).Get("/").Want(http.StatusOK, "no services that you may see", "tollgate backup")
}

// TestDocuments checks who may read the documents, and the search in them.
func TestDocuments(t *testing.T) {
	t.Parallel()
	paths := []string{"/docs", "/docs/how-to/budgets", "/docs/search?q=needle", "/docs/images/a.svg"}
	for audience, want := range map[Audience][2]int{ // for a visitor, for an administrator
		ForAdministrators: {http.StatusNotFound, http.StatusOK},
		ForEverybody:      {http.StatusOK, http.StatusOK},
		ForNobody:         {http.StatusNotFound, http.StatusNotFound},
	} {
		base := site(t, func(o *Options) { o.DocumentsFor = audience })
		visitor, administrator := pagestest.New(t, base, false), local(pagestest.New(t, base, false))
		for _, path := range paths {
			visitor.Get(Mount + path).Want(want[0])
			administrator.Get(Mount + path).Want(want[1])
		}
		shown := strings.Contains(visitor.Get("/").Text, `href="/_tollgate/docs"`)
		if shown != (want[0] == http.StatusOK) {
			t.Errorf("%d: the documents are shown to a visitor: %t", audience, shown)
		}
	}
	b := pagestest.New(t, site(t, func(o *Options) { o.DocumentsFor = ForEverybody }), false)
	b.Get(Mount+"/docs").Want(http.StatusOK, `<a href="/_tollgate/docs/how-to/budgets">Budgets</a>`)
	b.Get(Mount+"/docs/how-to/budgets").Want(http.StatusOK, "<title>Set budgets", `aria-current="page"`, `<a href="#one--each-key">One &amp; each key</a>`)
	b.Get(Mount+"/docs/search?q=need").Want(http.StatusOK, `href="/_tollgate/docs/how-to/budgets#one--each-key"`, "A <mark>need</mark>le &amp; a thread", `value="need"`)
	b.Get(Mount+"/docs/search?q=%3Cscript%3E").Want(http.StatusOK, "No section", "&lt;script&gt;")
	b.Get(Mount+"/docs/search").Want(http.StatusOK, "Enter words to search for")
	b.Get(Mount+"/docs/search?q="+strings.Repeat("x", 5000)).Want(http.StatusOK, `value="`+strings.Repeat("x", documents.MaxQuery)+`"`)
	b.Get(Mount + "/docs/none").Want(http.StatusNotFound)
	if kind := b.Get(Mount + "/docs/images/a.svg").Want(http.StatusOK).Header.Get("Content-Type"); kind != "image/svg+xml" {
		t.Errorf("the picture is %s", kind)
	}
}

// TestSignOn checks that people sign in at the provider, that only the members of its group are administrators, even if
// they send requests from this machine, and that a sign-out calls SignedOut and ends the right sessions.
func TestSignOn(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		idp := oidclogintest.New(t)
		memory := counters.NewMemory(nil)
		provider, err := oidclogin.New(oidclogin.Options{
			Issuer: idp.URL, ClientID: oidclogintest.ClientID, Secret: oidclogintest.Secret, Groups: map[string][]string{"root": {AdministratorGroup}},
			Key: func() []byte { return []byte(strings.Repeat("k", 32)) }, Counters: func() counters.Store { return memory },
		})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		var signedOut []string
		var home *Site
		base := site(t, func(o *Options) {
			o.OIDC, o.OIDCLabel, o.DB, o.Now = provider, "Example", db, func() time.Time { return now }
			o.SignedOut = func(_ context.Context, issuer, subject string) {
				signedOut = append(signedOut, issuer+" "+subject)
			}
			home = New(*o)
		})
		// signIn signs in a person with the given claims and returns the browser.
		signIn := func(claims map[string]any) *pagestest.Browser {
			t.Helper()
			b := pagestest.New(t, base, false)
			idp.Claims = claims
			redirect := b.Get(Mount + "/login?next=/docs").Want(http.StatusSeeOther)
			b.Get(Mount + "/login/callback?" + idp.Visit(redirect.Header.Get("Location")).Encode()).Want(http.StatusSeeOther).Leads(Mount + "/docs")
			return b
		}
		// hidden checks that the state is hidden.
		hidden := func(b *pagestest.Browser) {
			t.Helper()
			b.Get("/").Want(http.StatusOK, "Forum").Lacks(secrets...)
		}
		guest := pagestest.New(t, base, false)
		guest.Get("/").Want(http.StatusOK, "Sign in")
		guest.Get(Mount + "/docs").Want(http.StatusSeeOther).Leads(Mount + "/login?next=%2Fdocs")
		hidden(local(pagestest.New(t, base, false))) // a request from this machine, without a sign-in

		ann := signIn(map[string]any{"sub": "ann", "name": "Ann <A>", "groups": []any{"root"}})
		page := ann.Get("/").Want(http.StatusOK, append(secrets, "Ann &lt;A&gt;", "Sign out")...)
		bob := signIn(map[string]any{"sub": "bob", "email": "bob@example.com", "groups": []any{"others"}})
		bob.Get("/").Want(http.StatusOK, "bob@example.com")
		bob.Get(Mount + "/docs").Want(http.StatusNotFound)
		hidden(bob) // not in the group

		elsewhere := signIn(map[string]any{"sub": "ann", "name": "Ann", "groups": []any{"root"}})
		page.Send(Mount + "/logout").Want(http.StatusSeeOther)
		hidden(ann) // signed out
		if len(signedOut) != 1 || signedOut[0] != idp.URL+" ann" {
			t.Errorf("SignedOut was called for %q, want once for ann", signedOut)
		}
		elsewhere.Get("/").Want(http.StatusOK, secrets...)
		if err := home.EndSessions(t.Context(), idp.URL, "ann"); err != nil {
			t.Fatal(err)
		}
		hidden(elsewhere) // signed out by EndSessions
		bob.Get("/").Want(http.StatusOK, "bob@example.com")

		idleUser := signIn(map[string]any{"sub": "ann", "name": "Ann", "groups": []any{"root"}})
		now = now.Add(sessionIdle + time.Minute)
		hidden(idleUser) // the session has ended
	})
}
