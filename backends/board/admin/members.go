package admin

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// MemberRow is a member as administrators see it.
type MemberRow struct {
	ID             int64
	Name           string
	Email          string
	EmailConfirmed bool          // else no mails go there
	EmailAsked     string        // is to be the address; empty: none
	State          string        // active, unconfirmed, awaiting, banned or deleted
	BannedUntil    kernel.Moment // 0: for ever
	SuspendedUntil kernel.Moment
	Moderated      bool
	Posts          int64
	JoinedAt       kernel.Moment
	LastActiveAt   kernel.Moment
	LastPostAt     kernel.Moment
	Groups         []int64 // of MemberByID

	key string
}

// Outside reports whether the member was never let in.
func (m MemberRow) Outside() bool { return m.State == "awaiting" || m.State == "unconfirmed" }

const memberColumns = "u.id, u.username, u.email, u.state, COALESCE(u.banned_until, 0), COALESCE(u.suspended_until, 0), u.moderated, u.post_count, u.joined_at," +
	" COALESCE(u.last_active_at, 0), COALESCE(u.last_post_at, 0), u.username_key, u.email_confirmed, u.email_asked"

func scanMember(r store.Row) (m MemberRow, err error) {
	return m, r.Scan(&m.ID, &m.Name, &m.Email, &m.State, &m.BannedUntil, &m.SuspendedUntil, &m.Moderated, &m.Posts, &m.JoinedAt, &m.LastActiveAt, &m.LastPostAt, &m.key, &m.EmailConfirmed, &m.EmailAsked)
}

// States are those of members.
var States = []string{"active", "unconfirmed", "awaiting", "banned", "deleted"}

// MemberQuery is what members are looked for by.
type MemberQuery struct {
	Name  string // the name begins with it, or it is the mail address
	State string // empty: all
	After string // the next of the page before
	Limit int
}

// FindMembers lists members by name.
func (s *Service) FindMembers(ctx context.Context, a *rights.Actor, q MemberQuery) (list []MemberRow, next string, err error) {
	err = s.Survey(ctx, a, func(c store.Conn) error {
		list, next = nil, ""
		where, args := "u.username_key > ?", []any{text.Storable(q.After)}
		switch name := text.Fold(q.Name); {
		case strings.Contains(name, "@"): // no name has this character
			where += " AND u.email_key = ?"
			args = append(args, mailaddress.Key(q.Name))
		case name != "":
			// Keys are compared by their bytes, so those that begin alike are one range.
			where += " AND u.username_key >= ? AND u.username_key < ?"
			args = append(args, name, name+"\U0010FFFF")
		}
		if q.State != "" {
			where += " AND u.state = ?"
			args = append(args, text.Storable(q.State))
		}
		err := c.All("SELECT "+memberColumns+" FROM board_users u WHERE "+where+" ORDER BY u.username_key LIMIT ?", append(args, q.Limit+1), func(r store.Row) error {
			m, err := scanMember(r)
			list = append(list, m)
			return err
		})
		list, next = store.CutAt(list, q.Limit, func(m MemberRow) string { return m.key })
		return err
	})
	return list, next, err
}

// MemberByID reads a member as administrators see it.
func (s *Service) MemberByID(ctx context.Context, a *rights.Actor, id int64) (m MemberRow, err error) {
	err = s.Survey(ctx, a, func(c store.Conn) error {
		m, err = memberByID(c, id)
		return err
	})
	return m, err
}

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

// changeMember runs a change of a member that is not deleted.
func (s *Service) changeMember(ctx context.Context, a *rights.Actor, id int64, action string, fn func(c store.Conn, m *MemberRow) (detail string, err error)) error {
	return s.Administer(ctx, a, func(c store.Conn) error {
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
		return s.Note(c, a, action, kernel.JoinDetail(kernel.Brief(m.Name), detail))
	})
}

