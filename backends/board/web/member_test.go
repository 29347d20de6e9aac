package web_test

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestMemberLists checks the pages of a member's posts and threads.
func TestMemberLists(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		bob := at("/members/%d", s.number("SELECT id FROM board_users WHERE username = 'bob'"))
		guest := s.guest()
		guest.Get(bob).Want(200, bob+"/posts", bob+"/threads")
		guest.Get(bob+"/posts").Want(200, "common first", "Open thread").Lacks("secret")
		guest.Get(bob+"/threads").Want(200, "Open thread", "Public").Lacks("secret")
		s.as("eve").Get(bob+"/threads").Want(200, "secretmember thread").Lacks("secretticket")
		guest.Get(bob+"/posts?after=1").Want(200, "no older posts")
		guest.Get(bob + "/posts?after=x").Want(400)
		guest.Get(bob + "/threads?after=x").Want(400)
		guest.Get(at("/members/%d/posts", s.number("SELECT id FROM board_users WHERE username = 'awaiting'"))).Want(404)
	})
}

// TestSearchGroups checks that search results are grouped by thread, and that a thread's results have a page.
func TestSearchGroups(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	member, err := s.service.Rights.Member(t.Context(), s.number("SELECT id FROM board_users WHERE username = 'bob'"))
	if err != nil {
		t.Fatal(err)
	}
	thread := s.start(member, "Lines", 8)
	p := s.guest().Get("/search?q=line").Want(200, `aria-label="Further posts in Lines"`, "8 posts found in this thread", ">Post 7<", ">Post 5<").Lacks(">Post 4<", "At least")
	p.Get(at("/search?q=line&thread=%d", thread)).Want(200, "Search all threads", "line 8", "line 1").Lacks("Further posts")
	p.Get("/search?q=nothingtofind").Want(200, "Nothing was found.")
}
