package admin

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
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

const memberColumns = "u.id, u.username, u.email, u.state, COALESCE(u.banned_until, 0), COALESCE(u.suspended_until," +
	" 0), u.moderated, u.post_count, u.joined_at," +
	" COALESCE(u.last_active_at, 0), COALESCE(u.last_post_at, 0), u.username_key, u.email_confirmed, u.email_asked"

func scanMember(r store.Row) (m MemberRow, err error) {
	return m, r.Scan(&m.ID, &m.Name, &m.Email, &m.State, &m.BannedUntil, &m.SuspendedUntil, &m.Moderated, &m.Posts,
		&m.JoinedAt, &m.LastActiveAt, &m.LastPostAt, &m.key, &m.EmailConfirmed, &m.EmailAsked)
}

// The orders of the list of members. That by names is the first one.
const (
	MembersNewest = "joined"
	MembersSeen   = "seen"  // the one who was seen last first
	MembersPosts  = "posts" // the one with the most first
)

// memberOrders are the columns of the orders, each of which has an index behind the state.
var memberOrders = map[string]string{
	MembersNewest: "u.joined_at", MembersSeen: "COALESCE(u.last_active_at, 0)",
	MembersPosts: "u.post_count",
}

// MemberQuery is what members are looked for by.
type MemberQuery struct {
	Name  string // the name begins with it, or it is the mail address
	State string // empty: all
	Group int64  // 0: all
	Sort  string // one of the orders, which counts beside neither a name nor a group; empty: by name
	After string // the next of the page before
	Limit int
}

// FindMembers lists members. Those of a group that not everybody is in come in the order in which they joined.
func (s *Service) FindMembers(
	ctx context.Context, a *rights.Actor, q MemberQuery,
) (list []MemberRow, next string, err error) {
	err = s.rights.Survey(ctx, a, func(c store.Conn) error {
		list, next = nil, ""
		if column := memberOrders[q.Sort]; column != "" && q.Name == "" && q.Group == 0 {
			list, next, err = membersBy(c, column, q)
			return err
		}
		from, where, order, args := "board_users u", "TRUE", "u.username_key", []any{}
		add := func(condition string, values ...any) {
			where += " AND " + condition
			args = append(args, values...)
		}
		switch name := text.Fold(q.Name); {
		case strings.Contains(name, "@"): // no name has this character
			add("u.email_key = ?", mailaddress.Key(q.Name))
		case name != "":
			// Keys are compared by their bytes, so those that begin alike are one range.
			add("u.username_key >= ? AND u.username_key < ?", name, name+"\U0010FFFF")
		}
		if q.Group != 0 {
			g, err := groupByID(c, q.Group)
			switch {
			case kernel.NotFoundErr(err):
				return nil
			case err != nil:
				return err
			case q.Name != "" || g.Kind == "registered":
				add("EXISTS (SELECT 1 FROM board_user_groups g WHERE g.user_id = u.id AND g.group_id = ?)", q.Group)
			default:
				from, order = "board_user_groups g JOIN board_users u ON u.id = g.user_id", "g.user_id"
				add("g.group_id = ?", q.Group)
			}
		}
		if q.State != "" {
			add("u.state = ?", text.Storable(q.State))
		}
		if order == "g.user_id" {
			after, _ := strconv.ParseInt(q.After, 10, 64)
			add("g.user_id > ?", after)
		} else {
			add("u.username_key > ?", text.Storable(q.After))
		}
		err := c.All("SELECT "+memberColumns+" FROM "+from+" WHERE "+where+" ORDER BY "+order+" LIMIT ?",
			append(args, q.Limit+1), func(r store.Row) error {
				m, err := scanMember(r)
				list = append(list, m)
				return err
			})
		list, next = store.CutAt(list, q.Limit, func(m MemberRow) string {
			if order == "g.user_id" {
				return kernel.Itoa(m.ID)
			}
			return m.key
		})
		return err
	})
	return list, next, err
}

// membersByColumn is the statement for the members of a state behind a place in an order.
func membersByColumn(column string) string {
	return "SELECT " + memberColumns + " FROM board_users u WHERE u.state = ? AND " + column + " <= ? AND (" + column +
		" < ? OR u.id < ?)" +
		" ORDER BY " + column + " DESC, u.id DESC LIMIT ?"
}