// ApproveMember lets in a member who awaits it, also one who has not confirmed a
// mail address.
func (s *Service) ApproveMember(ctx context.Context, a *rights.Actor, id int64) error {
	return s.changeMember(ctx, a, id, "member.approve", func(c store.Conn, m *MemberRow) (string, error) {
		if !m.Outside() {
			return "", kernel.Conflict("this member does not await approval: the state is " + m.State)
		}
		if _, err := c.Exec("UPDATE board_users SET state = 'active' WHERE id = ?", id); err != nil || m.State == "awaiting" {
			return "", err
		}
		return "mail address not confirmed", s.EmitRegistered(c, id)
	})
}

// Ban keeps a member from the board, until a time or (0) for ever. Nobody bans
// oneself. Who awaits approval is kept out already, and the end of a ban would
// let them in.
func (s *Service) Ban(ctx context.Context, a *rights.Actor, id int64, until kernel.Moment, reason string) error {
	reason, reasonErr := kernel.CheckReason(reason)
	return s.changeMember(ctx, a, id, "member.ban", func(c store.Conn, m *MemberRow) (string, error) {
		switch {
		case id == a.ID():
			return "", kernel.Conflict("you cannot ban yourself")
		case m.Outside():
			return "", kernel.Conflict("this member awaits approval and is not in yet; delete the member instead")
		case reasonErr != nil:
			return "", reasonErr
		}
		if err := s.checkUntil(until); err != nil && until != 0 {
			return "", err
		}
		if _, err := c.Exec("UPDATE board_users SET state = 'banned', banned_until = ? WHERE id = ?", kernel.Null(until), id); err != nil {
			return "", err
		}
		return kernel.JoinDetail(untilText(until), reason), accounts.EndSessions(c, id)
	})
}

// Unban ends a ban.
func (s *Service) Unban(ctx context.Context, a *rights.Actor, id int64) error {
	return s.changeMember(ctx, a, id, "member.unban", func(c store.Conn, m *MemberRow) (string, error) {
		if m.State != "banned" {
			return "", kernel.Conflict("this member is not banned")
		}
		_, err := c.Exec("UPDATE board_users SET state = 'active', banned_until = NULL WHERE id = ?", id)
		return "", err
	})
}

// Suspend lets a member only read until a time; 0 ends it.
func (s *Service) Suspend(ctx context.Context, a *rights.Actor, id int64, until kernel.Moment, reason string) error {
	reason, reasonErr := kernel.CheckReason(reason)
	return s.changeMember(ctx, a, id, "member.suspend", func(c store.Conn, _ *MemberRow) (string, error) {
		switch {
		case until != 0 && id == a.ID():
			return "", kernel.Conflict("you cannot suspend yourself")
		case reasonErr != nil:
			return "", reasonErr
		}
		detail := "ended"
		if until != 0 {
			if err := s.checkUntil(until); err != nil {
				return "", err
			}
			detail = untilText(until)
		}
		_, err := c.Exec("UPDATE board_users SET suspended_until = ? WHERE id = ?", kernel.Null(until), id)
		return kernel.JoinDetail(detail, reason), err
	})
}

// checkUntil refuses ends that are past, or too far away to mean it.
func (s *Service) checkUntil(until kernel.Moment) error {
	if now := s.Moment(); until <= now || until > now.Add(100*365*24*time.Hour) {
		return kernel.Invalid("until", "range", "the end must lie ahead, at most 100 years")
	}
	return nil
}

func untilText(until kernel.Moment) string {
	if until == 0 {
		return "for ever"
	}
	return "until " + until.String()
}

// SetModerated sets whether every post of a member is held.
func (s *Service) SetModerated(ctx context.Context, a *rights.Actor, id int64, moderated bool) error {
	return s.changeMember(ctx, a, id, "member.moderate", func(c store.Conn, _ *MemberRow) (string, error) {
		detail := "posts are held"
		if !moderated {
			detail = "posts are not held any more"
		}
		_, err := c.Exec("UPDATE board_users SET moderated = ? WHERE id = ?", kernel.Bool(moderated), id)
		return detail, err
	})
}

