package accounts

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/people"
	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// SignOn signs in a person whom an OpenID provider has authenticated, and returns the cookie of the new session. The
// new cookie is empty if the member still waits for approval. SignOn ends the session of formerCookie.
//
// A person whom the provider has sent before is the same member again. A new person becomes the member with the same
// mail address, if both the provider and that member have confirmed the address. Otherwise somebody could have
// registered with another person's address and would share the account. If nobody has the address, the person joins
// as a new member, by the rules of the board.
//
// managed lists the names of the managed groups. After SignOn the member is in exactly those managed groups that the
// provider names for the person. But an administrator stays in a group if the board would otherwise have no
// administrator.
func (s *Service) SignOn(
	ctx context.Context, p *oidclogin.Person, managed []string, formerCookie string,
) (cookie string, err error) {
	access, err := s.rights.CurrentAccess(ctx)
	if err != nil {
		return "", err
	}
	err = people.Retry(func() error {
		return s.Write(ctx, func(c store.Conn) error {
			cookie = ""
			user, err := s.rules(access, p).Account(c, p)
			if err != nil {
				return err
			}
			if err := s.settleGroups(c, access, user, p.Groups, managed); err != nil {
				return err
			}
			cookie, err = s.beginFor(c, user, p, formerCookie)
			return err
		})
	})
	return cookie, err
}

// beginFor signs a member in and returns the cookie of the new session. The cookie is empty if the member waits for
// approval. beginFor ends the session of formerCookie. It returns an error if the member is blocked. In the new
// session, the time of the last password check is the time at which the provider authenticated the person.
func (s *Service) beginFor(
	c store.Conn, id int64, p *oidclogin.Person, formerCookie string,
) (cookie string, err error) {
	user, err := rights.ScanUser(c.Row("SELECT "+rights.UserColumns+" FROM board_users u WHERE u.id = ?", id))
	if err != nil {
		return "", err
	}
	now := s.Now()
	if user.State == "awaiting" {
		return "", nil // no error, so that the new member is committed
	}
	if err := (&rights.Actor{User: user}).CheckBlocked(kernel.MomentOf(now)); err != nil {
		return "", err
	}
	if err := sessions.End(c, formerCookie); err != nil {
		return "", err
	}
	if _, err := c.Exec("UPDATE board_users SET last_active_at = ? WHERE id = ?", now.UnixMicro(), id); err != nil {
		return "", err
	}
	if cookie, err = sessions.Begin(c, id, now); err != nil {
		return "", err
	}
	if err := sessions.BeganAt(c, cookie, p.Issuer); err != nil {
		return "", err
	}
	confirmed := int64(0)
	if !p.AuthTime.IsZero() {
		confirmed = min(p.AuthTime.UnixMicro(), now.UnixMicro())
	}
	_, err = c.Exec("UPDATE board_sessions SET confirmed_at = ? WHERE secret_hash = ?", confirmed, secret.Hash(cookie))
	return cookie, err
}

// EndSessions ends the sessions that a person has begun by signing in at an OpenID provider, after the person has
// signed out there. issuer identifies the provider, and subject is the person's id at the provider. EndSessions does
// nothing if the person is unknown.
func (s *Service) EndSessions(ctx context.Context, issuer, subject string) error {
	return s.Write(ctx, func(c store.Conn) error {
		return identities.IfLinked(c, issuer, subject, func(user int64) error {
			return sessions.EndBeganAt(c, user, issuer)
		})
	})
}

// identities links people at OpenID providers to members.
const identities people.Table = "board_identities"

// signOnErrors maps the reasons of package people to the errors for people who may not sign in.
var signOnErrors = map[string]error{
	people.BadSubject:  errNobody,
	people.NoAddress:   errNobody,
	people.Unconfirmed: errNobody,
	people.Taken: kernel.Conflict("another person of your identity provider had this mail address, and has the" +
		" account here; an administrator can help"),
	people.Unproven: kernel.Conflict("there is an account with your mail address whose owner has not confirmed it; sign" +
		" in with its password and confirm the address, or ask an administrator"),
}

// errNobody is the error for a person without a confirmed mail address.
var errNobody = apierror.New(http.StatusForbidden, "forbidden",
	"Your identity provider does not confirm a mail address of yours, so it is not known which account here is yours.")

// rules returns the rules by which people get accounts of the board. A person without an account joins, if the settings
// allow it.
func (s *Service) rules(access *rights.Access, p *oidclogin.Person) *people.Rules[int64] {
	return &people.Rules[int64]{
		Linked: identities.Linked,
		Holder: func(c store.Conn, key string) (*people.Holder[int64], error) {
			h := new(people.Holder[int64])
			err := c.Row("SELECT id, email, email_confirmed FROM board_users WHERE email_key = ?"+c.Lock(),
				key).Scan(&h.ID, &h.Email, &h.Proven)
			if err == nil {
				h.Barred, err = identities.Has(c, h.ID, p.Issuer)
			}
			return h, err
		},
		Join:    func(c store.Conn, email string) (int64, error) { return s.join(c, access, p, email) },
		Link:    func(c store.Conn, id int64, _ bool) error { return identities.Link(c, id, p.Issuer, p.Subject) },
		Wording: signOnErrors,
	}
}

