package web_test

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
)

// TestTagPages checks the fields and pages of tags: those of authors, of readers and of administrators.
func TestTagPages(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	bob, admin, forum := s.as("bob"), s.as("ada"), at("/forums/%d", s.forum("public"))
	bob.Get(forum + "/new").Want(200).Lacks(`name="tags"`)
	p := admin.Get("/admin/tags/new").Send("/admin/tags/new", "name", "Cats").Want(200, "Cats")
	p.Get("/admin/tags/new").Send("/admin/tags/new", "name", "cats").Want(422, "merge the two")
	p.Get("/admin/tags/new").Send("/admin/tags/new", "name", "Dogs & more").Want(200, "Dogs &amp; more")
	p = bob.Get(forum+"/new").Want(200, "<legend>Tags", `value="Cats"`)
	p.Send(forum+"/new", "title", "On pets", "message", "They are fine", "tags", "lions").Want(422, "here is no tag lions")
	p.Send(forum+"/new", "title", "On pets", "message", "They are fine", "tags", "Dogs & more").Want(200, "Dogs &amp; more</a>")
	thread, tag := s.thread("On pets"), s.number("SELECT id FROM board_tags WHERE name_key = 'dogs & more'")
	page := at("/tags/%d", tag)
	s.guest().Get(page).Want(200, "<h1>Tag: Dogs &amp; more</h1>", "On pets", "in <a href")
	s.guest().Get(forum).Want(200, page+"-dogs-more\">Dogs &amp; more</a>")
	s.guest().Get("/tags/99").Want(404)
	s.guest().Get(page).Want(200, `href="/search?tag=Dogs%20%26%20more"`)
	s.guest().Get("/search?tag=Dogs%20%26%20more").Want(200, `name="tag" value="Dogs &amp; more"`)
	s.guest().Get("/search?q=fine&tag=dogs+%26+more").Want(200, "On pets</a>")
	s.guest().Get("/search?q=fine&tag=Cats").Want(200, "Nothing was found.")
	s.guest().Get("/search?q=common&tag=Dogs+%26+more").Want(200, "Nothing was found.")
	bob.Get(forum+"/new").Send(forum+"/new", "title", "More pets", "message", "soon", "tags", "Cats", "draft", "1").Want(200, "The draft is saved", `value="Cats" checked`)
	s.guest().Get(at("/tags/%d", s.number("SELECT id FROM board_tags WHERE name = 'Cats'"))).Want(404)
	s.guest().Get(page + "?after=x").Want(400)

	manage := at("/threads/%d/manage", thread)
	p = bob.Get(manage).Want(200, `value="Dogs &amp; more" checked`)
	p.Send(manage, "do", "title", "title", "On pets", "tagged", "1", "tags", "Cats").Want(200, ">Cats</a>")
	bob.Get(manage).Send(manage, "do", "title", "title", "On all pets").Want(200, ">Cats</a>")

	list := admin.Get("/admin/tags").Want(200, "Merge…")
	list.Send("/admin/tags", "one", at("merge %d Cats", s.number("SELECT id FROM board_tags WHERE name = 'Cats'"))).Want(200, "Other tag").
		Send("/admin/tags", "do", "merge", "row", at("%d Cats", s.number("SELECT id FROM board_tags WHERE name = 'Cats'")), "into", "dogs & more", "sure", "1").Want(200)
	if n := s.number("SELECT count(*) FROM board_thread_tags WHERE tag_id = (SELECT id FROM board_tags WHERE name = 'Dogs & more')"); n != 1 {
		t.Errorf("%d threads have the other tag", n)
	}
	admin.Get("/admin/settings").Want(200, "Tags of threads")
	s.exec("INSERT INTO board_settings (name, value) VALUES ('tags', 'free')")
	s.exec("UPDATE board_permission_version SET version = version + 1")
	bob.Get(forum+"/new").Want(200, "with commas between them").Send(forum+"/new", "title", "On lions", "message", "They are fine", "tags", "Lions, savannah,").
		Want(200, ">Lions</a>", ">savannah</a>")
}
