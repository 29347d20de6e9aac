package keys_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	golang "github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/backends/authserver/keys"
	"github.com/tollgate-gateway/tollgate/internal/jwks"
)

const retain = time.Hour

func start(tb testing.TB, k authtest.Kernel, s keys.Store, algorithm string) *keys.Keys {
	tb.Helper()
	ks := keys.New(k.Server, keys.Options{Store: s, Algorithm: algorithm, Retain: retain})
	if err := ks.Reload(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return ks
}

func sign(tb testing.TB, ks *keys.Keys) string {
	tb.Helper()
	text, err := ks.Sign(tb.Context(), keys.AccessToken, []byte(`{"sub":"ann"}`))
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func list(tb testing.TB, ks *keys.Keys) []keys.Info {
	tb.Helper()
	all, err := ks.List(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

func published(tb testing.TB, ks *keys.Keys) []byte {
	tb.Helper()
	text, err := ks.JWKS(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// stranger verifies a token with nothing but the published key set.
func stranger(tb testing.TB, ks *keys.Keys, text string) {
	tb.Helper()
	set, err := jwks.ParseSet(published(tb, ks))
	if err != nil {
		tb.Fatal(err)
	}
	_, err = golang.Parse(text, func(parsed *golang.Token) (any, error) {
		if parsed.Header["typ"] != "at+jwt" {
			tb.Errorf("typ %v", parsed.Header["typ"])
		}
		found, err := set.Find(tb.Context(), parsed.Header["kid"].(string), parsed.Method.Alg())
		if err != nil {
			return nil, err
		}
		return found[0], nil
	})
	if err != nil {
		tb.Error(err)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{keys.ES256, keys.RS256} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			k := authtest.SQLite(t)
			folder := filepath.Join(t.TempDir(), "new", "keys")
			ks := start(t, k, keys.Files{Folder: folder}, algorithm)
			text := sign(t, ks)
			stranger(t, ks, text)
			if claims, err := ks.Verify(t.Context(), keys.AccessToken, text); err != nil || string(claims) != `{"sub":"ann"}` {
				t.Errorf("%s, error %v", claims, err)
			}
			if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%v, error %v", info.Mode(), err)
			}
			files, err := os.ReadDir(folder)
			if err != nil || len(files) != 1 {
				t.Fatalf("%v, error %v", files, err)
			}
			path := filepath.Join(folder, files[0].Name())
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, error %v", info.Mode(), err)
			}
			if pem, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(pem), "-----BEGIN PRIVATE KEY-----\n") {
				t.Errorf("%.40q, error %v", pem, err)
			}
			if restarted := start(t, k, keys.Files{Folder: folder}, algorithm); list(t, restarted)[0] != list(t, ks)[0] {
				t.Error("after another start there is another key")
			}
			if err := os.Chmod(path, 0o640); err != nil {
				t.Fatal(err)
			}
			if err := keys.New(k.Server, keys.Options{Store: keys.Files{Folder: folder}, Algorithm: algorithm}).Reload(t.Context()); err == nil {
				t.Error("a key that others can read is accepted")
			}
		})
	}
}

// stores runs a test with each kind of store, and a second instance that shares its keys.
func stores(t *testing.T, test func(t *testing.T, k, other authtest.Kernel, s, same keys.Store)) {
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		folder := filepath.Join(t.TempDir(), "keys")
		k := authtest.SQLite(t)
		test(t, k, k, keys.Files{Folder: folder}, keys.Files{Folder: folder})
	})
	t.Run("table", func(t *testing.T) {
		t.Parallel()
		master, err := encryption.NewMaster(strings.Repeat("0a", 32), "")
		if err != nil {
			t.Fatal(err)
		}
		authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
			other := authtest.On(t, k.DB)
			test(t, k, other, keys.Table{Server: k.Server, Encryptor: master}, keys.Table{Server: other.Server, Encryptor: master})
		})
	})
}

