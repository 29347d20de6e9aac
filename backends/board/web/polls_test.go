package web_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
)

// TestPollPages adds a poll to a new thread, votes and changes the vote, and closes and removes the poll.
func TestPollPages(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	bob, form := s.as("bob"), at("/forums/%d/new", s.forum("public"))
	p := bob.Get(form).Want(200, "<summary>Add a poll</summary>", `name="pollChoices" value="1"`)
	fields := func(more ...string) []string {
		return append(more, "title", "Cats or dogs", "message", "Tell us", "pollQuestion", "Which <ones>?", "pollAnswers", "Cats\r\n\r\n Dogs & more \r\n",
			"pollChoices", "1", "pollDays", "7", "pollHidden", "1", "pollChange", "1")
	}
	p.Send(form, fields("preview", "1")...).Want(200, `open><summary>Add a poll`, "Cats\nDogs &amp; more</textarea>", `value="7"`, `name="pollHidden" value="1" checked`)
	p.Send(form, "title", "Cats or dogs", "message", "Tell us", "pollAnswers", "Cats").Want(422, " poll has 2 to 20 answers", "open><summary>Add a poll")
	p = p.Send(form, fields()...).Want(200, "Which &lt;ones&gt;?</h3>", `type="radio" name="answer" value="2"`, "Dogs &amp; more", "0 members have voted", "to all when the poll has ended", "The poll ends").
		Lacks("<meter", "Remove the poll")
	thread, first := at("/threads/%d", s.thread("Cats or dogs")), s.post("Tell us")
	vote, moderate := at("/posts/%d/vote", first), at("/posts/%d/poll", first)
	s.guest().Get(thread).Want(200, "Which &lt;ones&gt;?", "<li>Cats</li>").Lacks(vote, "<meter")
	p.Send(vote).Want(422, "hoose an answer")
	p = p.Send(vote, "answer", "2").Want(200, "Your vote counts.", "1 vote, 100 %", "your vote", "1 member has voted", "<summary>Change your vote")
	s.guest().Get(thread).Want(200, "1 member has voted").Lacks("100 %")
	p.Send(vote, "answer", "1").Want(200, "0 votes, 0 %")
	bob.Post(vote, url.Values{"answer": {"1"}}).Want(http.StatusForbidden)
	mod := s.as("mod")
	p = mod.Get(thread).Want(200, "End the poll").Send(moderate, "do", "close").Want(200, "The poll has ended.", "1 vote, 100 %").Lacks("End the poll", vote)
	s.guest().Get(thread).Want(200, "100 %", "The poll ended")
	p.Send(moderate, "do", "remove").Want(200, "The poll is removed.").Lacks("Which")
	bob.Get(at("/threads/%d", s.thread("Open thread"))).Want(200).Lacks("poll")
	s.exec("INSERT INTO board_settings (name, value) VALUES ('polls', '')")
	s.exec("UPDATE board_permission_version SET version = version + 1")
	bob.Get(form).Want(200).Lacks("poll")
}