// join adds a person from the provider as a new member.
func (s *Service) join(c store.Conn, access *rights.Access, p *oidclogin.Person, email string) (id int64, err error) {
	if err := access.GuestActor().CheckOffline(); err != nil {
		return 0, err
	}
	u := NewUser{
		Email: email, Confirmed: true, State: "active", Groups: []string{access.Groups[access.Registered].Name},
		Now: s.Moment(),
	}
	switch access.Settings.Registration {
	case kernel.RegistrationClosed:
		return 0, apierror.New(http.StatusForbidden, "forbidden", "this board takes no new members")
	case kernel.RegistrationApproval:
		u.State = "awaiting"
	}
	if u.Name, err = freeName(c, &access.Settings, p, email); err != nil {
		return 0, err
	}
	if id, err = AddUser(c, u); err != nil {
		return 0, err
	}
	return id, s.EmitRegistered(c, id)
}

// freeName returns a free name for a person: the first free name that the provider suggests, or else the local part of
// the mail address, or else a random name.
func freeName(c store.Conn, settings *kernel.Settings, p *oidclogin.Person, email string) (string, error) {
	if err := checkNamesFilled(c); err != nil {
		return "", err
	}
	for _, suggested := range people.Names(p, email, "member-") {
		// Characters that names must not have become spaces.
		parts := strings.FieldsFunc(suggested, func(r rune) bool { return strings.ContainsRune(" <>\"'&/\\", r) })
		name := text.Normal(strings.Join(parts, " "))
		if checkNewName(settings, name) != nil {
			continue
		}
		err := checkNameFree(c, name)
		if _, inUse := apierror.From(err); err == nil || !inUse {
			return name, err
		}
	}
	return "", kernel.Conflict("no free name was found for you; try again")
}

// managedGroup is a group whose members are determined by the provider.
type managedGroup struct {
	id         int64
	name       string
	administer bool // its members are administrators
	member     bool // whether the member is in it
}

// settleGroups makes a member join the managed groups whose names are in memberships, and leave all other managed
// groups. An administrator stays in a group if the board would otherwise have no administrator, because nobody could
// undo that.
func (s *Service) settleGroups(c store.Conn, access *rights.Access, user int64, memberships, managed []string) error {
	var enter, leave []managedGroup
	for _, name := range managed {
		g := managedGroup{name: name}
		err := c.Row("SELECT g.id, (g.allow_mask & ?) <> 0, EXISTS (SELECT 1 FROM board_user_groups m"+
			" WHERE m.group_id = g.id AND m.user_id = ?) FROM board_groups g WHERE g.name = ? AND g.kind <> 'guest'",
			int64(rights.AdminAccess), user, name).Scan(&g.id, &g.administer, &g.member)
		if errors.Is(err, sql.ErrNoRows) {
			s.Logger.Warn("single sign-on manages a group that the board does not have", zap.String("group", name))
			continue
		}
		if err != nil {
			return err
		}
		switch entitled := slices.Contains(memberships, name); {
		case entitled && !g.member:
			enter = append(enter, g)
		case !entitled && g.member:
			leave = append(leave, g)
		}
	}
	if len(enter)+len(leave) == 0 {
		return nil
	}
	if err := rights.BumpPermissions(c); err != nil { // first, as in rights.Service.Administer
		return err
	}
	for _, g := range enter {
		if err := enterGroup(c, user, g); err != nil {
			return err
		}
	}
	for _, g := range leave {
		if err := s.leaveGroup(c, access, user, g); err != nil {
			return err
		}
	}
	return nil
}

// enterGroup adds a member to a group. It does nothing if the member is in the group already.
func enterGroup(c store.Conn, user int64, g managedGroup) error {
	_, err := c.Exec("INSERT INTO board_user_groups (user_id, group_id) VALUES (?, ?) ON CONFLICT DO NOTHING", user, g.id)
	return err
}

// leaveGroup removes a member from a group, unless the board would then have no administrator. In that case the member
// stays, which is written to both the server's log and the moderation log. It is not an error, because the member must
// be able to sign in to make somebody else an administrator.
func (s *Service) leaveGroup(c store.Conn, access *rights.Access, user int64, g managedGroup) error {
	if _, err := c.Exec("DELETE FROM board_user_groups WHERE user_id = ? AND group_id = ?", user, g.id); err != nil ||
		!g.administer {
		return err
	}
	if has, err := s.rights.HasAdministrator(c); err != nil || has {
		return err
	}
	if err := enterGroup(c, user, g); err != nil {
		return err
	}
	var name string
	if err := c.Row("SELECT username FROM board_users WHERE id = ?", user).Scan(&name); err != nil {
		return err
	}
	s.Logger.Warn("single sign-on would leave the board without an administrator: the member stays in the group",
		zap.String("member", name), zap.String("group", g.name))
	return s.rights.LogChange(c, access.GuestActor(), "member.groups", kernel.JoinDetail(kernel.ForLog(name), "stays in "+
		kernel.ForLog(g.name)+" as the last administrator, against single sign-on"))
}
