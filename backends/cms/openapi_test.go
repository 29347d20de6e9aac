package cms_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/rest/openapitest"
)

// contentDocument is made from the document of the first site whose content API answers.
var contentDocument struct {
	sync.Once
	*openapitest.Document
}

// checkDocumented compares a response of the content API with the OpenAPI document, which all sites have in common. It
// leaves out what no route answers.
func (s *site) checkDocumented(r *http.Request, w *httptest.ResponseRecorder) {
	s.Helper()
	path, ours := strings.CutPrefix(r.URL.Path, "/api/content/")
	if !ours || r.Method == http.MethodHead || r.Method == http.MethodOptions || w.Code == http.StatusMethodNotAllowed ||
		w.Code == http.StatusNotFound || w.Code == http.StatusNoContent || strings.HasPrefix(path, "path") ||
		strings.HasPrefix(path, "files/") || w.Code == http.StatusPreconditionFailed && w.Body.Len() == 0 {
		return
	}
	contentDocument.Do(func() {
		text := httptest.NewRecorder()
		s.server.ServeHTTP(text, httptest.NewRequest(http.MethodGet, "/api/content/openapi.json", nil))
		contentDocument.Document = openapitest.New(s, text.Body.Bytes())
	})
	contentDocument.Response(s, r, w.Result())
}

// TestContentDocument checks that guests can read the document of the content API, that it is valid, and that a site
// without the content API has none.
func TestContentDocument(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{Content: settings.ContentWrite}, func(s *site) {
		w := s.do(http.MethodGet, "/api/content/openapi.json", "")
		body := gjson.Parse(w.Body.String())
		if w.Code != http.StatusOK || body.Get("openapi").Str != "3.1.0" ||
			!strings.HasSuffix(body.Get("servers.0.url").Str, "/api/content") || len(body.Get("paths").Map()) < 20 {
			s.Fatalf("%d %.300s", w.Code, w.Body)
		}
		openapitest.New(s, w.Body.Bytes()).Valid(s)
	})
}
