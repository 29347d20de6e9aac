package web_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestDraftPages saves drafts in every form by its button, finds them again in another browser, and posts them.
func TestDraftPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		thread, public := s.thread("Open thread"), s.forum("public")
		reply, start := at("/threads/%d/reply", thread), at("/forums/%d/new", public)
		p := s.as("bob").Get(at("/threads/%d", thread)).Want(200, "Save draft", `src="/assets/compose.js`)
		p = p.Send(reply, "message", "half a <b>thought", "draft", "1").Want(200, "The draft is saved", "This is your draft", "half a &lt;b&gt;thought</textarea>")
		p.Get(start).Send(start, "title", "Not yet", "message", "unfinished", "prefixId", "1", "draft", "1").Want(200, `value="Not yet"`, `value="1" selected`, "unfinished</textarea>")
		p.Get("/conversations/new").Send("/conversations/new", "recipients", "eve, mod", "title", "", "message", "dear both", "draft", "1").Want(200, `value="eve, mod"`, "dear both</textarea>")

		other := s.as("bob") // on another device
		p = other.Get("/account/drafts").Want(200, "Reply in Open thread", "New thread in Public", "New conversation", "half a &lt;b&gt;thought", "<b>Not yet</b>")
		p.Get(at("/threads/%d", thread)).Want(200, "half a &lt;b&gt;thought</textarea>")
		p = p.Get(reply+at("?quote=%d&quote=%d", s.post("common first"), s.post("common second"))).Want(200,
			"half a &lt;b&gt;thought\n\n&gt; **bob** wrote:\n&gt;\n&gt; common first\n\n&gt; **eve** wrote:\n&gt;\n&gt; common second")
		p.Get(reply+at("?bare=1&quote=%d", s.post("common first"))).Want(200, "&gt; common first").Lacks("thought")
		p.Get(reply + at("?quote=%d", s.post("common secretdeleted post"))).Want(404)
		p = p.Send(reply, "message", "a whole thought").Want(200, "a whole thought")
		p = p.Get("/account/drafts").Want(200, "New thread in Public").Lacks("Reply in")
		p.Get(start).Send(start, "title", "Now it is", "message", "finished text").Want(200, "Now it is")
		p = p.Get("/account/drafts").Want(200, "New conversation").Lacks("New thread in")
		p.Get("/conversations/new").Send("/conversations/new", "recipients", "eve", "title", "To eve", "message", "dear eve").Want(200, "dear eve")
		talk := at("/conversations/%d", s.number("SELECT max(id) FROM board_conversations"))
		p.Get(talk).Send(talk, "message", "one more word", "draft", "1").Want(200, "This is your draft", "one more word</textarea>")
		p = p.Get("/account/drafts").Want(200, "Message in To eve")
		row := s.number("SELECT id FROM board_drafts")
		s.as("eve").Get("/account/drafts").Want(200, "You have no drafts").Send(at("/account/drafts/%d/discard", row)).Want(404)
		s.as("eve").Get(talk).Want(200).Lacks("one more word")
		p.Send(at("/account/drafts/%d/discard", row)).Want(200, "The draft is deleted", "You have no drafts")

		// The script gets no page, and a draft cannot be saved for something that the member does not see.
		bob := s.as("bob")
		p = bob.Get(reply)
		p.Send(reply, "message", "by the script", "draft", "1", "script", "1").Want(204)
		hidden := at("/threads/%d/reply", s.thread("secretstaff thread"))
		p.Send(hidden, "message", "into the dark", "draft", "1").Want(404)
		bob.Post(reply, url.Values{"message": {"forged"}, "draft": {"1"}})
		if n := s.number("SELECT count(*) FROM board_drafts WHERE message = 'by the script'"); n != 1 || s.number("SELECT count(*) FROM board_drafts") != 1 {
			t.Errorf("%d drafts by the script, want 1 and no other", n)
		}
	})
}

// TestMentionPages checks that mentions link to profiles, lead to notifications, and are completed.
func TestMentionPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		reply := at("/threads/%d/reply", s.thread("Open thread"))
		profile := at(`<a class="mention" href="/members/%d">@eve</a>`, s.number("SELECT id FROM board_users WHERE username = 'eve'"))
		p := s.as("bob").Get(reply).Want(200)
		p = p.Send(reply, "message", "hello @eve and @nobody", "preview", "1").Want(200, "hello "+profile+" and @nobody")
		p = p.Send(reply, "message", `hello @eve and @"<i>eve</i>"`).Want(200, "hello "+profile+" and "+profile)
		eve := s.as("eve")
		eve.Get("/").Want(200, `1<span class="hidden"> new`)
		eve.Get("/account/notifications").Want(200, "<b>bob</b> mentioned you in")
		q := eve.Get("/account/subscriptions").Want(200, `name="mails" value="1" checked`)
		q.Send("/account/mentions", "mails", "").Want(200, "Saved").Lacks(`name="mails" value="1" checked`)

		names := p.Get("/members/names?q=EV").Want(200, `[{"name":"eve","mention":"@eve"}]`)
		if kind := names.Header.Get("Content-Type"); kind != "application/json; charset=utf-8" {
			t.Errorf("names are %s", kind)
		}
		p.Get("/members/names?q=e").Want(200, "[]")
		s.guest().Get("/members/names?q=ev").Want(200, "<h1>Sign in</h1>")
	})
}

// TestScriptConnections checks that only the pages of members let their script send requests, and only to the board.
func TestScriptConnections(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		for name, want := range map[string]bool{"": false, "bob": true} {
			policy := s.as(name).Get(at("/threads/%d", s.thread("Open thread"))).Want(200).Header.Get("Content-Security-Policy")
			if strings.Contains(policy, "; connect-src 'self';") != want || strings.Contains(policy, "unsafe") || !strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") {
				t.Errorf("%q has the policy %s", name, policy)
			}
		}
	})
}
