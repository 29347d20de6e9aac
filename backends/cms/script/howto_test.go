package script

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/routes"
	"github.com/tollgate-gateway/tollgate/internal/doctest"
)

// TestHowToPage checks that the files in the how-to page for authors load and answer as described.
func TestHowToPage(t *testing.T) {
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
	if len(files) != 5 {
		t.Fatalf("%d files", len(files))
	}
	php := files["api/Routes.php"]
	delete(files, "api/Routes.php")
	e := engine(t, Options{Site: site(t, files), Pages: &fakePages{}})
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
	if _, header := c.Answered(); err != nil || resultText(got) != `{"posts":[{"id":1},{"id":2}]}` || header.Get("X-Next") != "next" {
		t.Errorf("%s, %v, %v", resultText(got), header, err)
	}
	_, err = l.table.Find("POST", "posts").Route.Call(t.Context(), callWith(map[string]any{"title": "a"}))
	if err == nil || err.Error() != "Required parameter 'body' is missing" {
		t.Errorf("error %v", err)
	}
	p, err := e.Load("api/Counter.js", "api/Pictures.js")
	if err != nil {
		t.Fatal(err)
	}
	pictures, _ := p.Class("Pictures")
	e.Files = fakeFiles{}
	form := callWith(map[string]any{"id": "7"})
	form.Files = map[string]handler.Upload{"photo": {Name: "a.png", Content: []byte("x")}}
	if got, err := pictures.Methods["add"](t.Context(), form); err != nil || resultText(got) != `{"id":5,"small":"/image of 5"}` {
		t.Errorf("%s, %v", resultText(got), err)
	}
	if got, err := pictures.Methods["show"](t.Context(), form); err != nil {
		t.Error(err)
	} else if _, ok := got.(handler.Served); !ok {
		t.Errorf("%T", got)
	}
	counter, _ := p.Class("Counter")
	for _, want := range []string{"1", "2", "3"} {
		for method, want := range map[string]string{"once": "1", "all": want} {
			if got, err := counter.Methods[method](t.Context(), &handler.Call{}); err != nil || resultText(got) != `{"calls":`+want+`}` {
				t.Errorf("%s: %s, %v", method, resultText(got), err)
			}
		}
	}
}

type fakeFiles struct{}

func (fakeFiles) Attach(_ context.Context, _ handler.User, page int64, field, name string, content []byte) (Object, error) {
	if page != 7 || field != "pictures" || name != "a.png" || string(content) != "x" {
		return nil, errors.New("another file")
	}
	return Object{"pictures": []any{Object{"id": 5}}}, nil
}

func (fakeFiles) Answer(handler.User, int64, Object) (handler.Served, error) {
	return func(http.ResponseWriter, *http.Request) error { return nil }, nil
}

func (fakeFiles) Link(file int64, _ Object) (string, error) {
	return fmt.Sprintf("image of %d", file), nil
}
