package board

import (
	"os"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// boardPeople are members with passwords, and posts to moderate.
const boardPeople = `{
"users": [
	{"name": "ada", "password": "correct horse", "groups": ["registered", "administrators"]},
	{"name": "mod", "password": "correct horse", "groups": ["registered", "moderators"]},
	{"name": "bob", "password": "correct horse"},
	{"name": "eve", "password": "correct horse"}
],
"threads": [{"forum": "discussion", "title": "A thread", "posts": [
	{"author": "bob", "message": "the start"},
	{"author": "bob", "message": "the first held post", "visibility": "unapproved"},
	{"author": "bob", "message": "the second held post", "visibility": "unapproved"},
	{"author": "bob", "message": "the third held post", "visibility": "unapproved"},
	{"author": "bob", "message": "the fourth held post", "visibility": "unapproved"}
]}, {"forum": "discussion", "title": "Boats", "posts": [
	{"author": "bob", "message": "a thread about boats"},
	{"author": "eve", "message": "my boat is red"},
	{"author": "eve", "message": "and it is long"},
	{"author": "bob", "message": "boats are fine"}
]}],
"tokens": [{"user": "bob", "name": "laptop"}]
}`

// TestBoardAdministration runs the cases of testdata/npm/board_admin.mjs in a headless Chromium without script: the
// administration and moderation of the board.
func TestBoardAdministration(t *testing.T) {
	t.Parallel()
	port := e2e.FreePort(t)
	site := "http://127.0.0.1:" + port
	n := e2e.NewNode(t, e2e.Shipped(t, "board", "{$TOLLGATE_DOMAIN:localhost}", site))
	if err := os.WriteFile(n.Path("people.json"), []byte(boardPeople), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Tool("board", "seed", "--fixture", "people.json")
	n.Start()
	e2e.RunBrowser(t, "board_admin.mjs", "BOARD_URL="+site)

	// Changes that were made on the pages apply to the API too.
	if a := e2e.Get(t, e2e.Client, site+kernel.Mount+"/forums", ""); a.Status != 200 || strings.Contains(a.Body, "Inner circle") {
		t.Errorf("guests see the private forum: %d %s", a.Status, a.Body)
	}
}
