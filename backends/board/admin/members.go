package admin

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/conversations"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/polls"
	"github.com/tollgate-gateway/tollgate/backends/board/reactions"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// MemberRow is a member in the views of administrators.
type MemberRow struct {
	ID             int64
	Name           string
	Email          string
	EmailConfirmed bool          // whether Email is confirmed; if not, only links for its confirmation are mailed to it
	EmailAsked     string        // the new address, which replaces Email after its confirmation; empty means none
	State          string        // active, unconfirmed, awaiting, banned or deleted
	BannedUntil    kernel.Moment // 0 means for ever
	SuspendedUntil kernel.Moment // 0 means not suspended
	Moderated      bool          // whether all posts of the member are held for approval
	Posts          int64
	JoinedAt       kernel.Moment
	LastActiveAt   kernel.Moment
	LastPostAt     kernel.Moment
	Groups         []int64 // set by MemberByID only

	key string // the folded name, by which lists are sorted
}

// Outside reports whether the member has not been admitted to the board yet.
func (m MemberRow) Outside() bool { return m.State == "awaiting" || m.State == "unconfirmed" }

const memberColumns = "u.id, u.username, u.email, u.state, COALESCE(u.banned_until, 0), COALESCE(u.suspended_until," +
	" 0), u.moderated, u.post_count, u.joined_at," +
	" COALESCE(u.last_active_at, 0), COALESCE(u.last_post_at, 0), u.username_key, u.email_confirmed, u.email_asked"

func scanMember(r store.Row) (m MemberRow, err error) {
	return m, r.Scan(&m.ID, &m.Name, &m.Email, &m.State, &m.BannedUntil, &m.SuspendedUntil, &m.Moderated, &m.Posts,
		&m.JoinedAt, &m.LastActiveAt, &m.LastPostAt, &m.key, &m.EmailConfirmed, &m.EmailAsked)
}

// The orders of the list of members, all descending. The default, by name in ascending order, is the empty string.
const (
	MembersNewest = "joined"
	MembersSeen   = "seen"  // by their last activity
	MembersPosts  = "posts" // by their number of posts
)

// MemberByID returns a member and its groups for administrators.
func (s *Service) MemberByID(ctx context.Context, a *rights.Actor, id int64) (MemberRow, error) {
	return rights.ReadAsAdministratorValue(ctx, s.rights, a, func(c store.Conn) (MemberRow, error) {
		return memberByID(c, id)
	})
}

// memberByID returns a member and its groups, or NotFound.
func memberByID(c store.Conn, id int64) (MemberRow, error) {
	m, err := scanMember(c.Row("SELECT "+memberColumns+" FROM board_users u WHERE u.id = ?", id))
	if err != nil {
		return m, kernel.OrNotFound(err)
	}
	u := &rights.User{ID: id}
	err = rights.LoadGroups(c, u)
	m.Groups = u.Groups
	return m, err
}

// changeMember runs fn, which changes a member. It records the action in the moderation log with the detail that fn
// returns. It returns a conflict error if the member is deleted.
func (s *Service) changeMember(ctx context.Context, a *rights.Actor, id int64, action string,
	fn func(c store.Conn, m *MemberRow) (detail string, err error),
) error {
	return s.rights.Administer(ctx, a, func(c store.Conn) error {
		m, err := memberByID(c, id)
		if err != nil {
			return err
		}
		if m.State == "deleted" {
			return kernel.Conflict("this member is deleted")
		}
		detail, err := fn(c, &m)
		if err != nil {
			return err
		}
		return s.rights.LogChange(c, a, action, kernel.JoinDetail(kernel.ForLog(m.Name), detail))
	})
}

// ApproveMember admits a member who waits for approval or has not confirmed a mail address yet.
func (s *Service) ApproveMember(ctx context.Context, a *rights.Actor, id int64) error {
	return s.changeMember(ctx, a, id, "member.approve", func(c store.Conn, m *MemberRow) (string, error) {
		if !m.Outside() {
			return "", kernel.Conflict("this member does not wait for approval: the state is " + m.State)
		}
		if _, err := c.Exec("UPDATE board_users SET state = 'active' WHERE id = ?", id); err != nil {
			return "", err
		}
		if m.State == "awaiting" {
			return "", nil // the event was emitted when the member joined
		}
		return "mail address not confirmed", s.accounts.EmitRegistered(c, id)
	})
}

