package board

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestOpenAPIDocument checks the document against OpenAPI 3.1 and the route table.
func TestOpenAPIDocument(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		if s.document == nil {
			return
		}
		s.document.Valid(t)
		broken := httptest.NewRecorder()
		broken.Header().Set("Content-Type", api.JsonType)
		_, _ = broken.WriteString(`{"data":[{"id":1}]}`)
		if s.document.Accepts(s.request("", "GET", "/forums", ""), broken.Result()) {
			t.Error("the check of answers finds nothing")
		}
		var d struct {
			OpenAPI string
			Info    struct {
				Version string
				License struct{ Identifier string }
			}
			Paths map[string]map[string]struct {
				Scope    string                `json:"x-scope"`
				Cost     int64                 `json:"x-cost"`
				Security []map[string][]string `json:"security"`
			}
			Components struct {
				Schemas map[string]struct {
					Type                 string
					Description          string
					AdditionalProperties *bool
				}
			}
		}
		a := s.do("", "GET", "/openapi.json", "").want(200)
		a.into(&d)
		if d.OpenAPI != "3.1.0" || d.Info.Version != "0.37.6" || d.Info.License.Identifier != "MIT" {
			t.Errorf("openapi %s, version %s, license %s", d.OpenAPI, d.Info.Version, d.Info.License.Identifier)
		}
		operations := 0
		for _, methods := range d.Paths {
			operations += len(methods)
		}
		if operations != len(api.Routes()) {
			t.Errorf("%d operations, %d routes", operations, len(api.Routes()))
		}
		list := d.Paths["/forums/{forumId}/threads"]["get"]
		if security, err := json.Marshal(list.Security); err != nil || string(security) != `[{"bearerToken":["threads:read"]},{}]` || list.Scope != "threads:read" || list.Cost != 1 {
			t.Errorf("%s %v: %+v", security, err, list)
		}
		for name, schema := range d.Components.Schemas {
			if name != "Document" && schema.Type == "object" && (schema.AdditionalProperties == nil || *schema.AdditionalProperties) {
				t.Errorf("%s takes additional properties", name)
			}
		}
		r := s.request("", "GET", "/openapi.json", "")
		r.Header.Set("If-None-Match", a.header.Get("ETag"))
		if resp := s.send(r); resp.status != 304 || resp.body != "" {
			t.Errorf("unchanged: %d %s", resp.status, resp.body)
		}
	})
}
