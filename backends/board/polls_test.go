package board

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/moderation"
	"github.com/tollgate-gateway/tollgate/backends/board/polls"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// asked starts a thread of alice in the forum public with a poll, and returns its first post.
func (s *site) asked(title string, poll polls.Request) (done posts.Posted, err error) {
	s.t.Helper()
	alice := s.actor("alice")
	poll.Choices = max(poll.Choices, 1)
	return s.service.Posts.StartThread(s.t.Context(), alice, s.forum("public"), posts.NewThread{
		Title: title, Message: "What do you think?",
		Also: func(c store.Conn, t *content.Thread, first int64) error {
			return s.service.Polls.Put(c, alice, t, first, poll)
		},
	}, posts.Once{})
}

// poll returns the poll of a post as somebody sees it, or nil.
func (s *site) poll(user string, post int64) *polls.Poll {
	s.t.Helper()
	a, err := s.service.Rights.Guest(s.t.Context())
	must(s.t, err)
	if user != "" {
		a = s.actor(user)
	}
	found, err := s.service.Polls.Of(s.t.Context(), a, post)
	must(s.t, err)
	return found[post]
}

// votes returns the numbers of votes that somebody sees, such as "1 0 of 1".
func (s *site) votes(user string, post int64) string {
	s.t.Helper()
	p, all := s.poll(user, post), ""
	for _, o := range p.Answers {
		all += fmt.Sprint(o.Votes, " ")
	}
	return all + fmt.Sprint("of ", p.Voters)
}

// voted fails the test if the numbers of votes differ from a recount.
func (s *site) voted() {
	s.t.Helper()
	for _, query := range []string{
		`SELECT count(*) FROM board_poll_answers o WHERE o.votes <> (SELECT count(*) FROM board_poll_votes v WHERE v.post_id = o.post_id AND v.number = o.number)`,
		`SELECT count(*) FROM board_polls p WHERE p.voters <> (SELECT count(DISTINCT v.user_id) FROM board_poll_votes v WHERE v.post_id = p.post_id)`,
	} {
		if n := s.number(query); n != 0 {
			s.t.Errorf("%d numbers are wrong by %s", n, query)
		}
	}
}

