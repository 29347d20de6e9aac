package transit_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/transit"
	"github.com/tollgate-gateway/tollgate/internal/transit/transittest"
)

// client returns a client of a server. change may change its options; nil changes none.
func client(tb testing.TB, s *transittest.Server, change func(o *transit.Options)) *transit.Client {
	tb.Helper()
	o := transit.Options{Address: s.URL, AppRole: transit.AppRole{RoleID: transittest.RoleID, SecretID: transittest.SecretID}}
	if change != nil {
		change(&o)
	}
	c, err := transit.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// made creates a key of a kind and returns it with its information.
func made(tb testing.TB, c *transit.Client, kind string) (*transit.Key, transit.Info) {
	tb.Helper()
	k := c.Key("transit", "k")
	if err := k.Create(tb.Context(), kind); err != nil {
		tb.Fatal(err)
	}
	info, err := k.Info(tb.Context())
	if err != nil || info.Type != kind {
		tb.Fatalf("%+v, error %v", info, err)
	}
	return k, info
}

func verifies(public any, digest, signature []byte) bool {
	switch public := public.(type) {
	case *ecdsa.PublicKey:
		return len(signature) == 64 && ecdsa.Verify(public, digest, new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(public, crypto.SHA256, digest, signature) == nil
	}
	return false
}

func TestSign(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind   string
		faults transittest.Faults
	}{
		"ec": {kind: transit.ECDSAP256}, "rsa": {kind: transit.RSA2048},
		"der":      {transit.ECDSAP256, transittest.Faults{DER: true}},
		"standard": {transit.ECDSAP256, transittest.Faults{Standard: true}},
		"both":     {transit.ECDSAP256, transittest.Faults{DER: true, Standard: true}},
		"busy":     {transit.ECDSAP256, transittest.Faults{Busy: 2}},
		"standby":  {transit.ECDSAP256, transittest.Faults{Busy: 1, BusyStatus: 472}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := transittest.New(t)
			k, _ := made(t, client(t, s, nil), test.kind)
			if err := k.Rotate(t.Context()); err != nil {
				t.Fatal(err)
			}
			info, err := k.Info(t.Context())
			if err != nil || info.Latest != 2 || len(info.Versions) != 2 || !info.Versions[1].CreatedAt.After(info.Versions[0].CreatedAt) {
				t.Fatalf("%+v, error %v", info, err)
			}
			s.Set(test.faults)
			for _, v := range info.Versions {
				digest := sha256.Sum256([]byte(name))
				signature, err := k.Sign(t.Context(), v, digest[:])
				if err != nil || !verifies(v.Public, digest[:], signature) {
					t.Errorf("version %d: % x, error %v", v.Number, signature, err)
				}
			}
			s.Set(transittest.Faults{})
			s.Oldest("transit", "k", 2)
			if info, err = k.Info(t.Context()); err != nil || len(info.Versions) != 1 || info.Versions[0].Number != 2 {
				t.Errorf("%+v, error %v", info, err)
			}
		})
	}
}

func TestBadSignatures(t *testing.T) {
	t.Parallel()
	s := transittest.New(t)
	k, info := made(t, client(t, s, nil), transit.ECDSAP256)
	digest := sha256.Sum256(nil)
	for name, change := range map[string]func(text string) string{
		"short": func(text string) string { return text[:len(text)-4] }, "long": func(text string) string { return text + "AAAA" },
		"another version": func(text string) string { return strings.Replace(text, "v1", "v2", 1) }, "no prefix": func(text string) string { return text[6:] },
		"not base64": func(text string) string { return text + "!" }, "empty": func(string) string { return "" }, "version 0": func(text string) string { return strings.Replace(text, "v1", "v0", 1) },
	} {
		s.Set(transittest.Faults{Signature: change})
		if raw, err := k.Sign(t.Context(), info.Versions[0], digest[:]); raw != nil || !errors.Is(err, transit.ErrUnavailable) {
			t.Errorf("%s: % x, error %v", name, raw, err)
		}
	}
}