// place returns what an order is by.
func (m *MemberRow) place(order string) int64 {
	switch order {
	case MembersNewest:
		return int64(m.JoinedAt)
	case MembersSeen:
		return int64(m.LastActiveAt)
	}
	return m.Posts
}

// membersBy lists members by a column, the greatest first: the first ones of each state, merged, as the index of the
// column is one of each state.
func membersBy(c store.Conn, column string, q MemberQuery) (list []MemberRow, next string, err error) {
	states := rights.States
	if q.State != "" {
		states = []string{text.Storable(q.State)}
	}
	most, id := int64(math.MaxInt64), int64(math.MaxInt64)
	if key, behind, ok := strings.Cut(q.After, "."); ok {
		if most, err = strconv.ParseInt(key, 10, 64); err == nil {
			id, err = strconv.ParseInt(behind, 10, 64)
		}
		if err != nil {
			return nil, "", kernel.Invalid("after", "form", "this is no place in the list")
		}
	}
	for _, state := range states {
		err := c.All(membersByColumn(column), []any{state, most, most, id, q.Limit + 1}, func(r store.Row) error {
			m, err := scanMember(r)
			list = append(list, m)
			return err
		})
		if err != nil {
			return nil, "", err
		}
	}
	slices.SortFunc(list, func(a, b MemberRow) int {
		return cmp.Or(cmp.Compare(b.place(q.Sort), a.place(q.Sort)), cmp.Compare(b.ID, a.ID))
	})
	list, next = store.CutAt(list, q.Limit, func(m MemberRow) string {
		return kernel.Itoa(m.place(q.Sort)) + "." +
			kernel.Itoa(m.ID)
	})
	return list, next, nil
}