// TestPolls checks who may add a poll, vote, and close or remove it, and who sees the result when.
func TestPolls(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, two := t.Context(), []string{"Yes", "No"}
		for name, wrong := range map[string]polls.Request{
			"length":   {Answers: two[:1]},
			"too many": {Answers: slices.Repeat(two, 11)},
			"twice":    {Answers: []string{"Yes", "yes"}},
			"long":     {Answers: []string{"Yes", strings.Repeat("x", 201)}},
			"choices":  {Answers: two, Choices: 3},
			"days":     {Answers: two, Days: 366},
			"question": {Answers: two, Question: strings.Repeat("x", 201)},
		} {
			_, err := s.asked("Wrong poll", wrong)
			refused(t, name, err, 422, "")
		}
		if n := s.number("SELECT count(*) FROM board_threads WHERE title = 'Wrong poll'"); n != 0 {
			t.Errorf("%d threads with polls that were refused", n)
		}
		vote := func(user string, post int64, numbers ...int64) error {
			return s.service.Polls.Vote(ctx, s.actor(user), post, numbers)
		}
		open, err := s.asked("Open poll", polls.Request{Question: "  Cats? ", Answers: two})
		must(t, err)
		if p := s.poll("", open.Post); p == nil || p.Question != "Cats?" || !p.Shown || p.Ended || !s.reading("", open.Thread).HasPoll {
			t.Errorf("the poll is %+v", p)
		}
		if thread, _ := s.started("public", "Nothing asked", 0); s.reading("bob", thread).HasPoll {
			t.Error("a thread without a poll has one")
		}
		guest, err := s.service.Rights.Guest(ctx)
		must(t, err)
		refused(t, "a guest", s.service.Polls.Vote(ctx, guest, open.Post, []int64{1}), 403, "no_permission")
		refused(t, "in no poll", vote("bob", s.postOf("locked first"), 1), 404, "")
		refused(t, "where it is not seen", vote("bob", s.postOf("staff first"), 1), 404, "")
		refused(t, "nothing", vote("bob", open.Post), 422, "required")
		refused(t, "too much", vote("bob", open.Post, 1, 2), 422, "too_many")
		refused(t, "what is not there", vote("bob", open.Post, 3), 422, "unknown")
		must(t, vote("bob", open.Post, 2))
		must(t, vote("bob", open.Post, 2, 2)) // has no effect
		refused(t, "another vote", vote("bob", open.Post, 1), 403, "voted")
		must(t, vote("alice", open.Post, 1))
		if got := s.votes("", open.Post); got != "1 1 of 2" {
			t.Errorf("a guest sees %s", got)
		}
		if p := s.poll("bob", open.Post); !p.Voted || p.Answers[0].Own || !p.Answers[1].Own || p.Answers[1].Share != 50 {
			t.Errorf("bob sees %+v", p)
		}
		s.exec("UPDATE board_threads SET is_locked = 1 WHERE id = ?", open.Thread)
		refused(t, "in a locked thread", vote("newbie", open.Post, 1), 403, "thread_locked")
		refused(t, "of a moderator, too", vote("mod", open.Post, 1), 403, "thread_locked")
		s.exec("UPDATE board_threads SET is_locked = 0 WHERE id = ?", open.Thread)

		// This poll has a hidden result, several choices, and votes that may be changed.
		hidden, err := s.asked("Hidden poll", polls.Request{Answers: []string{"a", "b", "c"}, Choices: 2, Days: 2, Hidden: true, Change: true})
		must(t, err)
		must(t, vote("bob", hidden.Post, 3, 1))
		must(t, vote("mod", hidden.Post, 1))
		must(t, vote("bob", hidden.Post, 3, 2))
		for user, want := range map[string]string{"": "0 0 0 of 2", "alice": "0 0 0 of 2", "bob": "1 1 1 of 2"} {
			if got := s.votes(user, hidden.Post); got != want || s.poll(user, hidden.Post).Shown != (user == "bob") {
				t.Errorf("%q sees %s, want %s", user, got, want)
			}
		}
		s.voted()
		s.clock.advance(48 * time.Hour)
		refused(t, "after the end", vote("alice", hidden.Post, 1), 403, "ended")
		if got := s.votes("", hidden.Post); got != "1 1 1 of 2" || !s.poll("", hidden.Post).Ended {
			t.Errorf("at the end a guest sees %s", got)
		}

		refused(t, "an end by a member", s.service.Polls.Close(ctx, s.actor("alice"), open.Post), 403, "no_permission")
		must(t, s.service.Polls.Close(ctx, s.actor("mod"), open.Post))
		refused(t, "a second end", s.service.Polls.Close(ctx, s.actor("mod"), open.Post), 409, "")
		if e := s.lastLog(); e.Action != "poll.close" || e.ActorName != "mod" || e.Post != open.Post {
			t.Errorf("the log has %+v", e)
		}
		refused(t, "after it was closed", vote("newbie", open.Post, 1), 403, "ended")
		refused(t, "removal by a member", s.service.Polls.Remove(ctx, s.actor("bob"), open.Post), 403, "no_permission")
		must(t, s.service.Polls.Remove(ctx, s.actor("mod"), open.Post))
		if s.poll("bob", open.Post) != nil || s.number("SELECT count(*) FROM board_poll_votes WHERE post_id = ?", open.Post) != 0 {
			t.Error("the poll is there after it was removed")
		}
		must(t, s.service.Admin.ChangeSettings(ctx, s.actor("admin"), map[string]string{"polls": ""}, nil))
		_, err = s.asked("No polls", polls.Request{Answers: two})
		refused(t, "where there are none", err, 403, "no_polls")
	})
}

