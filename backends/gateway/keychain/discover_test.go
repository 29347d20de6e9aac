package keychain

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
)

// modelServer answers /v1/models with a response that the test sets.
type modelServer struct {
	*httptest.Server
	answer atomic.Value // func(w http.ResponseWriter, r *http.Request)
}

func newModelServer(t *testing.T) *modelServer {
	t.Helper()
	s := new(modelServer)
	s.serveModels()
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "" {
			t.Errorf("asked for %s with %v", r.URL, r.Header)
		}
		s.answer.Load().(func(http.ResponseWriter, *http.Request))(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *modelServer) base() string { return s.URL + "/v1" }

// serveModels makes the server list models with the given ids.
func (s *modelServer) serveModels(ids ...string) {
	items := make([]string, 0, len(ids))
	for _, id := range ids {
		items = append(items, fmt.Sprintf("{%q:%q}", "id", id))
	}
	s.respond(200, `{"data":[`+strings.Join(items, ",")+`]}`)
}

// respond makes the server answer every request with the given status and body.
func (s *modelServer) respond(status int, body string) {
	s.answer.Store(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

// servers returns servers at base URLs that need no key.
func servers(bases ...string) []ModelServer {
	list := make([]ModelServer, len(bases))
	for i, base := range bases {
		list[i].BaseURL = base
	}
	return list
}

// ownModels returns the entries of alice's own models with their base URLs and model names.
func (n *node) ownModels(t *testing.T) []string {
	t.Helper()
	rows, err := n.selectModels(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	all := make([]string, 0, len(rows))
	for _, m := range rows {
		all = append(all, m.Entry+"="+m.BaseURL+" "+m.Model)
	}
	return all
}

func TestDiscover(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n, ctx := p.start(t), t.Context()
		n.user(t, "alice")
		first, second := newModelServer(t), newModelServer(t)
		discover := func(bases ...string) []string {
			t.Helper()
			found, err := n.Discover(ctx, "alice", "local", servers(bases...), http.DefaultTransport)
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		baseURLs := []string{first.base() + "/", second.base()}
		equal(t, discover(baseURLs...), nil)

		first.serveModels("b", "a", "shared")
		second.serveModels("shared", "z")
		equal(t, discover(baseURLs...), []string{first.base(), second.base()})
		want := []string{
			"local/b=" + first.base() + " b", "local/a=" + first.base() + " a",
			"local/shared=" + first.base() + " shared", "local/z=" + second.base() + " z",
		}
		equal(t, n.ownModels(t), want)
		if c := n.account(t, "alice").RoutingFor(testCatalog(t), "").Tier(catalog.Low); len(c) != 4 || c[0].Entry != "local/b" || c[0].Keys[0].Secret != "" {
			t.Errorf("%d candidates, first %+v", len(c), c[0])
		}

		// A second discovery changes nothing, not even the user's setting.
		if _, err := n.ChangeModel(ctx, testCatalog(t), "alice", "local/a", ModelChange{Enabled: new(false)}); err != nil {
			t.Fatal(err)
		}
		before := n.dump(t)
		discover(baseURLs...)
		if n.dump(t) != before {
			t.Error("a second look changes the database")
		}

		// Models that the user has added stay, with the discovery's prefix and without.
		for _, entry := range []string{"local/mine", "other/mine"} {
			if _, err := n.AddModel(ctx, "alice", CustomModel{Entry: entry, BaseURL: "http://elsewhere/v1", Model: "m", Tier: catalog.High}); err != nil {
				t.Fatal(err)
			}
		}
		mine := []string{"local/mine=http://elsewhere/v1 m", "other/mine=http://elsewhere/v1 m"}

		// The first server fails: its models are removed, and the model on both servers moves to the second.
		first.respond(500, "")
		equal(t, discover(baseURLs...), []string{second.base()})
		equal(t, n.ownModels(t), append(append([]string{want[3]}, mine...), "local/shared="+second.base()+" shared"))
		second.Close()
		equal(t, discover(baseURLs...), nil)
		equal(t, n.ownModels(t), mine)

		// An unknown user is an error only when there are models to add.
		first.serveModels("a")
		if _, err := n.Discover(ctx, "nobody", "local", servers(baseURLs...), http.DefaultTransport); err == nil {
			t.Error("an unknown user has models")
		}
	})
}

func TestDiscoverWithoutTransport(t *testing.T) {
	t.Parallel()
	n, ctx := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t), t.Context()
	n.user(t, "alice")
	s := newModelServer(t)
	s.serveModels("a")
	for range 2 {
		if _, err := n.Discover(ctx, "alice", "scripted", servers(s.base()), http.DefaultTransport); err != nil {
			t.Fatal(err)
		}
	}
	if len(n.ownModels(t)) != 1 {
		t.Fatalf("%v", n.ownModels(t))
	}
	if found, err := n.Discover(ctx, "alice", "scripted", servers(s.base()), nil); err != nil || found != nil || len(n.ownModels(t)) != 0 {
		t.Errorf("found %v, left %v, error %v", found, n.ownModels(t), err)
	}
}

func TestDiscoverHostileLists(t *testing.T) {
	t.Parallel()
	n, ctx := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t), t.Context()
	n.user(t, "alice")
	s := newModelServer(t)
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprintf(`{"id":"m%d"}`, i)
	}
	for name, test := range map[string]struct {
		body string
		want int
	}{
		"HTML":               {"<html>", 0},
		"empty":              {"", 0},
		"array":              {"[]", 0},
		"wrong types":        {`{"data":[{"id":5}]}`, 0},
		"no data":            {`{"models":[]}`, 0},
		"cut off":            {`{"data":[{"id":"a"}`, 0},
		"too large":          {`{"pad":"` + strings.Repeat("x", maxProbe) + `","data":[{"id":"a"}]}`, 0},
		"deep":               {`{"data":` + strings.Repeat("[", 100_000), 0},
		"bad ids":            {`{"data":[{"id":""},{"id":"a b"},{"id":"a\tb"},{"id":"a\u0000"},{"id":"\u001b[2J"},{"id":"` + strings.Repeat("x", 151) + `"},{"id":"good"}]}`, 1},
		"doubles":            {`{"data":[{"id":"a"},{"id":"a"}]}`, 1},
		"too many":           {`{"data":[` + strings.Join(many, ",") + `]}`, maxFound},
		"ids with slashes":   {`{"data":[{"id":"org/model:tag"}]}`, 1},
		"unknown fields":     {`{"object":"list","data":[{"id":"a","owned_by":{}}],"x":[1]}`, 1},
		"SQL":                {`{"data":[{"id":"';DROP_TABLE_gateway_models;--"}]}`, 1},
		"broken UTF-8 in id": {"{\"data\":[{\"id\":\"a\xff\"}]}", 1},
	} {
		s.respond(200, test.body)
		if _, err := n.Discover(ctx, "alice", "local", servers(s.base()), http.DefaultTransport); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := n.ownModels(t); len(got) != test.want {
			t.Errorf("%s: %d models, want %d: %.200q", name, len(got), test.want, got)
		}
	}
	for _, base := range []string{"", "::", "http://127.0.0.1:1/v1", "http://[", "ftp://x"} {
		if found, err := n.Discover(ctx, "alice", "local", servers(base), http.DefaultTransport); err != nil || len(found) != 0 {
			t.Errorf("%s: found %v, error %v", base, found, err)
		}
	}

	// Discover gives up on a server that hangs.
	s.answer.Store(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if found, err := n.Discover(ctx, "alice", "local", servers(s.base()), http.DefaultTransport); err != nil || len(found) != 0 {
		t.Errorf("hanging: found %v, error %v", found, err)
	}
	// A redirect is not followed, because it could lead anywhere.
	s.answer.Store(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) })
	if found, err := n.Discover(ctx, "alice", "local", servers(s.base()), http.DefaultTransport); err != nil || len(found) != 0 {
		t.Errorf("redirect: found %v, error %v", found, err)
	}
}

