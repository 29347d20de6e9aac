package kernel_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// TestWriteError checks that all errors are written in the form of OAuth, even those of packages that do not know
// OAuth.
func TestWriteError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err    error
		status int
		code   string
		retry  string
	}{
		"a refusal":               {kernel.Refuse(kernel.InvalidGrant, "the code is %q", "old"), 400, "invalid_grant", ""},
		"a database that is down": {apierror.Unavailable("the database", errors.New("gone")), 503, "temporarily_unavailable", "1"},
		"too much":                {&apierror.Error{Status: 429, RetryAfter: 1500 * time.Millisecond, Message: "wait"}, 429, "slow_down", "2"},
		"a method":                {apierror.New(http.StatusMethodNotAllowed, "method_not_allowed", "no"), 405, "invalid_request", ""},
		"a fault":                 {errors.New("a secret of ours"), 500, "server_error", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			kernel.WriteError(w, test.err)
			var body struct {
				Error, Description, Title, Type, Detail string
				ErrorDescription                        string `json:"error_description"`
				Status                                  int
			}
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
				t.Fatalf("%v: %s", err, w.Body)
			}
			h := w.Header()
			if w.Code != test.status || body.Status != test.status || body.Error != test.code || body.Detail != body.ErrorDescription || body.Detail == "" || body.Detail == "a secret of ours" ||
				body.Type != "about:blank" || body.Title != http.StatusText(test.status) || h.Get("Content-Type") != "application/json" || h.Get("Cache-Control") != "no-store" || h.Get("Retry-After") != test.retry {
				t.Errorf("%d %v %s", w.Code, h, w.Body)
			}
		})
	}
}
