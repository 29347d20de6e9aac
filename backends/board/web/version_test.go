package web_test

import (
	"html"
	"regexp"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

var versionField = regexp.MustCompile(`name="version" value="([^"]+)"`)

// version returns the version that the form of a page shows.
func version(p *pagestest.Page) string {
	p.T.Helper()
	match := versionField.FindStringSubmatch(p.Text)
	if match == nil {
		p.T.Fatalf("%s has no version:\n%s", p.Where(), p.Text)
	}
	return html.UnescapeString(match[1])
}

// TestConcurrentEdits checks that the second person to save sees the first one's text beside their own, and can then
// save over it.
func TestConcurrentEdits(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		edit := at("/threads/%d/posts/%d/edit", s.thread("Open thread"), s.post("common first"))
		mod, ada := s.as("mod"), s.as("ada")
		first, second := mod.Get(edit).Want(200), ada.Get(edit).Want(200)
		first.Send(edit, "version", version(first), "message", "common line\n\nfrom the moderator").Want(200, "from the moderator")
		first.Send(edit, "version", version(first), "message", "common line\n\nfrom the moderator").Want(200, "from the moderator") // a second click
		preview := second.Send(edit, "version", version(second), "message", "common line\n\nfrom ada", "preview", "1").Want(200)
		if version(preview) != version(second) {
			t.Error("a preview forgets what the edit was made of")
		}
		conflict := preview.Send(edit, "version", version(preview), "message", "common line\r\n\r\nfrom ada", "reason", "because").
			Want(409, "Somebody else has changed this", "What mod wrote meanwhile", "<del>from the moderator", "<ins>from ada", "<span>common line", `value="because"`, "from ada</textarea>")
		if n := s.number("SELECT count(*) FROM board_posts WHERE message LIKE '%from ada%'"); n != 0 {
			t.Error("it was saved nevertheless")
		}
		if version(conflict) == version(second) {
			t.Fatal("the form keeps the old version")
		}
		conflict.Send(edit, "version", version(conflict), "message", "from both").Want(200, "from both")
		conflict.Send(edit, "message", "of any version").Want(200, "of any version")
	})
}

// TestConcurrentAdministrators checks the same as TestConcurrentEdits for the forms of forums, groups, rights and
// settings.
func TestConcurrentAdministrators(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		forum := at("/admin/forums/%d", s.forum("public"))
		custom := at("/admin/groups/%d", s.number("SELECT id FROM board_groups WHERE name = 'moderators'"))
		right := web.MatrixField(s.number("SELECT id FROM board_groups WHERE kind = 'guest'"), 0)
		settings := s.as("ada").Get("/admin/settings").Want(200)
		all := func(name string) []string { // all settings as they are, except the name
			fields := []string{"name", name}
			for _, box := range []string{"images", "flood"} {
				if regexp.MustCompile(`name="` + box + `" value="1" checked`).MatchString(settings.Text) {
					fields = append(fields, box, "1")
				}
			}
			return fields
		}
		for _, form := range []struct {
			path              string
			ours, theirs      []string
			wants             []string
			saved, overridden string
		}{
			{
				forum,
				[]string{"type", "forum", "title", "Our forum", "open", "1"},
				[]string{"type", "forum", "title", "Their forum", "open", "1"},
				[]string{"<del>Their forum</del>", "<ins>Our forum</ins>", `value="Our forum"`},
				"SELECT count(*) FROM board_forums WHERE title = 'Their forum'", "SELECT count(*) FROM board_forums WHERE title = 'Our forum'",
			},
			{
				custom,
				[]string{"edit_window", "11", "allow", "thread.view"},
				[]string{"edit_window", "22", "allow", "forum.view"},
				[]string{"<del>22</del>", "<ins>11</ins>", "See the forum", `value="11"`},
				"SELECT count(*) FROM board_groups WHERE edit_window_min = 22", "SELECT count(*) FROM board_groups WHERE edit_window_min = 11",
			},
			{
				forum + "/rights",
				[]string{right, "allow"},
				[]string{right, "deny"},
				[]string{"See the forum: guest", "<del>denied</del>", "<ins>allowed</ins>"},
				"SELECT count(*) FROM board_forum_overrides WHERE clear_mask = 1 AND set_mask = 0 AND forum_id = " + itoa(s.forum("public")),
				"SELECT count(*) FROM board_forum_overrides WHERE set_mask = 1 AND forum_id = " + itoa(s.forum("public")),
			},
			{
				"/admin/settings", all("Our board"), all("Their board"),
				[]string{"<del>Their board</del>", "<ins>Our board</ins>", `value="Our board"`},
				"SELECT count(*) FROM board_settings WHERE name = 'name' AND value = 'Their board'", "SELECT count(*) FROM board_settings WHERE name = 'name' AND value = 'Our board'",
			},
		} {
			a, b := s.as("ada"), s.as("ada")
			query := ""
			if len(form.ours) == 2 && form.ours[0] == right {
				query = "?group=" + itoa(s.number("SELECT id FROM board_groups WHERE kind = 'guest'"))
				form.ours, form.theirs = append(form.ours, "group", query[7:]), append(form.theirs, "group", query[7:])
			}
			first, second := a.Get(form.path+query).Want(200), b.Get(form.path+query).Want(200)
			first.Send(form.path, append(form.theirs, "version", version(first))...).Want(200, "Saved")
			first.Send(form.path, append(form.theirs, "version", version(first))...).Want(200, "Saved") // a second click
			conflict := second.Send(form.path, append(form.ours, "version", version(second))...).Want(409, append(form.wants, "Somebody else has changed this")...)
			if s.number(form.saved) != 1 || s.number(form.overridden) != 0 {
				t.Errorf("%s: the first one is lost", form.path)
			}
			conflict.Send(form.path, append(form.ours, "version", version(conflict))...).Want(200, "Saved")
			if s.number(form.overridden) != 1 {
				t.Errorf("%s: the second one could not save on top", form.path)
			}
		}
	})
}
