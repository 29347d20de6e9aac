package credentials

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

// TestWorkloadIdentity checks that the tokens of the operator's machine come from the metadata server, and that a
// user's key cannot obtain them.
func TestWorkloadIdentity(t *testing.T) {
	status := http.StatusOK
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if r.Header.Get("Metadata-Flavor") != "Google" || r.URL.Path != "/computeMetadata/v1/instance/service-accounts/default/token" ||
			r.URL.Query().Get("scopes") != "the-scope" {
			t.Errorf("asked %s with %v", r.URL, r.Header)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"access_token":"of-the-machine","expires_in":3600,"token_type":"Bearer"}`)
	}))
	defer server.Close()
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(server.URL, "http://"))

	p := &catalog.Provider{Code: "vertex", Auth: catalog.AuthGoogle, TokenURL: "https://token.example", TokenScope: "the-scope"}
	tokens := NewTokens(time.Now)
	for range 2 {
		header := make(http.Header)
		err := tokens.Authorize(t.Context(), header, p, catalog.WorkloadIdentity, nil)
		if err != nil || header.Get("Authorization") != "Bearer of-the-machine" {
			t.Fatalf("%v, %v", err, header)
		}
	}
	if requests != 1 {
		t.Errorf("the metadata server was asked %d times", requests)
	}
	if !tokens.Forget(p, catalog.WorkloadIdentity, http.StatusUnauthorized) || tokens.Forget(p, catalog.WorkloadIdentity, http.StatusForbidden) {
		t.Error("its token cannot be renewed")
	}
	status = http.StatusNotFound
	refused := (*Error)(nil)
	err := tokens.Authorize(t.Context(), make(http.Header), p, catalog.WorkloadIdentity, nil)
	if !errors.As(err, &refused) || refused.Refused {
		t.Errorf("without a service account: %v", err)
	}
	if _, err := catalog.CheckKey(catalog.WorkloadIdentity); err == nil {
		t.Error("a user may name it")
	}
}
