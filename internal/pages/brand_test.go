package pages

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/signed"
)

// brand returns a folder with one file.
func brand(name, text string) fstest.MapFS { return fstest.MapFS{name: {Data: []byte(text)}} }

// samples are the sample data of a shop with one page.
var samples = map[string]any{"thing": struct{ Title string }{"a thing"}}

var oneThing = fstest.MapFS{
	"templates/thing.html": {Data: []byte(`{{define "main"}}<h1>{{.Data.Title}}</h1>{{end}}`)},
	"templates/parts.html": {Data: []byte(`{{define "top"}}the top{{end}}`)},
	"static/shop.css":      {Data: []byte("h1 { color: red; }")},
	"static/icon.svg":      {Data: []byte("<svg/>")},
}

func TestBranded(t *testing.T) {
	t.Parallel()
	folder := brand("templates/thing.html", `{{define "main"}}<h2>{{.Data.Title}}</h2>{{end}}`)
	folder["templates/our_parts.html"] = &fstest.MapFile{Data: []byte(`{{define "top"}}our top{{end}}`)}
	folder["static/shop.css"] = &fstest.MapFile{Data: []byte("h1 { color: blue; }")}
	folder["static/logo.svg"] = &fstest.MapFile{Data: []byte("<svg>logo</svg>")}
	look, err := NewBrandedLook("shop", oneThing, nil, folder, nil, nil, samples)
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string, closed bool) *httptest.ResponseRecorder {
		site := New(Options[*Call]{
			Look: look, Closed: closed, Begin: func(c *Call) (*Call, error) { return c, nil }, Admit: func(*Call) error { return nil }, Logger: zap.NewNop(),
			Signer: func() signed.Signer { return signed.Signer{} },
			Table: []Page[*Call]{{Method: http.MethodGet, Path: "/thing", Serve: func(c *Call) error {
				return c.Show("thing", "", struct{ Title string }{c.Browser()})
			}}},
		})
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	w := get("/thing", true)
	page := w.Body.String()
	if !strings.Contains(page, "<h2>") || !strings.Contains(page, "our top") || strings.Contains(page, "the top") {
		t.Errorf("the page is %s", page)
	}
	for name, want := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if cookies := w.Result().Cookies(); len(cookies) != 1 || cookies[0].Name != "shop_form" || !strings.Contains(page, cookies[0].Value) || !cookies[0].HttpOnly {
		t.Errorf("cookies %v", cookies)
	}
	if w := get("/none", true); w.Code != http.StatusNotFound || w.Header().Get("Referrer-Policy") != "no-referrer" || w.Header().Get("X-Frame-Options") != "DENY" {
		t.Errorf("got the status %d with %v, want 404 with the headers of a closed site", w.Code, w.Header())
	}
	if w := get("/thing", false); w.Header().Get("X-Frame-Options") != "" || w.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("an open site has %v", w.Header())
	}
	if sheet := get("/assets/shop.css", true).Body.String(); !strings.Contains(sheet, "red") || strings.Index(sheet, "blue") < strings.Index(sheet, "red") {
		t.Error("the brand's sheet does not come after the others")
	}
	if logo := get("/assets/logo.svg", true).Body.String(); logo != "<svg>logo</svg>" {
		t.Errorf("the logo is %q", logo)
	}
}

// TestBrandedRefuses checks that an error about a folder names the file and, where possible, the line.
func TestBrandedRefuses(t *testing.T) {
	t.Parallel()
	for text, tells := range map[string]string{
		"\n{{define": "thing.html:2", `{{define "main"}}{{.Data.Nothing}}{{end}}`: "thing.html:1", "{{define \"main\"}}\n<a href='{{.Data.Title}}{{end}}": "thing.html",
		`{{define "main"}}{{template "gone" .}}{{end}}`: "gone", `{{define "main"}}{{unknown}}{{end}}`: "thing.html:1",
	} {
		_, err := NewBrandedLook("shop", oneThing, nil, brand("templates/thing.html", text), nil, nil, samples)
		if err == nil || !strings.Contains(err.Error(), tells) {
			t.Errorf("%s: got the error %v, want %q", text, err, tells)
		}
	}
	for name, tells := range map[string]string{"templates/thign.html": "there are error, thing", "templates/x_parts.html": "x_parts.html:1"} {
		_, err := NewBrandedLook("shop", oneThing, nil, brand(name, "{{if}}"), nil, nil, samples)
		if err == nil || !strings.Contains(err.Error(), tells) {
			t.Errorf("%s: got the error %v, want %q", name, err, tells)
		}
	}
}
