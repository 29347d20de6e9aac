package answer

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

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

// TestStoreBody checks that the temporary folder of a body exists until it is removed, and that nothing is left of a
// body that cannot be read.
func TestStoreBody(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	left := func() int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	path, remove, err := storeBody(strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Clean(path)); err != nil || string(text) != "{}" {
		t.Errorf("%q, %v", text, err)
	}
	if remove(); left() != 0 {
		t.Error("remove leaves files behind")
	}
	broken := errors.New("broken")
	if _, _, err := storeBody(iotest.ErrReader(broken)); !errors.Is(err, broken) || left() != 0 {
		t.Errorf("%v, %d folders are left", err, left())
	}
}
