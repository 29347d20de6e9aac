package apiauth

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
)

func TestKeyRotation(t *testing.T) {
	t.Parallel()
	p := newIDP(t, jwk("k1", rsaKey))
	c := p.checker(t)
	c.passes(c.good())
	p.set(func(p *idp) { p.keys = jwks(jwk("k2", otherRSAKey)) })
	newer := sign(t, "RS256", otherRSAKey, map[string]any{"kid": "k2"}, c.claims())
	c.refuses(newer, errUnknownKey) // the last fetch was just now
	c.clock.advance(fetchGap)
	c.passes(newer)
	if n := p.count(); n != 2 {
		t.Errorf("%d fetches", n)
	}
	c.clock.advance(verifiedTTL) // until then the old token is remembered
	c.refuses(c.good(), errUnknownKey)
}

func TestUnknownKeyFlood(t *testing.T) {
	t.Parallel()
	p := newIDP(t, jwk("k1", rsaKey))
	c := p.checker(t)
	tokens := make([]string, 60)
	for i := range tokens {
		tokens[i] = sign(t, "ES256", ecKey, map[string]any{"kid": fmt.Sprint(i)}, c.claims())
	}
	for want := 1; want <= 3; want++ {
		var all sync.WaitGroup
		for _, text := range tokens {
			all.Go(func() { c.refuses(text, errUnknownKey) })
		}
		all.Wait()
		if n := p.count(); n != want {
			t.Errorf("%d fetches, want %d", n, want)
		}
		c.clock.advance(fetchGap)
	}
	// What would not pass with any key asks for none.
	claims := c.claims()
	claims["aud"] = "x"
	c.refuses(sign(t, "ES256", ecKey, map[string]any{"kid": "x"}, claims), errAudience)
	if n := p.count(); n != 3 {
		t.Errorf("%d fetches for a token of another service", n)
	}
}

func TestProviderDownAtStart(t *testing.T) {
	t.Parallel()
	p := newIDP(t, jwk("k1", rsaKey))
	p.set(func(p *idp) { p.status = 500 })
	c := p.checker(t)
	good := c.good()
	for range 20 {
		c.unavailable(t.Context(), good)
	}
	if n := p.count(); n != 1 {
		t.Errorf("%d fetches", n)
	}
	c.refuses("x.y.z", errMalformed)
	p.set(func(p *idp) { p.status = 200 })
	c.clock.advance(firstGap)
	c.passes(good)
}

func TestProviderDownLater(t *testing.T) {
	t.Parallel()
	p := newIDP(t, jwk("k1", rsaKey))
	c := p.checker(t)
	good := c.good()
	c.passes(good)
	p.set(func(p *idp) { p.status = 503 })
	fetches := 1
	for _, step := range []time.Duration{defaultFresh, time.Hour, 22*time.Hour + 59*time.Minute} {
		c.clock.advance(step)
		for range 5 {
			c.passes(c.good())
		}
		if source := c.keys.(*keySource); step != defaultFresh {
			source.wait(t.Context(), source.fetch(fetchGap))
		}
		if fetches++; p.count() != fetches {
			t.Errorf("after %v: %d fetches, want %d", step, p.count(), fetches)
		}
	}
	c.clock.advance(2 * time.Minute)
	c.unavailable(t.Context(), c.good())
	p.set(func(p *idp) { p.status = 200 })
	c.clock.advance(fetchGap)
	c.passes(c.good())
}

// TestRefreshAhead fetches before the keys end, beside the request.
func TestRefreshAhead(t *testing.T) {
	t.Parallel()
	p := newIDP(t, jwk("k1", rsaKey))
	p.set(func(p *idp) { p.header.Set("Cache-Control", "public, max-age=1000") })
	c := p.checker(t)
	c.passes(c.good())
	<-p.arrived
	c.clock.advance(799 * time.Second)
	c.passes(c.good())
	if n := p.count(); n != 1 {
		t.Errorf("%d fetches", n)
	}
	hold := make(chan struct{})
	p.set(func(p *idp) { p.hold = hold })
	c.clock.advance(time.Second)
	c.passes(c.good()) // does not wait
	<-p.arrived
	close(hold)
	source := c.keys.(*keySource)
	source.wait(t.Context(), source.fetch(fetchGap))
	c.clock.advance(700 * time.Second) // the first keys would have ended
	c.passes(c.good())
	if n := p.count(); n != 2 {
		t.Errorf("%d fetches", n)
	}
}

func TestSlowProvider(t *testing.T) {
	t.Parallel()
	p := newIDP(t, jwk("k1", rsaKey))
	hold := make(chan struct{})
	p.set(func(p *idp) { p.hold = hold })
	c := p.checker(t)
	good := c.good()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { c.unavailable(ctx, good) })
	}
	<-p.arrived
	cancel()
	all.Wait()
	all.Go(func() { c.passes(good) }) // joins the fetch, which goes on
	close(hold)
	all.Wait()
	if n := p.count(); n != 1 {
		t.Errorf("%d fetches", n)
	}
}

