package web

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/locale/localetest"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// composes has the functions that compose the errors of a board, with the index of the message.
var composes = map[string]int{
	"Invalid": 2, "kernel.Invalid": 2, "Forbidden": 2, "kernel.Forbidden": 2, "BadRequest": 1, "kernel.BadRequest": 1,
	"Conflict": 0, "kernel.Conflict": 0,
}

// TestCatalogue compares the catalogue with the texts of the pages and mails, except for those of the administration,
// and with the messages of the errors that the pages show. It fails for a template with words of its own.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	texts := localetest.New()
	entries, err := files.ReadDir("templates")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasPrefix(name, "admin") || name == "admin_parts.html" {
			texts.Templates(t, files, "templates/"+name)
		}
	}
	texts.Templates(t, os.DirFS("../jobs"), "*.tmpl")
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sources {
		if !strings.HasPrefix(name, "admin") {
			texts.Source(t, ".", composes, name)
		}
	}
	texts.Variable(t, "moderation.go", "heldBecause")
	texts.Text("Moderation", "Held posts", "Reports", "Find posts", "Log") // the tabs
	for day := time.Sunday; day <= time.Saturday; day++ {
		texts.Text(day.String())
	}
	texts.Variable(t, "../jobs/template.go", "linkSubjects")
	texts.Source(t, "../jobs", nil, "template.go")
	folders, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if folder.IsDir() && !slices.Contains([]string{"admin", "api", "jobs", "moving", "seed", "web"}, folder.Name()) {
			texts.Source(t, "../"+folder.Name(), composes)
		}
	}
	texts.Source(t, "../admin", composes, "queue.go", "reports.go")
	texts.Source(t, "../../../internal/oidclogin", nil)
	texts.Message(
		// parts of others
		"too many wrong passwords", "too many wrong answers", "too many registrations",
		"too many mails were requested, by you or", "too many mails were requested, to this mail address or",
		"so an address cannot be confirmed", "an administrator can give you a new password", "title", "message", "visible",
		"unapproved", "deleted", text.ErrZone.Error(),
		// defaults of settings
		"the board is offline", kernel.DefaultSettings(kernel.Options{}).OfflineMessage,
	)
	texts.Except(t, // messages that only administrators and programs get
		"Reactions to posts: at most 8, each of up to 20 characters",
		"Right answers: enter at least one answer to the question", "Shortest message: must not be longer than the longest message",
		"Shortest title: must not be longer than the longest title", "X: choose one of X", "X: must be a whole number from X to X",
		"X: must have X to X characters", "X: must not have control characters",
		"give the name of another tag",
		"there are at most X tags to choose from", "a tag with this name exists already; merge the two in the list",
		"after must be the nextCursor of a page of this list, unchanged", "postId must be the id of a post",
		"the keyring is not available right now, try again shortly",
		"the token is not valid: send a current one as Authorization: Bearer brd_pat_…",
		"this Idempotency-Key was used for another request",
	)
	german, err := catalogues.ReadFile("languages/de.json")
	if err != nil {
		t.Fatal(err)
	}
	texts.Check(t, "de", german)
}