// MemberByID reads a member as administrators see it.
func (s *Service) MemberByID(ctx context.Context, a *rights.Actor, id int64) (m MemberRow, err error) {
	err = s.rights.Survey(ctx, a, func(c store.Conn) error {
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
		return s.rights.Note(c, a, action, kernel.JoinDetail(kernel.Brief(m.Name), detail))
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
		return "mail address not confirmed", s.accounts.EmitRegistered(c, id)
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
		if _, err := c.Exec("UPDATE board_users SET state = 'banned', banned_until = ? WHERE id = ?",
			kernel.Null(until), id); err != nil {
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
	if err := s.rights.Administrator(a); err != nil {
		return "", err
	}
	once = password.Generate()
	hash, err := s.Options.Passwords.Hash(ctx, once)
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
		_, err := c.Exec("UPDATE board_users"+
			" SET state = 'deleted', username_key = ?, email = '', email_key = NULL, email_confirmed = 0, email_asked = '',"+
			" password_hash = '', title = '', bio = '', time_zone = 'UTC',"+
			" last_active_at = NULL, banned_until = NULL, suspended_until = NULL WHERE id = ?", key, id)
		if err != nil {
			return "", err
		}
		if _, err := c.Exec("UPDATE board_api_tokens SET revoked_at = ? WHERE user_id = ? AND revoked_at IS NULL",
			s.Moment(), id); err != nil {
			return "", err
		}
		for _, table := range []string{
			"board_user_groups", "board_forum_moderators", "board_subscriptions", "board_notifications", "board_thread_reads",
			"board_forum_reads", "board_mails", "board_links",
			"board_identities", "board_idempotency", "board_forum_floods",
		} {
			if _, err := c.Exec("DELETE FROM "+table+" WHERE user_id = ?", id); err != nil {
				return "", err
			}
		}
		return "", accounts.EndSessions(c, id)
	})
}

// TokenRow is a token as administrators see it.
type TokenRow struct {
	accounts.TokenInfo
	User      int64
	UserName  string
	RevokedAt kernel.Moment // 0: it is not
	Expired   bool
}

// Tokens lists tokens, newest first, also those that ended, of the member of a name or, where it is empty, of all.
func (s *Service) Tokens(
	ctx context.Context, a *rights.Actor, user string, before int64, limit int,
) (list []TokenRow, next int64, err error) {
	if before == 0 {
		before = math.MaxInt64
	}
	err = s.rights.Survey(ctx, a, func(c store.Conn) error {
		list, next = nil, 0
		where, args := "t.id < ?", []any{before}
		if user != "" {
			where += " AND t.user_id = (SELECT id FROM board_users WHERE username_key = ?)"
			args = append(args, text.Fold(user))
		}
		err := c.All("SELECT t.id, t.name, t.lookup, t.scopes, t.created_at, COALESCE(t.expires_at, 0),"+
			" COALESCE(t.last_used_at, 0), COALESCE(t.revoked_at, 0), t.user_id, u.username"+
			" FROM board_api_tokens t JOIN board_users u ON u.id = t.user_id WHERE "+where+" ORDER BY t.id DESC LIMIT ?",
			append(args, limit+1), func(r store.Row) error {
				var t TokenRow
				var scopes string
				err := r.Scan(&t.ID, &t.Name, &t.Lookup, &scopes, &t.CreatedAt, &t.ExpiresAt, &t.LastUsedAt, &t.RevokedAt, &t.User,
					&t.UserName)
				t.Scopes = rights.ScopesOf(strings.Fields(scopes))
				t.Expired = t.ExpiresAt != 0 && t.ExpiresAt < s.Moment()
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
func (s *Service) IssueTokenFor(
	ctx context.Context, a *rights.Actor, r accounts.TokenRequest,
) (token string, err error) {
	if err := s.rights.Administrator(a); err != nil {
		return "", err
	}
	if err := accounts.CheckToken(r); err != nil {
		return "", err
	}
	err = s.rights.Administer(ctx, a, func(c store.Conn) error {
		if token, err = s.accounts.Issue(c, r, text.Normal(r.Name), rights.ScopesOf(r.Scopes)); err != nil {
			return err
		}
		return s.rights.Note(c, a, "token.issue", kernel.Brief(r.User)+": "+kernel.Brief(r.Name)+", "+
			strings.Join(rights.ScopesOf(r.Scopes), " "))
	})
	return token, err
}

// RevokeTokenFor ends a token of any member.
func (s *Service) RevokeTokenFor(ctx context.Context, a *rights.Actor, id int64) error {
	var lookup string
	err := s.rights.Administer(ctx, a, func(c store.Conn) error {
		var user, name string
		err := c.Row("SELECT t.lookup, t.name, u.username FROM board_api_tokens t JOIN board_users u ON u.id = t.user_id"+
			" WHERE t.id = ? AND t.revoked_at IS NULL", id).
			Scan(&lookup, &name, &user)
		if err != nil {
			return kernel.OrNotFound(err)
		}
		if _, err := c.Exec("UPDATE board_api_tokens SET revoked_at = ? WHERE id = ?", s.Moment(), id); err != nil {
			return err
		}
		return s.rights.Note(c, a, "token.revoke", kernel.Brief(user)+": "+kernel.Brief(name))
	})
	s.accounts.ForgetTokens(lookup)
	return err
}

// NameClash is a member whose name looks like that of another, who has had it for
// longer. Both keep their names.
type NameClash struct{ Member, Like MemberRow }

// maxClashes bounds the list of them.
const maxClashes = 500

// NameClashes lists members whose names look like another's.
func (s *Service) NameClashes(ctx context.Context, a *rights.Actor) (list []NameClash, err error) {
	err = s.rights.Survey(ctx, a, func(c store.Conn) error {
		list = nil
		return c.All("SELECT DISTINCT u.id, u.username, u.state, u.joined_at, o.id, o.username, o.state, o.joined_at"+
			" FROM board_names n JOIN board_users u ON u.id = n.user_id"+
			" JOIN board_names h ON h.skeleton = n.skeleton AND h.clashes = 0 JOIN board_users o ON o.id = h.user_id"+
			" WHERE n.clashes = 1 ORDER BY o.id, u.id LIMIT ?", []any{maxClashes}, func(r store.Row) error {
			var clash NameClash
			err := r.Scan(&clash.Member.ID, &clash.Member.Name, &clash.Member.State, &clash.Member.JoinedAt, &clash.Like.ID,
				&clash.Like.Name, &clash.Like.State, &clash.Like.JoinedAt)
			list = append(list, clash)
			return err
		})
	})
	return list, err
}
