package admin

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// LogEntry is an entry of the moderation log.
type LogEntry struct {
	ID         int64
	Actor      int64 // 0 means nobody, or a guest
	ActorName  string
	Action     string // one of LogActions
	Forum      int64  // 0 means none
	ForumTitle string
	Thread     int64 // 0 means none
	Post       int64 // 0 means none
	Detail     string
	At         kernel.Moment
}

// LogQuery selects entries of the moderation log.
type LogQuery struct {
	Actor  string // name of a member; empty means all
	Action string // empty means all
	Forum  int64  // 0 means all
	Before int64  // next from the previous page; 0 begins with the newest entry
	Limit  int
}

// LogActions lists the actions that log entries can have.
var LogActions = []string{
	"attachment.add", "attachment.remove", "post.approve", "post.delete", "post.edit", "post.move", "post.reject",
	"post.restore",
	"reply.post", "report.close", "report.create",
	"thread.answer", "thread.edit", "thread.lock", "thread.merge", "thread.move", "thread.post", "thread.split",
	"thread.stick",
	"thread.tag",
	"filter.add", "filter.delete", "forum.create", "forum.delete", "forum.edit", "forum.look", "forum.rights",
	"forum.shift",
	"group.create", "group.delete", "group.edit",
	"member.approve", "member.ban", "member.delete", "member.groups", "member.moderate", "member.password",
	"member.suspend", "member.unban", "member.unwarn", "member.warn",
	"note.add", "note.delete", "picture.remove",
	"moderator.remove", "moderator.set", "offline.look", "prefix.create", "prefix.delete", "prefix.edit",
	"settings.change", "tag.create", "tag.delete", "tag.edit", "tag.merge", "token.issue", "token.revoke",
	"webhook.add", "webhook.delete", "webhook.enable", "webhook.rotate", "webhook.test",
}

// Log lists log entries, newest first. next is the value of Before for the next page, or 0 on the last page.
// Administrators see all entries. Other members see the entries of forums in which they may approve posts.
func (s *Service) Log(ctx context.Context, a *rights.Actor, q LogQuery) (list []LogEntry, next int64, err error) {
	const anyForum = 0 // also selects the entries that belong to no forum
	forums := []int64{anyForum}
	switch {
	case !a.MayAdminister():
		if forums, err = posts.Moderated(a, q.Forum); err != nil {
			return nil, 0, err
		}
	case q.Forum != 0:
		forums = []int64{q.Forum}
	}
	if q.Before == 0 {
		q.Before = math.MaxInt64
	}
	err = s.Read(ctx, func(c store.Conn) error {
		list, next = nil, 0
		conds, args := "l.id < ?", []any{q.Before}
		if q.Actor != "" {
			var actor int64
			err := c.Row("SELECT id FROM board_users WHERE username_key = ?", text.Fold(q.Actor)).Scan(&actor)
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			if err != nil {
				return err
			}
			conds += " AND l.actor_id = ?"
			args = append(args, actor)
		}
		if q.Action != "" {
			conds += " AND l.action = ?"
			args = append(args, text.Storable(q.Action))
		}
		// Each forum has a query of its own, which uses an index and so reads only the newest entries of the forum.
		for _, forum := range forums {
			forumWhere, forumArgs := conds, slices.Clone(args)
			if forum != anyForum {
				forumWhere += " AND l.forum_id = ?"
				forumArgs = append(forumArgs, forum)
			}
			entries, err := store.List(c, func(r store.Row) (e LogEntry, err error) {
				return e, r.Scan(&e.ID, &e.Actor, &e.ActorName, &e.Action, &e.Forum, &e.ForumTitle, &e.Thread, &e.Post, &e.Detail,
					&e.At)
			}, logRows+forumWhere+" ORDER BY l.id DESC LIMIT ?", append(forumArgs, q.Limit+1)...)
			if err != nil {
				return err
			}
			list = append(list, entries...)
		}
		kernel.SortBy(list, func(e LogEntry) int64 { return -e.ID })
		list, next = store.CutAt(list, q.Limit, func(e LogEntry) int64 { return e.ID })
		return nil
	})
	return list, next, err
}

// logRows begins the statement that selects log entries; a condition must follow.
const logRows = "SELECT l.id, COALESCE(l.actor_id, 0), COALESCE((SELECT u.username FROM board_users u" +
	" WHERE u.id = l.actor_id), ''), l.action, COALESCE(l.forum_id, 0), COALESCE((SELECT f.title FROM board_forums f" +
	" WHERE f.id = l.forum_id), ''), COALESCE(l.thread_id, 0), COALESCE(l.post_id, 0), l.detail, l.at" +
	" FROM board_moderation_log l WHERE "
