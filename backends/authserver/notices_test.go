package authserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// These are the master keys of the tests, and the id of the old key.
var oldMaster, newMaster = strings.Repeat("0a", 32), strings.Repeat("0b", 32)

const oldMasterID = "b9b07dd4"

// TestKeyTakenTooEarly checks that an operator who removes an old master key while rows need it is warned at the start
// and by the administration API. The warning names the table, the number of rows and the id of the key. It ends once
// the key is configured again and the rows are sealed again.
func TestKeyTakenTooEarly(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		start := func(text string) (*authserver.Server, *observer.ObservedLogs) {
			t.Helper()
			cfg, err := config.Parse([]byte(text), func(name string) (string, bool) {
				v, ok := map[string]string{"OLD": oldMaster, "NEW": newMaster, "AUTHSERVER_SIGNING_KEY_PATH": t.TempDir()}[name]
				return v, ok
			})
			if err != nil {
				t.Fatal(err)
			}
			core, logs := observer.New(zap.WarnLevel)
			shared, looked := counters.NewMemory(time.Now), make(chan string, 1)
			s, err := authserver.New(authserver.Options{
				Passwords: authtest.Quick, Config: cfg, DB: db, Counters: shared, Key: make([]byte, 32), Logger: func() *zap.Logger { return zap.New(core) },
				Observe: func(job, outcome string, _ int) {
					if job == "secrets" {
						looked <- outcome
					}
				},
			})
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
			if outcome := <-looked; outcome != jobs.OutcomeOK {
				t.Fatalf("the check of the rows: %s", outcome)
			}
			return s, logs
		}
		const message = "sealed rows need a key that is not configured"
		const sealed, bothKeys = "data_encryption: {driver: aes_master, aes_master: {key_env: NEW}}", "data_encryption: {driver: aes_master, aes_master: {key_env: NEW, old_key_env: OLD}}"
		notices := func(s *authserver.Server) string {
			t.Helper()
			w := admin(s, http.MethodGet, "/admin/notices", "")
			if w.Code != http.StatusOK || strings.Contains(w.Body.String(), oldMaster) || strings.Contains(w.Body.String(), newMaster) {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			return w.Body.String()
		}
		quiet := func(s *authserver.Server, logs *observer.ObservedLogs) {
			t.Helper()
			if text := notices(s); strings.Contains(text, "cannot be decrypted") || logs.FilterMessage(message).Len() > 0 {
				t.Errorf("%s, log %v", text, logs.All())
			}
		}

		first, logs := start("data_encryption: {driver: aes_master, aes_master: {key_env: OLD}}")
		const rows = 3
		for i := range rows {
			body := fmt.Sprintf(`{"slug":"p%d","protocol":"oauth","config_data":{"client_id":"c","client_secret":"s","authorize_url":"https://a.example","token_url":"https://a.example"}}`, i)
			if w := admin(first, http.MethodPost, "/admin/broker-providers", body); w.Code != http.StatusCreated {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
		}
		quiet(first, logs)
		for _, text := range []string{sealed, "data_encryption: {}"} {
			s, logs := start(text)
			entries := logs.FilterMessage(message).All()
			if len(entries) != 1 {
				t.Fatalf("%s: logged %d times", text, len(entries))
			}
			if fields := entries[0].ContextMap(); fields["table"] != "authserver_brokers" || fields["rows"] != int64(rows) || fields["key"] != oldMasterID || strings.Contains(fmt.Sprint(fields), oldMaster) {
				t.Errorf("%v", fields)
			}
			if notice := notices(s); !strings.Contains(notice, "Rows of authserver_brokers that cannot be decrypted: 3. They are encrypted with the key "+oldMasterID+", which is not configured.") {
				t.Errorf("%s", notice)
			}
		}
		s, logs := start(bothKeys)
		quiet(s, logs)
		if w := admin(s, http.MethodPost, "/admin/encryption/re-encrypt", ""); strings.TrimSpace(w.Body.String()) != `{"scanned":3,"rewritten":3,"failed":0}` {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		s, logs = start(sealed)
		quiet(s, logs)

		// The rows are checked at each start and after data has been encrypted anew, but not for each request of the
		// notices.
		if w := admin(first, http.MethodPost, "/admin/broker-providers", `{"slug":"late","protocol":"oauth","config_data":{"client_secret":"s"}}`); w.Code != http.StatusCreated {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		s, _ = start(sealed)
		const unread = "Rows of authserver_brokers that cannot be decrypted: 1."
		if text := notices(s); !strings.Contains(text, unread) {
			t.Error(text)
		}
		if w := admin(s, http.MethodDelete, "/admin/broker-providers/late", ""); w.Code != http.StatusNoContent {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if text := notices(s); !strings.Contains(text, unread) {
			t.Errorf("all rows are checked each time: %s", text)
		}
		if w := admin(s, http.MethodPost, "/admin/encryption/re-encrypt", ""); w.Code != http.StatusOK || strings.Contains(notices(s), unread) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

// TestFaultyProvider checks that a provider that cannot be used is reported in the list and on the overview, until it
// is repaired.
func TestFaultyProvider(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := serve(t, db, "")
		ask := func(method, path, body string) string {
			t.Helper()
			w := admin(s, method, path, body)
			if w.Code/100 != 2 {
				t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
			return w.Body.String()
		}
		for i := range 12 {
			ask(http.MethodPost, "/admin/broker-providers", fmt.Sprintf(`{"slug":"mail%d","protocol":"oauth","config_data":{"client_id":"c","client_secret_ref":"CONNECTOR_NOT_SET","authorize_url":"https://a.example","token_url":"https://a.example"}}`, i))
		}
		const fault = "client_secret_ref: the variable CONNECTOR_NOT_SET is not set"
		if text := ask(http.MethodGet, "/admin/broker-providers", ""); strings.Count(text, `"config_fault":"`+fault+`"`) != 12 {
			t.Errorf("%s", text)
		}
		text := ask(http.MethodGet, "/admin/notices", "")
		if !strings.Contains(text, `"message":"The provider mail0 cannot be used: `+fault+`.","about":"broker-providers/`) || strings.Count(text, fault) != 10 || !strings.Contains(text, `"2 more providers cannot be used."`) {
			t.Errorf("%s", text)
		}
		ask(http.MethodPatch, "/admin/broker-providers/mail0", `{"config_data":{"client_id":"c"}}`)
		if text := ask(http.MethodGet, "/admin/notices", ""); !strings.Contains(text, "The provider mail0 cannot be used: authorize_url is missing.") {
			t.Errorf("%s", text)
		}
		for i := range 12 {
			ask(http.MethodDelete, fmt.Sprintf("/admin/broker-providers/mail%d", i), "")
		}
		if text := ask(http.MethodGet, "/admin/notices", ""); strings.Contains(text, "cannot be used") {
			t.Errorf("%s", text)
		}
	})
}
