package cms_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
)

// posts makes a template with a field, whose pages may be below home.
func (s *site) posts() {
	s.Helper()
	c := s.server.Content()
	if _, err := c.SaveField(s.Context(), kernel.Site(), content.Field{Name: "body", Type: "textarea", Label: "Body"}); err != nil {
		s.Fatal(err)
	}
	if _, err := c.SaveTemplate(s.Context(), kernel.Site(), content.Template{Name: "post", Label: "Post", Fields: []string{"body"}, View: []string{"guest"}}); err != nil {
		s.Fatal(err)
	}
}

func TestContent(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{Auth: settings.JWT, Content: settings.ContentWrite}, func(s *site) {
		s.posts()
		s.expect("GET", "/api/content/pages", "", 401, "*")
		token := s.issue("/api/auth", s.login())
		bearer := []string{"Authorization", "Bearer " + token.JWT}
		var home struct{ ID int64 }
		w := s.expect("GET", "/api/content/path/home", "", 200, "*", bearer...)
		if err := json.Unmarshal(w.Body.Bytes(), &home); err != nil || w.Header().Get("ETag") != `"1"` {
			t.Fatalf("%s %v", w.Body, w.Header())
		}
		w = s.expect("POST", "/api/content/pages", `{"template":"post","parent":`+strconv.FormatInt(home.ID, 10)+`,"title":"First","status":"published","fields":{"body":"Text"}}`, 201, "*", bearer...)
		var page content.Page
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || page.Path != "/home/first" || page.Fields["body"] != "Text" {
			t.Fatalf("%s", w.Body)
		}
		pagePath := "/api/content/pages/" + strconv.FormatInt(page.ID, 10)
		if w.Header().Get("Location") != "http://example.com"+pagePath {
			t.Errorf("Location: %s", w.Header().Get("Location"))
		}
		ifMatch := func(tag string) []string { return append([]string{"If-Match", tag}, bearer...) }
		w = s.expect("PATCH", pagePath, `{"title":"Second"}`, 200, "*", ifMatch(`"1"`)...)
		if w.Header().Get("ETag") != `"2"` {
			t.Errorf("ETag: %s", w.Header().Get("ETag"))
		}
		s.expect("PATCH", pagePath, `{"title":"Third"}`, 412, "*", ifMatch(`"1"`)...)
		s.expect("PATCH", pagePath, `{"title":"Third"}`, 412, "*", ifMatch(`W/"2"`)...)
		s.expect("PATCH", pagePath, `{"titel":"Third"}`, 400, "*", bearer...)
		s.expect("PATCH", pagePath, `{"title":7}`, 400, "*", bearer...)
		s.expect("PATCH", pagePath, `{"publish_at":"soon"}`, 400, "*", bearer...)
		s.expect("PATCH", pagePath, `{"fields":{"none":1}}`, 422, "*", bearer...)
		s.expect("GET", "/api/content/pages?selector=template%3Dpost,title%3DSecond", "", 200, "*", bearer...)
		s.expect("GET", "/api/content/pages?selector=nofield%3D1", "", 400, "*", bearer...)
		s.expect("GET", "/api/content/pages/999999", "", 404, "*", bearer...)
		s.expect("GET", "/api/content/pages/999999999999999999", "", 404, "*", bearer...)
		s.expect("GET", "/api/content/templates", "", 200, "*", bearer...)
		s.expect("GET", "/api/content/fields", "", 200, "*", bearer...)
		s.expect("DELETE", pagePath, "", 412, "*", ifMatch(`"1"`)...)
		s.expect("PATCH", pagePath, `{"title":"Third"}`, 412, "*", ifMatch(`"1-gzip"`)...)
		s.expect("DELETE", pagePath, "", 204, "", ifMatch(`"2-gzip"`)...) // as a compressing handler tells it
		s.expect("GET", "/api/content/path/home/first", "", 404, "*", bearer...)

		w = s.expect("POST", "/api/content/pages", `{"template":"post","parent":`+strconv.FormatInt(home.ID, 10)+`,"title":"Old","status":"published"}`, 201, "*", bearer...)
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
			t.Fatal(err)
		}
		s.expect("PATCH", "/api/content/pages/"+strconv.FormatInt(page.ID, 10), `{"name":"new"}`, 200, "*", bearer...)
		w = s.expect("GET", "/api/content/path/home/old", "", 301, "", bearer...)
		if location := w.Header().Get("Location"); location != "http://example.com/api/content/path/home/new" {
			t.Errorf("Location: %s", location)
		}

		now := *s.server.Settings().Current()
		for serves, status := range map[string]int{settings.ContentRead: 405, settings.ContentOff: 404} {
			now.Content = serves
			if err := s.server.Settings().Save(now); err != nil {
				t.Fatal(err)
			}
			if err := s.server.Reload(); err != nil {
				t.Fatal(err)
			}
			s.expect("POST", "/api/content/pages", `{"template":"post"}`, status, "*", bearer...)
		}
	})
}
