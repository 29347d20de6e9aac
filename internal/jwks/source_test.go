package jwks

import (
	"context"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
)

// The keys are shared by all tests, since generating an RSA key takes long.
var (
	rsaKey, otherRSAKey = jwkstest.NewRSA(2048), jwkstest.NewRSA(2048)
	ecKey               = jwkstest.NewEC(elliptic.P256())
	_, edKey, _         = ed25519.GenerateKey(rand.Reader)
)

// checker is a source with its clock.
type checker struct {
	*Source
	clock *jwkstest.Clock
	tb    testing.TB
}

func newChecker(tb testing.TB, address Address) *checker {
	tb.Helper()
	if err := address.Check(); err != nil {
		tb.Fatal(err)
	}
	c := &checker{NewSource(address, zap.NewNop), jwkstest.NewClock(), tb}
	c.Source.now = c.clock.Now
	tb.Cleanup(c.Close)
	return c
}

func checkerOf(tb testing.TB, p *jwkstest.Provider) *checker {
	tb.Helper()
	return newChecker(tb, Address{JWKS: p.URL + "/keys"})
}

// finds fails the test unless the provider has exactly one key of the id kid for RS256.
func (c *checker) finds(kid string) {
	c.tb.Helper()
	if keys, err := c.Find(c.tb.Context(), kid, "RS256"); err != nil || len(keys) != 1 {
		c.tb.Errorf("%s: %d keys, error %v", kid, len(keys), err)
	}
}

func (c *checker) refuses(kid string) {
	c.tb.Helper()
	if keys, err := c.Find(c.tb.Context(), kid, "RS256"); !errors.Is(err, ErrUnknownKey) {
		c.tb.Errorf("%s: %d keys, error %v", kid, len(keys), err)
	}
}

func (c *checker) unavailable(ctx context.Context) {
	c.tb.Helper()
	keys, err := c.Find(ctx, "k1", "RS256")
	if refusal, ok := apierror.From(err); !ok || refusal.Status != 503 || refusal.RetryAfter == 0 {
		c.tb.Errorf("%d keys, error %v, want a 503", len(keys), err)
	}
}

// TestClosedSourceKeepsKeys checks that a closed source keeps its keys and fetches no others.
func TestClosedSourceKeepsKeys(t *testing.T) {
	t.Parallel()
	p := jwkstest.New(t, jwkstest.JWK("k1", rsaKey))
	c := checkerOf(t, p)
	c.finds("k1")
	c.Close()
	c.clock.Advance(fetchGap)
	c.finds("k1")
	c.refuses("k2")
	if n := p.Count(); n != 1 {
		t.Errorf("%d fetches", n)
	}
}

// TestFind checks that a key is found by its id and its purpose. Without an id it must be the only one.
func TestFind(t *testing.T) {
	t.Parallel()
	set, err := ParseSet([]byte(jwkstest.Keys(
		jwkstest.JWK("a", rsaKey), jwkstest.JWK("b", otherRSAKey, `"alg":"PS256"`), jwkstest.JWK("ec", ecKey), jwkstest.JWK("ed", edKey),
		jwkstest.JWK("enc", otherRSAKey, `"use":"enc"`), jwkstest.JWK("ops", otherRSAKey, `"key_ops":["encrypt"]`), `{"kty":"oct","kid":"oct","k":"AAAA"}`, `7`)))
	if err != nil || len(set) != 4 {
		t.Fatalf("%d keys, error %v", len(set), err)
	}
	for _, c := range []struct {
		kid, algorithm string
		want           error
	}{
		{"a", "RS256", nil},
		{"a", "PS512", nil},
		{"a", "ES256", ErrAlgorithm},
		{"a", "HS256", ErrAlgorithm},
		{"a", "none", ErrAlgorithm},
		{"b", "PS256", nil},
		{"b", "RS256", ErrAlgorithm},
		{"ec", "ES256", nil},
		{"ec", "ES384", ErrAlgorithm},
		{"ed", "EdDSA", nil},
		{"enc", "RS256", ErrUnknownKey},
		{"ops", "RS256", ErrUnknownKey},
		{"oct", "HS256", ErrUnknownKey},
		{"x", "RS256", ErrUnknownKey},
		{"", "ES256", nil},
		{"", "RS256", nil}, // key b is for PS256 only
		{"", "PS256", ErrNoKeyID},
		{"", "HS256", ErrUnknownKey},
	} {
		if key, err := set.Find(t.Context(), c.kid, c.algorithm); !errors.Is(err, c.want) || (err == nil) != (key != nil) {
			t.Errorf("%q for %s: %v, error %v, want %v", c.kid, c.algorithm, key, err, c.want)
		}
	}
	fixed := Fixed{{Key: rsaKey.Public()}, {Key: []byte("secret")}}
	for algorithm, want := range map[string]int{"RS256": 1, "HS256": 1, "ES256": 0} {
		if found, err := fixed.Find(t.Context(), "any", algorithm); len(found) != want || (want == 0) != errors.Is(err, ErrUnknownKey) {
			t.Errorf("%s: %d keys, error %v", algorithm, len(found), err)
		}
	}
}

