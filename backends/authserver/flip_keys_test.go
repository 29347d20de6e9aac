package authserver_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/transit/transittest"
)

// heard is a key management server that records its requests.
type heard struct {
	*httptest.Server
	mu   sync.Mutex
	said []string // path, token and body of each request
}

// newHeard returns a proxy of a key management server that records requests and answers after the given time, unless
// the request is cancelled.
func newHeard(t *testing.T, wait time.Duration) *heard {
	t.Helper()
	target, err := url.Parse(transittest.New(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	h, onward := new(heard), httputil.NewSingleHostReverseProxy(target)
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		h.said = append(h.said, r.URL.Path+" "+r.Header.Get("X-Vault-Token")+" "+string(body))
		h.mu.Unlock()
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		onward.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

// has reports whether a request contained a text.
func (h *heard) has(text string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strconv.FormatBool(strings.Contains(strings.Join(h.said, "\n"), text))
}

// signedAfar returns a function that reports whether a server with its signing keys in a key management server sends a
// text to that server.
func signedAfar(text string) func(t *testing.T, s settings) string {
	return func(t *testing.T, s settings) string {
		t.Helper()
		h := newHeard(t, 0)
		s["signing.kms_transit.address"] = h.URL
		newLab(t, s)
		return h.has(text)
	}
}

var (
	afar    = settings{"signing.key_store": "kms_transit", "signing.kms_transit.token": transittest.Root}
	byRoles = settings{"signing.key_store": "kms_transit", "signing.kms_transit.approle.role_id": transittest.RoleID, "signing.kms_transit.approle.secret_id": transittest.SecretID}
	sealed  = settings{"data_encryption.driver": "aes_master", "data_encryption.aes_master.key_env": "MASTER"}
	// sealedAfar are settings with which a key management server encrypts data.
	sealedAfar = settings{
		"data_encryption.driver": "kms_transit_encrypt", "data_encryption.kms_transit_encrypt.auth_method": "token", "data_encryption.kms_transit_encrypt.key_name": "data", "data_encryption.kms_transit_encrypt.token_env": "ROOT",
	}
	sealedByRoles = settings{
		"data_encryption.driver": "kms_transit_encrypt", "data_encryption.kms_transit_encrypt.auth_method": "approle", "data_encryption.kms_transit_encrypt.key_name": "data",
		"data_encryption.kms_transit_encrypt.approle.role_id_env": "ROLE", "data_encryption.kms_transit_encrypt.approle.secret_id_env": "SECRET",
	}
)

const chat = `{"slug":"chat","display_name":"Chat","protocol":"oauth","config_data":{"client_id":"c","client_secret":"s","authorize_url":"https://chat.example/authorize","token_url":"https://chat.example/token"}}`

// seals stores a provider with a secret.
func (l *lab) seals() *httptest.ResponseRecorder {
	l.t.Helper()
	return l.ask(http.MethodPost, "/admin/broker-providers", chat)
}

// encryptedAfar returns a function that reports whether a server whose data a key management server encrypts sends a
// text to that server.
func encryptedAfar(text string) func(t *testing.T, s settings) string {
	return func(t *testing.T, s settings) string {
		t.Helper()
		h := newHeard(t, 0)
		s["data_encryption.kms_transit_encrypt.address"] = h.URL
		newLab(t, s).seals()
		return h.has(text)
	}
}

// sealer returns the name of the variable with the master key of a sealed text.
func sealer(t *testing.T, text string) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) < 5 {
		t.Fatalf("%q: %v", text, err)
	}
	for name, secret := range flipSecrets {
		key, err := hex.DecodeString(secret)
		if sum := sha256.Sum256(key); err == nil && string(sum[:4]) == string(raw[1:5]) {
			return name
		}
	}
	return "none"
}

// flipsOfKeys are the tests of the configuration keys for the signing of tokens and the encryption of stored data.
var flipsOfKeys = map[string]flip{
	"signing.algorithm": {Other: "RS256", Want: [2]string{"EC", "RSA"}, See: func(t *testing.T, s settings) string {
		var set struct{ Keys []struct{ Kty string } }
		if err := json.Unmarshal(newLab(t, s).ask(http.MethodGet, "/.well-known/jwks.json", "").Body.Bytes(), &set); err != nil || len(set.Keys) != 1 {
			t.Fatal(set, err)
		}
		return set.Keys[0].Kty
	}},
	"signing.key_path": {First: "one", Other: "two", Want: [2]string{"true false", "false true"}, See: func(t *testing.T, s settings) string {
		one, two := t.TempDir(), t.TempDir()
		s["signing.key_path"] = map[string]string{"one": one, "two": two}[s["signing.key_path"]]
		newSigning(t, s)
		return holds(t, one) + " " + holds(t, two)
	}},
	"signing.key_store": {Other: "postgres_key", With: sealed, Want: [2]string{"true", "false"}, See: func(t *testing.T, s settings) string {
		return holds(t, newSigning(t, s).folder)
	}},
	"signing.postgres_key.encryption_key_env": {Other: "OTHER", With: sealed.And(settings{"signing.key_store": "postgres_key"}), Want: [2]string{"MASTER", "OTHER"}, See: func(t *testing.T, s settings) string {
		return sealer(t, newSigning(t, s).row("SELECT private FROM authserver_keys"))
	}},
	"signing.kms_transit.address": {First: "one", Other: "two", With: afar, Want: [2]string{"true false", "false true"}, See: func(t *testing.T, s settings) string {
		one, two := newHeard(t, 0), newHeard(t, 0)
		s["signing.kms_transit.address"] = map[string]string{"one": one.URL, "two": two.URL}[s["signing.kms_transit.address"]]
		newLab(t, s)
		return one.has("/transit/") + " " + two.has("/transit/")
	}},
	"signing.kms_transit.approle.mount":     {Other: "machines", With: byRoles, Want: [2]string{"false", "true"}, See: signedAfar("/auth/machines/login")},
	"signing.kms_transit.approle.role_id":   {First: transittest.RoleID, Other: "another role", With: byRoles, Want: [2]string{"false", "true"}, See: signedAfar("another role")},
	"signing.kms_transit.approle.secret_id": {First: transittest.SecretID, Other: "another secret", With: byRoles, Want: [2]string{"false", "true"}, See: signedAfar("another secret")},
	"signing.kms_transit.key_name":          {Other: "own-key", With: afar, Want: [2]string{"false", "true"}, See: signedAfar("/transit/keys/own-key")},
	"signing.kms_transit.mount":             {Other: "own-mount", With: afar, Want: [2]string{"false", "true"}, See: signedAfar("/own-mount/keys/")},
	"signing.kms_transit.token":             {First: transittest.Root, Other: "another-token", With: afar, Want: [2]string{"false", "true"}, See: signedAfar("another-token")},
	"signing.kms_transit.timeout": {Other: "50ms", With: afar, Want: [2]string{"0", "1"}, See: func(t *testing.T, s settings) string {
		s["signing.kms_transit.address"] = newHeard(t, 500*time.Millisecond).URL
		return strconv.Itoa(newLab(t, s).logs.FilterMessageSnippet("the key management server does not answer").Len())
	}},

	"data_encryption.driver": {Other: "aes_master", With: settings{"data_encryption.aes_master.key_env": "MASTER"}, Want: [2]string{"422", "201"}, See: func(t *testing.T, s settings) string {
		return strconv.Itoa(newLab(t, s).seals().Code)
	}},
	"data_encryption.aes_master.key_env": {First: "MASTER", Other: "OTHER", With: sealed, Want: [2]string{"MASTER", "OTHER"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		l.seals()
		return sealer(t, l.row("SELECT secret FROM authserver_brokers"))
	}},
	"data_encryption.aes_master.old_key_env": {Other: "MASTER", With: sealed.And(settings{"data_encryption.aes_master.key_env": "OTHER"}), Want: [2]string{"1", "0"}, See: func(t *testing.T, s settings) string {
		one := newLab(t, sealed)
		one.seals()
		return member(t, newLabOn(t, one.db, s).ask(http.MethodPost, "/admin/encryption/re-encrypt", ""), "failed")
	}},
	"data_encryption.kms_transit_encrypt.address": {First: "one", Other: "two", With: sealedAfar, Want: [2]string{"true false", "false true"}, See: func(t *testing.T, s settings) string {
		one, two := newHeard(t, 0), newHeard(t, 0)
		s["data_encryption.kms_transit_encrypt.address"] = map[string]string{"one": one.URL, "two": two.URL}[s["data_encryption.kms_transit_encrypt.address"]]
		newLab(t, s).seals()
		return one.has("/encrypt/") + " " + two.has("/encrypt/")
	}},
	"data_encryption.kms_transit_encrypt.auth_method":           {First: "token", Other: "approle", With: sealedAfar.And(sealedByRoles), Want: [2]string{"false", "true"}, See: encryptedAfar("/login")},
	"data_encryption.kms_transit_encrypt.approle.role_id_env":   {First: "ROLE", Other: "WRONG", With: sealedByRoles, Want: [2]string{"false", "true"}, See: encryptedAfar(`"a guess"`)},
	"data_encryption.kms_transit_encrypt.approle.secret_id_env": {First: "SECRET", Other: "WRONG", With: sealedByRoles, Want: [2]string{"false", "true"}, See: encryptedAfar(`"a guess"`)},
	"data_encryption.kms_transit_encrypt.key_name":              {First: "data", Other: "own-key", With: sealedAfar, Want: [2]string{"false", "true"}, See: encryptedAfar("/encrypt/own-key")},
	"data_encryption.kms_transit_encrypt.mount_path":            {Other: "own-mount", With: sealedAfar, Want: [2]string{"false", "true"}, See: encryptedAfar("/own-mount/")},
	"data_encryption.kms_transit_encrypt.token_env":             {First: "ROOT", Other: "WRONG", With: sealedAfar, Want: [2]string{"false", "true"}, See: encryptedAfar(" a guess ")},
}

// newSigning returns a lab whose first signing key has been made.
func newSigning(t *testing.T, s settings) *lab {
	t.Helper()
	l := newLab(t, s)
	l.ask(http.MethodGet, "/.well-known/jwks.json", "")
	return l
}

// holds reports whether a folder contains anything.
func holds(t *testing.T, folder string) string {
	t.Helper()
	found, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatBool(len(found) > 0)
}