// SetGroups puts a member into these groups and no others.
func (s *Service) SetGroups(ctx context.Context, a *rights.Actor, id int64, groups []int64) error {
	return s.changeMember(ctx, a, id, "member.groups", func(c store.Conn, m *MemberRow) (string, error) {
		if len(groups) > maxGroups {
			return "", kernel.Invalid("groups", "too_many", "there are not so many groups")
		}
		wanted := slices.Clone(groups)
		slices.Sort(wanted)
		wanted = slices.Compact(wanted)
		var detail []string
		for _, group := range wanted {
			g, err := groupByID(c, group)
			if kernel.NotFoundErr(err) || err == nil && g.Kind == "guest" {
				return "", kernel.Invalid("groups", "unknown", "there is no such group for members")
			}
			if err != nil {
				return "", err
			}
			if !slices.Contains(m.Groups, group) {
				detail = append(detail, "+"+kernel.Brief(g.Name))
				if _, err := c.Exec("INSERT INTO board_user_groups (user_id, group_id) VALUES (?, ?)", id, group); err != nil {
					return "", err
				}
			}
		}
		for _, group := range m.Groups {
			if slices.Contains(wanted, group) {
				continue
			}
			g, err := groupByID(c, group)
			if err != nil {
				return "", err
			}
			detail = append(detail, "-"+kernel.Brief(g.Name))
			if _, err := c.Exec("DELETE FROM board_user_groups WHERE user_id = ? AND group_id = ?", id, group); err != nil {
				return "", err
			}
		}
		return strings.Join(detail, " "), nil
	})
}

// ResetPassword gives a member a password to be told once, and signs the member
// out everywhere.
func (s *Service) ResetPassword(ctx context.Context, a *rights.Actor, id int64) (once string, err error) {
	if err := s.Administrator(a); err != nil {
		return "", err
	}
	once = password.Generate()
	hash, err := s.Options.Passwords.Hash(ctx, once)
	if err != nil {
		return "", err
	}
	err = s.changeMember(ctx, a, id, "member.password", func(c store.Conn, _ *MemberRow) (string, error) {
		if _, err := c.Exec("UPDATE board_users SET password_hash = ?, password_once = 1 WHERE id = ?", hash, id); err != nil {
			return "", err
		}
		return "", accounts.EndSessions(c, id)
	})
	if err != nil {
		return "", err
	}
	return once, nil
}

// DeleteMember removes what is known of a member. The posts stay, under the
// name, which nobody else can take; but that of who was never let in is free.
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
		_, err := c.Exec("UPDATE board_users SET state = 'deleted', username_key = ?, email = '', email_key = NULL, email_confirmed = 0, email_asked = '', password_hash = '', title = '', bio = '', time_zone = 'UTC',"+
			" last_active_at = NULL, banned_until = NULL, suspended_until = NULL WHERE id = ?", key, id)
		if err != nil {
			return "", err
		}
		if _, err := c.Exec("UPDATE board_api_tokens SET revoked_at = ? WHERE user_id = ? AND revoked_at IS NULL", s.Moment(), id); err != nil {
			return "", err
		}
		for _, table := range []string{
			"board_user_groups", "board_forum_moderators", "board_subscriptions", "board_notifications", "board_thread_reads", "board_forum_reads", "board_mails", "board_links",
			"board_identities", "board_idempotency", "board_forum_floods",
		} {
			if _, err := c.Exec("DELETE FROM "+table+" WHERE user_id = ?", id); err != nil {
				return "", err
			}
		}
		return "", accounts.EndSessions(c, id)
	})
}

// MemberTokens lists the tokens of a member, newest first, also those that
// ended.
func (s *Service) MemberTokens(ctx context.Context, a *rights.Actor, id int64) (list []TokenRow, err error) {
	list, _, err = s.Tokens(ctx, a, id, 0, 100)
	return list, err
}

// TokenRow is a token as administrators see it.
type TokenRow struct {
	accounts.TokenInfo
	User      int64
	UserName  string
	RevokedAt kernel.Moment // 0: it is not
}

