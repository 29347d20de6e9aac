package resources_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

func seed(tb testing.TB, cat *resources.Catalog) {
	tb.Helper()
	var list []resources.Resource
	err := json.Unmarshal([]byte(`[
		{"slug":"mail","uri":"https://api.example/mail","backend_kind":"mint","display_name":"Mail","scopes":[{"name":"read","description":"Read"},{"name":"send"}]},
		{"slug":"files","uri":"https://api.example/files","backend_kind":"mint","scopes":[{"name":"read"},{"name":"write"}]},
		{"slug":"other","backend_kind":"broker","scopes":[{"name":"far","upstream":"a"},{"name":"off","upstream":["b","c"]}]}]`), &list)
	if err == nil {
		err = cat.Seed(tb.Context(), list)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

func TestRows(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		ctx := t.Context()
		cat := resources.New(k.Server, resources.Options{})
		seed(t, cat)
		seed(t, cat) // changes nothing
		all, err := cat.All(ctx)
		if err != nil || len(all) != 3 || all[0].Slug != "files" {
			t.Fatalf("%+v, error %v", all, err)
		}
		if far, err := cat.Find(ctx, "other"); err != nil || !slices.Equal(far.Scopes[0].Upstream, []string{"a"}) || !slices.Equal(far.Scopes[1].Upstream, []string{"b", "c"}) {
			t.Errorf("%+v, error %v", far, err)
		}
		mail, err := cat.Find(ctx, "https://api.example/mail")
		if err != nil || mail.Slug != "mail" {
			t.Fatalf("%+v, error %v", mail, err)
		}
		if _, err := cat.Edit(ctx, mail.ID, func(r *resources.Resource) error {
			r.Scopes = append(r.Scopes, resources.Scope{Name: "delete"})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if scopes, err := cat.Scopes(ctx); err != nil || !slices.Equal(scopes, []string{"delete", "read", "send", "write"}) {
			t.Errorf("%q, error %v", scopes, err)
		}
		if _, err := cat.Edit(ctx, "mail", func(r *resources.Resource) error { r.URI = "https://api.example/files"; return nil }); !errors.Is(err, resources.ErrExists) {
			t.Errorf("the URI of another resource: error %v", err)
		}
		if _, err := cat.Edit(ctx, "mail", func(r *resources.Resource) error { r.URI = ""; return nil }); err == nil {
			t.Error("a mint resource without URI")
		}
		if err := cat.Create(ctx, &resources.Resource{Slug: "mail", Kind: resources.Broker}); !errors.Is(err, resources.ErrExists) {
			t.Errorf("the slug of another resource: error %v", err)
		}
		for ref, want := range map[string]string{"mail": "mail", "files": "files", "other": "", "": "", "https://api.example/mail": ""} {
			r, err := cat.ByRef(ctx, ref)
			if want == "" && !errors.Is(err, resources.ErrUnknown) || want != "" && (err != nil || r.Slug != want) {
				t.Errorf("%q: %+v, error %v", ref, r, err)
			}
		}
		if err := cat.Delete(ctx, "mail"); err != nil {
			t.Fatal(err)
		}
		if _, err := cat.Find(ctx, "mail"); !errors.Is(err, resources.ErrUnknown) {
			t.Errorf("error %v", err)
		}
		if err := cat.Delete(ctx, "mail"); !errors.Is(err, resources.ErrUnknown) {
			t.Errorf("error %v", err)
		}
		other := authtest.On(t, k.DB)
		otherCat := resources.New(other.Server, resources.Options{})
		if _, err := otherCat.Find(ctx, "files"); err != nil {
			t.Fatal(err)
		}
		if err := cat.Delete(ctx, "files"); err != nil {
			t.Fatal(err)
		}
		other.Clock.Pass(5 * time.Second)
		if _, err := otherCat.Find(ctx, "files"); !errors.Is(err, resources.ErrUnknown) {
			t.Errorf("another node after five seconds: error %v", err)
		}
	})
}

// TestRootURI checks that resources can be named and stored with and without the "/" of an empty path.
func TestRootURI(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		cat := resources.New(k.Server, resources.Options{})
		seeds := []resources.Resource{
			{Slug: "bare", URI: "https://bare.example", Kind: resources.Mint},
			{Slug: "rooted", URI: "https://rooted.example/", Kind: resources.Mint},
			{Slug: "query", URI: "https://query.example?a", Kind: resources.Mint},
			{Slug: "deep", URI: "https://bare.example/deep", Kind: resources.Mint},
		}
		for range 2 { // as at each start of the server
			if err := cat.Seed(t.Context(), seeds); err != nil {
				t.Fatal(err)
			}
		}
		for slug, uris := range map[string][2]string{
			"bare": {"https://bare.example", "https://bare.example/"}, "rooted": {"https://rooted.example", "https://rooted.example/"}, "query": {"https://query.example?a", "https://query.example/?a"},
		} {
			found, err := cat.Resolve(t.Context(), uris[:])
			if err != nil || len(found) != 1 || found[0].Slug != slug {
				t.Errorf("%q: %+v, error %v", uris, found, err)
			}
			for _, uri := range uris {
				if r, err := cat.Find(t.Context(), uri); err != nil || r.Slug != slug {
					t.Errorf("%s: %+v, error %v", uri, r, err)
				}
				other := &resources.Resource{Slug: "other", URI: uri, Kind: resources.Mint}
				if err := cat.Create(t.Context(), other); !errors.Is(err, resources.ErrExists) {
					t.Errorf("%s is created twice: %v", uri, err)
				}
				if err := cat.Seed(t.Context(), []resources.Resource{*other}); !errors.Is(err, resources.ErrExists) {
					t.Errorf("%s is seeded twice: %v", uri, err)
				}
				if _, err := cat.Edit(t.Context(), "deep", func(r *resources.Resource) error { r.URI = uri; return nil }); !errors.Is(err, resources.ErrExists) {
					t.Errorf("%s is assigned to another resource: %v", uri, err)
				}
				if _, err := cat.Edit(t.Context(), slug, func(r *resources.Resource) error { r.URI = uri; return nil }); err != nil {
					t.Errorf("%s cannot be replaced by its other spelling: %v", uri, err)
				}
			}
		}
		for _, uri := range []string{"https://bare.example//", "https://bare.example/?", "https://bare.example/deep/", "https://query.example", "bare/"} {
			if _, err := cat.Resolve(t.Context(), []string{uri}); err == nil {
				t.Errorf("%s is found", uri)
			}
		}
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]resources.Resource{
		"slug":           {Slug: "A", Kind: "broker"},
		"kind":           {Slug: "a", Kind: "x"},
		"no uri":         {Slug: "a", Kind: "mint"},
		"relative":       {Slug: "a", Kind: "mint", URI: "/x"},
		"fragment":       {Slug: "a", Kind: "mint", URI: "https://x.example/#"},
		"scope":          {Slug: "a", Kind: "broker", Scopes: []resources.Scope{{Name: "a b"}}},
		"twice":          {Slug: "a", Kind: "broker", Scopes: []resources.Scope{{Name: "a"}, {Name: "a"}}},
		"offline_access": {Slug: "a", Kind: "broker", Scopes: []resources.Scope{{Name: "offline_access"}}},
		"upstream":       {Slug: "a", Kind: "mint", URI: "https://x.example", Scopes: []resources.Scope{{Name: "a", Upstream: []string{"b"}}}},
	} {
		if r.Check() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	lax := resources.New(k.Server, resources.Options{Own: []string{"openid"}})
	strict := resources.New(k.Server, resources.Options{RequireScope: true})
	seed(t, lax)
	for name, test := range map[string]struct {
		cat      *resources.Catalog
		resource string
		ceiling  string
		asked    string
		want     string // the scope, or the code of the refusal
	}{
		"as asked":             {strict, "mail", "", "send read", "send read"},
		"twice":                {strict, "mail", "", "send  send ", "send"},
		"offline":              {strict, "mail", "", "read offline_access", "read"},
		"offline alone":        {strict, "mail", "", "offline_access", "!invalid_scope"},
		"none":                 {strict, "mail", "", "", "!invalid_scope"},
		"none, lax":            {lax, "mail", "", "", "read send"},
		"none, lax, ceiling":   {lax, "mail", "send write", "", "send"},
		"none, lax, all":       {lax, "", "", "", "read send write"},
		"other's":              {strict, "mail", "", "write", "!invalid_scope"},
		"of two":               {strict, "mail files", "", "write send", "write send"},
		"of any":               {strict, "", "", "write", "write"},
		"broker's, none named": {strict, "", "", "far", "!invalid_scope"},
		"unknown":              {strict, "", "", "x", "!invalid_scope"},
		"above the ceiling":    {strict, "mail", "read", "read send", "!invalid_scope"},
		"own":                  {lax, "mail", "", "openid read", "openid read"},
		"own of another":       {strict, "mail", "", "openid read", "!invalid_scope"},
		"bad characters":       {strict, "mail", "", "re\"ad", "!invalid_scope"},
		"too long":             {strict, "mail", "", strings.Repeat("r", 9000), "!invalid_scope"},
		"by uri":               {strict, "https://api.example/mail", "", "read", "read"},
		"unknown resource":     {strict, "x", "", "read", "!invalid_target"},
	} {
		resolved, err := test.cat.Resolve(t.Context(), strings.Fields(test.resource))
		var got []string
		if err == nil {
			got, err = test.cat.Scope(t.Context(), strings.Fields(test.ceiling), resolved, test.asked)
		}
		text := strings.Join(got, " ")
		if refusal, ok := apierror.From(err); ok {
			text = "!" + refusal.Code
		} else if err != nil {
			t.Fatal(err)
		}
		if text != test.want {
			t.Errorf("%s: %q, want %q", name, text, test.want)
		}
	}
}

func FuzzParseScope(f *testing.F) {
	f.Add("a b offline_access")
	f.Fuzz(func(t *testing.T, text string) {
		words, err := resources.ParseScope(text)
		if err != nil {
			return
		}
		for i, word := range words {
			if !resources.Word(word) || slices.Contains(words[:i], word) {
				t.Fatalf("%q of %q", words, text)
			}
		}
	})
}

// TestMaximumResources checks that no more resources can be stored than are read.
func TestMaximumResources(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		cat := resources.New(k.Server, resources.Options{})
		if err := k.Write(t.Context(), func(c store.Conn) error {
			_, err := c.Exec("INSERT INTO authserver_resources (id, slug, kind, created_at, updated_at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)" +
				" SELECT 'id' || i, 'slug' || i, 'broker', 1, 1 FROM n")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if err := cat.Create(t.Context(), &resources.Resource{Slug: "z", Kind: resources.Broker}); err != nil {
			t.Fatal(err)
		}
		err := cat.Create(t.Context(), &resources.Resource{Slug: "a", Kind: resources.Broker})
		if refused, ok := apierror.From(err); !ok || refused.Status != 422 {
			t.Errorf("error %v", err)
		}
		if _, err := cat.Find(t.Context(), "z"); err != nil {
			t.Error(err)
		}
	})
}

// TestWords checks that a scope's names at the provider may be a string or an array, and that null is no name.
func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]resources.Words{
		`"a"`: {"a"}, `["a","b"]`: {"a", "b"}, `null`: nil, `""`: {""}, `[]`: {},
	} {
		var got resources.Words
		if err := json.Unmarshal([]byte(text), &got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{`1`, `{}`, `[1]`, `true`} {
		if err := json.Unmarshal([]byte(text), new(resources.Words)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
