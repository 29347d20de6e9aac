package authserver_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/transit"
	"github.com/tollgate-gateway/tollgate/internal/transit/transittest"
)

// management is a key management server that writes down what it is asked.
type management struct {
	*transittest.Server
	address string

	mu    sync.Mutex
	asked []string // paths, and the names of roles
}

func newManagement(t *testing.T) *management {
	t.Helper()
	m := &management{Server: transittest.New(t)}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		var role struct {
			ID string `json:"role_id"`
		}
		_ = json.Unmarshal(body, &role)
		m.mu.Lock()
		m.asked = append(m.asked, strings.TrimPrefix(r.URL.Path, "/v1/"), role.ID)
		m.mu.Unlock()
		m.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	m.address = front.URL
	return m
}

// was tells whether something was asked.
func (m *management) was(asked string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strconv.FormatBool(slices.Contains(m.asked, asked))
}

// sealer makes a key that seals.
func (m *management) sealer(t *testing.T, mount, name string) *management {
	t.Helper()
	client, err := transit.New(transit.Options{Address: m.address, Token: transittest.Root})
	if err == nil {
		err = client.Key(mount, name).Create(t.Context(), transit.AES256GCM)
	}
	if err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = nil
	return m
}

// signingFlips are of the keys that sign tokens.
func signingFlips(t *testing.T) map[string]flip {
	t.Helper()
	folder, first, second := t.TempDir(), newManagement(t), newManagement(t)
	// files are those of a folder where keys may be, after a token was signed.
	files := func(t *testing.T, key keys) string {
		t.Helper()
		at := t.TempDir()
		begin(t, keys{"signing.key_path": at, "data_encryption.driver": "aes_master", "data_encryption.aes_master.key_env": "MASTER"}, key).public(http.MethodGet, "/.well-known/jwks.json", "")
		entries, err := os.ReadDir(at)
		if err != nil {
			t.Fatal(err)
		}
		return strconv.FormatBool(len(entries) > 0)
	}
	far := func(at *management) keys {
		return keys{"signing.key_store": "kms_transit", "signing.kms_transit.address": at.address}
	}
	role := keys{"signing.kms_transit.approle.role_id": transittest.RoleID, "signing.kms_transit.approle.secret_id": transittest.SecretID}
	// asked tells whether the key management server was asked something at the start.
	asked := func(what string, more keys) func(t *testing.T, key keys) string {
		return func(t *testing.T, key keys) string {
			t.Helper()
			m := newManagement(t)
			begin(t, far(m), more, key)
			return m.was(what)
		}
	}
	// refused is why the server does not start.
	refused := func(more keys, word string) func(t *testing.T, key keys) string {
		return func(t *testing.T, key keys) string {
			t.Helper()
			_, err := start(t, nil, far(newManagement(t)), more, key)
			if text := refusal(err); !strings.Contains(text, word) {
				return text
			}
			return word
		}
	}
	root := keys{"signing.kms_transit.token": transittest.Root}
	return map[string]flip{
		"signing.algorithm": {nil, "RS256", func(t *testing.T, key keys) string {
			t.Helper()
			list, _ := begin(t, key).public(http.MethodGet, "/.well-known/jwks.json", "").body["keys"].([]any)
			one, _ := list[0].(map[string]any)
			algorithm, _ := one["alg"].(string)
			return algorithm
		}, "ES256", "RS256"},
		"signing.key_path": {folder, t.TempDir(), func(t *testing.T, key keys) string {
			t.Helper()
			if err := os.RemoveAll(folder); err != nil {
				t.Fatal(err)
			}
			begin(t, key).public(http.MethodGet, "/.well-known/jwks.json", "")
			_, err := os.Stat(folder)
			return strconv.FormatBool(err == nil)
		}, "true", "false"},
		"signing.key_store": {nil, "postgres_key", files, "true", "false"},
		// What seals the signing keys is of a key of their own, without which nobody reads them.
		"signing.postgres_key.encryption_key_env": {nil, "OTHER_MASTER", func(t *testing.T, key keys) string {
			t.Helper()
			table := keys{"signing.key_store": "postgres_key", "data_encryption.driver": "aes_master", "data_encryption.aes_master.key_env": "MASTER"}
			f := begin(t, table, key)
			f.public(http.MethodGet, "/.well-known/jwks.json", "")
			again, err := start(t, f.db, table)
			if err != nil {
				t.Fatal(err)
			}
			return again.public(http.MethodGet, "/.well-known/jwks.json", "").status()
		}, "200", "500"},
		"signing.kms_transit.address": {first.address, second.address, func(t *testing.T, key keys) string {
			t.Helper()
			begin(t, keys{"signing.key_store": "kms_transit"}, root, key)
			return first.was("transit/keys/authserver-signing") + " " + second.was("transit/keys/authserver-signing")
		}, "true false", "true true"},
		"signing.kms_transit.approle.mount":     {nil, "people", asked("auth/people/login", role), "false", "true"},
		"signing.kms_transit.approle.role_id":   {"nobody", transittest.RoleID, refused(role, "invalid role"), "invalid role", "starts"},
		"signing.kms_transit.approle.secret_id": {"guess", transittest.SecretID, refused(role, "invalid role"), "invalid role", "starts"},
		"signing.kms_transit.key_name":          {nil, "other", asked("transit/keys/other", root), "false", "true"},
		"signing.kms_transit.mount":             {nil, "other", asked("other/keys/authserver-signing", root), "false", "true"},
		"signing.kms_transit.token":             {"guess", transittest.Root, refused(nil, "denied"), "denied", "starts"},
		"signing.kms_transit.timeout": {nil, "1ns", func(t *testing.T, key keys) string {
			t.Helper()
			return strconv.Itoa(begin(t, far(newManagement(t)), root, key).log.FilterMessageSnippet("does not answer").Len())
		}, "0", "1"},
	}
}
