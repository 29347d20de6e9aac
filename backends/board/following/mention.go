package following

import (
	"context"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// KindMention is the kind of notifications of posts that mention the member.
const KindMention = "mention"

// MentionMode is the value of both mode and source in rows of board_mails about mentions.
const MentionMode = "named"

// Mention notifies the members with these ids that a visible post mentions them, and queues mails about it. It skips
// the author, members who may not see the post or who ignore the author, and members who were notified of this mention
// before. A follower whom Notify has notified of the post has only one notification afterwards, that of the mention.
// Therefore call Mention after Notify.
func (s *Service) Mention(c store.Conn, author *rights.User, t *content.Thread, post int64, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	people, err := s.mentionable(c, author, t, ids)
	if err != nil {
		return err
	}
	// Only the newest notifications are searched, since a notification of this post is recent.
	const ofPost = " FROM (SELECT id, kind, post_id FROM board_notifications WHERE user_id = ?" +
		" ORDER BY id DESC LIMIT ?) w WHERE w.post_id = ? AND w.kind "
	for _, u := range people {
		var mentioned bool
		err := c.Row("SELECT EXISTS (SELECT 1"+ofPost+"= ?)", u.ID, maxUnseen, post, KindMention).Scan(&mentioned)
		if err != nil {
			return err
		}
		if mentioned {
			continue
		}
		// The statement is deferred because it must run after the statements of Notify, which are deferred, too.
		err = c.Later("UPDATE board_notifications SET kind = ?, read_at = NULL WHERE id IN (SELECT w.id"+ofPost+
			"IN ('reply', 'thread'))", KindMention, u.ID, maxUnseen, post)
		if err != nil {
			return err
		}
		err = c.Later("INSERT INTO board_notifications (user_id, kind, thread_id, post_id, actor_name, created_at)"+
			" SELECT u.id, ?, ?, ?, ?, CAST(? AS BIGINT) FROM board_users u WHERE u.id = ? AND NOT EXISTS (SELECT 1"+
			ofPost+"= ?)",
			KindMention, t.ID, post, author.Name, s.Moment(), u.ID, u.ID, maxUnseen, post, KindMention)
		if err != nil {
			return err
		}
		if err := s.queueMention(c, t.ID, post, u.ID); err != nil {
			return err
		}
	}
	return nil
}

// mentionable returns those members with the given ids that are to be notified of a mention, sorted by id: active
// members who see thread t and do not ignore the author, without the author.
func (s *Service) mentionable(
	c store.Conn, author *rights.User, t *content.Thread, ids []int64,
) (people []*rights.User, err error) {
	access := s.rights.LastAccess()
	if access == nil {
		return nil, nil
	}
	people, err = store.List(c, func(r store.Row) (*rights.User, error) { return rights.ScanUser(r) },
		"SELECT "+rights.UserColumns+" FROM board_users u WHERE u.id IN ("+kernel.Marks(len(ids))+") AND u.id <> ?"+
			" AND u.state = 'active'"+notIgnored("u.id")+" ORDER BY u.id", append(kernel.Args(ids), author.ID, author.ID)...)
	if err != nil {
		return nil, err
	}
	for _, u := range people {
		if err := rights.LoadGroups(c, u); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(people, func(u *rights.User) bool {
		// Seen and Natural leave out what members see only as administrators.
		f := access.Of(u.ID, u.Groups).Forums[t.Forum]
		return !(&rights.Actor{User: u}).SeesWith(f.Seen, f.Natural, t.Author, t.Author, t.Visibility)
	}), nil
}

// queueMention queues a mail about a mention. It does nothing if the member wants no such mails, has no confirmed
// address, or follows the thread and is mailed about the post at once.
func (s *Service) queueMention(c store.Conn, thread, post, user int64) error {
	now := s.Now()
	return c.Later("INSERT INTO board_mails (user_id, mode, source, thread_id, first_post_id, last_post_id, due_at,"+
		" created_at) SELECT u.id, '"+MentionMode+"', '"+MentionMode+"', CAST(? AS BIGINT), CAST(? AS BIGINT),"+
		" CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT) FROM board_users u"+
		" WHERE u.id = ? AND u.email_confirmed = 1 AND u.mention_mails = 1 AND NOT EXISTS (SELECT 1 FROM board_mails m"+
		" WHERE m.user_id = u.id AND m.mode = 'instant' AND m.thread_id = ? AND ? BETWEEN m.first_post_id AND m.last_post_id)"+
		extendMail+", created_at = excluded.created_at",
		thread, post, post, now.Add(InstantDelay).UnixMicro(), now.UnixMicro(), user, thread, post)
}

// MentionMails reports whether the actor gets mails about mentions.
func (s *Service) MentionMails(ctx context.Context, a *rights.Actor) (bool, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (enabled bool, err error) {
		return enabled, c.Row("SELECT mention_mails = 1 FROM board_users WHERE id = ?", a.ID()).Scan(&enabled)
	})
}

// SetMentionMails sets whether a member gets mails about mentions from now on.
func SetMentionMails(c store.Conn, user int64, enabled bool) error {
	_, err := c.Exec("UPDATE board_users SET mention_mails = CAST(? AS BIGINT) WHERE id = ?", kernel.Bool(enabled), user)
	return err
}

// ChooseMentionMails sets whether the actor gets mails about mentions from now on.
func (s *Service) ChooseMentionMails(ctx context.Context, a *rights.Actor, enabled bool) error {
	return s.Write(ctx, func(c store.Conn) error { return SetMentionMails(c, a.ID(), enabled) })
}
