package posts

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// A thread has at most one answer, which is one of its replies. The thread loses the answer when that reply is deleted
// or moves to another thread.

// SetAnswer marks a reply as the answer of its thread, in place of any other answer, or removes the mark if correct is
// false. Actions of moderators in threads of other members are logged. The author of the reply is notified of the mark;
// this notification is withdrawn when the mark is removed.
func (s *Service) SetAnswer(ctx context.Context, a *rights.Actor, post int64, correct bool) error {
	return s.Write(ctx, func(c store.Conn) error {
		t, p, err := content.PostByID(c, a, post, c.Lock())
		if err != nil {
			return err
		}
		f, err := content.ForumFor(c, a, t.Forum)
		if err != nil {
			return err
		}
		if err := mayAnswer(a, f, t, p); err != nil {
			return err
		}
		if err := a.CheckSuspended(s.Moment()); err != nil {
			return err
		}
		if isAnswer := t.Answer == p.ID; isAnswer == correct {
			return nil
		}
		answer, detail := p.ID, "marked"
		if !correct {
			answer, detail = 0, "taken back"
		}
		if !a.Owns(t.Author) {
			if err := s.rights.Logged(c, a, "thread.answer", rights.ContentApprove, t.Forum, t.ID, p.ID, detail); err != nil {
				return err
			}
		}
		if err := setAnswer(c, t, answer); err != nil {
			return err
		}
		if !correct {
			return following.RetractNotice(c, following.KindAnswer, p)
		}
		return s.following.NotifyAuthor(c, a, following.KindAnswer, t, p)
	})
}

// setAnswer sets the answer of a thread. A post of 0 removes the answer.
func setAnswer(c store.Conn, t *content.Thread, post int64) error {
	t.Answer = post
	_, err := c.Exec("UPDATE board_threads SET answer_id = ? WHERE id = ?", post, t.ID)
	return err
}

// mayAnswer returns an error unless the actor may mark p, a post that it sees, as the answer of its thread t, or remove
// the mark. Only the author of the thread and moderators may do so.
func mayAnswer(a *rights.Actor, f *content.Forum, t *content.Thread, p *content.Post) error {
	switch {
	case !f.Answers:
		return kernel.Forbidden("postId", "no_answers", "threads of this forum have no answers")
	case p.Number == 1 || p.Visibility != rights.Visible:
		return kernel.Forbidden("postId", "not_a_reply", "only a visible reply can be the answer")
	case a.User == nil, !a.Owns(t.Author) && !a.Has(t.Forum, rights.ContentApprove):
		return kernel.Forbidden("postId", "no_permission", "only the author of the thread and moderators may choose its"+
			" answer")
	}
	return nil
}

// answerOf returns the answer of a thread, or nil if there is no answer that the actor sees.
func answerOf(c store.Conn, a *rights.Actor, f *content.Forum, t *content.Thread) (*content.PostInfo, error) {
	if !f.Answers || t.Answer == 0 {
		return nil, nil
	}
	p, err := content.PostFor(c, a, t, t.Answer)
	if kernel.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	view := content.ViewPost(p)
	return &view, nil
}
