package keys_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/keys"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/transit"
	"github.com/tollgate-gateway/tollgate/internal/transit/transittest"
)

// far returns a store of a key management server.
func far(tb testing.TB, k authtest.Kernel, s *transittest.Server, algorithm string) *keys.Transit {
	tb.Helper()
	c, err := transit.New(transit.Options{Address: s.URL, Token: transittest.Root, Timeout: 5 * time.Second})
	if err != nil {
		tb.Fatal(err)
	}
	return &keys.Transit{Server: k.Server, Key: c.Key("transit", "signing"), Name: "signing", Algorithm: algorithm}
}

// forever is how long keys of a key management server remain valid for verification.
const forever = 100 * 365 * 24 * time.Hour

func startFar(tb testing.TB, k authtest.Kernel, s *transittest.Server, algorithm string) *keys.Keys {
	tb.Helper()
	return keys.New(k.Server, keys.Options{Store: far(tb, k, s, algorithm), Algorithm: algorithm, Retain: forever})
}

func TestTransit(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{keys.ES256, keys.RS256} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
				s := transittest.New(t)
				first := startFar(t, k, s, algorithm)
				old := sign(t, first)
				stranger(t, first, old)
				if s.Asked("create") != 1 || first.Health() != nil {
					t.Errorf("%d keys are made, health %v", s.Asked("create"), first.Health())
				}
				second := startFar(t, authtest.On(t, k.DB), s, algorithm)
				key, err := first.Rotate(t.Context(), "ann")
				if err != nil || k.Events.Count("key.rotated") != 1 {
					t.Fatalf("%+v, error %v", key, err)
				}
				fresh := sign(t, first)
				for _, text := range []string{old, fresh} {
					if claims, err := second.Verify(t.Context(), keys.AccessToken, text); err != nil || string(claims) != `{"sub":"ann"}` {
						t.Errorf("%s, error %v", claims, err)
					}
					stranger(t, second, text)
				}
				if all := list(t, first); len(all) != 2 || all[0].ID != key.ID || all[1].RotatedAt.IsZero() {
					t.Errorf("%+v", all)
				}
				k.Clock.Pass(1000 * time.Hour)
				if n, err := first.Sweep(t.Context()); n != 0 || err != nil {
					t.Errorf("%d removed, error %v", n, err)
				}
				stranger(t, first, old)

				// A rotation by the server's operator is noticed within a minute.
				s.Rotate("transit", "signing")
				count := s.Asked("keys")
				if err := first.Refresh(t.Context()); err != nil || s.Asked("keys") != count {
					t.Errorf("asked again at once, error %v", err)
				}
				k.Clock.Pass(time.Minute)
				if err := first.Refresh(t.Context()); err != nil || len(list(t, first)) != 3 {
					t.Errorf("%+v, error %v", list(t, first), err)
				}
				s.Oldest("transit", "signing", 3)
				if err := first.Reload(t.Context()); err != nil || len(list(t, first)) != 1 {
					t.Errorf("%+v, error %v", list(t, first), err)
				}
			})
		})
	}
}

// is503 reports whether an error has status 503, with which clients try again.
func is503(err error) bool {
	e, ok := apierror.From(err)
	return ok && e.Status == http.StatusServiceUnavailable && e.Code == kernel.Unavailable && e.RetryAfter > 0
}

// TestTransitOutage checks that without the server nothing is signed, but tokens are verified, even after a restart.
func TestTransitOutage(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := transittest.New(t)
		ks := startFar(t, k, s, keys.ES256)
		good := sign(t, ks)
		fails := func(ks *keys.Keys) {
			t.Helper()
			if text, err := ks.Sign(t.Context(), keys.AccessToken, []byte(`{}`)); text != "" || !is503(err) {
				t.Errorf("signed %q, error %v", text, err)
			}
		}
		for name, faults := range map[string]transittest.Faults{
			"sealed": {Sealed: true}, "denied": {Denied: "transit/"}, "forged": {Signature: func(text string) string { return text[:len(text)-6] + "AAAAAA" }},
		} {
			s.Set(faults)
			for range 10 {
				fails(ks)
			}
			if ks.Health() == nil {
				t.Errorf("%s: the health check succeeds", name)
			}
			stranger(t, ks, good)
			if _, err := ks.Verify(t.Context(), keys.AccessToken, good); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			s.Set(transittest.Faults{})
			k.Clock.Pass(time.Second)
			if err := ks.Refresh(t.Context()); err != nil || ks.Health() != nil { // without any token request
				t.Errorf("%s, over: error %v, health %v", name, err, ks.Health())
			}
			sign(t, ks)
		}

		// After a failure, requests fail at once instead of waiting one after another.
		s.Set(transittest.Faults{Sealed: true})
		for range 3 {
			fails(ks)
		}
		k.Clock.Pass(time.Second)
		fails(ks) // one request tries the server
		s.Set(transittest.Faults{})
		count := s.Asked("sign")
		for range 20 {
			fails(ks)
		}
		if n := s.Asked("sign") - count; n != 0 {
			t.Errorf("%d attempts", n)
		}
		k.Clock.Pass(time.Second)
		for range 20 {
			sign(t, ks)
		}

		s.Set(transittest.Faults{Sealed: true})
		started := startFar(t, k, s, keys.ES256)
		if _, err := started.Verify(t.Context(), keys.AccessToken, good); err != nil {
			t.Errorf("after a start: %v", err)
		}
		stranger(t, started, good)
		fails(started)
		// Keys that belong to another server or were written by it are not used.
		foreign := authtest.On(t, k.DB)
		foreign.Key = []byte("another key of thirty-two bytes!")
		for _, node := range []*keys.Keys{startFar(t, foreign, s, keys.ES256), startFar(t, k, s, keys.RS256)} {
			if _, err := node.JWKS(t.Context()); !is503(err) {
				t.Errorf("error %v", err)
			}
		}
		s.Set(transittest.Faults{})
		if _, err := startFar(t, k, s, keys.RS256).JWKS(t.Context()); err == nil || is503(err) {
			t.Errorf("a key of another algorithm: error %v", err)
		}
		s.Set(transittest.Faults{Denied: "transit/keys"})
		var refused *transit.RefusedError
		if err := startFar(t, k, s, keys.ES256).Reload(t.Context()); !errors.As(err, &refused) {
			t.Errorf("denied: error %v", err)
		}
	})
}

// TestTransitLeft checks that a cancelled request does not count as a failure of the server.
func TestTransitLeft(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	s := transittest.New(t)
	ks := startFar(t, k, s, keys.ES256)
	sign(t, ks)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 5 {
		if _, err := ks.Sign(ctx, keys.AccessToken, []byte(`{}`)); err == nil {
			t.Error("signed")
		}
	}
	if ks.Health() != nil {
		t.Error(ks.Health())
	}
	sign(t, ks)
}