func TestRotate(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, k, _ authtest.Kernel, s, same keys.Store) {
		ks := start(t, k, s, keys.ES256)
		otherNode := keys.New(k.Server, keys.Options{Store: same, Algorithm: keys.ES256, Retain: retain})
		if err := otherNode.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		old := sign(t, ks)
		k.Clock.Pass(time.Minute)
		key, err := ks.Rotate(t.Context(), "ann")
		if err != nil || key.Algorithm != keys.ES256 {
			t.Fatalf("%+v, error %v", key, err)
		}
		if k.Events.Count("key.rotated") != 1 || k.Events.All()[0].Actor != "ann" {
			t.Errorf("%+v", k.Events.All())
		}
		fresh := sign(t, ks)
		if fresh[:40] == old[:40] && strings.Split(fresh, ".")[0] == strings.Split(old, ".")[0] {
			t.Error("the old key still signs")
		}
		stranger(t, ks, old)
		stranger(t, ks, fresh)
		// Another node learns of the key by its first token.
		if _, err := otherNode.Verify(t.Context(), keys.AccessToken, fresh); err != nil {
			t.Error(err)
		}
		stranger(t, otherNode, fresh)
		all := list(t, ks)
		if len(all) != 2 || all[0].ID != key.ID || !all[0].RotatedAt.IsZero() || !all[1].RotatedAt.Equal(all[0].CreatedAt) {
			t.Fatalf("%+v", all)
		}
		// The keys of an algorithm that is no longer used are kept.
		rsa := start(t, k, s, keys.RS256)
		stranger(t, rsa, fresh)
		stranger(t, rsa, sign(t, rsa))
		if three := list(t, rsa); len(three) != 3 {
			t.Errorf("%+v", three)
		}
		k.Clock.Pass(retain - time.Second)
		if _, err := ks.Verify(t.Context(), keys.AccessToken, old); err != nil {
			t.Errorf("just before the end: %v", err)
		}
		k.Clock.Pass(time.Second)
		if _, err := ks.Verify(t.Context(), keys.AccessToken, old); !errors.Is(err, keys.ErrToken) || strings.Contains(string(published(t, ks)), all[1].ID) {
			t.Errorf("after its time: error %v, %s", err, published(t, ks))
		}
		if n, err := ks.Sweep(t.Context()); n != 0 || err != nil {
			t.Errorf("%d removed, error %v", n, err)
		}
		k.Clock.Pass(24 * time.Hour)
		if n, err := ks.Sweep(t.Context()); n != 1 || err != nil {
			t.Errorf("%d removed, error %v", n, err)
		}
		if err := ks.Reload(t.Context()); err != nil || len(list(t, ks)) != 2 {
			t.Errorf("%+v, error %v", list(t, ks), err)
		}
	})
}

// TestOtherNode checks that a node notices the rotation of another node.
func TestOtherNode(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, k, other authtest.Kernel, s, same keys.Store) {
		node, otherNode := start(t, k, s, keys.ES256), start(t, other, same, keys.ES256)
		if list(t, node)[0].ID != list(t, otherNode)[0].ID {
			t.Fatal("two nodes have created two first keys")
		}
		key, err := node.Rotate(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		if err := otherNode.Reload(t.Context()); err != nil || list(t, otherNode)[0].ID != key.ID {
			t.Errorf("%+v, error %v", list(t, otherNode), err)
		}
	})
}

// TestRotateBehind checks that a rotation takes effect even if the clock of its node is behind that of another node
// whose rotation it does not know yet.
func TestRotateBehind(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, k, other authtest.Kernel, s, same keys.Store) {
		node, otherNode := start(t, k, s, keys.ES256), start(t, other, same, keys.ES256)
		k.Clock.Pass(time.Minute)
		former, err := node.Rotate(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		k.Clock.Pass(-time.Minute) // both nodes may share this clock
		key, err := otherNode.Rotate(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		if err := node.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, ks := range []*keys.Keys{node, otherNode} {
			if all := list(t, ks); len(all) != 3 || key.ID == former.ID || all[0].ID != key.ID || !all[0].RotatedAt.IsZero() {
				t.Errorf("the keys are %+v, want the new key %+v", all, key)
			}
		}
	})
}

// leaving is a store that calls leave after each new key, as if the caller went away.
type leaving struct {
	keys.Store
	leave func()
}

func (l leaving) Make(ctx context.Context, algorithm string, created time.Time, first bool) error {
	defer l.leave()
	return l.Store.Make(ctx, algorithm, created, first)
}

