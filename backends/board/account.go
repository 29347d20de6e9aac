package board

import (
	"cmp"
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Bounds of a profile, in characters.
const (
	memberTitleMost = 80
	bioMost         = 2000
)

// Profile is what members say of themselves.
type Profile struct {
	Title, Bio string // which others see
	TimeZone   string // IANA name; empty: UTC
}

// SetProfile changes the actor's profile.
func (s *Service) SetProfile(ctx context.Context, a *Actor, p Profile) error {
	if a.User == nil {
		return notFound()
	}
	title, bio, zone := text.Normal(p.Title), text.Lines(p.Bio), cmp.Or(text.Normal(p.TimeZone), "UTC")
	var titleErr, bioErr error
	_, zoneErr := text.Zone(zone)
	if zoneErr != nil {
		zoneErr = invalid("timeZone", "unknown", zoneErr.Error())
	}
	switch {
	case utf8.RuneCountInString(title) > memberTitleMost:
		titleErr = invalid("title", "too_long", "the title has at most 80 characters")
	case !text.IsLine(title):
		titleErr = invalid("title", "control_character", "the title must be one line without control characters")
	}
	switch {
	case utf8.RuneCountInString(bio) > bioMost:
		bioErr = invalid("bio", "too_long", "the text has at most 2000 characters")
	case !text.IsPlain(bio):
		bioErr = invalid("bio", "control_character", "the text must not have control characters")
	}
	if err := apierror.Join(titleErr, bioErr, zoneErr); err != nil {
		return err
	}
	if err := a.suspended(s.micros()); err != nil {
		return err
	}
	var lookups []string
	err := s.write(ctx, func(c store.Conn) error {
		filters, err := wordFilters(c)
		if err != nil {
			return err
		}
		if lookups, err = store.List(c, func(r store.Row) (lookup string, err error) { return lookup, r.Scan(&lookup) },
			"SELECT lookup FROM board_api_tokens WHERE user_id = ? AND revoked_at IS NULL LIMIT 1000", a.id()); err != nil {
			return err
		}
		w := writing{filters: filters}
		_, err = c.Exec("UPDATE board_users SET title = ?, bio = ?, time_zone = ? WHERE id = ?", w.filter(title), w.filter(bio), zone, a.id())
		return err
	})
	s.tokens.forget(lookups...) // other nodes show it when they read the token anew
	return err
}

// SetPassword changes the actor's password, signs it out everywhere and returns
// the cookie of a new session.
func (s *Service) SetPassword(ctx context.Context, a *Actor, current, password, address string) (cookie string, err error) {
	p, err := s.confirm(ctx, a, current, address)
	if err != nil {
		return "", fieldOf(err, "current")
	}
	if err := checkNewPassword(password, a.User.Name, ""); err != nil {
		return "", err
	}
	hash, err := s.options.Passwords.Hash(ctx, password)
	if err != nil {
		return "", err
	}
	err = s.write(ctx, func(c store.Conn) error {
		if err := p.holds(c); err != nil {
			return fieldOf(err, "current")
		}
		if _, err := c.Exec("UPDATE board_users SET password_hash = ?, password_once = 0 WHERE id = ?", hash, a.id()); err != nil {
			return err
		}
		if err := endSessions(c, a.id()); err != nil {
			return err
		}
		cookie, err = sessions.Begin(c, a.id(), s.now())
		return err
	})
	return cookie, err
}

// TokenInfo is a token of a member, without its secret.
type TokenInfo struct {
	ID                               int64
	Name, Lookup                     string
	Scopes                           []string
	CreatedAt, ExpiresAt, LastUsedAt int64 // 0: never
}

// OwnTokens lists the actor's tokens that are good, newest first.
func (s *Service) OwnTokens(ctx context.Context, a *Actor) (list []TokenInfo, err error) {
	err = s.read(ctx, func(c store.Conn) error {
		list = nil
		return c.All("SELECT id, name, lookup, scopes, created_at, COALESCE(expires_at, 0), COALESCE(last_used_at, 0) FROM board_api_tokens"+
			" WHERE user_id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?) ORDER BY id DESC LIMIT 100", []any{a.id(), s.micros()}, func(r store.Row) error {
			var t TokenInfo
			var scopes string
			err := r.Scan(&t.ID, &t.Name, &t.Lookup, &scopes, &t.CreatedAt, &t.ExpiresAt, &t.LastUsedAt)
			t.Scopes = scopesOf(strings.Fields(scopes))
			list = append(list, t)
			return err
		})
	})
	return list, err
}

// IssueOwnToken makes a token of the actor, who gives the password once more.
func (s *Service) IssueOwnToken(ctx context.Context, a *Actor, r TokenRequest, password, address string) (token string, err error) {
	if !a.May(TokenIssue) || a.Token != nil {
		return "", forbidden("userId", "no_permission", "you may not make tokens")
	}
	r.User = a.User.Name
	if err := checkToken(r); err != nil {
		return "", err
	}
	p, err := s.confirm(ctx, a, password, address)
	if err != nil {
		return "", err
	}
	err = s.write(ctx, func(c store.Conn) error {
		if err := p.holds(c); err != nil {
			return err
		}
		if token, err = s.issue(c, r, text.Normal(r.Name), scopesOf(r.Scopes)); err != nil {
			return err
		}
		return s.used(c, a, "token.issue", TokenIssue, 0, 0, 0)
	})
	return token, err
}

// RevokeOwnToken ends a token of the actor.
func (s *Service) RevokeOwnToken(ctx context.Context, a *Actor, id int64) error {
	var lookup string
	err := s.read(ctx, func(c store.Conn) error {
		return none(c.Row("SELECT lookup FROM board_api_tokens WHERE id = ? AND user_id = ? AND revoked_at IS NULL", id, a.id()).Scan(&lookup))
	})
	if err != nil {
		return err
	}
	return s.RevokeToken(ctx, lookup)
}

// Zone is the time zone in which the member sees times; that of guests is UTC.
func (u *User) Zone() *time.Location {
	if u == nil {
		return time.UTC
	}
	zone, err := text.Zone(u.TimeZone)
	if err != nil { // it has gone
		return time.UTC
	}
	return zone
}
