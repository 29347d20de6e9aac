package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/session"
)

// maxSessionData is how much a session remembers, in bytes of JSON.
const maxSessionData = 16 << 10

// bySession is who the cookie of a request is of; nobody where there is none that is good.
func (a *Auth) bySession(r *http.Request, current *settings.Settings) (id Identity, err error) {
	cookie, err := r.Cookie(CookieName)
	if err != nil || cookie.Value == "" {
		return id, nil
	}
	user, found, err := a.Find(r, cookie.Value)
	if err != nil || user == nil {
		return id, err
	}
	if !safe(r.Method) && !a.fromHere(r, current) {
		return id, errForeign
	}
	return Identity{User: user, Session: found}, nil
}

// fromHere tells whether a page of the site itself, or of an allowed origin, has sent a request.
func (a *Auth) fromHere(r *http.Request, current *settings.Settings) bool {
	origin := r.Header.Get("Origin")
	_, trusted := current.Allowed(origin)
	return trusted || ownOrigin(origin, r.Host)
}

// Find is the user and the session of a cookie's value; nil: there is no such session, or it has ended.
func (a *Auth) Find(r *http.Request, value string) (*kernel.User, *Session, error) {
	hash := secret.Hash(value)
	if hash == "" {
		return nil, nil, nil
	}
	var n session.Session[int64]
	s := new(Session)
	var epoch int64
	err := a.Read(r.Context(), func(c kernel.Conn) (err error) {
		if n, err = sessions.Find(c, value, a.Now()); err != nil {
			return err
		}
		return c.Row("SELECT epoch, data FROM cms_sessions WHERE id = ?", n.ID).Scan(&epoch, &s.text)
	})
	if errors.Is(err, session.ErrNone) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	s.id, s.secret = n.ID, value
	user, now, err := a.accounts.User(r.Context(), n.User)
	if kernel.IsNotFound(err) || err == nil && now != epoch {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if sessions.Due(n, a.Now()) {
		if err := a.Write(r.Context(), func(c kernel.Conn) error { return sessions.Renew(c, n.ID, a.Now()) }); err != nil {
			return nil, nil, err
		}
	}
	return user, s, nil
}

// Begin signs a user in, in the place of the session that a cookie's value is of, and gives the header Set-Cookie.
// secure: the request came by https.
func (a *Auth) Begin(r *http.Request, user *kernel.User, epoch int64, before string, secure bool) (cookie string, err error) {
	var value string
	err = a.Write(r.Context(), func(c kernel.Conn) error {
		if err := sessions.End(c, before); err != nil {
			return err
		}
		var err error
		if value, err = sessions.Begin(c, user.ID, a.Now()); err != nil {
			return err
		}
		_, err = c.Exec("UPDATE cms_sessions SET epoch = ? WHERE secret_hash = ?", epoch, secret.Hash(value))
		return err
	})
	return a.cookie(value, secure), err
}

// End signs out what a cookie's value is of, and gives the header Set-Cookie.
func (a *Auth) End(r *http.Request, value string, secure bool) (cookie string, err error) {
	err = a.Write(r.Context(), func(c kernel.Conn) error { return sessions.End(c, value) })
	return a.cookie("", secure), err
}

// cookie is the header; an empty value takes it away. With origins in the settings pages of other sites send it,
// which browsers allow by https alone.
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

// Session is one that is signed in, and what it remembers. It is of one request.
type Session struct {
	id     int64
	secret string
	text   string // as it is stored
	values map[string]any
	dirty  bool
}

func (s *Session) load() {
	if s.values != nil {
		return
	}
	s.values = make(map[string]any)
	if s.text != "" {
		_ = json.Unmarshal([]byte(s.text), &s.values) // Set wrote it
	}
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
	after := maps.Clone(s.values)
	after[name] = value
	text, err := json.Marshal(after)
	if err != nil {
		return fmt.Errorf("the value of %q is not JSON: %w", name, err)
	}
	if len(text) > maxSessionData {
		return fmt.Errorf("the session would be longer than %d bytes", maxSessionData)
	}
	s.values, s.text, s.dirty = after, string(text), true
	return nil
}

// Remove implements handler.Session.
func (s *Session) Remove(name string) {
	if s.load(); !hasKey(s.values, name) {
		return
	}
	delete(s.values, name)
	text, err := json.Marshal(s.values)
	if err == nil { // as it was before
		s.text, s.dirty = string(text), true
	}
}

func hasKey(m map[string]any, key string) bool {
	_, ok := m[key]
	return ok
}

// Keep stores what a call has changed of a session; nil: there is none.
func (a *Auth) Keep(r *http.Request, s *Session) error {
	if s == nil || !s.dirty {
		return nil
	}
	return a.Write(r.Context(), func(c kernel.Conn) error {
		_, err := c.Exec("UPDATE cms_sessions SET data = ? WHERE id = ?", strings.ReplaceAll(s.text, "\x00", ""), s.id)
		return err
	})
}
