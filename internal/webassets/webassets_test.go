package webassets

import (
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func console() *Files {
	own := fstest.MapFS{"web/app.js": {Data: []byte("import './pages/a.js';")}, "web/app.css": {Data: []byte("a{}")}, "web/pages/a.js": {Data: []byte("// <a>")}}
	return New(Policy("https://id.example.com")).Load(own, "web").Console(Page{Title: "A & <B>", Root: "files/", WithoutScript: "Use the API."})
}

func TestServe(t *testing.T) {
	t.Parallel()
	files := console()
	for name, kind := range map[string]string{
		Document: "text/html; charset=utf-8", "app.js": "text/javascript; charset=utf-8", "pages/a.js": "text/javascript; charset=utf-8",
		"app.css": "text/css; charset=utf-8", "parts/base.css": "text/css; charset=utf-8", "parts/dom.js": "text/javascript; charset=utf-8", "parts/favicon.svg": "image/svg+xml",
	} {
		if !files.Has(name) {
			t.Errorf("there is no %s", name)
			continue
		}
		w := httptest.NewRecorder()
		files.Serve(w, httptest.NewRequest(http.MethodGet, "/", nil), name)
		for header, want := range map[string]string{
			"Content-Type": kind, "Cache-Control": "no-cache", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
			"Cross-Origin-Opener-Policy": "same-origin", "Content-Security-Policy": Policy("https://id.example.com"),
		} {
			if got := w.Header().Get(header); got != want {
				t.Errorf("%s: %s is %q, want %q", name, header, got, want)
			}
		}
		again := httptest.NewRequest(http.MethodGet, "/", nil)
		again.Header.Set("If-None-Match", w.Header().Get("ETag"))
		second := httptest.NewRecorder()
		files.Serve(second, again, name)
		if w.Code != http.StatusOK || w.Body.Len() == 0 || second.Code != http.StatusNotModified || second.Body.Len() != 0 {
			t.Errorf("%s: status %d, then %d with %d bytes", name, w.Code, second.Code, second.Body.Len())
		}
	}
	for _, name := range []string{"", "parts", "parts/", "web/app.js", "page.html", "nothing.js"} {
		if files.Has(name) {
			t.Errorf("there is a %q", name)
		}
	}
}

// TestPage: what the document loads is there, by paths relative to it, and
// nothing in it is inline.
func TestPage(t *testing.T) {
	t.Parallel()
	files := console()
	page := string(files.by[Document].text)
	for _, part := range []string{"<title>A &amp; &lt;B&gt;</title>", `id="app"`, `id="announcer"`, "Use the API."} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %s:\n%s", part, page)
		}
	}
	links := regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(links) != 4 {
		t.Errorf("%d links", len(links))
	}
	for _, link := range links {
		if name, below := strings.CutPrefix(link[1], "files/"); !below || !files.Has(name) {
			t.Errorf("%s leads nowhere", link[1])
		}
	}
	for _, inline := range []string{"<style", "style=", "onclick", "<script>"} {
		if strings.Contains(page, inline) {
			t.Errorf("%s in the page", inline)
		}
	}
}

// TestPartsStandAlone: parts import one another only, so that they work wherever a
// console has them.
func TestPartsStandAlone(t *testing.T) {
	t.Parallel()
	files := New("").Load(parts, ".")
	imports := 0
	for name, file := range files.by {
		for _, found := range regexp.MustCompile(`(?m)\bfrom '([^']*)'|new URL\('([^']*)'`).FindAllStringSubmatch(string(file.text), -1) {
			imports++
			target := path.Join(path.Dir(name), found[1]+found[2])
			if !strings.HasPrefix(target, "parts/") || !files.Has(target) {
				t.Errorf("%s needs %s, which no part is", name, target)
			}
		}
	}
	if imports == 0 {
		t.Error("no imports found")
	}
}
