package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/routes"
	"github.com/tollgate-gateway/tollgate/internal/doctest"
)

// The files of the how-to page for authors load, and answer as it says.
func TestHowTo(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "how-to", "cms-handlers.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	blocks, _ := doctest.Blocks(string(page))
	for _, b := range blocks {
		switch language := b.Language(); {
		case language == "php":
			files["api/Routes.php"] = b.Text
		case strings.Contains(b.Text, "module.exports = ["):
			files["api/Routes.js"] = b.Text
		case language == "js":
			name, _, _ := strings.Cut(strings.TrimPrefix(b.Text, "class "), " ")
			files["api/"+name+".js"] = b.Text
		}
	}
	if len(files) != 4 {
		t.Fatalf("%d files", len(files))
	}
	php := files["api/Routes.php"]
	delete(files, "api/Routes.php")
	e := New(Options{Site: site(t, files), Pages: &fakePages{}})
	l, err := loadSite(e)
	if err != nil {
		t.Fatal(err)
	}
	read, err := routes.Read("api/Routes.php", []byte(php))
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := routes.Entries(read.Routes); err != nil || len(entries) != len(l.entries) || len(entries) != 3 {
		t.Errorf("%d routes of PHP, %d of JavaScript, error %v", len(entries), len(l.entries), err)
	}
	c := &handler.Call{}
	got, err := l.table.Find("GET", "posts").Route.Call(t.Context(), c)
	if _, header := c.Answered(); err != nil || shown(got) != `{"posts":[{"id":1},{"id":2}]}` || header.Get("X-Next") != "next" {
		t.Errorf("%s, %v, %v", shown(got), header, err)
	}
	_, err = l.table.Find("POST", "posts").Route.Call(t.Context(), callWith(map[string]any{"title": "a"}))
	if err == nil || err.Error() != "Required parameter 'body' is missing" {
		t.Errorf("error %v", err)
	}
	p, err := e.Load("api/Counter.js")
	if err != nil {
		t.Fatal(err)
	}
	counter, _ := p.Class("Counter")
	for _, want := range []string{"1", "2", "3"} {
		for method, want := range map[string]string{"once": "1", "all": want} {
			if got, err := counter.Methods[method](t.Context(), &handler.Call{}); err != nil || shown(got) != `{"calls":`+want+`}` {
				t.Errorf("%s: %s, %v", method, shown(got), err)
			}
		}
	}
}
