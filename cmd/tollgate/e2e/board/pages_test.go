package board

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestBoardPages runs the cases of testdata/npm/board_pages.mjs in a headless Chromium without script: the board as its
// visitors see it.
func TestBoardPages(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	people := b.Path("people.json")
	// The members with a password can sign in.
	fixture := `{"users": [{"name": "grace", "password": "correct horse", "posts": 10}, {"name": "henry", "password": "correct horse", "posts": 10}, {"name": "mona", "password": "correct horse", "groups": ["registered", "moderators"]}, {"name": "ada", "password": "correct horse", "groups": ["registered", "administrators"]}],
"forums": [{"slug": "help", "title": "Help", "answers": true}],
"threads": [{"forum": "help", "title": "A question", "posts": [{"author": "grace", "message": "How?"}, {"author": "henry", "message": "Like **this**."}]},
	{"forum": "public", "title": "A long journal", "posts": [` + entries(130) + `]}]}`
	if err := os.WriteFile(people, []byte(fixture), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Tool("board", "seed", "--fixture", people)
	e2e.RunBrowser(t, "board_pages.mjs", "BOARD_URL="+strings.TrimSuffix(b.api, "/api/v1"))
}

// entries returns the given number of posts of a journal, one for each day, for a fixture.
func entries(many int) string {
	list := make([]string, many)
	day := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range list {
		list[i] = fmt.Sprintf(`{"author": %q, "message": "Entry %d of the journal", "at": %q}`, []string{"grace", "henry", "mona"}[i%3], i+1, day.AddDate(0, 0, i).Format(time.RFC3339))
	}
	return strings.Join(list, ",")
}

// TestBoardPagesAndOthers checks that without pages all requests except those for the API go to the next handler, and
// that without guests a page can only be read after signing in.
func TestBoardPagesAndOthers(t *testing.T) {
	t.Parallel()
	b := newBoard(t, "\ttollgate board\n", "\troute {\n\t\ttollgate board {\n\t\t\tno_pages\n\t\t}\n\t\trespond \"next\"\n\t}\n")
	site := strings.TrimSuffix(b.api, "/api/v1")
	if a := e2e.Do(t, e2e.Client, http.MethodGet, site+"/", "", ""); a.Status != 200 || a.Body != "next" {
		t.Errorf("no pages: %d %s", a.Status, a.Body)
	}
	b.Load(strings.Replace(b.config, "no_pages", "guests off", 1))
	if a := e2e.Do(t, e2e.Client, http.MethodGet, site+"/threads/1", "", ""); a.Status != 200 || !strings.Contains(a.Body, "<h1>Sign in</h1>") || strings.Contains(a.Body, "Public thread") {
		t.Errorf("guests off: %d %s", a.Status, a.Body)
	}
	b.Load(strings.Replace(b.config, "no_pages", "no_flood", 1))
	if a := e2e.Do(t, e2e.Client, http.MethodGet, site+"/threads/1", "", ""); a.Status != 200 || !strings.Contains(a.Body, "Public thread") {
		t.Errorf("pages: %d %s", a.Status, a.Body)
	}
}

// TestBoardReload checks that all views from before, during and after a reload are counted and stored.
func TestBoardReload(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	const views = 5
	view := func() {
		for range views {
			if a := b.do("alice", "GET", "/threads/1", ""); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
	}
	view()
	b.Load(strings.Replace(b.config, "\ttollgate board\n", "\ttollgate board {\n\t\thold_first 1\n\t}\n", 1))
	view()
	b.Load(strings.Replace(b.config, "\ttollgate board\n", "\ttollgate board {\n\t\toffline\n\t}\n", 1))
	if a := b.do("alice", "GET", "/threads/1", ""); a.Status != 503 {
		t.Errorf("the option offline does not count for tokens: %d %s", a.Status, a.Body)
	}
	b.Stop()
	b.Start()
	var thread struct {
		Data struct{ ViewCount int }
	}
	if err := json.Unmarshal([]byte(b.do("mod", "GET", "/threads/1", "").Body), &thread); err != nil {
		t.Fatal(err)
	}
	if thread.Data.ViewCount != 2*views {
		t.Errorf("%d views, want %d", thread.Data.ViewCount, 2*views)
	}
}