// TestReactionsAndVotesFlood checks that the reactions and votes of a member have a rate limit in common, which does
// not apply to moderators.
func TestReactionsAndVotesFlood(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		ctx := t.Context()
		must(t, s.service.Admin.ChangeSettings(ctx, s.actor("admin"), map[string]string{"reactions_per_minute": "2"}, nil))
		poll, err := s.asked("A poll", polls.Request{Answers: []string{"a", "b"}, Change: true})
		must(t, err)
		react := func(user, kind string) error {
			return s.service.Reactions.React(ctx, s.actor(user), poll.Post, kind)
		}
		must(t, react("bob", like))
		must(t, react("bob", like)) // has no effect
		must(t, s.service.Polls.Vote(ctx, s.actor("bob"), poll.Post, []int64{1}))
		refused(t, "a third", react("bob", thanks), 429, "")
		refused(t, "a second vote", s.service.Polls.Vote(ctx, s.actor("bob"), poll.Post, []int64{2}), 429, "")
		if n, _ := s.given("bob", poll.Post, like); n != 1 || s.votes("bob", poll.Post) != "1 0 of 1" {
			t.Errorf("%d like it, and the votes are %s", n, s.votes("bob", poll.Post))
		}
		for _, kind := range []string{like, thanks, like, thanks} {
			must(t, react("mod", kind))
		}
		s.clock.advance(30 * time.Second)
		must(t, react("bob", ""))
		refused(t, "the next one", react("bob", like), 429, "")
	})
}

// TestVotesInParallel lets members vote at the same time, each several times, and counts again.
func TestVotesInParallel(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		poll, err := s.asked("Busy poll", polls.Request{Answers: []string{"a", "b", "c"}, Choices: 2, Change: true})
		must(t, err)
		var all sync.WaitGroup
		for _, name := range []string{"bob", "mod", "admin", "alice"} {
			a := s.actor(name)
			for _, numbers := range [][]int64{{1}, {2, 3}, {1, 3}, {3}} {
				all.Go(func() {
					if err := s.service.Polls.Vote(context.WithoutCancel(t.Context()), a, poll.Post, numbers); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		s.voted()
		if p := s.poll("", poll.Post); p.Voters != 4 {
			t.Errorf("%d voters, want 4", p.Voters)
		}
	})
}

// TestPollsMove checks that polls stay with posts that are merged and split off, and what is left of the votes of a
// deleted member.
func TestPollsMove(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, mod := t.Context(), s.actor("mod")
		target, _ := s.started("public", "Kept thread", 1)
		open, err := s.asked("Open poll", polls.Request{Answers: []string{"a", "b"}})
		must(t, err)
		ended, err := s.asked("Short poll", polls.Request{Answers: []string{"a", "b"}, Days: 1})
		must(t, err)
		for _, post := range []int64{open.Post, ended.Post} {
			must(t, s.service.Polls.Vote(ctx, s.actor("bob"), post, []int64{1}))
			must(t, s.service.Polls.Vote(ctx, mod, post, []int64{2}))
		}
		_, err = s.service.Moderation.Merge(ctx, mod, target, open.Thread, "")
		must(t, err)
		if !s.reading("bob", target).HasPoll || s.votes("bob", open.Post) != "1 1 of 2" {
			t.Error("the poll is lost in a merge")
		}
		newThread, err := s.service.Moderation.Split(ctx, mod, target, moderation.Split{Posts: []int64{open.Post}, Title: "Split off", Forum: s.forum("public")})
		must(t, err)
		if !s.reading("bob", newThread).HasPoll || s.votes("bob", open.Post) != "1 1 of 2" {
			t.Error("the poll is lost in a split")
		}
		s.clock.advance(24 * time.Hour)
		must(t, s.service.Admin.DeleteMember(ctx, s.actor("admin"), s.user("bob")))
		if n := s.number("SELECT count(*) FROM board_poll_votes WHERE user_id <> ?", mod.ID()); n != 0 {
			t.Errorf("%d votes of a deleted member are known", n)
		}
		if still, final := s.votes("", open.Post), s.votes("", ended.Post); still != "0 1 of 1" || final != "1 1 of 2" {
			t.Errorf("the polls are %s and %s", still, final)
		}
	})
}