// Tokens lists tokens, newest first, of one member or (0) of all.
func (s *Service) Tokens(ctx context.Context, a *rights.Actor, user, before int64, limit int) (list []TokenRow, next int64, err error) {
	if before == 0 {
		before = math.MaxInt64
	}
	err = s.Survey(ctx, a, func(c store.Conn) error {
		list, next = nil, 0
		where, args := "t.id < ?", []any{before}
		if user != 0 {
			where += " AND t.user_id = ?"
			args = append(args, user)
		}
		err := c.All("SELECT t.id, t.name, t.lookup, t.scopes, t.created_at, COALESCE(t.expires_at, 0), COALESCE(t.last_used_at, 0), COALESCE(t.revoked_at, 0), t.user_id, u.username"+
			" FROM board_api_tokens t JOIN board_users u ON u.id = t.user_id WHERE "+where+" ORDER BY t.id DESC LIMIT ?", append(args, limit+1), func(r store.Row) error {
			var t TokenRow
			var scopes string
			err := r.Scan(&t.ID, &t.Name, &t.Lookup, &scopes, &t.CreatedAt, &t.ExpiresAt, &t.LastUsedAt, &t.RevokedAt, &t.User, &t.UserName)
			t.Scopes = rights.ScopesOf(strings.Fields(scopes))
			list = append(list, t)
			return err
		})
		list, next = store.CutAt(list, limit, func(t TokenRow) int64 { return t.ID })
		return err
	})
	return list, next, err
}

// IssueTokenFor makes a token of any member, and returns its text, which is not
// kept.
func (s *Service) IssueTokenFor(ctx context.Context, a *rights.Actor, r accounts.TokenRequest) (token string, err error) {
	if err := s.Administrator(a); err != nil {
		return "", err
	}
	if err := accounts.CheckToken(r); err != nil {
		return "", err
	}
	err = s.Administer(ctx, a, func(c store.Conn) error {
		if token, err = s.Issue(c, r, text.Normal(r.Name), rights.ScopesOf(r.Scopes)); err != nil {
			return err
		}
		return s.Note(c, a, "token.issue", kernel.Brief(r.User)+": "+kernel.Brief(r.Name)+", "+strings.Join(rights.ScopesOf(r.Scopes), " "))
	})
	return token, err
}

// RevokeTokenFor ends a token of any member.
func (s *Service) RevokeTokenFor(ctx context.Context, a *rights.Actor, id int64) error {
	var lookup string
	err := s.Administer(ctx, a, func(c store.Conn) error {
		var user, name string
		err := c.Row("SELECT t.lookup, t.name, u.username FROM board_api_tokens t JOIN board_users u ON u.id = t.user_id WHERE t.id = ? AND t.revoked_at IS NULL", id).
			Scan(&lookup, &name, &user)
		if err != nil {
			return kernel.OrNotFound(err)
		}
		if _, err := c.Exec("UPDATE board_api_tokens SET revoked_at = ? WHERE id = ?", s.Moment(), id); err != nil {
			return err
		}
		return s.Note(c, a, "token.revoke", kernel.Brief(user)+": "+kernel.Brief(name))
	})
	s.ForgetTokens(lookup)
	return err
}

// NameClash is a member whose name looks like that of another, who has had it for
// longer. Both keep their names.
type NameClash struct{ Member, Like MemberRow }

// maxClashes bounds the list of them.
const maxClashes = 500

// NameClashes lists members whose names look like another's.
func (s *Service) NameClashes(ctx context.Context, a *rights.Actor) (list []NameClash, err error) {
	err = s.Survey(ctx, a, func(c store.Conn) error {
		list = nil
		return c.All("SELECT DISTINCT u.id, u.username, u.state, u.joined_at, o.id, o.username, o.state, o.joined_at FROM board_names n JOIN board_users u ON u.id = n.user_id"+
			" JOIN board_names h ON h.skeleton = n.skeleton AND h.clashes = 0 JOIN board_users o ON o.id = h.user_id"+
			" WHERE n.clashes = 1 ORDER BY o.id, u.id LIMIT ?", []any{maxClashes}, func(r store.Row) error {
			var clash NameClash
			err := r.Scan(&clash.Member.ID, &clash.Member.Name, &clash.Member.State, &clash.Member.JoinedAt, &clash.Like.ID, &clash.Like.Name, &clash.Like.State, &clash.Like.JoinedAt)
			list = append(list, clash)
			return err
		})
	})
	return list, err
}
