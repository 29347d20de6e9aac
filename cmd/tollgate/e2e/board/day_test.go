package board

import (
	"os"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestBoardDay runs testdata/npm/board_day.mjs in a headless Chromium: a day of a new member, with others and a
// moderator, on a board under a path.
func TestBoardDay(t *testing.T) {
	t.Parallel()
	n, site, mails := mailingBoard(t, "/forum", "\t\tno_flood\n")
	fixture := `{"users": [{"name": "henry", "password": "correct horse", "posts": 10}, {"name": "eve", "password": "correct horse", "posts": 10},
	{"name": "mona", "password": "correct horse", "groups": ["registered", "moderators"]}],
"threads": [{"forum": "public", "title": "Night photographs", "posts": [{"author": "henry", "message": "Bring a tripod."}, {"author": "mona", "message": "And a lamp."}]},
	{"forum": "public", "title": "Cheap tripods here", "posts": [{"author": "eve", "message": "Buy a cheap tripod."}]}]}`
	if err := os.WriteFile(n.Path("day.json"), []byte(fixture), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Tool("board", "seed", "--fixture", e2e.Repo("backends/board/testdata/fixture.json"))
	n.Tool("board", "seed", "--fixture", "day.json")
	n.Start()
	e2e.RunBrowserBeside(t, "board_day.mjs", "BOARD_URL="+site, "MAILS_URL="+mails)
}
