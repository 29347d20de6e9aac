package accounts

import (
	"cmp"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// The maximum lengths of the texts in a profile, in characters.
const (
	maxMemberTitle = 80
	maxBio         = 2000
)

// Profile holds the parts of a profile that members write themselves.
type Profile struct {
	Title, Bio string // shown to others
	TimeZone   string // IANA name; empty means UTC
}

// SetProfile changes the profile of the actor, with filtered words replaced. It returns an API error if a field is
// invalid, if the actor is suspended, or if the actor is the guest.
func (s *Service) SetProfile(ctx context.Context, a *rights.Actor, p Profile) error {
	if a.User == nil {
		return kernel.NotFound()
	}
	p = Profile{text.Normal(p.Title), text.Lines(p.Bio), cmp.Or(text.Normal(p.TimeZone), "UTC")}
	if err := p.check(); err != nil {
		return err
	}
	if err := a.CheckSuspended(s.Moment()); err != nil {
		return err
	}
	words := a.Rights.Access.Words
	filtered := Profile{text.Normal(words.Replace(p.Title)), text.Lines(words.Replace(p.Bio)), p.TimeZone}
	if err := filtered.check(); err != nil { // the replacements may be longer than the words
		return err
	}
	var lookups []string // the lookups of the member's tokens; the cache holds the member's row with each token
	err := s.Write(ctx, func(c store.Conn) (err error) {
		lookups, err = store.Column[string](c, "SELECT lookup FROM board_api_tokens WHERE user_id = ? AND revoked_at IS NULL"+
			" LIMIT 1000", a.ID())
		if err != nil {
			return err
		}
		_, err = c.Exec("UPDATE board_users SET title = ?, bio = ?, time_zone = ? WHERE id = ?",
			filtered.Title, filtered.Bio, filtered.TimeZone, a.ID())
		if err != nil {
			return err
		}
		return following.Reschedule(c, a.ID(), s.Now())
	})
	s.tokens.forget(lookups...) // other nodes notice the change when they next load the tokens
	return err
}

// SetLanguage sets the language of the actor's pages and mails. An empty tag means the language of the browser. It
// returns an API error if the actor is the guest.
func (s *Service) SetLanguage(ctx context.Context, a *rights.Actor, tag string) error {
	if a.User == nil {
		return kernel.NotFound()
	}
	return s.Exec(ctx, "UPDATE board_users SET language = ? WHERE id = ?", tag, a.ID())
}

// check returns an error that describes the faults of all fields.
func (p Profile) check() error {
	var titleErr, bioErr error
	_, zoneErr := text.Zone(p.TimeZone)
	if zoneErr != nil {
		zoneErr = kernel.Invalid("timeZone", "unknown", zoneErr.Error())
	}
	switch {
	case utf8.RuneCountInString(p.Title) > maxMemberTitle:
		titleErr = kernel.Invalid("title", "too_long", "the title has at most 80 characters")
	case !text.IsLine(p.Title):
		titleErr = kernel.Invalid("title", "control_character", "the title must be one line without control characters")
	}
	switch {
	case utf8.RuneCountInString(p.Bio) > maxBio:
		bioErr = kernel.Invalid("bio", "too_long", "the text has at most 2000 characters")
	case !text.IsPlain(p.Bio):
		bioErr = kernel.Invalid("bio", "control_character", "the text must not have control characters")
	}
	return apierror.Join(titleErr, bioErr, zoneErr)
}

// SetPassword changes the actor's password from currentPassword to newPassword. It signs the actor out everywhere and
// returns the cookie of a new session. address is the client's address, by which wrong passwords are counted.
func (s *Service) SetPassword(
	ctx context.Context, a *rights.Actor, currentPassword, newPassword, address string,
) (cookie string, err error) {
	p, err := s.confirm(ctx, a, currentPassword, address)
	if err != nil {
		return "", kernel.WithField(err, "current")
	}
	if err := checkNewPassword(newPassword, a.User.Name, ""); err != nil {
		return "", err
	}
	hash, err := s.Options.Passwords.Hash(ctx, newPassword)
	if err != nil {
		return "", err
	}
	return kernel.Value(ctx, s.Write, func(c store.Conn) (cookie string, err error) {
		if err := p.checkUnchanged(c); err != nil {
			return cookie, kernel.WithField(err, "current")
		}
		if _, err := c.Exec("UPDATE board_users SET password_hash = ?, password_once = 0 WHERE id = ?",
			hash, a.ID()); err != nil {
			return cookie, err
		}
		if err := EndSessions(c, a.ID()); err != nil {
			return cookie, err
		}
		return sessions.Begin(c, a.ID(), s.Now())
	})
}

// TokenInfo describes a token of a member, without its secret.
type TokenInfo struct {
	ID                               int64
	Name, Lookup                     string
	Scopes                           []string
	CreatedAt, ExpiresAt, LastUsedAt kernel.Moment // 0 means never
}

// OwnTokens lists the actor's valid tokens, newest first, at most 100.
func (s *Service) OwnTokens(ctx context.Context, a *rights.Actor) ([]TokenInfo, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) ([]TokenInfo, error) {
		return store.List(c, func(r store.Row) (t TokenInfo, err error) {
			var scopes string
			err = r.Scan(&t.ID, &t.Name, &t.Lookup, &scopes, &t.CreatedAt, &t.ExpiresAt, &t.LastUsedAt)
			t.Scopes = rights.ScopesOf(strings.Fields(scopes))
			return t, err
		}, "SELECT id, name, lookup, scopes, created_at, COALESCE(expires_at, 0), COALESCE(last_used_at, 0)"+
			" FROM board_api_tokens"+
			" WHERE user_id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?) ORDER BY id DESC LIMIT 100",
			a.ID(), s.Moment())
	})
}