// Ban excludes a member from the board until the time end or, if end is 0, for ever. Members cannot ban themselves. A
// member who waits for approval cannot be banned: the member has no access anyway, and would get it when the ban ends.
func (s *Service) Ban(ctx context.Context, a *rights.Actor, id int64, end kernel.Moment, reason string) error {
	reason, reasonErr := kernel.CheckReason(reason)
	return s.changeMember(ctx, a, id, "member.ban", func(c store.Conn, m *MemberRow) (string, error) {
		switch {
		case id == a.ID():
			return "", kernel.Conflict("you cannot ban yourself")
		case m.Outside():
			return "", kernel.Conflict("this member still waits for approval and cannot be banned; delete the member instead")
		case reasonErr != nil:
			return "", reasonErr
		}
		if err := s.checkUntil(end); err != nil && end != 0 {
			return "", err
		}
		if _, err := c.Exec("UPDATE board_users SET state = 'banned', banned_until = ? WHERE id = ?",
			kernel.Null(end), id); err != nil {
			return "", err
		}
		return kernel.JoinDetail(untilText(end), reason), accounts.EndSessions(c, id)
	})
}

// Unban lifts the ban of a member.
func (s *Service) Unban(ctx context.Context, a *rights.Actor, id int64) error {
	return s.changeMember(ctx, a, id, "member.unban", func(c store.Conn, m *MemberRow) (string, error) {
		if m.State != "banned" {
			return "", kernel.Conflict("this member is not banned")
		}
		_, err := c.Exec("UPDATE board_users SET state = 'active', banned_until = NULL WHERE id = ?", id)
		return "", err
	})
}

// Suspend restricts a member to reading until the time end. If end is 0, it lifts the suspension.
func (s *Service) Suspend(ctx context.Context, a *rights.Actor, id int64, end kernel.Moment, reason string) error {
	reason, reasonErr := kernel.CheckReason(reason)
	return s.changeMember(ctx, a, id, "member.suspend", func(c store.Conn, _ *MemberRow) (string, error) {
		switch {
		case end != 0 && id == a.ID():
			return "", kernel.Conflict("you cannot suspend yourself")
		case reasonErr != nil:
			return "", reasonErr
		}
		detail := "ended"
		if end != 0 {
			if err := s.checkUntil(end); err != nil {
				return "", err
			}
			detail = untilText(end)
		}
		_, err := c.Exec("UPDATE board_users SET suspended_until = ? WHERE id = ?", kernel.Null(end), id)
		return kernel.JoinDetail(detail, reason), err
	})
}

// checkUntil returns an error of Invalid if the time end is past or more than 100 years ahead.
func (s *Service) checkUntil(end kernel.Moment) error {
	if now := s.Moment(); end <= now || end > now.Add(100*365*24*time.Hour) {
		return kernel.Invalid("until", "range", "the end must be in the future, within 100 years")
	}
	return nil
}

// untilText returns the end of a ban or suspension for the log.
func untilText(end kernel.Moment) string {
	if end == 0 {
		return "for ever"
	}
	return "until " + end.String()
}

// SetModerated sets whether all posts of a member are held for approval.
func (s *Service) SetModerated(ctx context.Context, a *rights.Actor, id int64, moderated bool) error {
	return s.changeMember(ctx, a, id, "member.moderate", func(c store.Conn, _ *MemberRow) (string, error) {
		detail := "posts are held"
		if !moderated {
			detail = "posts are no longer held"
		}
		_, err := c.Exec("UPDATE board_users SET moderated = ? WHERE id = ?", kernel.Bool(moderated), id)
		return detail, err
	})
}

