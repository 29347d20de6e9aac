package main

import (
	"os"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
)

// boardPeople can sign in, and left posts to decide on.
const boardPeople = `{
"users": [
	{"name": "ada", "password": "correct horse", "groups": ["registered", "administrators"]},
	{"name": "mod", "password": "correct horse", "groups": ["registered", "moderators"]},
	{"name": "bob", "password": "correct horse"}
],
"threads": [{"forum": "discussion", "title": "A thread", "posts": [
	{"author": "bob", "message": "the start"},
	{"author": "bob", "message": "the first held post", "visibility": "unapproved"},
	{"author": "bob", "message": "the second held post", "visibility": "unapproved"},
	{"author": "bob", "message": "the third held post", "visibility": "unapproved"},
	{"author": "bob", "message": "the fourth held post", "visibility": "unapproved"}
]}],
"tokens": [{"user": "bob", "name": "laptop"}]
}`

// TestBoardAdministration is the administration and moderation of the board in a
// headless Chromium that runs no script: the cases of
// testdata/npm/board_admin.mjs.
func TestBoardAdministration(t *testing.T) {
	t.Parallel()
	program, browser := nodeProgram(t), chromium(t)
	port := freePort(t)
	site := "http://127.0.0.1:" + port
	n := newNode(t, shipped(t, "board", "{$TOLLGATE_DOMAIN:localhost}", site))
	if err := os.WriteFile(n.path("people.json"), []byte(boardPeople), 0o600); err != nil {
		t.Fatal(err)
	}
	n.tool("board", "seed", "--fixture", "people.json")
	n.start()
	runNode(t, program, "board_admin.mjs", "CHROMIUM="+browser, "BOARD_URL="+site)

	// What the pages did counts for the API too.
	if a := get(t, client, site+kernel.Mount+"/forums", ""); a.status != 200 || strings.Contains(a.body, "Inner circle") {
		t.Errorf("guests see the private forum: %d %s", a.status, a.body)
	}
}