func TestSyncProviderKey(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n, ctx := p.start(t), t.Context()
		n.user(t, "alice")
		n.providerKey(t, "alice", "alpha", "by-hand")
		sync := func(provider, label, secret string) {
			t.Helper()
			if err := n.SyncProviderKey(ctx, "alice", provider, label, secret); err != nil {
				t.Fatal(err)
			}
		}
		held := func() []string {
			keys := n.account(t, "alice").keys
			all := make([]string, 0, len(keys))
			for _, k := range keys {
				all = append(all, k.Provider+"="+k.secret)
			}
			return all
		}
		sync("alpha", "env A", "one")
		sync("beta", "env B", "two")
		equal(t, held(), []string{"alpha=by-hand", "alpha=one", "beta=two"})
		before := n.dump(t)
		sync("alpha", "env A", "one")
		if n.dump(t) != before {
			t.Error("the same key again changes the database")
		}
		sync("alpha", "env A", "three")
		equal(t, held(), []string{"alpha=by-hand", "beta=two", "alpha=three"})
		sync("beta", "env B", "")
		sync("beta", "env B", "")
		equal(t, held(), []string{"alpha=by-hand", "alpha=three"})
		n.sql(t, "UPDATE gateway_provider_keys SET sealed = 'x' WHERE label = 'env A'")
		sync("alpha", "env A", "three") // the stored key cannot be decrypted, so it is replaced
		equal(t, held(), []string{"alpha=by-hand", "alpha=three"})
		wantRefusal(t, n.SyncProviderKey(ctx, "alice", "alpha", "env A", "a b"), 400, "invalid_value", "api_key")
	})
}