func TestKeyRotation(t *testing.T) {
	t.Parallel()
	p := jwkstest.New(t, jwkstest.JWK("k1", rsaKey))
	c := checkerOf(t, p)
	c.finds("k1")
	p.Set(func(p *jwkstest.Provider) { p.JWKS = jwkstest.Keys(jwkstest.JWK("k2", otherRSAKey)) })
	c.refuses("k2") // the last fetch was just now
	c.clock.Advance(fetchGap)
	c.finds("k2")
	if n := p.Count(); n != 2 {
		t.Errorf("%d fetches", n)
	}
	c.refuses("k1")
}

func TestUnknownKeyFlood(t *testing.T) {
	t.Parallel()
	p := jwkstest.New(t, jwkstest.JWK("k1", rsaKey))
	c := checkerOf(t, p)
	for want := 1; want <= 3; want++ {
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() { c.refuses(fmt.Sprint(i)) })
		}
		all.Wait()
		if n := p.Count(); n != want {
			t.Errorf("%d fetches, want %d", n, want)
		}
		c.clock.Advance(fetchGap)
	}
}

func TestProviderDownAtStart(t *testing.T) {
	t.Parallel()
	p := jwkstest.New(t, jwkstest.JWK("k1", rsaKey))
	p.Set(func(p *jwkstest.Provider) { p.Status = 500 })
	c := checkerOf(t, p)
	for range 20 {
		c.unavailable(t.Context())
	}
	if n := p.Count(); n != 1 {
		t.Errorf("%d fetches", n)
	}
	p.Set(func(p *jwkstest.Provider) { p.Status = 200 })
	c.clock.Advance(firstGap)
	c.finds("k1")
}

func TestProviderDownLater(t *testing.T) {
	t.Parallel()
	p := jwkstest.New(t, jwkstest.JWK("k1", rsaKey))
	c := checkerOf(t, p)
	c.finds("k1")
	p.Set(func(p *jwkstest.Provider) { p.Status = 503 })
	fetches := 1
	for _, step := range []time.Duration{defaultFresh, time.Hour, 22*time.Hour + 59*time.Minute} {
		c.clock.Advance(step)
		for range 5 {
			c.finds("k1")
		}
		if source := c.Source; step != defaultFresh {
			source.wait(t.Context(), source.fetch(fetchGap))
		}
		if fetches++; p.Count() != fetches {
			t.Errorf("after %v: %d fetches, want %d", step, p.Count(), fetches)
		}
	}
	c.clock.Advance(2 * time.Minute)
	c.unavailable(t.Context())
	p.Set(func(p *jwkstest.Provider) { p.Status = 200 })
	c.clock.Advance(fetchGap)
	c.finds("k1")
}

