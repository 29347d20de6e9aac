package webassets

import (
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tollgate-gateway/tollgate/internal/look"
)

func console() *Console {
	own := fstest.MapFS{"web/app.js": {Data: []byte("import './pages/a.js';")}, "web/app.css": {Data: []byte("a{}")}, "web/pages/a.js": {Data: []byte("/* <a> */")}}
	return NewConsole(Policy("https://id.example.com"), own, "web", Page{Title: "A & <B>", Root: "files/", WithoutScript: "Use the API."})
}

func TestServe(t *testing.T) {
	t.Parallel()
	files := console()
	for name, kind := range map[string]string{
		Document: "text/html; charset=utf-8", "app.js": "text/javascript; charset=utf-8", "pages/a.js": "text/javascript; charset=utf-8",
		"app.css": "text/css; charset=utf-8", "parts/look.css": "text/css; charset=utf-8", "parts/dom.js": "text/javascript; charset=utf-8", "parts/logo.svg": "image/svg+xml", "parts/icons.svg": "image/svg+xml",
	} {
		if !files.Has(name, look.Bar{}) {
			t.Errorf("there is no %s", name)
			continue
		}
		w := httptest.NewRecorder()
		files.Serve(w, httptest.NewRequest(http.MethodGet, "/", nil), name, look.Bar{})
		for header, want := range map[string]string{
			"Content-Type": kind, "Cache-Control": "no-cache", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
			"Cross-Origin-Opener-Policy": "same-origin", "Content-Security-Policy": Policy("https://id.example.com"),
		} {
			if got := w.Header().Get(header); got != want {
				t.Errorf("%s: %s is %q, want %q", name, header, got, want)
			}
		}
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		request.Header.Set("If-None-Match", w.Header().Get("ETag"))
		second := httptest.NewRecorder()
		files.Serve(second, request, name, look.Bar{})
		if w.Code != http.StatusOK || w.Body.Len() == 0 || second.Code != http.StatusNotModified || second.Body.Len() != 0 {
			t.Errorf("%s: status %d, then %d with %d bytes", name, w.Code, second.Code, second.Body.Len())
		}
	}
	for _, name := range []string{"", "parts", "parts/", "web/app.js", "page.html", "nothing.js"} {
		if files.Has(name, look.Bar{}) {
			t.Errorf("there is a %q", name)
		}
	}
}

// TestPage checks that everything that the document loads exists, at paths relative to it, and that nothing in it is
// inline.
func TestPage(t *testing.T) {
	t.Parallel()
	files := console()
	page := string(files.document(look.Bar{}))
	for _, part := range []string{"<title>A &amp; &lt;B&gt; – Tollgate</title>", `id="app"`, `id="announcer"`, "Use the API."} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %s:\n%s", part, page)
		}
	}
	links := regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(links) != 7 {
		t.Errorf("%d links", len(links))
	}
	for _, link := range links {
		if name, below := strings.CutPrefix(link[1], "files/"); link[1] != "./" && link[1] != "#main" && (!below || !files.Has(name, look.Bar{})) {
			t.Errorf("%s leads nowhere", link[1])
		}
	}
	for _, inline := range []string{"<style", "style=", "onclick", "<script>"} {
		if strings.Contains(page, inline) {
			t.Errorf("%s in the page", inline)
		}
	}
}

// TestBar checks that the document has the menu of services and the brand that apply to the request, and that a browser
// that has cached it gets a new document when these change.
func TestBar(t *testing.T) {
	t.Parallel()
	files := console()
	brand := &look.Brand{Name: "Acme", Accent: "#7a1f5c", Logo: []byte("\x89PNG\r\n"), Footer: "Run by <Acme>."}
	services := []look.Service{{Name: "a", Title: "A", URL: "/a"}, {Name: "b", Title: "<B>", URL: "https://b.example/"}}
	ask := func(name, tag string, bar look.Bar) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("If-None-Match", tag)
		files.Serve(w, r, name, bar)
		return w
	}
	plain, full := ask(Document, "", look.Bar{Services: services[:1]}), ask(Document, "", look.Bar{Brand: brand, Services: services, Current: "b"})
	for _, part := range []string{
		"– Acme</title>", `<a href="/a">A</a>`, `<a href="https://b.example/" aria-current="true">&lt;B&gt;</a>`, `href="files/parts/brand.css"`, `src="files/parts/brand.png"`, "Run by &lt;Acme&gt;.",
	} {
		if !strings.Contains(full.Body.String(), part) {
			t.Errorf("no %s in %s", part, full.Body)
		}
	}
	if text := plain.Body.String(); strings.Contains(text, "services") || !strings.Contains(text, "<span>Tollgate</span>") {
		t.Errorf("with a single service: %s", text)
	}
	if w := ask(Document, full.Header().Get("ETag"), look.Bar{Brand: brand, Services: services, Current: "b"}); w.Code != http.StatusNotModified {
		t.Errorf("the same document: %d", w.Code)
	}
	if w := ask(Document, full.Header().Get("ETag"), look.Bar{Services: services}); w.Code != http.StatusOK {
		t.Errorf("a changed document: %d", w.Code)
	}
	if w := ask("parts/brand.css", "", look.Bar{Brand: brand}); !strings.Contains(w.Body.String(), "#7a1f5c") || w.Header().Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
	if !files.Has("parts/brand.png", look.Bar{Brand: brand}) || files.Has("parts/brand.png", look.Bar{}) || files.Has("parts/brand.svg", look.Bar{Brand: brand}) {
		t.Error("there is a logo that the brand does not have, or its logo is missing")
	}
}

// TestPartsStandAlone checks that parts import only one another, so that they work wherever a console has them.
func TestPartsStandAlone(t *testing.T) {
	t.Parallel()
	files := NewConsole("", fstest.MapFS{"web/app.js": {}}, "web", Page{})
	imports := 0
	for name, file := range files.byName {
		for _, found := range regexp.MustCompile(`(?m)\bfrom '([^']*)'|new URL\('([^']*)'`).FindAllStringSubmatch(string(file.text), -1) {
			imports++
			target := path.Join(path.Dir(name), found[1]+found[2])
			if !strings.HasPrefix(target, "parts/") || !files.Has(target, look.Bar{}) {
				t.Errorf("%s imports %s, which is not a part", name, target)
			}
		}
	}
	if imports == 0 {
		t.Error("no imports found")
	}
}

// TestWithoutComments checks that only lines of comments are removed from a script.
func TestWithoutComments(t *testing.T) {
	t.Parallel()
	script := "// A file.\nconst a = 'x//y'; // kept\n\n  // one\n\t//two\nconst b = a / 2;\n//"
	if got, want := string(withoutComments([]byte(script))), "const a = 'x//y'; // kept\n\nconst b = a / 2;\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
