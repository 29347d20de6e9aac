package board

import (
	"os"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestBoardCompose runs the cases of testdata/npm/board_compose.mjs in a headless Chromium: how members write posts
// with the help of a script.
func TestBoardCompose(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	people := b.Path("people.json")
	// The members with a password can sign in.
	fixture := `{"users": [{"name": "grace", "password": "correct horse", "posts": 10}, {"name": "henry", "password": "correct horse", "posts": 10}, {"name": "Ada Lovelace", "password": "correct horse", "posts": 10}, {"name": "mona", "password": "correct horse", "groups": ["registered", "moderators"]}]}`
	if err := os.WriteFile(people, []byte(fixture), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Tool("board", "seed", "--fixture", people)
	e2e.RunBrowser(t, "board_compose.mjs", "BOARD_URL="+strings.TrimSuffix(b.api, "/api/v1"))
}
