package polls

import (
	"context"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// turnOf identifies a group of writers who wait for each other (see store.InTurn): all members who vote in a poll.
type turnOf struct{ post int64 }

// change runs fn in a transaction with the poll of a post that the actor sees. The poll is locked until the end of the
// transaction, so that concurrent votes are all counted. Of the poll, only Post, Choices, Ends, Ended and Change are
// set.
func (s *Service) change(
	ctx context.Context, a *rights.Actor, post int64,
	fn func(c store.Conn, t *content.Thread, p *content.Post, poll Poll) error,
) error {
	return s.Write(store.InTurn(store.ReadCommitted(ctx), turnOf{post}), func(c store.Conn) error {
		t, p, err := content.PostByID(c, a, post, "")
		if err != nil {
			return err
		}
		poll := Poll{Post: post}
		err = c.Row("SELECT choices, ends_at, changeable FROM board_polls WHERE post_id = ?"+c.Lock(), post).
			Scan(&poll.Choices, &poll.Ends, &poll.Change)
		if err != nil {
			return kernel.OrNotFound(err)
		}
		poll.Ended = poll.Ends != 0 && poll.Ends <= s.Moment()
		return fn(c, t, p, poll)
	})
}

// Vote sets the actor's vote: the answers with these numbers replace those that the actor has chosen before. The actor
// needs the right to reply in the thread, which must not be locked.
func (s *Service) Vote(ctx context.Context, a *rights.Actor, post int64, numbers []int64) error {
	numbers = slices.Clone(numbers)
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	return s.change(ctx, a, post, func(c store.Conn, t *content.Thread, p *content.Post, poll Poll) error {
		if err := s.posts.MayReplyIn(c, a, t); err != nil {
			return err
		}
		switch {
		case t.Locked:
			return kernel.Forbidden("postId", "thread_locked", "this thread is locked")
		case t.Visibility != rights.Visible || p.Visibility != rights.Visible:
			// Visible is the lowest value, so the greater value is the reason.
			return kernel.Forbidden("postId", "not_visible", "this post is "+rights.VisibilityNames[max(t.Visibility,
				p.Visibility)])
		case poll.Ended:
			return kernel.Forbidden("postId", "ended", "this poll has ended")
		case len(numbers) == 0:
			return kernel.Invalid("answer", "required", "choose an answer")
		case int64(len(numbers)) > poll.Choices:
			return kernel.Invalid("answer", "too_many", "choose at most "+kernel.Itoa(poll.Choices)+" answers")
		}
		oldNumbers, err := store.Column[int64](c, "SELECT number FROM board_poll_votes WHERE post_id = ? AND user_id = ?"+
			" ORDER BY number", post, a.ID())
		switch {
		case err != nil || slices.Equal(oldNumbers, numbers):
			return err
		case len(oldNumbers) > 0 && !poll.Change:
			return kernel.Forbidden("postId", "voted", "you have voted already, and votes in this poll cannot be changed")
		}
		if err := a.SpendReaction(c, t.Forum, s.Moment()); err != nil {
			return err
		}
		return replaceVote(c, post, a.ID(), oldNumbers, numbers)
	})
}

// replaceVote replaces a member's vote. oldNumbers holds the numbers of the answers that the member has chosen
// before, and may be empty. newNumbers holds the numbers of the new answers.
func replaceVote(c store.Conn, post, member int64, oldNumbers, newNumbers []int64) error {
	if _, err := c.Exec("DELETE FROM board_poll_votes WHERE post_id = ? AND user_id = ?", post, member); err != nil {
		return err
	}
	for _, n := range oldNumbers {
		if err := addVotes(c, post, n, -1); err != nil {
			return err
		}
	}
	for _, n := range newNumbers {
		if err := addVotes(c, post, n, 1); err != nil {
			return err
		}
		if _, err := c.Exec("INSERT INTO board_poll_votes (post_id, user_id, number) VALUES (?, ?, ?)",
			post, member, n); err != nil {
			return err
		}
	}
	if len(oldNumbers) > 0 { // the member has been counted as a voter
		return nil
	}
	_, err := c.Exec("UPDATE board_polls SET voters = voters + 1 WHERE post_id = ?", post)
	return err
}

// addVotes adds delta, which may be negative, to the votes for the answer with this number. It returns an error if
// there is no such answer.
func addVotes(c store.Conn, post, number, delta int64) error {
	n, err := c.Exec("UPDATE board_poll_answers SET votes = votes + ? WHERE post_id = ? AND number = ?", delta, post, number)
	if err == nil && n == 0 {
		return kernel.Invalid("answer", "unknown", "this poll has no such answer")
	}
	return err
}

// MayModerate reports whether the actor may close and remove the polls in a forum.
func MayModerate(a *rights.Actor, forum int64) bool {
	return a.User != nil && a.Has(forum, rights.PostEditOthers)
}

// Close ends the poll of a post now.
func (s *Service) Close(ctx context.Context, a *rights.Actor, post int64) error {
	return s.moderate(ctx, a, post, "poll.close", func(c store.Conn, poll Poll) error {
		if poll.Ended {
			return kernel.Conflict("this poll has ended")
		}
		_, err := c.Exec("UPDATE board_polls SET ends_at = ? WHERE post_id = ?", s.Moment(), post)
		return err
	})
}

// Remove deletes the poll of a post, with all votes.
func (s *Service) Remove(ctx context.Context, a *rights.Actor, post int64) error {
	return s.moderate(ctx, a, post, "poll.remove", func(c store.Conn, _ Poll) error {
		return kernel.DeleteFrom(c, "post_id", post, "board_poll_votes", "board_poll_answers", "board_polls")
	})
}

// moderate runs fn, which changes the poll of a post, and logs the action. It returns an error unless the actor may
// edit other members' posts in the forum.
func (s *Service) moderate(
	ctx context.Context, a *rights.Actor, post int64, action string, fn func(c store.Conn, poll Poll) error,
) error {
	return s.change(ctx, a, post, func(c store.Conn, t *content.Thread, _ *content.Post, poll Poll) error {
		if !MayModerate(a, t.Forum) {
			return kernel.Forbidden("postId", "no_permission", "only moderators may close and remove polls")
		}
		if err := a.CheckSuspended(s.Moment()); err != nil {
			return err
		}
		if err := s.rights.Logged(c, a, action, rights.PostEditOthers, t.Forum, t.ID, post, ""); err != nil {
			return err
		}
		return fn(c, poll)
	})
}

// Forget deletes the votes of a member who is being deleted at the time now. It subtracts them from polls that are
// still open. The results of polls that have ended do not change.
func Forget(c store.Conn, user int64, now kernel.Moment) error {
	const chosen = " (SELECT v.post_id, v.number FROM board_poll_votes v WHERE v.user_id = ?)"
	const open = " AND post_id IN (SELECT p.post_id FROM board_polls p WHERE p.ends_at = 0 OR p.ends_at > ?)"
	for _, statement := range []struct {
		sql  string
		args []any
	}{
		{"UPDATE board_poll_answers SET votes = votes - 1 WHERE (post_id, number) IN" + chosen + open, []any{user, now}},
		{"UPDATE board_polls SET voters = voters - 1 WHERE post_id IN (SELECT v.post_id FROM board_poll_votes v" +
			" WHERE v.user_id = ?)" + open, []any{user, now}},
		{"DELETE FROM board_poll_votes WHERE user_id = ?", []any{user}},
	} {
		if _, err := c.Exec(statement.sql, statement.args...); err != nil {
			return err
		}
	}
	return nil
}
