package management

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/alerts"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// newRouter returns a router for the routes of a new service, whose database has the user ada.
func newRouter(t *testing.T) *rest.Router {
	t.Helper()
	s := newService(t)
	return rest.NewRouter("", s.Routes())
}

// newService returns a service with its own database, which has the user ada.
func newService(t *testing.T) *Service {
	t.Helper()
	db, err := store.NewSQLite(store.SQLiteOptions{Path: t.TempDir() + "/test.db"}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Register(schema.Gateway()); err != nil {
		t.Fatal(err)
	}
	testenv.Open(t, db)
	ring, err := keyring.NewAES([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	people, err := keychain.New(db, ring, spending.NewLedger(db, zap.NewNop(), time.Now), zap.NewNop(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(people.Close)
	if _, _, _, err := people.InitUser(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	service := alerts.New(alerts.Deps{Keychain: people, Sender: webhook.NewSender(nil, zap.NewNop()), Logger: zap.NewNop(), Now: time.Now})
	t.Cleanup(service.Close)
	return &Service{Keychain: people, Spending: spending.NewLedger(db, zap.NewNop(), time.Now), Alerts: service, Catalog: catalog.Embedded, Reprice: func(context.Context) error { return nil }}
}

// person is the id of a signed-in user.
type person string

func (p person) UserID() string { return string(p) }

// call sends a request as ada.
func call(t *testing.T, rt *rest.Router, method, path, body string) (gjson.Result, error) {
	t.Helper()
	return callAs(t, rt, "ada", method, path, body)
}

// callAs sends a request as a user. It returns the response body or the error.
func callAs(t *testing.T, rt *rest.Router, user person, method, path, body string) (gjson.Result, error) {
	t.Helper()
	w := httptest.NewRecorder()
	found, _ := rt.Find(httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
	err := found.Serve(w, user)
	return gjson.ParseBytes(w.Body.Bytes()), err
}

func TestKeyChangeByNull(t *testing.T) {
	t.Parallel()
	rt := newRouter(t)
	const full = `{"label":"ci","rate_limit_per_minute":7,"expires_at":"2200-01-01T00:00:00Z","allowed_models":["openai/*"],"budgets":{"tokens_per_day":5},"tokens_per_minute":9,"parallel_requests":2}`
	key, err := call(t, rt, http.MethodPost, "/users/ada/keychain-keys", full)
	if err != nil {
		t.Fatal(err)
	}
	path := "/keychain-keys/" + key.Get("id").Str
	options := func(k gjson.Result) string {
		var b strings.Builder
		for _, name := range []string{"label", "rate_limit_per_minute", "expires_at", "allowed_models", "budgets.tokens_per_day", "tokens_per_minute", "parallel_requests"} {
			b.WriteString(k.Get(name).Raw + " ")
		}
		return strings.TrimSpace(b.String())
	}
	for _, test := range []struct{ body, want string }{
		{`{}`, `"ci" 7 "2200-01-01T00:00:00Z" ["openai/*"] 5 9 2`},
		{`{"label":null,"effort_mode":null}`, `"ci" 7 "2200-01-01T00:00:00Z" ["openai/*"] 5 9 2`},
		{`{"rate_limit_per_minute":null}`, `"ci" null "2200-01-01T00:00:00Z" ["openai/*"] 5 9 2`},
		{`{"expires_at":null,"clear_expiry":true}`, `"ci" null null ["openai/*"] 5 9 2`},
		{`{"allowed_models":null}`, `"ci" null null null 5 9 2`},
		{`{"budgets":null}`, `"ci" null null null null 9 2`},
		{`{"parallel_requests":null}`, `"ci" null null null null 9`},
		{`{"parallel_requests":3}`, `"ci" null null null null 9 3`},
		{`{"tokens_per_minute":null}`, `"ci" null null null null  3`},
		{full, `"ci" 7 "2200-01-01T00:00:00Z" ["openai/*"] 5 9 2`},
		{`{"budgets":{"tokens_per_day":null},"clear_rate_limit":true,"clear_expiry":true}`, `"ci" null null ["openai/*"] null 9 2`},
	} {
		changed, err := call(t, rt, http.MethodPut, path, test.body)
		if got := options(changed); err != nil || got != test.want {
			t.Errorf("%s: %s, error %v, want %s", test.body, got, err, test.want)
		}
	}
}

func TestKeyBodiesRefused(t *testing.T) {
	t.Parallel()
	rt := newRouter(t)
	key, err := call(t, rt, http.MethodPost, "/users/ada/keychain-keys", "")
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string][2]string{
		`{"allowed_models":[]}`:                                           {"allowed_models", "leave it out"},
		`{"allowed_models":["nope/x"]}`:                                   {"allowed_models[0]", `unknown model "nope/x"`},
		`{"allowed_models":"openai/*"}`:                                   {"allowed_models", "must not be a string"},
		`{"rate_limit_per_minute":1e3}`:                                   {"rate_limit_per_minute", "must be a whole number"},
		`{"rate_limit_per_minute":1.5}`:                                   {"rate_limit_per_minute", "must be a whole number"},
		`{"rate_limit_per_minute":"7"}`:                                   {"rate_limit_per_minute", "must not be a string"},
		`{"rate_limit_per_minute":` + `1` + strings.Repeat("0", 30) + `}`: {"rate_limit_per_minute", "out of range"},
		`{"budgets":{"tokens_per_day":1e3}}`:                              {"budgets.tokens_per_day", "must be a whole number"},
		`{"budgets":{"tokens_a_day":3}}`:                                  {"tokens_a_day", "there is no member"},
	} {
		for path, method := range map[string]string{"/users/ada/keychain-keys": http.MethodPost, "/keychain-keys/" + key.Get("id").Str: http.MethodPut} {
			_, err := call(t, rt, method, path, body)
			e, ok := apierror.From(err)
			if !ok || e.Status != http.StatusBadRequest || e.Param != want[0] || !strings.Contains(e.Message, want[1]) {
				t.Errorf("%s %s: error %v (%+v), want %q", method, body, err, e, want)
			}
		}
	}
}

// TestUserRoutesCannotLiftLimits sends everything that the user routes accept against limits that the operator has set.
// After each request every key of the user must still have and show these limits.
func TestUserRoutesCannotLiftLimits(t *testing.T) {
	t.Parallel()
	usd, models := spending.MicroUSD(1_000_000), []string{"openai/*"}
	change := keychain.KeyChange{Impose: true, Limits: func(l *keychain.Limits) { l.Budgets = keychain.Budgets{USDPerDay: &usd}; l.AllowedModels = models }}
	const nulls = `{"label":"mine","budgets":null,"allowed_models":null,"rate_limit_per_minute":null,"expires_at":null}`
	const wide = `{"budgets":{"usd_per_day":1000000},"allowed_models":["*"],"rate_limit_per_minute":1000000000,"expires_at":"2200-01-01T00:00:00Z"}`
	for kind, impose := range map[string]func(s *Service, keyID string) error{
		"key": func(s *Service, keyID string) error {
			_, err := s.Keychain.UpdateKey(t.Context(), "ada", keyID, change)
			return err
		},
		"user": func(s *Service, _ string) error {
			_, err := s.Keychain.Impose(t.Context(), keychain.OnUser, "ada", change)
			return err
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			rt := rest.NewRouter("", s.Routes())
			keys, err := call(t, rt, http.MethodGet, "/users/ada/keychain-keys", "")
			first := keys.Get("keys.0.id").Str
			if err == nil {
				err = impose(s, first)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range []struct{ method, path, body string }{
				{http.MethodPut, "/keychain-keys/" + first, nulls},
				{http.MethodPut, "/keychain-keys/" + first, wide},
				{http.MethodPut, "/keychain-keys/" + first, `{"clear_rate_limit":true,"clear_expiry":true}`},
				{http.MethodPut, "/keychain-keys/" + first, `{"imposed":[]}`},
				{http.MethodPut, "/keychain-keys/" + first, `{"impose":true,"budgets":null}`},
				{http.MethodPost, "/users/ada/keychain-keys", ""},
				{http.MethodPost, "/users/ada/keychain-keys", wide},
				{http.MethodPost, "/users/ada/keychain-keys", `{"imposed":[]}`},
				{http.MethodPost, "/users/ada/regenerate-key", ""},
				{http.MethodPost, "/users/init", ""},
				{http.MethodDelete, "/keychain-keys/" + first, ""},
				{http.MethodPost, "/users/ada/regenerate-key", ""},
				{http.MethodPost, "/users/ada/keychain-keys", ""},
				{http.MethodPost, "/users/init", ""},
			} {
				_, err := call(t, rt, step.method, step.path, step.body)
				if e, ok := apierror.From(err); err != nil && (!ok || e.Status >= 500) {
					t.Fatalf("%s %s %s: %v", step.method, step.path, step.body, err)
				}
				list, err := call(t, rt, http.MethodGet, "/users/ada/keychain-keys", "")
				if err != nil || len(list.Get("keys").Array()) == 0 {
					t.Fatal(list, err)
				}
				for _, key := range list.Get("keys").Array() {
					shown := key.Get("imposed.0")
					if shown.Get("on").Str != kind || shown.Get("by").Str != "operator" || shown.Get("budgets.usd_per_day").Float() != 1 || shown.Get("allowed_models.0").Str != "openai/*" {
						t.Errorf("after %s %s %s: %s", step.method, step.path, step.body, key)
					}
				}
			}
		})
	}
}

// TestNewUsersAreRefused checks that new users get an error that names the reason, and that known users are admitted.
func TestNewUsersAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.NewUsers.Refuse = true
	rt := rest.NewRouter("", s.Routes())
	if known, err := call(t, rt, http.MethodPost, "/users/init", ""); err != nil || known.Get("created").Bool() {
		t.Errorf("%s, error %v", known, err)
	}
	for range 2 {
		_, err := callAs(t, rt, "eve", http.MethodPost, "/users/init", "")
		if e, ok := apierror.From(err); !ok || e.Status != http.StatusForbidden || e.Code != "new_users_refused" || !strings.Contains(e.Message, `"eve"`) {
			t.Errorf("error %v", err)
		}
		if _, err = callAs(t, rt, "eve", http.MethodPost, "/users/eve/keychain-keys", ""); err == nil {
			t.Error("eve has a key")
		}
	}
}
