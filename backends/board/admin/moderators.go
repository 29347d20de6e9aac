package admin

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// maxModerators is the maximum number of moderator entries on the whole board.
const maxModerators = 2000

// Moderator is an entry of the list of moderators: it gives a member or a group rights in a forum.
type Moderator struct {
	ID         int64
	Forum      int64
	ForumTitle string
	User       int64 // 0 if the entry is for a group
	UserName   string
	Group      int64 // 0 if the entry is for a member
	GroupName  string
	Rights     rights.Mask
	Cascades   bool // whether the rights include the forums below
}

// Name returns the name of the entry's member or group.
func (m Moderator) Name() string {
	if m.User != 0 {
		return m.UserName
	}
	return m.GroupName
}

// ModeratorMask holds the rights that the form for a new moderator suggests.
const ModeratorMask = rights.ModeratorMask &^ rights.RegisteredMask & forumMask

// Moderators lists the moderators of all forums.
func (s *Service) Moderators(ctx context.Context, a *rights.Actor) ([]Moderator, error) {
	return rights.ReadAsAdministratorValue(ctx, s.rights, a, func(c store.Conn) ([]Moderator, error) {
		return store.List(c, scanModerator, moderatorRows+" ORDER BY f.path, m.id")
	})
}

// moderatorRows begins the statements whose rows scanModerator reads.
const moderatorRows = "SELECT m.id, m.forum_id, f.title, COALESCE(m.user_id, 0), COALESCE(u.username, '')," +
	" COALESCE(m.group_id, 0), COALESCE(g.name, ''), m.rights_mask, m.cascades" +
	" FROM board_forum_moderators m JOIN board_forums f ON f.id = m.forum_id LEFT JOIN board_users u ON u.id = m.user_id" +
	" LEFT JOIN board_groups g ON g.id = m.group_id"

func scanModerator(r store.Row) (m Moderator, err error) {
	return m, r.Scan(&m.ID, &m.Forum, &m.ForumTitle, &m.User, &m.UserName, &m.Group, &m.GroupName, &m.Rights, &m.Cascades)
}

// SetModerator gives rights in a forum to a group or to the member called m.UserName. These rights replace the rights
// of an earlier entry for the same member or group in this forum.
func (s *Service) SetModerator(ctx context.Context, a *rights.Actor, m Moderator) error {
	return s.rights.Administer(ctx, a, func(c store.Conn) error {
		f, err := content.ReadForum(c, m.Forum)
		if kernel.IsNotFound(err) {
			return kernel.Invalid("forum", "unknown", "there is no such forum")
		}
		if err != nil {
			return err
		}
		if err := m.resolve(c); err != nil {
			return err
		}
		if m.Rights == 0 || m.Rights&^forumMask != 0 {
			return kernel.Invalid("rights", "unknown", "choose at least one right, and only rights that can be set for a forum")
		}
		if _, err := c.Exec("DELETE FROM board_forum_moderators WHERE forum_id = ? AND COALESCE(user_id, 0) = ?"+
			" AND COALESCE(group_id, 0) = ?", f.ID, m.User, m.Group); err != nil {
			return err
		}
		// The entries are counted after the DELETE, so that a full list does not prevent the change of an entry.
		var count int
		if err := c.Row("SELECT count(*) FROM board_forum_moderators").Scan(&count); err != nil {
			return err
		}
		if count >= maxModerators {
			return kernel.Conflict("a board has at most " + kernel.Itoa(maxModerators) +
				" moderator entries; use groups instead of single members")
		}
		_, err = c.Exec("INSERT INTO board_forum_moderators (forum_id, user_id, group_id, rights_mask, cascades)"+
			" VALUES (?, ?, ?, ?, ?)",
			f.ID, kernel.Null(m.User), kernel.Null(m.Group), m.Rights, kernel.Bool(m.Cascades))
		if err != nil {
			return err
		}
		detail := kernel.ForLog(m.Name()) + ": " + maskChange(0, m.Rights)
		if m.Cascades {
			detail += ", in the forums below too"
		}
		return s.rights.LogForumChange(c, a, "moderator.set", f.ID, detail)
	})
}

// resolve looks up the entry's member by m.UserName, or its group by m.Group, and sets its id and name. It returns an
// error of Invalid if the entry has both or neither of them, or if the member or group does not exist.
func (m *Moderator) resolve(c store.Conn) (err error) {
	switch {
	case (m.UserName == "") == (m.Group == 0):
		return kernel.Invalid("user", "required", "give the name of a member, or choose a group")
	case m.Group != 0:
		m.User = 0
		err = c.Row("SELECT name FROM board_groups WHERE id = ? AND kind <> 'guest'", m.Group).Scan(&m.GroupName)
	default:
		err = c.Row("SELECT id, username FROM board_users WHERE username_key = ? AND state <> 'deleted'",
			text.Fold(m.UserName)).Scan(&m.User, &m.UserName)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return kernel.Invalid("user", "unknown", "there is no such member or group")
	}
	return err
}

// RemoveModerator deletes a moderator entry.
func (s *Service) RemoveModerator(ctx context.Context, a *rights.Actor, id int64) error {
	return s.rights.Administer(ctx, a, func(c store.Conn) error {
		m, err := scanModerator(c.Row(moderatorRows+" WHERE m.id = ?", id))
		if err != nil {
			return kernel.OrNotFound(err)
		}
		if _, err := c.Exec("DELETE FROM board_forum_moderators WHERE id = ?", id); err != nil {
			return err
		}
		return s.rights.LogForumChange(c, a, "moderator.remove", m.Forum, kernel.ForLog(m.Name()))
	})
}
