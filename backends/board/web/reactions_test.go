package web_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestReactionPages gives and takes back a reaction, and checks what each reader sees of it.
func TestReactionPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		eve, bob := s.as("eve"), s.as("bob")
		thread, first := at("/threads/%d", s.thread("Open thread")), s.post("common first")
		form := at("/posts/%d/reaction", first)
		const kind = "👍 Like"

		s.guest().Get(thread).Want(200).Lacks("reactions")
		bob.Get(thread).Want(200).Lacks(form)
		p := eve.Get(thread).Want(200, `value="`+kind+`" aria-pressed="false"`)
		p = p.Send(form, "reaction", kind).Want(200, "<h1>Open thread</h1>", `value="" aria-pressed="true">`+kind+` <b>1</b>`)
		p.Send(form, "reaction", "no such").Want(422)
		list := at("/posts/%d/reactions", first)
		s.guest().Get(thread).Want(200, `<span>`+kind+` <b>1</b></span>`, list).Lacks(`action="` + form)
		s.guest().Get(list).Want(200, "<h1>Reactions</h1>", ">eve</a> "+kind)
		s.guest().Get(at("/posts/%d/reactions", s.post("common secretmember"))).Want(404).Lacks("secret")
		eve.Post(form, url.Values{"reaction": {kind}}).Want(http.StatusForbidden)
		bob.Get("/account/notifications").Want(200, "<b>eve</b> reacted to your post")
		s.as("mod").Get(thread).Send(form, "reaction", kind).Want(200, "<b>2</b>")
		b := bob.Get("/account/notifications").Want(200, "<b>2 members</b> reacted to your post", `name="notices" value="1" checked`)
		b.Send("/account/notices", "notices", "").Want(200, "Saved").Lacks(`value="1" checked`)
		p.Send(form, "reaction", "").Want(200, `aria-pressed="false">`+kind+` <b>1</b>`)
	})
}

// TestAnswerPages turns answers on in a forum and marks a reply, which is then at the top of the thread and in the
// list.
func TestAnswerPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		thread, reply := at("/threads/%d", s.thread("Open thread")), s.post("common second")
		form, forum := at("/posts/%d/answer", reply), at("/admin/forums/%d", s.forum("public"))
		bob := s.as("bob")
		bob.Get(thread).Want(200).Lacks(form)
		s.as("ada").Get(forum).Want(200, "A reply can be marked as the answer").Send(forum, "title", "Public", "type", "forum", "parent", itoa(s.forum("root")), "open", "1", "allow_threads", "1", "allow_replies", "1", "answers", "1").Want(200)
		p := bob.Get(thread).Want(200, form, "Mark as answer").Lacks("solved")
		p.Send(form, "answer", "yes").Want(200, "is the answer now", `<a href="`+at("/posts/%d", reply)+`">Answer by eve in post 2</a>`, ">answer</span>", "Not the answer")
		data := structured(t, s.guest().Get(thread).Want(200, "Answer by eve").Lacks(form).Text)
		entity, _ := data["mainEntity"].(map[string]any)
		accepted, _ := entity["acceptedAnswer"].(map[string]any)
		if data["@type"] != "QAPage" || entity["@type"] != "Question" || entity["name"] != "Open thread" || entity["text"] != "common first" || entity["answerCount"] != 1.0 ||
			accepted["@type"] != "Answer" || accepted["text"] != "common second" || entity["suggestedAnswer"] != nil || entity["comment"] != nil {
			t.Errorf("structured data %v", data)
		}
		s.guest().Get(at("/forums/%d", s.forum("public"))).Want(200, `<span class="tag solved">solved</span>`)
		eve := s.as("eve")
		eve.Get("/account/notifications").Want(200, "<b>bob</b> marked your post as the answer")
		eve.Get(thread).Send(form, "answer", "no").Want(403)
		s.as("mod").Get(thread).Send(form, "answer", "no").Want(200, "not the answer any more").Lacks("solved")
		s.as("ada").Get("/moderation/log").Want(200, "thread.answer", "taken back")
	})
}

// TestIgnoringPages ignores a member, whose posts are then collapsed.
func TestIgnoringPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		thread := at("/threads/%d", s.thread("Open thread"))
		bob := s.as("bob")
		member := at("/members/%d", s.number("SELECT id FROM board_users WHERE username = 'eve'"))
		bob.Get(thread).Want(200).Lacks("<details")
		p := bob.Get(member).Send(member+"/ignore", "ignore", "yes").Want(200, "its posts are collapsed", "Stop ignoring")
		bob.Get(thread).Want(200, "<summary>You ignore eve. Show post 2</summary>", "common second")
		s.guest().Get(thread).Want(200).Lacks("<details")
		p.Send(member+"/ignore", "ignore", "no").Want(200, "do not ignore")
		bob.Get(thread).Want(200).Lacks("<details")
	})
}

// TestBookmarkPages saves a bookmark with a note, lists and removes it.
func TestBookmarkPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		thread, first := at("/threads/%d", s.thread("Open thread")), s.post("common first")
		form := at("/posts/%d/bookmark", first)
		bob := s.as("bob")
		s.guest().Get(thread).Want(200).Lacks("/bookmark")
		s.guest().Get(form).Want(200, "<h1>Sign in</h1>")
		bob.Get(at("/posts/%d/bookmark", s.post("common secretstaff"))).Want(404).Lacks("secret")
		bob.Get("/account/bookmarks").Want(200, "No bookmarks")
		p := bob.Get(thread).Want(200, `href="`+form+`" aria-label="Bookmark post 1"`).Get(form).Want(200, "<h1>Bookmark</h1>").Lacks("Remove bookmark")
		p.Send(form, "do", "save", "note", "two\nlines").Want(422, "in one line")
		p.Send(form, "do", "save", "note", "read <again>").Want(200, "The bookmark is saved", "<h1>Open thread</h1>", ">Bookmarked</a>")
		bob.Get(form).Want(200, `value="read &lt;again&gt;"`, "Remove bookmark")
		s.as("eve").Get("/account/bookmarks").Want(200, "No bookmarks")
		p = bob.Get("/account/bookmarks").Want(200, "read &lt;again&gt;", at(`href="/posts/%d"`, first))
		p.Send(form, "do", "remove", "list", "1").Want(200, "is removed", "No bookmarks")
		bob.Post(form, url.Values{"do": {"save"}}).Want(http.StatusForbidden)
	})
}