// TestRotateAndLeave checks that a new key signs and is recorded in the audit feed even if the caller has gone.
func TestRotateAndLeave(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, k, _ authtest.Kernel, s, _ keys.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		start(t, k, s, keys.ES256) // creates the first key
		ks := start(t, k, leaving{s, cancel}, keys.ES256)
		key, err := ks.Rotate(ctx, "ann")
		if err != nil || ctx.Err() == nil || list(t, ks)[0].ID != key.ID || k.Events.Count("key.rotated") != 1 {
			t.Errorf("%+v, error %v, %+v, %+v", key, err, list(t, ks), k.Events.All())
		}
	})
}

// TestRetire checks that each key is dropped when its time is over, the oldest first, without reading the store.
func TestRetire(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, k, _ authtest.Kernel, s, _ keys.Store) {
		ks := start(t, k, s, keys.ES256)
		for range 2 {
			k.Clock.Pass(time.Minute)
			if _, err := ks.Rotate(t.Context(), "ann"); err != nil {
				t.Fatal(err)
			}
		}
		left := func(want int) {
			t.Helper()
			if all := list(t, ks); len(all) != want || strings.Count(string(published(t, ks)), `"kid"`) != want {
				t.Errorf("%+v, want %d", all, want)
			}
		}
		k.Clock.Pass(retain - time.Minute - time.Second)
		left(3)
		k.Clock.Pass(time.Second)
		left(2)
		k.Clock.Pass(time.Minute)
		left(1)
		k.Clock.Pass(time.Hour)
		left(1)
	})
}

// TestSingleFirstKey checks that a store makes only one first key of an algorithm, even if two nodes start at the same time.
func TestSingleFirstKey(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, k, _ authtest.Kernel, s, same keys.Store) {
		for _, node := range []keys.Store{s, same} {
			for _, algorithm := range []string{keys.ES256, keys.RS256} {
				if err := node.Make(t.Context(), algorithm, k.Clock.Now(), true); err != nil {
					t.Fatal(err)
				}
			}
		}
		if all, err := s.Load(t.Context()); err != nil || len(all) != 2 {
			t.Errorf("%d keys, error %v", len(all), err)
		}
	})
}

// counting counts how often the keys are read. If err is set, reading fails with it.
type counting struct {
	keys.Store
	loads int
	err   error
}

func (c *counting) Load(ctx context.Context) ([]keys.Stored, error) {
	if c.loads++; c.err != nil {
		return nil, c.err
	}
	return c.Store.Load(ctx)
}

// TestReadSeldom checks that tokens with unknown keys, and failing reads, cause at most one read of the keys a second.
func TestReadSeldom(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	other := sign(t, start(t, k, keys.Files{Folder: filepath.Join(t.TempDir(), "other")}, keys.ES256))
	s := &counting{Store: keys.Files{Folder: filepath.Join(t.TempDir(), "keys")}, err: errors.New("gone")}
	ks := keys.New(k.Server, keys.Options{Store: s, Algorithm: keys.ES256, Retain: retain})
	reads := func(want int, ask func() error) {
		t.Helper()
		s.loads = 0
		for range 3 {
			if ask() == nil {
				t.Error("no error")
			}
		}
		k.Clock.Pass(time.Second)
		if ask() == nil || s.loads != want {
			t.Errorf("the keys were read %d times, want %d", s.loads, want)
		}
	}
	reads(2, func() error { _, err := ks.JWKS(t.Context()); return err })
	k.Clock.Pass(time.Second)
	s.err = nil
	sign(t, ks)
	reads(2, func() error { _, err := ks.Verify(t.Context(), keys.AccessToken, other); return err })
}

// TestNotifiedOfRotation checks that a node is notified of a rotation.
func TestNotifiedOfRotation(t *testing.T) {
	t.Parallel()
	k := authtest.Postgres(t)
	other := authtest.On(t, k.DB)
	master, err := encryption.NewMaster(strings.Repeat("0a", 32), "")
	if err != nil {
		t.Fatal(err)
	}
	node := start(t, k, keys.Table{Server: k.Server, Encryptor: master}, keys.ES256)
	otherNode := start(t, other, keys.Table{Server: other.Server, Encryptor: master}, keys.ES256)
	key, err := node.Rotate(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); list(t, otherNode)[0].ID != key.ID; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the other node was not notified")
		}
	}
}

func TestTableNeedsEncryptor(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	err := keys.New(k.Server, keys.Options{Store: keys.Table{Server: k.Server}, Algorithm: keys.ES256}).Reload(t.Context())
	if !errors.Is(err, encryption.ErrNone) {
		t.Errorf("error %v", err)
	}
}

