package board

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
)

// TestBoardImport imports a forum of phpBB. A member signs in with the old password, and old addresses lead to the new
// pages and files.
func TestBoardImport(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	dump, files := e2e.Repo("backends/board/testdata/phpbb/dump.sql"), e2e.Repo("backends/board/testdata/phpbb/files")
	dry := b.Tool("board", "import", "--from", "phpbb", dump, "--attachments", files, "--dry-run")
	for _, want := range []string{
		`changed: member 9 "alice": the name is taken or not allowed; the member is "alice 2"`, "left out: 1 avatars", "read: 3 conversations, 3 files, 6 forums, 6 members, 12 posts, 7 threads",
	} {
		if !strings.Contains(dry, want) {
			t.Errorf("the dry run does not print %q:\n%s", want, dry)
		}
	}
	site := strings.TrimSuffix(b.api, "/api/v1")
	browser := pagestest.New(t, site, false)
	browser.Get("/viewtopic.php?t=2").Want(404)

	var report struct {
		Done  map[string]int64
		Lines []struct{ Outcome, Kind, Reason string }
	}
	text := b.Tool("board", "import", "--from", "phpbb", dump, "--attachments", files, "--json")
	if err := json.Unmarshal([]byte(text), &report); err != nil || report.Done["posts"] != 12 || len(report.Lines) != 8 {
		t.Fatalf("%v: %s", err, text)
	}

	page := browser.Get("/login")
	signed := page.Send("/login", "name", "Ann", "password", "an old password")
	if signed.StatusCode != http.StatusSeeOther {
		t.Fatalf("Ann cannot sign in with the old password: %d\n%s", signed.StatusCode, signed.Text)
	}
	browser.Get("/account").Want(200, "Ann")
	for old, want := range map[string]string{
		"/viewtopic.php?f=2&t=2": "Hello <strong>everybody</strong>", "/viewforum.php?f=2": "Begins with a deleted post", "/memberlist.php?mode=viewprofile&u=4": "Ann_Bob",
		"/download/file.php?id=1": "plan notes.",
	} {
		moved := browser.Get(old)
		if moved.StatusCode != http.StatusMovedPermanently {
			t.Errorf("%s: %d", old, moved.StatusCode)
			continue
		}
		browser.Get(moved.Header.Get("Location")).Want(200, want)
	}
	post := browser.Get("/viewtopic.php?p=13")
	if place := browser.Get(post.Header.Get("Location")); post.StatusCode != http.StatusMovedPermanently || place.StatusCode != http.StatusSeeOther || !strings.HasSuffix(place.Header.Get("Location"), "#post-2") {
		t.Errorf("a post: %d, then %d to %s", post.StatusCode, place.StatusCode, place.Header.Get("Location"))
	}
}

// TestBoardImportOthers imports forums of other programs. A member signs in with the old password, old addresses lead
// to the new pages, and old addresses in a hidden forum lead nowhere.
func TestBoardImportOthers(t *testing.T) {
	t.Parallel()
	for program, test := range map[string]struct {
		files, password, thread, hidden, post string
	}{
		"mybb":      {"uploads", "an old password", "/showthread.php?tid=20", "/thread-21.html", "/showthread.php?tid=20&pid=12"},
		"discourse": {"uploads", "an old password", "/t/hello-world/20", "/t/internal/21", "/t/hello-world/20/4"},
		"flarum":    {"files", "xenforo's password", "/d/20-hello-world", "/d/21-internal", "/d/20-hello-world/3"},
		"xenforo":   {"attachments", "an older password", "/threads/hello.20/", "/threads/internal.21/", "/posts/12/"},
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			b := newBoard(t)
			folder := e2e.Repo("backends/board/testdata/" + program)
			b.Tool("board", "import", "--from", program, folder+"/dump.sql", "--attachments", folder+"/"+test.files)
			browser := pagestest.New(t, strings.TrimSuffix(b.api, "/api/v1"), false)
			for _, visitor := range []string{"a guest", "Ann"} {
				if visitor == "Ann" {
					page := browser.Get("/login")
					if signed := page.Send("/login", "name", visitor, "password", test.password); signed.StatusCode != http.StatusSeeOther {
						t.Fatalf("Ann cannot sign in with the old password: %d\n%s", signed.StatusCode, signed.Text)
					}
				}
				moved := browser.Get(test.thread)
				if moved.StatusCode != http.StatusMovedPermanently {
					t.Fatalf("%s: %d", test.thread, moved.StatusCode)
				}
				browser.Get(moved.Header.Get("Location")).Want(200, "Hello <strong>everybody</strong>")
				if post := browser.Get(test.post); post.StatusCode != http.StatusMovedPermanently {
					t.Errorf("%s: %d", test.post, post.StatusCode)
				}
				browser.Get(test.hidden).Want(404)
			}
			browser.Get("/account").Want(200, "Ann")
		})
	}
}