// TestRefreshAhead checks that keys are fetched before they expire, in parallel to the request.
func TestRefreshAhead(t *testing.T) {
	t.Parallel()
	p := jwkstest.New(t, jwkstest.JWK("k1", rsaKey))
	p.Set(func(p *jwkstest.Provider) { p.Header.Set("Cache-Control", "public, max-age=1000") })
	c := checkerOf(t, p)
	c.finds("k1")
	<-p.Arrived
	c.clock.Advance(799 * time.Second)
	c.finds("k1")
	if n := p.Count(); n != 1 {
		t.Errorf("%d fetches", n)
	}
	hold := make(chan struct{})
	p.Set(func(p *jwkstest.Provider) { p.Hold = hold })
	c.clock.Advance(time.Second)
	c.finds("k1") // does not wait
	<-p.Arrived
	close(hold)
	source := c.Source
	source.wait(t.Context(), source.fetch(fetchGap))
	c.clock.Advance(700 * time.Second) // the first keys would have expired
	c.finds("k1")
	if n := p.Count(); n != 2 {
		t.Errorf("%d fetches", n)
	}
}

func TestSlowProvider(t *testing.T) {
	t.Parallel()
	p := jwkstest.New(t, jwkstest.JWK("k1", rsaKey))
	hold := make(chan struct{})
	p.Set(func(p *jwkstest.Provider) { p.Hold = hold })
	c := checkerOf(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { c.unavailable(ctx) })
	}
	<-p.Arrived
	cancel()
	all.Wait()
	all.Go(func() { c.finds("k1") }) // joins the fetch that is running
	close(hold)
	all.Wait()
	if n := p.Count(); n != 1 {
		t.Errorf("%d fetches", n)
	}
}

func TestBadKeySets(t *testing.T) {
	t.Parallel()
	key := jwkstest.JWK("k1", rsaKey)
	redirect := func(location string) func(*jwkstest.Provider) {
		return func(p *jwkstest.Provider) {
			p.Status = http.StatusFound
			p.Header.Set("Location", location)
		}
	}
	for name, test := range map[string]struct {
		change func(p *jwkstest.Provider)
		good   bool
	}{
		"100 keys":           {func(p *jwkstest.Provider) { p.JWKS = jwkstest.Keys(append(many(99), key)...) }, true},
		"101 keys":           {func(p *jwkstest.Provider) { p.JWKS = jwkstest.Keys(append(many(100), key)...) }, false},
		"just 1 MB":          {func(p *jwkstest.Provider) { p.JWKS += strings.Repeat(" ", maxKeySet-len(p.JWKS)) }, true},
		"more than 1 MB":     {func(p *jwkstest.Provider) { p.JWKS += strings.Repeat(" ", maxKeySet-len(p.JWKS)+1) }, false},
		"no keys":            {func(p *jwkstest.Provider) { p.JWKS = jwkstest.Keys() }, false},
		"no useful key":      {func(p *jwkstest.Provider) { p.JWKS = jwkstest.Keys(jwkstest.JWK("k1", rsaKey, `"use":"enc"`)) }, false},
		"not JSON":           {func(p *jwkstest.Provider) { p.JWKS = "<html>" }, false},
		"another status":     {func(p *jwkstest.Provider) { p.Status = 203 }, false},
		"redirect to https":  {redirect("https://127.0.0.1:1/keys"), false},
		"redirect elsewhere": {redirect("http://192.0.2.1/keys"), false},
		"redirect to a file": {redirect("file:///etc/passwd"), false},
		"redirect to itself": {redirect("/keys"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := jwkstest.New(t, key)
			p.Set(test.change)
			c := checkerOf(t, p)
			if test.good {
				c.finds("k1")
			} else {
				c.unavailable(t.Context())
			}
		})
	}
	// A redirect that stays within the allowed addresses is followed.
	p, other := jwkstest.New(t, key), jwkstest.New(t, key)
	p.Set(redirect(other.URL + "/keys"))
	c := checkerOf(t, p)
	c.finds("k1")
}