// SetGroups replaces the groups of a member.
func (s *Service) SetGroups(ctx context.Context, a *rights.Actor, id int64, groups []int64) error {
	return s.changeMember(ctx, a, id, "member.groups", func(c store.Conn, m *MemberRow) (string, error) {
		if len(groups) > maxGroups {
			return "", kernel.Invalid("groups", "too_many", "at most "+kernel.Itoa(maxGroups)+" groups can be chosen")
		}
		groupIDs := slices.Clone(groups)
		slices.Sort(groupIDs)
		groupIDs = slices.Compact(groupIDs)
		var detail []string
		for _, group := range groupIDs {
			g, err := groupByID(c, group)
			if kernel.IsNotFound(err) || err == nil && g.Kind == "guest" {
				return "", kernel.Invalid("groups", "unknown", "a chosen group does not exist or cannot have members")
			}
			if err != nil {
				return "", err
			}
			if !slices.Contains(m.Groups, group) {
				detail = append(detail, "+"+kernel.ForLog(g.Name))
				if _, err := c.Exec("INSERT INTO board_user_groups (user_id, group_id) VALUES (?, ?)", id, group); err != nil {
					return "", err
				}
			}
		}
		for _, group := range m.Groups {
			if slices.Contains(groupIDs, group) {
				continue
			}
			g, err := groupByID(c, group)
			if err != nil {
				return "", err
			}
			detail = append(detail, "-"+kernel.ForLog(g.Name))
			if _, err := c.Exec("DELETE FROM board_user_groups WHERE user_id = ? AND group_id = ?", id, group); err != nil {
				return "", err
			}
		}
		return strings.Join(detail, " "), nil
	})
}

// ResetPassword gives a member a generated password and signs the member out everywhere. The member must change the
// password at the next sign-in. ResetPassword returns the password, which is not stored.
func (s *Service) ResetPassword(ctx context.Context, a *rights.Actor, id int64) (newPassword string, err error) {
	if err := s.rights.Administrator(a); err != nil {
		return "", err
	}
	newPassword = password.Generate()
	hash, err := s.Options.Passwords.Hash(ctx, newPassword)
	if err != nil {
		return "", err
	}
	err = s.changeMember(ctx, a, id, "member.password", func(c store.Conn, _ *MemberRow) (string, error) {
		if _, err := c.Exec("UPDATE board_users SET password_hash = ?, password_once = 1 WHERE id = ?",
			hash, id); err != nil {
			return "", err
		}
		return "", accounts.EndSessions(c, id)
	})
	if err != nil {
		return "", err
	}
	return newPassword, nil
}

// DeleteMember deletes a member's personal data. The posts stay, with the name, which nobody else can take. Private
// messages stay for their recipients, without the name. The name of a member who was never admitted becomes free.
func (s *Service) DeleteMember(ctx context.Context, a *rights.Actor, id int64) error {
	return s.changeMember(ctx, a, id, "member.delete", func(c store.Conn, m *MemberRow) (string, error) {
		if id == a.ID() {
			return "", kernel.Conflict("you cannot delete yourself")
		}
		key := m.key
		if m.Outside() {
			key = "@" + kernel.Itoa(id) // no name has this character
			if err := accounts.FreeNames(c, id); err != nil {
				return "", err
			}
		}
		_, err := c.Exec("UPDATE board_users"+
			" SET state = 'deleted', username_key = ?, email = '', email_key = NULL, email_confirmed = 0, email_asked = '',"+
			" password_hash = '', title = '', bio = '', time_zone = 'UTC', language = '',"+
			" last_active_at = NULL, banned_until = NULL, suspended_until = NULL, moderated_until = 0 WHERE id = ?", key, id)
		if err != nil {
			return "", err
		}
		if _, err := c.Exec("UPDATE board_api_tokens SET revoked_at = ? WHERE user_id = ? AND revoked_at IS NULL",
			s.Moment(), id); err != nil {
			return "", err
		}
		if err := kernel.DeleteFrom(c, "user_id", id,
			"board_user_groups", "board_forum_moderators", "board_subscriptions", "board_notifications", "board_thread_reads",
			"board_forum_reads", "board_mails", "board_links",
			"board_identities", "board_idempotency", "board_forum_floods", "board_warnings", "board_member_notes",
			"board_avatars", "board_drafts",
		); err != nil {
			return "", err
		}
		if err := reactions.Forget(c, id); err != nil {
			return "", err
		}
		if err := polls.Forget(c, id, s.Moment()); err != nil {
			return "", err
		}
		if err := conversations.Forget(c, id); err != nil {
			return "", err
		}
		return "", accounts.EndSessions(c, id)
	})
}
