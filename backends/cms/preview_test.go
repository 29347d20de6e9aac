package cms_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/backends/cms"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
)

// TestPreviewFails checks that the error log does not contain the link to a preview.
func TestPreviewFails(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.DebugLevel)
	logger := zap.New(core)
	s := newSite(t, databases.SQLite(t), settings.Settings{Auth: settings.JWT}, func(o *cms.Options) { o.Logger = func() *zap.Logger { return logger } })
	page, err := s.server.Content().At(t.Context(), kernel.Site(), "/")
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := s.server.Content().PreviewLink(t.Context(), kernel.Site(), page.ID, 3600e9)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/content/preview/", "/api//content/preview/"} { // both lead to it
		s.expect(http.MethodGet, path+token, "", 200, "*")
		if r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path+token, nil); !s.server.Conceals(r) {
			t.Errorf("%s is for logs", path)
		}
	}
	if err := s.db.Close(); err != nil {
		t.Fatal(err)
	}
	s.expect(http.MethodGet, "/api/content/preview/"+token, "", 503, "*")
	failed := logs.FilterMessage("call failed").All()
	if len(failed) != 1 {
		t.Fatalf("%+v", logs.All())
	}
	if path, _ := failed[0].ContextMap()["path"].(string); !strings.HasPrefix(path, "content/preview/") || strings.Contains(path, token) {
		t.Errorf("the log has the path %s", path)
	}
}