// many returns n keys that cannot be used.
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
		discovery func(p *jwkstest.Provider) string
		good      bool
	}{
		"good": {func(*jwkstest.Provider) string { return "" }, true},
		"other issuer": {func(p *jwkstest.Provider) string {
			return fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, p.URL+"/", p.URL+"/keys")
		}, false},
		"no issuer": {func(p *jwkstest.Provider) string { return fmt.Sprintf(`{"jwks_uri":%q}`, p.URL+"/keys") }, false},
		"no keys":   {func(p *jwkstest.Provider) string { return fmt.Sprintf(`{"issuer":%q}`, p.URL) }, false},
		"keys elsewhere": {func(p *jwkstest.Provider) string {
			return fmt.Sprintf(`{"issuer":%q,"jwks_uri":"http://192.0.2.1/"}`, p.URL)
		}, false},
		"not a document":  {func(*jwkstest.Provider) string { return "[]" }, false},
		"a huge document": {func(*jwkstest.Provider) string { return strings.Repeat(" ", maxKeySet+1) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := jwkstest.New(t, jwkstest.JWK("k1", rsaKey))
			p.Set(func(p *jwkstest.Provider) { p.Discovery = test.discovery(p) })
			c := newChecker(t, Address{Issuer: p.URL})
			if test.good {
				c.finds("k1")
			} else {
				c.unavailable(t.Context())
			}
		})
	}
}

func TestFreshness(t *testing.T) {
	t.Parallel()
	s := NewSource(Address{}, zap.NewNop)
	defer s.Close()
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
		if got := s.freshness(http.Header{"Cache-Control": {header}}); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}

func FuzzKeySet(f *testing.F) {
	f.Add(jwkstest.Keys(jwkstest.JWK("k1", rsaKey), jwkstest.JWK("ec", ecKey), jwkstest.JWK("ed", edKey)))
	f.Add(`{"keys":[{"kty":"EC","crv":"P-521","x":"AQ==","y":""},{"kty":"RSA","n":"AQ","e":"AQAB"},{"kty":"OKP","crv":"X25519","x":""}]}`)
	f.Add(`{"keys":[{"kty":"RSA","n":"AQ","e":"AQAB","oth":[{}],"x5c":["x"],"x5u":"http://127.0.0.1"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		set, err := ParseSet([]byte(text))
		if (err == nil) != (len(set) > 0) || len(set) > maxKeys {
			t.Errorf("%d keys, error %v", len(set), err)
		}
		for i := range set {
			if set[i].verifies("HS256") || set[i].verifies("none") || checkPublic(set[i].Key) != nil {
				t.Errorf("key %+v", set[i])
			}
		}
	})
}

// TestLimit checks that Limit bounds how long keys are used and how often they are fetched, and that Refresh fetches
// regardless of that interval.
func TestLimit(t *testing.T) {
	t.Parallel()
	p := jwkstest.New(t, jwkstest.JWK("a", rsaKey))
	clock := jwkstest.NewClock()
	s := NewForeignSource(Address{Issuer: p.URL}, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, zap.NewNop)
	defer s.Close()
	s.now = clock.Now
	s.Limit(time.Hour, 30*time.Second)
	find := func(kid string, want int) {
		t.Helper()
		if _, err := s.Find(t.Context(), kid, "RS256"); (kid == "a") != (err == nil) || p.Count() != want {
			t.Fatalf("%s: error %v, %d fetches, want %d", kid, err, p.Count(), want)
		}
	}
	find("a", 1)
	clock.Advance(29 * time.Second)
	find("x", 1)
	clock.Advance(time.Second)
	find("x", 2)
	find("x", 2)
	if err := s.Refresh(t.Context()); err != nil || p.Count() != 3 {
		t.Errorf("error %v, %d fetches", err, p.Count())
	}
	p.Set(func(p *jwkstest.Provider) { p.Header.Set("Cache-Control", "max-age=86400") })
	if err := s.Refresh(t.Context()); err != nil || s.fetched.Load().expires.Sub(clock.Now()) != time.Hour {
		t.Errorf("error %v, fresh for %s", err, s.fetched.Load().expires.Sub(clock.Now()))
	}
	p.Set(func(p *jwkstest.Provider) { p.Status = 500 })
	if err := s.Refresh(t.Context()); err == nil {
		t.Error("a failed fetch is no error")
	}
	find("a", 5)
}