func TestEncrypt(t *testing.T) {
	t.Parallel()
	s := transittest.New(t)
	k, info := made(t, client(t, s, nil), transit.AES256GCM)
	if len(info.Versions) != 0 || info.Latest != 1 {
		t.Errorf("%+v", info)
	}
	first, err := k.Encrypt(t.Context(), []byte("secret"), []byte("a"))
	if err != nil || transit.CipherVersion(first) != 1 {
		t.Fatalf("%q, error %v", first, err)
	}
	s.Rotate("transit", "k")
	second, err := k.Encrypt(t.Context(), nil, []byte("a"))
	if err != nil || transit.CipherVersion(second) != 2 {
		t.Fatalf("%q, error %v", second, err)
	}
	if text, err := k.Decrypt(t.Context(), first, []byte("a")); err != nil || string(text) != "secret" {
		t.Errorf("%q, error %v", text, err)
	}
	if text, err := k.Decrypt(t.Context(), second, []byte("a")); err != nil || len(text) != 0 {
		t.Errorf("%q, error %v", text, err)
	}
	var refused *transit.RefusedError
	for _, bad := range []string{first[:len(first)-4] + "AAAA", "x", "", "vault:v9:AAAA"} {
		if _, err := k.Decrypt(t.Context(), bad, []byte("a")); !errors.As(err, &refused) || refused.Status != 400 {
			t.Errorf("%q: error %v", bad, err)
		}
	}
	if _, err := k.Decrypt(t.Context(), first, []byte("b")); !errors.As(err, &refused) {
		t.Errorf("another place: error %v", err)
	}
	if _, err := k.Info(context.Background()); err != nil {
		t.Error(err)
	}
	if _, err := client(t, s, nil).Key("transit", "none").Info(t.Context()); !transit.Missing(err) {
		t.Errorf("error %v", err)
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	s := transittest.New(t)
	now := time.Now()
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	pass := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
	c := client(t, s, func(o *transit.Options) { o.Now = clock })
	k, _ := made(t, c, transit.AES256GCM)
	asks := func(logins, renewals int) {
		t.Helper()
		if _, err := k.Info(t.Context()); err != nil {
			t.Error(err)
		}
		c.Settle() // requests do not wait for a renewal
		if s.Asked("login") != logins || s.Asked("renew") != renewals {
			t.Fatalf("%d logins and %d renewals, want %d and %d", s.Asked("login"), s.Asked("renew"), logins, renewals)
		}
	}
	asks(1, 0)
	pass(transittest.Lease/2 - time.Second)
	asks(1, 0)
	pass(time.Second)
	asks(1, 1) // the renewal is in the background
	pass(2 * transittest.Lease)
	asks(2, 1) // the token has expired
	s.Revoke()
	asks(3, 1) // 403, then a login
	s.Set(transittest.Faults{NoRenewal: true})
	s.Revoke()
	asks(4, 1)
	pass(transittest.Lease / 2)
	asks(5, 1)

	// Concurrent requests log in only once.
	s.Revoke()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := k.Info(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := s.Asked("login"); n != 6 {
		t.Errorf("%d logins", n)
	}
	s.Set(transittest.Faults{Denied: "transit/"})
	var refused *transit.RefusedError
	if _, err := k.Info(t.Context()); !errors.As(err, &refused) || refused.Status != 403 {
		t.Errorf("denied for good: error %v", err)
	}
	s.Revoke()
	s.Set(transittest.Faults{RefuseLogin: true})
	if _, err := k.Info(t.Context()); !errors.As(err, &refused) || refused.Status != 400 {
		t.Errorf("no login: error %v", err)
	}
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	s := transittest.New(t)
	k, _ := made(t, client(t, s, nil), transit.AES256GCM)
	for name, faults := range map[string]transittest.Faults{
		"sealed": {Sealed: true}, "busy": {Busy: 99}, "no JSON": {Answer: "<html>"}, "large": {Answer: `{"data":"` + strings.Repeat("x", 1<<20) + `"}`},
		"another shape": {Answer: `{"data":{"ciphertext":1}}`}, "nothing": {Answer: `{}`},
	} {
		s.Set(faults)
		if text, err := k.Encrypt(t.Context(), []byte("x"), nil); !errors.Is(err, transit.ErrUnavailable) || text != "" {
			t.Errorf("%s: %q, error %v", name, text, err)
		}
	}
	s.Set(transittest.Faults{})
	s.Hold()
	patient := client(t, s, func(o *transit.Options) { o.Timeout = 20 * time.Millisecond }).Key("transit", "k")
	if _, err := patient.Info(t.Context()); !errors.Is(err, transit.ErrUnavailable) {
		t.Errorf("slow: error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Info(ctx); !errors.Is(err, transit.ErrUnavailable) {
		t.Errorf("ended: error %v", err)
	}
	s.Release()
	closedServer := httptest.NewServer(nil)
	closedServer.Close()
	if _, err := client(t, &transittest.Server{URL: closedServer.URL}, nil).Key("transit", "k").Info(t.Context()); !errors.Is(err, transit.ErrUnavailable) {
		t.Errorf("gone: error %v", err)
	}
}

// TestSecrets checks that no error contains a token or a secret id.
func TestSecrets(t *testing.T) {
	t.Parallel()
	s := transittest.New(t)
	c := client(t, s, func(o *transit.Options) { o.AppRole, o.Token = transit.AppRole{}, transittest.Root })
	s.Set(transittest.Faults{Denied: "transit/"}) // the error of the server contains the token
	_, err := c.Key("transit", "k").Info(t.Context())
	if err == nil || strings.Contains(err.Error(), transittest.Root) || !strings.Contains(err.Error(), "permission denied for ***") {
		t.Errorf("error %v", err)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	active, standby, far := transittest.New(t), transittest.New(t), transittest.New(t)
	secure, _ := transittest.NewTLS(t)
	k, _ := made(t, client(t, active, nil), transit.AES256GCM)
	if _, err := k.Info(t.Context()); err != nil {
		t.Error(err)
	}
	standby.Set(transittest.Faults{Redirect: active.URL})
	if _, err := client(t, standby, nil).Key("transit", "k").Info(t.Context()); err != nil {
		t.Errorf("to the active node: error %v", err)
	}
	far.Set(transittest.Faults{Redirect: standby.URL})
	if _, err := client(t, far, nil).Key("transit", "k").Info(t.Context()); !errors.Is(err, transit.ErrUnavailable) {
		t.Errorf("twice: error %v", err)
	}
	far.Set(transittest.Faults{Redirect: secure.URL})
	if _, err := client(t, far, nil).Key("transit", "k").Info(t.Context()); !errors.Is(err, transit.ErrUnavailable) {
		t.Errorf("another scheme: error %v", err)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	s, server := transittest.NewTLS(t)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	trusting := client(t, s, func(o *transit.Options) { o.TLS = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12} })
	made(t, trusting, transit.AES256GCM)
	if err := client(t, s, nil).Key("transit", "k").Rotate(t.Context()); !errors.Is(err, transit.ErrUnavailable) || s.Asked("rotate") != 0 {
		t.Errorf("unknown certificate: error %v", err)
	}
	plain := transittest.New(t)
	s.Set(transittest.Faults{Redirect: plain.URL})
	if _, err := trusting.Key("transit", "k").Info(t.Context()); !errors.Is(err, transit.ErrUnavailable) || plain.Asked("login")+plain.Asked("keys") != 0 {
		t.Errorf("https falls to http: error %v", err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	role := transit.AppRole{RoleID: "r", SecretID: "s"}
	for name, o := range map[string]transit.Options{
		"no address": {Token: "t"}, "another scheme": {Address: "ftp://kms", Token: "t"}, "a path of its own": {Address: "https://kms?x", Token: "t"}, "a user": {Address: "https://a:b@kms", Token: "t"},
		"both": {Address: "https://kms", Token: "t", AppRole: role}, "neither": {Address: "https://kms"}, "half": {Address: "https://kms", AppRole: transit.AppRole{RoleID: "r"}},
	} {
		if _, err := transit.New(o); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := transit.New(transit.Options{Address: "https://kms:8200/", AppRole: role}); err != nil {
		t.Error(err)
	}
}

func FuzzAnswers(f *testing.F) {
	s := transittest.New(f)
	k, info := made(f, client(f, s, nil), transit.ECDSAP256)
	digest := sha256.Sum256(nil)
	f.Add(`{"data":{"signature":"vault:v1:AAAA","keys":{"1":{"public_key":"x"}},"ciphertext":"vault:v1:x","plaintext":"AA=="}}`)
	f.Fuzz(func(t *testing.T, answer string) {
		s.Set(transittest.Faults{Answer: answer})
		if raw, err := k.Sign(t.Context(), info.Versions[0], digest[:]); err == nil && len(raw) != 64 {
			t.Errorf("% x", raw)
		}
		if got, err := k.Info(t.Context()); err == nil {
			for _, v := range got.Versions {
				if v.Public == nil {
					t.Errorf("%+v", v)
				}
			}
		}
		s.Set(transittest.Faults{})
	})
}
