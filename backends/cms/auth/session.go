package auth

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/session"
)

// maxSessionData limits the stored values of a session, in bytes of JSON.
const maxSessionData = 16 << 10

// bySession returns the caller of a request, identified by the session cookie. Without a valid session, the identity
// has no user. A request with an unsafe method must come from the site itself or from an allowed origin.
func (a *Auth) bySession(r *http.Request, current *settings.Settings) (id Identity, err error) {
	cookie, err := r.Cookie(CookieName)
	if err != nil || cookie.Value == "" {
		return id, nil
	}
	user, s, err := a.Find(r, cookie.Value)
	if err != nil || user == nil {
		return id, err
	}
	if !isSafe(r.Method) && !a.fromAllowedOrigin(r, current) {
		return id, errForeign
	}
	return Identity{User: user, Session: s}, nil
}

// fromAllowedOrigin reports whether the Origin header of a request names the site itself or an allowed origin.
func (a *Auth) fromAllowedOrigin(r *http.Request, current *settings.Settings) bool {
	origin := r.Header.Get("Origin")
	_, trusted := current.Allowed(origin)
	return trusted || ownOrigin(origin, r.Host) || ownOrigin(origin, a.Host(r))
}

// Find returns the session with the given cookie value, and its user. Both are nil if there is no such session, or if
// it has ended. Find records, at most once a minute, that the session is in use.
func (a *Auth) Find(r *http.Request, value string) (*kernel.User, *Session, error) {
	hash := secret.Hash(value)
	if hash == "" {
		return nil, nil, nil
	}
	var stored session.Session[int64]
	s := &Session{secret: value}
	var epoch int64
	err := a.Read(r.Context(), func(c kernel.Conn) (err error) {
		if stored, err = sessions.Find(c, value, a.Now()); err != nil {
			return err
		}
		return c.Row("SELECT epoch, data FROM cms_sessions WHERE id = ?", stored.ID).Scan(&epoch, &s.text)
	})
	if errors.Is(err, session.ErrNone) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	s.id = stored.ID
	user, currentEpoch, err := a.accounts.User(r.Context(), stored.User)
	// A change of the user's password or status begins a new epoch, which ends all sessions of the user.
	if kernel.IsNotFound(err) || err == nil && currentEpoch != epoch {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if sessions.Due(stored, a.Now()) {
		err := a.Write(r.Context(), func(c kernel.Conn) error { return sessions.Renew(c, stored.ID, a.Now()) })
		if err != nil {
			return nil, nil, err
		}
	}
	return user, s, nil
}

// Begin starts a session for a user and returns the value of the session cookie. The session ends when the user's
// epoch is no longer the given epoch, which Check or SignOn has returned. previous is the value of the cookie that
// the browser has sent, or empty; Begin ends the session of this cookie. issuer is the OpenID provider at which the
// user has signed in, or empty after a login with a password.
func (a *Auth) Begin(
	ctx context.Context, user *kernel.User, epoch int64, previous, issuer string,
) (value string, err error) {
	err = a.Write(ctx, func(c kernel.Conn) error {
		if err := sessions.End(c, previous); err != nil {
			return err
		}
		var err error
		if value, err = sessions.Begin(c, user.ID, a.Now()); err != nil {
			return err
		}
		if err := sessions.BeganAt(c, value, issuer); err != nil {
			return err
		}
		_, err = c.Exec("UPDATE cms_sessions SET epoch = ? WHERE secret_hash = ?", epoch, secret.Hash(value))
		return err
	})
	return value, err
}

// EndSessions ends the sessions that a person began by signing in at the OpenID provider issuer. It is called when the
// person has signed out there; subject is the person's ID at the provider.
func (a *Auth) EndSessions(ctx context.Context, issuer, subject string) error {
	return a.Write(ctx, func(c kernel.Conn) error {
		return accounts.Identities.IfLinked(c, issuer, subject, func(user int64) error {
			return sessions.EndBeganAt(c, user, issuer)
		})
	})
}

// End ends the session with the given cookie value, if it exists.
func (a *Auth) End(ctx context.Context, value string) error {
	return a.Write(ctx, func(c kernel.Conn) error { return sessions.End(c, value) })
}

// cookie returns the Set-Cookie header with the given value. An empty value removes the cookie. secure reports whether
// the client used HTTPS. If the settings allow other origins, their pages may send the cookie, too; browsers permit
// that only over HTTPS.
func (a *Auth) cookie(value string, secure bool) string {
	c := http.Cookie{Name: CookieName, Value: value, Path: "/", HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode} //nolint:gosec // G124: plain HTTP has no Secure
	origins := a.settings.Current().Origins
	if secure && slices.ContainsFunc(origins, func(o string) bool { return o != "*" }) {
		c.SameSite = http.SameSiteNoneMode
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c.String()
}

// Session is a session and its stored values during one request. A Session is not safe for concurrent use.
type Session struct {
	id      int64
	secret  string          // value of the cookie
	text    string          // stored form of values, when the request began
	values  map[string]any  // nil until load sets it, so that a request that uses no values does not decode them
	changed map[string]bool // names of the values that the request has set or removed; see Keep
}

// load decodes the stored values unless this has been done already.
func (s *Session) load() {
	if s.values == nil {
		s.values, s.changed = decodeValues(s.text), make(map[string]bool)
	}
}

// decodeValues decodes the stored values of a session. For an empty or damaged text it returns an empty map.
func decodeValues(text string) map[string]any {
	values := make(map[string]any)
	if text != "" {
		_ = json.Unmarshal([]byte(text), &values) // Keep has written it
	}
	return values
}

// Get implements handler.Session.
func (s *Session) Get(name string) (any, bool) {
	s.load()
	value, ok := s.values[name]
	return value, ok
}

// Set implements handler.Session.
func (s *Session) Set(name string, value any) error {
	s.load()
	updated := maps.Clone(s.values)
	updated[name] = value
	if _, err := encodeValues(updated); err != nil {
		return err
	}
	s.values = updated
	s.changed[name] = true
	return nil
}

// encodeValues encodes the values of a session for storage. It returns an error if the result exceeds maxSessionData.
func encodeValues(values map[string]any) (string, error) {
	text, err := json.Marshal(values)
	if err != nil {
		return "", fmt.Errorf("a value of the session cannot be encoded as JSON: %w", err)
	}
	if len(text) > maxSessionData {
		return "", fmt.Errorf("the values of the session would be longer than %d bytes", maxSessionData)
	}
	return string(text), nil
}

// Remove implements handler.Session.
func (s *Session) Remove(name string) {
	s.load()
	if _, ok := s.values[name]; ok {
		delete(s.values, name)
		s.changed[name] = true
	}
}

// Keep stores the values of s that a call has changed. Other values, which concurrent requests may have changed, are
// kept. Keep does nothing if s is nil.
func (a *Auth) Keep(r *http.Request, s *Session) error {
	if s == nil || len(s.changed) == 0 {
		return nil
	}
	return a.Write(r.Context(), func(c kernel.Conn) error {
		var text string
		err := c.Row("SELECT data FROM cms_sessions WHERE id = ?"+c.Lock(), s.id).Scan(&text)
		if errors.Is(err, sql.ErrNoRows) { // the session has ended
			return nil
		}
		if err != nil {
			return err
		}
		values := decodeValues(text)
		for name := range s.changed {
			if value, ok := s.values[name]; ok {
				values[name] = value
			} else {
				delete(values, name)
			}
		}
		if text, err = encodeValues(values); err != nil {
			return err
		}
		_, err = c.Exec("UPDATE cms_sessions SET data = ? WHERE id = ?", text, s.id)
		return err
	})
}
