package posts

import (
	"database/sql"
	"errors"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// queueMail notes who is to be mailed of a post, with the post itself. What
// waits for the same thread already is widened; with an older post, one that was held, it
// begins anew: what was read until now did not hold that post.
func (s *Service) queueMail(c store.Conn, a *rights.Actor, thread, post int64, target string, id int64, to audience) error {
	now := s.Now()
	return c.Later("INSERT INTO board_mails (user_id, mode, source, thread_id, first_post_id, last_post_id, due_at, created_at)"+
		" SELECT s.user_id, s.mode, ?, CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT),"+
		" CASE s.mode WHEN 'daily' THEN CAST(? AS BIGINT) WHEN 'weekly' THEN CAST(? AS BIGINT) ELSE CAST(? AS BIGINT) END, CAST(? AS BIGINT)"+
		" FROM board_subscriptions s JOIN board_users u ON u.id = s.user_id"+
		" WHERE s.target = ? AND s.target_id = ? AND s.mode <> 'none' AND s.user_id <> ? AND u.email_confirmed = 1"+to.sql()+" ORDER BY s.user_id"+
		" ON CONFLICT (user_id, mode, thread_id) DO UPDATE SET"+
		" first_post_id = CASE WHEN excluded.first_post_id < board_mails.first_post_id THEN excluded.first_post_id ELSE board_mails.first_post_id END,"+
		" created_at = CASE WHEN excluded.first_post_id < board_mails.first_post_id THEN excluded.created_at ELSE board_mails.created_at END,"+
		" last_post_id = CASE WHEN excluded.last_post_id > board_mails.last_post_id THEN excluded.last_post_id ELSE board_mails.last_post_id END",
		append([]any{
			target, thread, post, post, MailDue("daily", now).UnixMicro(), MailDue("weekly", now).UnixMicro(), MailDue("instant", now).UnixMicro(), now.UnixMicro(),
			target, id, a.ID(),
		}, to.ids...)...)
}

// Subscribed is the mode of a subscription; empty: there is none.
func Subscribed(c store.Conn, user int64, target string, id int64) (mode string, err error) {
	err = c.Row("SELECT mode FROM board_subscriptions WHERE user_id = ? AND target = ? AND target_id = ?", user, target, id).Scan(&mode)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return mode, err
}

// digestHour is when digests are sent, UTC; those of a week on Mondays.
const digestHour = 6

// InstantDelay is how long an instant mail waits for further posts.
const InstantDelay = 15 * time.Second

// MailDue is when posts of now are to be mailed in a mode.
func MailDue(mode string, now time.Time) time.Time {
	if mode != "daily" && mode != "weekly" {
		return now.Add(InstantDelay)
	}
	now = now.UTC()
	due := time.Date(now.Year(), now.Month(), now.Day(), digestHour, 0, 0, 0, time.UTC)
	for !due.After(now) || mode == "weekly" && due.Weekday() != time.Monday {
		due = due.AddDate(0, 0, 1)
	}
	return due
}
