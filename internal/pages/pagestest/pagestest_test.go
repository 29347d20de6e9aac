package pagestest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
)

func TestBrowser(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "who", Value: "ann", Secure: false}) //nolint:gosec // of a test
		_, _ = fmt.Fprint(w, `<form method="post" action="/save"><input type="hidden" name="token" value="a&#43;b"><input type="hidden" name="id" value="7">`+
			`<input type="checkbox" name="on" value="x" checked><input type="checkbox" name="on" value="y"></form>`)
	})
	mux.HandleFunc("POST /save", func(w http.ResponseWriter, r *http.Request) {
		cookie, _ := r.Cookie("who")
		w.Header().Set("Location", "/saved?"+url.Values{"token": {r.PostFormValue("token")}, "who": {cookie.Value}, "from": {r.Header.Get("X-From")}}.Encode())
		w.WriteHeader(http.StatusSeeOther)
	})
	mux.HandleFunc("GET /saved", func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, r.URL.RawQuery) })
	mux.HandleFunc("GET /away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)

	b := pagestest.New(t, server.URL, true)
	b.Always.Set("X-From", "here")
	p := b.Get("/").Want(http.StatusOK, "<form").Lacks("saved")
	if want := (url.Values{"token": {"a+b"}, "id": {"7"}, "on": {"x"}}); !reflect.DeepEqual(p.Fields(), want) || p.Hidden("id") != "7" || p.Hidden("on") != "" {
		t.Errorf("the fields are %v", p.Fields())
	}
	saved := p.Send("/save", "name", "x").Want(http.StatusOK)
	if saved.Where() != "/saved?from=here&token=a%2Bb&who=ann" {
		t.Errorf("it leads to %s", saved.Where())
	}
	if location := b.Get("/away").Leads("https://elsewhere.example"); location != "https://elsewhere.example/" {
		t.Error(location)
	}
	b.Get(server.URL + "/saved").Want(http.StatusOK)

	still := pagestest.New(t, server.URL, false)
	still.Get("/")
	still.Post("/save", url.Values{}, "X-From", "there").Want(http.StatusSeeOther).Leads("/saved?from=there")
}
