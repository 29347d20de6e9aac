package cms_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms"
	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

func TestSite(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{}, func(s *site) {
		s.posts()
		c := s.server.Content()
		home, err := c.At(s.Context(), kernel.Site(), "/home")
		if err != nil {
			s.Fatal(err)
		}
		save := func(e content.Edit) *content.Page {
			s.Helper()
			page, err := c.Save(s.Context(), kernel.Site(), e)
			if err != nil {
				s.Fatal(err)
			}
			return page
		}
		page := save(content.Edit{Parent: home.ID, Template: "post", Title: new("Old"), Status: new("published")})
		save(content.Edit{Parent: home.ID, Template: "post", Title: new("Hidden"), Status: new("hidden")})
		get := func(method, path string, status int) *httptest.ResponseRecorder {
			s.Helper()
			w := httptest.NewRecorder()
			served := s.server.ServeSite(w, httptest.NewRequestWithContext(s.Context(), method, path, nil))
			if served != (status != 0) || served && w.Code != status {
				s.Errorf("%s %s: %v %d, want %d", method, path, served, w.Code, status)
			}
			return w
		}
		get("GET", "/sitemap.xml", 0)
		set := *s.server.Settings().Current()
		set.SiteURL, set.Redirects = "https://www.example.com/", true
		if err := s.server.Settings().Save(set); err != nil {
			s.Fatal(err)
		}
		type sitemap struct {
			URLs  []string `xml:"url>loc"`
			Parts []string `xml:"sitemap>loc"`
		}
		read := func(path string) (read sitemap) {
			s.Helper()
			w := get("GET", path, 200)
			if err := xml.Unmarshal(w.Body.Bytes(), &read); err != nil || w.Header().Get("Content-Type") != "application/xml; charset=utf-8" {
				s.Errorf("%s: %v %v", w.Body, w.Header(), err)
			}
			return read
		}
		if got := fmt.Sprint(read("/sitemap.xml")); got != "{[https://www.example.com/ https://www.example.com/home https://www.example.com/home/old] []}" {
			s.Error(got)
		}
		get("HEAD", "/sitemap.xml", 200)
		get("GET", "/sitemap-2.xml", 404)
		for _, path := range []string{"/sitemap-0.xml", "/sitemap-01.xml", "/sitemap-1.xml.gz", "/sitemap1.xml", "/sitemap"} {
			get("GET", path, 0)
		}
		err = s.db.Write(s.Context(), func(c store.Conn) error {
			_, err := c.Exec(`INSERT INTO cms_pages (id, parent_id, template_id, name, path, title, status, sort, data, created, created_by, modified, modified_by)
				SELECT 50001, parent_id, template_id, 'far', '/home/far', title, 0, 9, data, created, created_by, modified, modified_by FROM cms_pages WHERE id = ?`, page.ID)
			return err
		})
		if err != nil {
			s.Fatal(err)
		}
		if got := fmt.Sprint(read("/sitemap.xml"), read("/sitemap-2.xml")); got != "{[] [https://www.example.com/sitemap-1.xml https://www.example.com/sitemap-2.xml]} {[https://www.example.com/home/far] []}" {
			s.Error(got)
		}

		get("GET", "/home/old", 0)
		save(content.Edit{ID: page.ID, Name: new("new")})
		w := get("GET", "/home/old?a=b", http.StatusMovedPermanently)
		if w.Header().Get("Location") != "/home/new?a=b" || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			s.Errorf("%v", w.Header())
		}
		get("POST", "/home/old", 0)
		get("GET", "/home/new", 0)
		get("GET", "/nowhere", 0)
		save(content.Edit{ID: page.ID, Status: new("unpublished")})
		get("GET", "/home/old", 0) // who may not see the page is not told where it is

		if err := s.db.Close(); err != nil {
			s.Fatal(err)
		}
		get("GET", "/sitemap-2.xml", http.StatusServiceUnavailable) // not 404, by which search engines would forget it
	})
}

// TestShadowed checks that saving a page whose path is hidden by the API yields a warning.
func TestShadowed(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{Auth: settings.JWT, Content: settings.ContentWrite, Endpoint: "home/api"}, func(s *site) {
		s.posts()
		c := s.server.Content()
		home, err := c.At(s.Context(), kernel.Site(), "/home")
		if err != nil {
			s.Fatal(err)
		}
		bearer := []string{"Authorization", "Bearer " + s.issue("/home/api/auth", s.login()).JWT}
		for title, warned := range map[string]bool{"Api": true, "Apis": false} {
			w := s.expect("POST", "/home/api/content/pages", fmt.Sprintf(`{"template":"post","parent":%d,"title":%q}`, home.ID, title), 201, "*", bearer...)
			if strings.Contains(w.Body.String(), `"warning":"the API is at /home/api: no page is served there"`) != warned {
				s.Errorf("%s: %s", title, w.Body)
			}
		}
		paths, err := c.Shadowed(s.Context(), s.server.Endpoint(), 10)
		if err != nil || len(paths) != 1 || paths[0] != "/home/api" {
			s.Errorf("%v, error %v", paths, err)
		}
	})
}

// TestFreshSite checks that two handlers may use a site that is not installed, and that it may be reloaded before
// it has started.
func TestFreshSite(t *testing.T) {
	t.Parallel()
	s, err := cms.New(cms.Options{Site: filepath.Join(t.TempDir(), "site"), DB: databases.SQLite(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.Reload(); err != nil {
		t.Error(err)
	}
	if err := s.Start(); err != nil || s.State().Table == nil {
		t.Errorf("started: %v, %v", s.State(), err)
	}
}
