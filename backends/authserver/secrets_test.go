package authserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/transit"
	"github.com/tollgate-gateway/tollgate/internal/transit/transittest"
)

// signedBy returns a server whose signing keys are in a key management server, and the error of its start.
func signedBy(t *testing.T, db *store.DB, kms *transittest.Server, more string) (*authserver.Server, error) {
	t.Helper()
	text := "signing: {key_store: kms_transit, kms_transit: {address: '" + kms.URL + "', timeout: 2s, approle: {role_id: " + transittest.RoleID + ", secret_id: " + transittest.SecretID + "}}}\n" + more
	cfg, err := config.Parse([]byte(text), func(name string) (string, bool) {
		v, ok := map[string]string{"KMS_TOKEN": transittest.Root, "MASTER": strings.Repeat("0a", 32)}[name]
		return v, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	shared := counters.NewMemory(time.Now)
	s, err := authserver.New(authserver.Options{Passwords: authtest.Quick, Config: cfg, DB: db, Counters: shared, Key: make([]byte, 32), Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if err := shared.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, s.Start()
}

// TestKeyManagement checks that a server with its keys in a key management server issues tokens only while that server
// answers, and always verifies them.
func TestKeyManagement(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		kms := transittest.New(t)
		s, err := signedBy(t, db, kms, "")
		if err != nil {
			t.Fatal(err)
		}
		response := admin(s, http.MethodPost, "/admin/clients", `{"client_name":"C","grant_types":["client_credentials"],"scope":"x"}`)
		var client struct {
			ID     string `json:"client_id"`
			Secret string `json:"client_secret"`
		}
		if err := json.Unmarshal(response.Body.Bytes(), &client); err != nil || client.ID == "" {
			t.Fatalf("%s, error %v", response.Body, err)
		}
		post := func(s *authserver.Server, path string, form url.Values) (*httptest.ResponseRecorder, map[string]any) {
			r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.SetBasicAuth(client.ID, client.Secret)
			w := httptest.NewRecorder()
			s.Public().ServeHTTP(w, r)
			var body map[string]any
			_ = json.Unmarshal(w.Body.Bytes(), &body)
			return w, body
		}
		grant := url.Values{"grant_type": {"client_credentials"}, "scope": {"x"}}
		w, issued := post(s, "/oauth/token", grant)
		if w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		token, _ := issued["access_token"].(string)
		healthy := func(s *authserver.Server, path string, status int, keys any) {
			t.Helper()
			if w, body := get(s.Public(), http.MethodGet, path); w.Code != status || body["keys"] != keys || body["db"] != "ok" {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
		healthy(s, "/ready", 200, nil)
		healthy(s, "/health", 200, nil)
		_, before := get(s.Public(), http.MethodGet, "/.well-known/jwks.json")

		kms.Set(transittest.Faults{Sealed: true})
		out := func(s *authserver.Server) {
			t.Helper()
			if w, body := post(s, "/oauth/token", grant); w.Code != http.StatusServiceUnavailable || body["error"] != "temporarily_unavailable" || w.Header().Get("Retry-After") == "" {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if w, body := post(s, "/oauth/introspect", url.Values{"token": {token}}); w.Code != http.StatusOK || body["active"] != true {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if _, body := get(s.Public(), http.MethodGet, "/.well-known/jwks.json"); len(body["keys"].([]any)) != 1 || body["keys"].([]any)[0].(map[string]any)["kid"] != before["keys"].([]any)[0].(map[string]any)["kid"] {
				t.Errorf("%v", body)
			}
			healthy(s, "/ready", 200, "error")
			healthy(s, "/health", 503, "error")
			if status := admin(s, http.MethodGet, "/admin/system/status", ""); !strings.Contains(status.Body.String(), `"keys":"error"`) {
				t.Errorf("%s", status.Body)
			}
		}
		out(s)
		restarted, err := signedBy(t, db, kms, "")
		if err != nil {
			t.Fatal(err)
		}
		out(restarted)
		kms.Set(transittest.Faults{})
		for end := time.Now().Add(2 * time.Minute); ; { // the background job notices it
			if w, _ := get(restarted.Public(), http.MethodGet, "/health"); w.Code == http.StatusOK {
				break
			} else if time.Now().After(end) {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
		}
		if w, _ := post(restarted, "/oauth/token", grant); w.Code != http.StatusOK {
			t.Errorf("%d %s", w.Code, w.Body)
		}

		kms.Set(transittest.Faults{RefuseLogin: true})
		kms.Revoke()
		if _, err := signedBy(t, db, kms, ""); err == nil || strings.Contains(err.Error(), transittest.SecretID) {
			t.Errorf("a login that is refused: error %v", err)
		}
	})
}

// TestMoveEncryption checks that signing keys in the database can be moved from one driver to another without being
// replaced.
func TestMoveEncryption(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		kms := transittest.New(t)
		client, err := transit.New(transit.Options{Address: kms.URL, Token: transittest.Root})
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Key("transit", "data").Create(t.Context(), transit.AES256GCM); err != nil {
			t.Fatal(err)
		}
		const (
			table  = "signing: {key_store: postgres_key}\n"
			master = "aes_master: {key_env: MASTER}"
		)
		far := "kms_transit_encrypt: {address: '" + kms.URL + "', auth_method: token, token_env: KMS_TOKEN, key_name: data}"
		start := func(encryption string) (*authserver.Server, any) {
			t.Helper()
			cfg, err := config.Parse([]byte(table+"data_encryption: {"+encryption+"}\n"), func(name string) (string, bool) {
				v, ok := map[string]string{"KMS_TOKEN": transittest.Root, "MASTER": strings.Repeat("0a", 32)}[name]
				return v, ok
			})
			if err != nil {
				t.Fatal(err)
			}
			shared := counters.NewMemory(time.Now)
			s, err := authserver.New(authserver.Options{Passwords: authtest.Quick, Config: cfg, DB: db, Counters: shared, Key: make([]byte, 32), Logger: zap.NewNop})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				s.Close()
				_ = shared.Close()
			})
			w, body := get(s.Public(), http.MethodGet, "/.well-known/jwks.json")
			if w.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", encryption, w.Code, w.Body)
			}
			return s, body["keys"].([]any)[0].(map[string]any)["kid"]
		}
		_, kid := start("driver: aes_master, " + master)
		noted := func(s *authserver.Server, detail string) {
			t.Helper()
			if w := admin(s, http.MethodGet, "/admin/audit?action=encryption.reencrypted&actor_id=admin&limit=1", ""); !strings.Contains(w.Body.String(), `"detail":"`+detail+`"`) {
				t.Errorf("the audit feed has no %q: %s", detail, w.Body)
			}
		}
		moved := func(driverConfig string, want string) {
			t.Helper()
			s, same := start(driverConfig)
			if w := admin(s, http.MethodPost, "/admin/encryption/re-encrypt", ""); same != kid || w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != want {
				t.Errorf("%s: %v, %d %s", driverConfig, same, w.Code, w.Body)
			}
			noted(s, strings.NewReplacer(`{"`, "", `"`, "", ":", "=", ",", " ", "}", "").Replace(want))
		}
		moved("driver: kms_transit_encrypt, "+far+", "+master, `{"scanned":1,"rewritten":1,"failed":0}`)
		moved("driver: kms_transit_encrypt, "+far, `{"scanned":1,"rewritten":0,"failed":0}`)
		sealed, _ := start("driver: kms_transit_encrypt, " + far)
		kms.Set(transittest.Faults{Sealed: true})
		for path, body := range map[string]string{"/admin/encryption/re-encrypt": "", "/admin/broker-providers": `{"slug":"a","protocol":"oauth","config_data":{"client_secret":"x"}}`} {
			if w := admin(sealed, http.MethodPost, path, body); w.Code != http.StatusServiceUnavailable {
				t.Errorf("%s while the key management server is sealed: %d %s", path, w.Code, w.Body)
			}
		}
		kms.Set(transittest.Faults{})
		kms.Rotate("transit", "data")
		moved("driver: kms_transit_encrypt, "+far, `{"scanned":1,"rewritten":1,"failed":0}`)
		moved("driver: aes_master, "+far+", "+master, `{"scanned":1,"rewritten":1,"failed":0}`)
		moved("driver: aes_master, "+master, `{"scanned":1,"rewritten":0,"failed":0}`)
		s, _ := start("driver: aes_master, " + master)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Reseal(ctx, nil); err == nil {
			t.Error("a run that is over before it begins has no error")
		}
		noted(s, "scanned=0 rewritten=0 failed=0 ended=early")
	})
}

// admin sends a request to the administration API from this machine.
func admin(s *authserver.Server, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:1234"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	s.Admin().ServeHTTP(w, r)
	return w
}
