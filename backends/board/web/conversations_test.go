package web_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestConversationPages lets members write to each other and block, and others try to read.
func TestConversationPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		bob, eve := s.as("bob"), s.as("eve")
		id := func(name string) int64 { return s.number("SELECT id FROM board_users WHERE username = '" + name + "'") }
		p := bob.Get(at("/members/%d", id("eve"))).Want(200, "Write a message", ">Ignore<")
		p = p.Get("/conversations/new?to=eve").Want(200, `value="eve"`)
		p = p.Send(p.Where(), "recipients", "eve", "title", "Only for you", "message", "Hello **eve**", "preview", "1").Want(200, "Preview", "<strong>eve</strong>")
		p = p.Send(p.Where(), "recipients", "eve, nobody", "title", "Only for you", "message", "Hello **eve**").Want(422, "nobody who accepts messages", "Hello **eve**</textarea>")
		p = p.Send(p.Where(), "recipients", "eve", "title", "Only for you", "message", "Hello **eve**").Want(200, "Your message is sent", "<h1>Only for you</h1>", "<strong>eve</strong>")
		at1 := p.Where()

		eve.Get(at1 + "?before=abc").Want(400) // nothing was read
		e := eve.Get("/").Want(200, `1<span class="hidden"> unread`)
		e = e.Get("/conversations").Want(200, "Only for you", "with bob", `<span class="new">new</span>`)
		e = e.Get(at1).Want(200, "<strong>eve</strong>")
		e.Get("/").Want(200).Lacks(`<span class="hidden"> unread`)
		e = e.Send(at1, "message", "An answer <script>alert(1)</script>").Want(200, "An answer").Lacks("<script>alert")

		// Others, whatever their rights, and forged forms are refused.
		for _, name := range []string{"ada", "mod"} {
			other := s.as(name)
			other.Get(at1).Want(404).Lacks("Only for you")
			q := other.Get("/conversations").Want(200, "You have no messages")
			q.Send(at1, "message", "let me in").Want(404).Lacks("Only for you")
			q.Send(at1 + "/leave").Want(404)
		}
		s.guest().Get(at1).Want(200, "<h1>Sign in</h1>").Lacks("Only for you")
		for _, action := range []string{at1, at1 + "/leave", "/conversations/new", at("/members/%d/ignore", id("bob"))} {
			eve.Post(action, url.Values{"message": {"forged"}, "ignore": {"yes"}}).Want(http.StatusForbidden)
		}

		// A member who is ignored learns no more than that the message is not accepted.
		e = e.Get(at("/members/%d", id("bob"))).Send(at("/members/%d/ignore", id("bob")), "ignore", "yes").Want(200, "no messages and notifications", "Stop ignoring")
		bob.Get(at1).Want(200).Send(at1, "message", "Why?").Want(403, "does not accept messages", "Why?</textarea>")
		e = e.Get("/conversations").Want(200, "Ignored members").Send(at("/members/%d/ignore", id("bob")), "ignore", "no", "list", "1").Want(200, "do not ignore").Lacks("Ignored members")
		e.Get(at1).Send(at1+"/leave").Want(200, "You have left").Lacks("Only for you")
		e.Get(at1).Want(404)
		bob.Get(at1).Want(200, "Nobody else takes part")
	})
}

// TestMessageWishes switches mails about private messages, and new conversations by others, off and on.
func TestMessageWishes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		const mails, accepts, save = `name="mails" value="1" checked`, `name="accepts" value="1" checked`, "/conversations/wishes"
		bob, eve := s.as("bob"), s.as("eve")
		p := bob.Get("/conversations").Want(200, mails, accepts)
		p = p.Send(save, "mails", "", "accepts", "1").Want(200, "Saved", accepts).Lacks(mails)
		p = p.Send(save, "mails", "1", "accepts", "").Want(200, "Saved", mails).Lacks(accepts)
		e := eve.Get("/conversations/new").Want(200)
		e = e.Send(e.Where(), "recipients", "bob", "title", "Hello there", "message", "some text").Want(422, "no member called bob who accepts messages")
		p.Send(save, "mails", "1", "accepts", "1").Want(200, "Saved", mails, accepts)
		e.Send(e.Where(), "recipients", "bob", "title", "Hello there", "message", "some text").Want(200, "Your message is sent")
		bob.Post(save, url.Values{"mails": {""}}).Want(http.StatusForbidden)

		end := "/unsubscribe?token=" + s.service.Mails.UnsubscribeToken(s.number("SELECT id FROM board_users WHERE username = 'bob'"), 'm', 0)
		s.guest().Get(end).Want(200, "Stop receiving mail about private messages").Send(end).Want(200, "Under Messages")
		bob.Get("/conversations").Want(200, accepts).Lacks(mails)
	})
}

// TestReportMessagePages reports a private message, which moderators of the board then see.
func TestReportMessagePages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		bob, eve, mod := s.as("bob"), s.as("eve"), s.as("mod")
		p := bob.Get("/conversations/new").Want(200)
		p = p.Send(p.Where(), "recipients", "eve", "title", "Only for you", "message", "A **bad** word").Want(200).Lacks(">Report</a>")
		talk, message := p.Where(), s.number("SELECT max(id) FROM board_conversation_messages")
		form := talk + at("/messages/%d/report", message)
		mod.Get(form).Want(404).Lacks("bad")
		mod.Get("/moderation/reports").Want(200, "There are no open reports")

		e := eve.Get(talk).Want(200, `href="`+form+`"`)
		e = e.Get(form).Want(200, "<strong>bad</strong>", "nothing else of the conversation")
		eve.Post(form, url.Values{"reason": {"forged"}}).Want(http.StatusForbidden)
		e.Get(form).Send(form, "reason", " ").Want(422, "Tell the moderators what is wrong")
		e.Get(form).Send(form, "reason", "not <nice>").Want(200, "Thank you", "<h1>Only for you</h1>")
		e.Get(form).Send(form, "reason", "again").Want(409, "already")

		bob.Get("/moderation/reports").Want(403).Lacks("bad")
		m := mod.Get("/moderation/reports").Want(200, "in a private conversation", "not &lt;nice&gt;", "<strong>bad</strong>").Lacks("Only for you")
		report := s.number("SELECT id FROM board_message_reports")
		m.Send("/moderation/reports", "message_report", at("%d", report), "note", "warned").Want(200, "The report is closed", "There are no open reports")
		mod.Get(talk).Want(404)
		s.as("ada").Get("/moderation/log").Want(200, "report.close", "private message, report")
	})
}
