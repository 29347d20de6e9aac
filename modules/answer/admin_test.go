package answer

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestAdminWithoutDatabase checks that a response of the administration API has a Retry-After while the database is
// being opened or is down.
func TestAdminWithoutDatabase(t *testing.T) {
	t.Parallel()
	other := errors.New("something else")
	for cause, want := range map[error]int{fmt.Errorf("reading the keys: %w", store.ErrOpening): http.StatusServiceUnavailable, other: 0, nil: 0} {
		w := httptest.NewRecorder()
		err := withRetryAfter(func(http.ResponseWriter, *http.Request) error { return cause })(w, httptest.NewRequest(http.MethodGet, "/admin/answer/keys", http.NoBody))
		got, _ := errors.AsType[caddy.APIError](err)
		if got.HTTPStatus != want || !errors.Is(err, cause) && want == 0 || (w.Header().Get("Retry-After") != "") != (want != 0) {
			t.Errorf("%v: %d, %v", cause, got.HTTPStatus, err)
		}
	}
}