// IssueOwnToken creates a token for the actor and returns its text, which is not stored. The actor must enter the
// password again. A request that was authenticated with a token cannot create a token.
func (s *Service) IssueOwnToken(
	ctx context.Context, a *rights.Actor, r TokenRequest, password, address string,
) (token string, err error) {
	if !a.May(rights.TokenIssue) || a.Token != nil {
		return "", kernel.Forbidden("userId", "no_permission", "you may not make tokens")
	}
	r.User = a.User.Name
	if err := CheckToken(r); err != nil {
		return "", err
	}
	p, err := s.confirm(ctx, a, password, address)
	if err != nil {
		return "", err
	}
	return kernel.Value(ctx, s.Write, func(c store.Conn) (token string, err error) {
		if err := p.checkUnchanged(c); err != nil {
			return token, err
		}
		if token, err = s.Issue(c, r, text.Normal(r.Name), rights.ScopesOf(r.Scopes)); err != nil {
			return token, err
		}
		return token, s.rights.LogIfAdministrator(c, a, "token.issue", rights.TokenIssue, 0, 0, 0)
	})
}

// RevokeOwnToken revokes a token of the actor.
func (s *Service) RevokeOwnToken(ctx context.Context, a *rights.Actor, id int64) error {
	lookup, err := kernel.Value(ctx, s.Read, func(c store.Conn) (lookup string, err error) {
		return lookup, kernel.OrNotFound(c.Row("SELECT lookup FROM board_api_tokens WHERE id = ? AND user_id = ?"+
			" AND revoked_at IS NULL", id, a.ID()).Scan(&lookup))
	})
	if err != nil {
		return err
	}
	return s.RevokeToken(ctx, lookup)
}

// Profile returns the public profile of a member. Its number of posts counts only posts that the actor may read. It
// returns NotFound if the account was deleted or never activated. It also returns NotFound if the actor may not view
// profiles, except for the actor's own profile.
func (s *Service) Profile(ctx context.Context, a *rights.Actor, id int64) (*rights.User, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (u *rights.User, err error) {
		if u, err = rights.LoadUser(c, id); err != nil {
			return u, err
		}
		hasProfile := u.State != "deleted" && u.State != "awaiting" && u.State != "unconfirmed"
		mayView := a.May(rights.ProfileView) || a.ID() == id
		if !hasProfile || !mayView {
			return u, kernel.NotFound()
		}
		u.PostCount, err = content.PostsSeen(c, a, id)
		return u, err
	})
}