// TestDiscoverRemovesMissingModels checks that the models of a server that is no longer configured are removed, and
// that models which the user has added under the same prefix stay.
func TestDiscoverRemovesMissingModels(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n, server := p.start(t), newModelServer(t)
		n.user(t, "alice")
		server.serveModels("a", "b")
		if _, err := n.Discover(t.Context(), "alice", "local", servers(server.base()), http.DefaultTransport); err != nil {
			t.Fatal(err)
		}
		if _, err := n.AddModel(t.Context(), "alice", CustomModel{Entry: "local/mine", BaseURL: "http://mine.test/v1", Model: "m", Tier: catalog.Low}); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Discover(t.Context(), "alice", "local", nil, http.DefaultTransport); err != nil {
			t.Fatal(err)
		}
		equal(t, n.ownModels(t), []string{"local/mine=http://mine.test/v1 m"})
	})
}

// TestDiscoverWithKey checks that discovery, and later requests to the models, send each server only its own key.
func TestDiscoverWithKey(t *testing.T) {
	t.Parallel()
	n := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	n.user(t, "alice")
	open, guarded := newModelServer(t), httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-1" && r.Header.Get("Authorization") != "Bearer sk-2" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"a"}]}`))
	}))
	defer guarded.Close()
	open.serveModels("b")
	for _, key := range []string{"sk-1", "sk-2", "sk-2"} {
		found, err := n.Discover(t.Context(), "alice", "local", []ModelServer{{guarded.URL + "/v1", key}, {open.base(), ""}}, http.DefaultTransport)
		if err != nil || len(found) != 2 {
			t.Fatalf("%v, error %v", found, err)
		}
		r := n.account(t, "alice").RoutingFor(testCatalog(t), "")
		for entry, want := range map[string]string{"local/a": key, "local/b": ""} {
			if c, ok := r.Entry(entry); !ok || c.Keys[0].Secret != want {
				t.Errorf("%s is asked with %+v, want %q", entry, c, want)
			}
		}
	}
}