func TestJWKS(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	folder := filepath.Join(t.TempDir(), "keys")
	start(t, k, keys.Files{Folder: folder}, keys.RS256)
	ks := start(t, k, keys.Files{Folder: folder}, keys.ES256)
	var document struct {
		Keys []map[string]string `json:"keys"`
	}
	if err := json.Unmarshal(published(t, ks), &document); err != nil || len(document.Keys) != 2 {
		t.Fatalf("%s, error %v", published(t, ks), err)
	}
	set, err := jwks.ParseSet(published(t, ks))
	if err != nil {
		t.Fatal(err)
	}
	for _, jwk := range document.Keys {
		want := []string{"kty", "use", "alg", "kid", "crv", "x", "y"}
		if jwk["kty"] == "RSA" {
			want = []string{"kty", "use", "alg", "kid", "n", "e"}
		}
		if len(jwk) != len(want) || jwk["use"] != "sig" || len(jwk["kid"]) != 43 {
			t.Errorf("%v", jwk)
		}
		for _, member := range want {
			if jwk[member] == "" {
				t.Errorf("%v has no %s", jwk, member)
			}
		}
		found, err := set.Find(t.Context(), jwk["kid"], jwk["alg"])
		if err != nil {
			t.Fatal(err)
		}
		switch found[0].(type) {
		case *ecdsa.PublicKey, *rsa.PublicKey:
		default:
			t.Errorf("%T", found[0])
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	ks := start(t, k, keys.Files{Folder: filepath.Join(t.TempDir(), "a")}, keys.ES256)
	other := start(t, k, keys.Files{Folder: filepath.Join(t.TempDir(), "b")}, keys.ES256)
	text := sign(t, ks)
	parts := strings.Split(text, ".")
	plain, err := ks.Sign(t.Context(), keys.Plain, []byte(`{"sub":"ann"}`))
	if err != nil {
		t.Fatal(err)
	}
	// The public key is published and therefore no secret.
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(published(t, ks), &document); err != nil {
		t.Fatal(err)
	}
	secret := func(key []byte, header string) string {
		input := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + parts[1]
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(input))
		return input + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}
	kid := list(t, ks)[0].ID
	for i, header := range []string{`{"alg":"HS256","typ":"at+jwt","kid":"` + kid + `"}`, `{"alg":"ES256","typ":"at+jwt","kid":"` + kid + `"}`, `{"alg":"HS256","typ":"at+jwt"}`} {
		for j, key := range [][]byte{document.Keys[0], published(t, ks), []byte(kid), nil} {
			if claims, err := ks.Verify(t.Context(), keys.AccessToken, secret(key, header)); !errors.Is(err, keys.ErrToken) {
				t.Errorf("header %d with public value %d as the secret: %s, error %v", i, j, claims, err)
			}
		}
	}
	for name, bad := range map[string]string{
		"empty": "", "no dots": "x", "one dot": parts[0] + "." + parts[1], "another server": sign(t, other), "id token": plain,
		"other claims": parts[0] + ".e30." + parts[2], "no signature": parts[0] + "." + parts[1] + ".", "short": text[:len(text)-2], "line break": text + "\n",
		"more": text + ".x", "none": "eyJhbGciOiJub25lIn0." + parts[1] + ".",
		"malleable": text[:len(text)-1] + string(rune(text[len(text)-1]+1)),
	} {
		if claims, err := ks.Verify(t.Context(), keys.AccessToken, bad); !errors.Is(err, keys.ErrToken) {
			t.Errorf("%s: %s, error %v", name, claims, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	k := authtest.SQLite(f)
	ks := start(f, k, keys.Files{Folder: filepath.Join(f.TempDir(), "a")}, keys.ES256)
	good := sign(f, ks)
	f.Add(good)
	f.Add(good[1:])
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := ks.Verify(t.Context(), keys.AccessToken, text); (err == nil) != (text == good) {
			t.Fatalf("%q: error %v", text, err)
		}
	})
}

func BenchmarkSign(b *testing.B) {
	k := authtest.SQLite(b)
	ks := start(b, k, keys.Files{Folder: filepath.Join(b.TempDir(), "a")}, keys.ES256)
	claims := []byte(strings.Repeat("x", 300))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ks.Sign(b.Context(), keys.AccessToken, claims); err != nil {
			b.Fatal(err)
		}
	}
}