func TestBadKeySets(t *testing.T) {
	t.Parallel()
	one := jwk("k1", rsaKey)
	redirect := func(to string) func(*idp) {
		return func(p *idp) {
			p.status = http.StatusFound
			p.header.Set("Location", to)
		}
	}
	for name, test := range map[string]struct {
		change func(p *idp)
		good   bool
	}{
		"100 keys":           {func(p *idp) { p.keys = jwks(append(many(99), one)...) }, true},
		"101 keys":           {func(p *idp) { p.keys = jwks(append(many(100), one)...) }, false},
		"just 1 MB":          {func(p *idp) { p.keys += strings.Repeat(" ", maxKeySet-len(p.keys)) }, true},
		"more than 1 MB":     {func(p *idp) { p.keys += strings.Repeat(" ", maxKeySet-len(p.keys)+1) }, false},
		"no keys":            {func(p *idp) { p.keys = jwks() }, false},
		"no useful key":      {func(p *idp) { p.keys = jwks(jwk("k1", rsaKey, `"use":"enc"`)) }, false},
		"not JSON":           {func(p *idp) { p.keys = "<html>" }, false},
		"another status":     {func(p *idp) { p.status = 203 }, false},
		"redirect to https":  {redirect("https://127.0.0.1:1/keys"), false},
		"redirect elsewhere": {redirect("http://192.0.2.1/keys"), false},
		"redirect to a file": {redirect("file:///etc/passwd"), false},
		"redirect to itself": {redirect("/keys"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newIDP(t, one)
			p.set(test.change)
			c := p.checker(t)
			if test.good {
				c.passes(c.good())
			} else {
				c.unavailable(t.Context(), c.good())
			}
		})
	}
	// A redirect that stays where it may is followed.
	p, other := newIDP(t, one), newIDP(t, one)
	p.set(redirect(other.URL + "/keys"))
	c := p.checker(t)
	c.passes(c.good())
}

// many are keys that are of no use.
func many(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = `{"kty":"oct","k":"AA"}`
	}
	return keys
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		discovery func(p *idp) string
		good      bool
	}{
		"good":            {func(*idp) string { return "" }, true},
		"other issuer":    {func(p *idp) string { return fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, p.URL+"/", p.URL+"/keys") }, false},
		"no issuer":       {func(p *idp) string { return fmt.Sprintf(`{"jwks_uri":%q}`, p.URL+"/keys") }, false},
		"no keys":         {func(p *idp) string { return fmt.Sprintf(`{"issuer":%q}`, p.URL) }, false},
		"keys elsewhere":  {func(p *idp) string { return fmt.Sprintf(`{"issuer":%q,"jwks_uri":"http://192.0.2.1/"}`, p.URL) }, false},
		"not a document":  {func(*idp) string { return "[]" }, false},
		"a huge document": {func(*idp) string { return strings.Repeat(" ", maxKeySet+1) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newIDP(t, jwk("k1", rsaKey))
			p.set(func(p *idp) { p.discovery = test.discovery(p) })
			c := newChecker(t, &UserJWT{Issuer: p.URL, Audiences: []string{"console"}})
			if test.good {
				c.passes(c.good())
			} else {
				c.unavailable(t.Context(), c.good())
			}
		})
	}
}

// TestReloads replaces the provider under load, as reloads do.
func TestReloads(t *testing.T) {
	t.Parallel()
	p := newIDP(t, jwk("k1", rsaKey))
	settings := func() *UserJWT {
		return &UserJWT{Issuer: p.URL, JWKSURL: p.URL + "/keys", Audiences: []string{"console"}, DisableLocal: true}
	}
	load := func() *checker {
		u := settings()
		if err := u.Provision(caddy.Context{}); err != nil {
			t.Fatal(err)
		}
		return &checker{u, &clock{at: time.Now()}, t}
	}
	old := load()
	good := old.good()
	first := old.keys.(*keySource)
	for range 10 {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { old.passes(good) })
		}
		newer := load()
		for range 4 {
			all.Go(func() { newer.passes(good) })
		}
		if err := old.Cleanup(); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		old = newer
	}
	if n := p.count(); n != 1 || old.keys != first || first.ctx.Err() != nil {
		t.Errorf("%d fetches, another source: %t, ended: %v", n, old.keys != first, first.ctx.Err())
	}
	if err := old.Cleanup(); err != nil {
		t.Fatal(err)
	}
	if first.ctx.Err() == nil || first.fetch(0) != nil {
		t.Error("the source goes on without users")
	}
	old.passes(good) // a request that is under way
	last := load()
	last.passes(good)
	if err := last.Cleanup(); err != nil || p.count() != 2 {
		t.Errorf("%d fetches, error %v", p.count(), err)
	}
}

func TestFreshness(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"":                              defaultFresh,
		"public":                        defaultFresh,
		"max-age=3600":                  time.Hour,
		`Public, MAX-AGE="3600"`:        time.Hour,
		"max-age=0":                     minFresh,
		"max-age=1":                     minFresh,
		"max-age=99999999":              maxFresh,
		"max-age=99999999999999999999":  defaultFresh,
		"max-age=-1":                    defaultFresh,
		"max-age":                       defaultFresh,
		"no-store":                      minFresh,
		"max-age=3600, no-cache":        minFresh,
		"s-maxage=5, max-age=7200, foo": 2 * time.Hour,
	} {
		if got := freshness(http.Header{"Cache-Control": {header}}); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}

func FuzzKeySet(f *testing.F) {
	f.Add(jwks(jwk("k1", rsaKey), jwk("ec", ecKey), jwk("ed", edKey)))
	f.Add(`{"keys":[{"kty":"EC","crv":"P-521","x":"AQ==","y":""},{"kty":"RSA","n":"AQ","e":"AQAB"},{"kty":"OKP","crv":"X25519","x":""}]}`)
	f.Add(`{"keys":[{"kty":"RSA","n":"AQ","e":"AQAB","oth":[{}],"x5c":["x"],"x5u":"http://127.0.0.1"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		set, err := parseKeySet([]byte(text))
		if (err == nil) != (len(set) > 0) || len(set) > maxKeys {
			t.Errorf("%d keys, error %v", len(set), err)
		}
		for i := range set {
			if set[i].verifies("HS256") || set[i].verifies("none") || checkPublic(set[i].key) != nil {
				t.Errorf("key %+v", set[i])
			}
		}
	})
}
