package following

import (
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// extendMail ends a statement that inserts mails. If a mail of the same mode about the same thread already waits for
// the member, it is extended so that it includes the posts of the new mail. Further assignments may follow.
const extendMail = " ON CONFLICT (user_id, mode, thread_id) DO UPDATE SET" +
	" first_post_id = CASE WHEN excluded.first_post_id < board_mails.first_post_id THEN excluded.first_post_id" +
	" ELSE board_mails.first_post_id END," +
	" last_post_id = CASE WHEN excluded.last_post_id > board_mails.last_post_id THEN excluded.last_post_id" +
	" ELSE board_mails.last_post_id END"

// queueMail queues mails about a post, in the transaction of the post. target is "thread" or "forum", and id is the
// id of that thread or forum. The mails are for those of its followers whom recipients selects. If a mail about the
// same thread is already waiting, the waiting mail is extended to include the post.
//
// A post that was held until now may lie between the first and the last post of a waiting mail. Then only the mail's
// created_at changes. If the mail is being sent at that moment, the new created_at tells mails.MailSent that a post
// was added.
func (s *Service) queueMail(
	c store.Conn, a *rights.Actor, thread, post int64, target string, id int64, recipients audience,
) error {
	now := s.Moment()
	return c.Later("INSERT INTO board_mails (user_id, mode, source, thread_id, first_post_id, last_post_id, due_at,"+
		" created_at) SELECT s.user_id, s.mode, ?, CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT),"+
		" CAST(? AS BIGINT) + "+digestDue+", CAST(? AS BIGINT)"+
		" FROM board_subscriptions s JOIN board_users u ON u.id = s.user_id"+
		" WHERE s.target = ? AND s.target_id = ? AND s.mode <> 'none' AND s.user_id <> ? AND u.email_confirmed = 1"+recipients.sql()+
		" ORDER BY s.user_id"+extendMail+
		", created_at = CASE WHEN excluded.first_post_id BETWEEN board_mails.first_post_id AND board_mails.last_post_id"+
		" THEN excluded.created_at ELSE board_mails.created_at END",
		append([]any{
			target, thread, post, post, now, now, now, now,
			target, id, a.ID(),
		}, recipients.args(a.ID())...)...)
}

// moveMail moves waiting mails from one mode to another, after the mode of a member's subscription to a target
// ("thread" or "forum") has changed. Otherwise they would never be sent.
func moveMail(c store.Conn, user int64, target string, id int64, oldMode, newMode string, now time.Time) error {
	if oldMode == newMode || !mailed(oldMode) || !mailed(newMode) {
		return nil
	}
	waiting, args := "m.user_id = ? AND m.mode = ? AND m.thread_id = ?", []any{user, oldMode, id}
	if target == "forum" { // mails about threads that the member also follows in oldMode stay
		waiting = "m.user_id = ? AND m.mode = ? AND m.source = 'forum' AND EXISTS (SELECT 1 FROM board_threads t" +
			" WHERE t.id = m.thread_id AND t.forum_id = ?)" +
			" AND NOT EXISTS (SELECT 1 FROM board_subscriptions s WHERE s.user_id = m.user_id AND s.target = 'thread'" +
			" AND s.target_id = m.thread_id AND s.mode = m.mode)"
	}
	d, err := DigestsOf(c, user)
	if err != nil {
		return err
	}
	_, err = c.Exec("INSERT INTO board_mails (user_id, mode, source, thread_id, first_post_id, last_post_id, due_at,"+
		" created_at)"+
		" SELECT m.user_id, ?, m.source, m.thread_id, m.first_post_id, m.last_post_id, CAST(? AS BIGINT), m.created_at"+
		" FROM board_mails m WHERE "+waiting+
		extendMail,
		append([]any{newMode, d.Due(newMode, now).UnixMicro()}, args...)...)
	if err != nil {
		return err
	}
	_, err = c.Exec("DELETE FROM board_mails WHERE id IN (SELECT m.id FROM board_mails m WHERE "+waiting+")", args...)
	return err
}

// mailed reports whether subscriptions in a mode lead to mails.
func mailed(mode string) bool { return mode != "" && mode != "none" }

// InstantDelay is how long an instant mail waits for further posts.
const InstantDelay = 15 * time.Second

// MailLater queues mails about a post whose followers have already been notified. The post was held by an edit before
// the mails about it were due, so these mails did not contain it.
func (s *Service) MailLater(c store.Conn, t *content.Thread, p *content.Post) error {
	var edited kernel.Moment
	err := c.Row("SELECT COALESCE(max(edited_at), 0) FROM board_post_revisions WHERE post_id = ?", p.ID).Scan(&edited)
	if err != nil {
		return err
	}
	if edited == 0 {
		return nil
	}
	recipients := audience{edited: edited, written: p.Created}
	a := &rights.Actor{User: &rights.User{ID: p.Author, Name: p.AuthorName}}
	if err := s.queueMail(c, a, t.ID, p.ID, "thread", t.ID, recipients); err != nil {
		return err
	}
	if p.Number > 1 { // followers of the forum get mails only about first posts
		return nil
	}
	return s.queueMail(c, a, t.ID, p.ID, "forum", t.Forum, recipients)
}
