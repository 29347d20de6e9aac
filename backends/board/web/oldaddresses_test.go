package web_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestOldAddresses checks that old URLs of an imported forum redirect to the new pages for readers who may see them,
// and that others learn nothing from them.
func TestOldAddresses(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		open, staff := s.thread("Open thread"), s.thread("secretstaff thread")
		post := s.number("SELECT min(id) FROM board_posts WHERE thread_id = " + itoa(open))
		for kind, ids := range map[string][]int64{
			"thread": {open, staff}, "post": {post, s.post("common secretheld post")}, "forum": {s.forum("public"), s.forum("staff")}, "member": {s.user("bob")},
		} {
			for i, id := range ids {
				for _, program := range []string{"phpbb", "mybb", "xenforo", "discourse", "flarum"} {
					s.exec(fmt.Sprintf("INSERT INTO board_moved (program, kind, old_id, new_id) VALUES ('%s', '%s', %d, %d)", program, kind, 70+i, id))
				}
			}
		}
		s.exec(fmt.Sprintf("INSERT INTO board_moved (program, kind, old_id, new_id) VALUES ('discourse', 'place', %d, %d)", content.MovedPlaceID(70, 7), post))
		guest, mod, ada := s.guest(), s.as("mod"), s.as("ada")
		for _, test := range []struct {
			browser *browser
			path    string
			want    string // empty: 404
		}{
			{guest, "/viewtopic.php?t=70", "/threads/" + itoa(open) + "-open-thread"},
			{guest, "/viewtopic.php?f=3&t=70&start=20", "/threads/" + itoa(open) + "-open-thread"},
			{guest, "/viewtopic.php?p=70", "/posts/" + itoa(post)},
			{guest, "/viewtopic.php?t=999&p=70", "/posts/" + itoa(post)},
			{guest, "/viewforum.php?f=70", "/forums/" + itoa(s.forum("public")) + "-public"},
			{mod, "/memberlist.php?mode=viewprofile&u=70", "/members/" + itoa(s.user("bob"))},
			{guest, "/viewtopic.php?t=71", ""},
			{guest, "/viewtopic.php?p=71", ""},
			{guest, "/viewforum.php?f=71", ""},
			{guest, "/viewtopic.php?t=12345", ""},
			{guest, "/viewtopic.php?t=70'", ""},
			{guest, "/viewtopic.php", ""},
			{guest, "/viewforum.php?f=-1", ""},
			{guest, "/memberlist.php", ""},
			{guest, "/download/file.php?id=70", ""},
			{guest, "/showthread.php?tid=70", "/threads/" + itoa(open) + "-open-thread"},
			{guest, "/showthread.php?tid=70&pid=70#pid70", "/posts/" + itoa(post)},
			{guest, "/forumdisplay.php?fid=70", "/forums/" + itoa(s.forum("public")) + "-public"},
			{mod, "/member.php?action=profile&uid=70", "/members/" + itoa(s.user("bob"))},
			{guest, "/thread-70.html", "/threads/" + itoa(open) + "-open-thread"},
			{guest, "/thread-70-page-2.html", "/threads/" + itoa(open) + "-open-thread"},
			{guest, "/thread-70-post-70.html", "/posts/" + itoa(post)},
			{guest, "/forum-70.html", "/forums/" + itoa(s.forum("public")) + "-public"},
			{mod, "/user-70.html", "/members/" + itoa(s.user("bob"))},
			{guest, "/showthread.php?tid=71", ""},
			{guest, "/thread-71.html", ""},
			{guest, "/thread-70.htm", ""},
			{guest, "/attachment.php?aid=70", ""},
			{guest, "/threads/an-open.title.70/", "/threads/" + itoa(open) + "-open-thread"},
			{guest, "/threads/70/", "/threads/" + itoa(open) + "-open-thread"},
			{guest, "/threads/title.70/page-3", "/threads/" + itoa(open) + "-open-thread"},
			{guest, "/threads/title.70/post-70", "/posts/" + itoa(post)},
			{guest, "/posts/70/", "/posts/" + itoa(post)},
			{guest, "/forums/public.70/", "/forums/" + itoa(s.forum("public")) + "-public"},
			{mod, "/members/bob.70/", "/members/" + itoa(s.user("bob"))},
			{guest, "/index.php?threads/title.70/", "/threads/" + itoa(open) + "-open-thread"},
			{guest, "/threads/title.71/", ""},
			{guest, "/threads/title.70/edit", ""},
			{guest, "/index.php?threads/title.71/", ""},
			{guest, "/index.php", ""},
			{guest, "/attachments/a-jpg.70/", ""},
			{guest, "/t/open-thread/70", "/threads/" + itoa(open) + "-open-thread"},
			{guest, "/t/70", "/threads/" + itoa(open) + "-open-thread"},
			{guest, "/t/open-thread/70/1", "/threads/" + itoa(open) + "-open-thread"},
			{guest, "/t/-/70/7", "/posts/" + itoa(post)},
			{guest, "/t/70/7?page=2", "/posts/" + itoa(post)},
			{guest, "/t/open-thread/70/12345", "/threads/" + itoa(open) + "-open-thread"},
			{guest, "/p/70", "/posts/" + itoa(post)},
			{guest, "/c/public/70", "/forums/" + itoa(s.forum("public")) + "-public"},
			{guest, "/c/parent/public/70/l/latest", "/forums/" + itoa(s.forum("public")) + "-public"},
			{mod, "/u/Bob", "/members/" + itoa(s.user("bob"))},
			{guest, "/d/70-open-thread", "/threads/" + itoa(open) + "-open-thread"},
			{guest, "/d/70", "/threads/" + itoa(open) + "-open-thread"},
			{guest, "/d/70-open-thread/99", "/threads/" + itoa(open) + "-open-thread"},
			{guest, "/t/public", "/forums/" + itoa(s.forum("public")) + "-public"},
			{guest, "/d/71-secretstaff-thread", ""},
			{guest, "/d/71-secretstaff-thread/2", ""},
			{guest, "/d/secret", ""},
			{guest, "/t/staff", ""},
			{guest, "/t/%ff%00", ""},
			{guest, "/t/secretstaff-thread/71", ""},
			{guest, "/t/secretstaff-thread/71/2", ""},
			{guest, "/t/open-thread", ""},
			{guest, "/c/staff/71", ""},
			{guest, "/p/71", ""},
			{guest, "/u/nobody", ""},
			{guest, "/u/%ff%00", ""},
			{guest, "/uploads/default/original/1X/2732f12a8f18d27cf0fa78ef41091bfa1ccec9ce.png", ""},
			{ada, "/viewtopic.php?t=71", "/threads/" + itoa(staff) + "-secretstaff-thread"},
		} {
			test.browser.Client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			p := test.browser.Get(test.path)
			location := p.Header.Get("Location")
			if test.want == "" && (p.StatusCode != 404 || location != "") || test.want != "" && (p.StatusCode != 301 || location != test.want) {
				t.Errorf("%s: %d, to %q, want %q", test.path, p.StatusCode, location, test.want)
			}
		}
	})
}
