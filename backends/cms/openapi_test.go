package cms_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
)

// contentValidator is made once from the document of the first site whose content API answers.
var contentValidator struct {
	sync.Once
	check      validator.Validator
	sync.Mutex // held while check is used, which is not for several goroutines
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
	contentValidator.Do(func() {
		text := httptest.NewRecorder()
		s.server.ServeHTTP(text, httptest.NewRequest(http.MethodGet, "/api/content/openapi.json", nil))
		document, err := libopenapi.NewDocument(text.Body.Bytes())
		if err != nil {
			s.Error(err)
			return
		}
		check, errs := validator.NewValidator(document)
		if len(errs) > 0 {
			s.Error(errs)
			return
		}
		contentValidator.check = check
	})
	if contentValidator.check == nil {
		return
	}
	resp := w.Result()
	defer func() { _ = resp.Body.Close() }()
	contentValidator.Lock()
	defer contentValidator.Unlock()
	if ok, faults := contentValidator.check.ValidateHttpResponse(r, resp); !ok {
		for _, f := range faults {
			s.Errorf("%s %s: %d is not as documented: %s: %s %v", r.Method, r.URL, w.Code, f.Message, f.Reason,
				f.SchemaValidationErrors)
		}
	}
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
		document, err := libopenapi.NewDocument(w.Body.Bytes())
		if err != nil {
			s.Fatal(err)
		}
		check, errs := validator.NewValidator(document)
		if len(errs) > 0 {
			s.Fatal(errs)
		}
		if ok, faults := check.ValidateDocument(); !ok {
			for _, f := range faults {
				s.Errorf("%s: %s %v", f.Message, f.Reason, f.SchemaValidationErrors)
			}
		}
	})
}
