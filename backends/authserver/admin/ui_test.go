package admin_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
)

// TestUI checks that the pages are served to everybody, with all files that they load, and reveal nothing.
func TestUI(t *testing.T) {
	t.Parallel()
	a := newAPI(t, authtest.SQLite(t), "", nil)
	send := func(h http.Handler, path, known string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
		r.Header.Set("If-None-Match", known)
		h.ServeHTTP(w, r)
		return w
	}
	get := func(h http.Handler, path string) *httptest.ResponseRecorder { return send(h, path, "") }
	if w := get(a.Admin(), "/admin/ui"); w.Code != http.StatusPermanentRedirect || w.Header().Get("Location") != "ui/" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w := get(a.Admin(), "/"); w.Code != http.StatusTemporaryRedirect || w.Header().Get("Location") != "admin/ui/" {
		t.Errorf("/: %d %q", w.Code, w.Header().Get("Location"))
	}
	document := get(a.Admin(), "/admin/ui/")
	policy := document.Header().Get("Content-Security-Policy")
	if document.Code != http.StatusOK || !strings.Contains(policy, "connect-src 'self';") || strings.Contains(policy, "unsafe") {
		t.Errorf("%d %v", document.Code, document.Header())
	}
	if w := send(a.Admin(), "/admin/ui/", document.Header().Get("ETag")); w.Code != http.StatusNotModified {
		t.Errorf("again: %d", w.Code)
	}

	// All files that the document imports, directly or indirectly, are loaded.
	loads := regexp.MustCompile(`(?:from |import |url\(|src=|href=)['"]([^'"#]+\.(?:js|css|svg))['"]`)
	seen, todo := make(map[string]bool), []string{""}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		w := get(a.Admin(), "/admin/ui/"+name)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d", name, w.Code)
			continue
		}
		folder := name[:strings.LastIndex(name, "/")+1]
		for _, found := range loads.FindAllStringSubmatch(w.Body.String(), -1) {
			file := strings.TrimPrefix(found[1], "./")
			base := folder
			for strings.HasPrefix(file, "../") {
				file = file[3:]
				base = base[:strings.LastIndex(strings.TrimSuffix(base, "/"), "/")+1]
			}
			if !seen[base+file] {
				seen[base+file] = true
				todo = append(todo, base+file)
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d files are loaded", len(seen))
	}
	for _, name := range []string{"index.html", "ui", "pages", "pages/", "../routes.go", "%2e%2e/admin.go", "nothing.js"} {
		if w := get(a.Admin(), "/admin/ui/"+name); w.Code == http.StatusOK {
			t.Errorf("%s is there", name)
		}
	}
	if w := get(a.Public(), "/admin/ui/"); w.Code != http.StatusNotFound {
		t.Errorf("the public site has the pages: %d", w.Code)
	}

	if w := get(a.Admin(), "/admin/ui/settings.json"); w.Body.String() != `{"key_needed":true}` {
		t.Errorf("%s", w.Body)
	}
	folder := t.TempDir()
	cfg, err := config.Parse(nil, func(name string) (string, bool) {
		if name == "AUTHSERVER_SIGNING_KEY_PATH" {
			return folder, true
		}
		return "", false
	})
	if err != nil {
		t.Fatal(err)
	}
	k := authtest.SQLite(t)
	open, err := authserver.New(authserver.Options{Passwords: authtest.Quick, Config: cfg, DB: k.DB, Counters: k.Counters, Key: []byte(key), Now: k.Clock.Now, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(open.Close)
	if w := get(open.Admin(), "/admin/ui/settings.json"); w.Body.String() != `{"key_needed":false}` {
		t.Errorf("without a key: %s", w.Body)
	}
}
