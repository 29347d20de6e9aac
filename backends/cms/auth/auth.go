// Package auth tells who calls, by the mode of a site: nobody (none), by a cookie (session) or by a token (jwt);
// and it is the routes of /auth, by which people sign in and out (specification, section 5).
//
// Sessions, revoked and refresh tokens and the counts of failed logins are rows, which all nodes share. What was
// signed in is good until the user is disabled or has another password.
package auth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/attempts"
	"github.com/tollgate-gateway/tollgate/internal/cache"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/session"
)

// CookieName is the name of the cookie of a session.
const CookieName = "cms_session"

// revokedTopic is what nodes tell each other of revoked tokens under.
const revokedTopic = "cms_tokens"

var (
	sessions = session.Store[int64]{Table: "cms_sessions", Idle: 24 * time.Hour, Every: time.Minute, Most: 50}
	logins   = attempts.Limit{Table: "cms_attempts", What: "login", Most: 5, Within: 15 * time.Minute}
)

// What is refused. ErrForeign is refused on every route, the others where it needs authorization.
var (
	errRequired  = handler.Errorf(http.StatusUnauthorized, "authorization required")
	errForeign   = handler.Errorf(http.StatusForbidden, "the request comes from another origin, which the settings do not allow")
	errForbidden = handler.Errorf(http.StatusForbidden, "forbidden")
	errNoSecret  = handler.Errorf(http.StatusInternalServerError, "no JWT secret: save the module settings once")
)

// Auth is the authorization of a site. It is safe for concurrent use.
type Auth struct {
	*kernel.Server
	accounts *accounts.Accounts
	settings *settings.Store
	revoked  *cache.Cache[bool]
	stop     func()
	logged   func(outcome string)
}

// New makes the authorization of a site. It touches nothing yet; end it with Close. logged is told how logins
// end: good, bad, limited; nil: nobody is.
func New(k *kernel.Server, a *accounts.Accounts, s *settings.Store, logged func(outcome string)) *Auth {
	if logged == nil {
		logged = func(string) {}
	}
	au := &Auth{Server: k, accounts: a, settings: s, logged: logged}
	au.revoked = cache.New(100_000, k.Now, au.isRevoked)
	au.stop = k.DB.Listen(revokedTopic, au.revoked.Drop)
	return au
}

// Close ends what New began.
func (a *Auth) Close() { a.stop() }

// Identity is who calls.
type Identity struct {
	User *kernel.User
	// Session is nil outside of the mode session, and of the guest.
	Session *Session
	token   *claims // of the mode jwt
}

// Identify tells who a request is of. A route that needs no authorization (need is false) has the guest where nobody
// has signed in; else the error says what is answered.
func (a *Auth) Identify(r *http.Request, need bool) (id Identity, err error) {
	current := a.settings.Current()
	switch current.Mode() {
	case settings.Session:
		id, err = a.bySession(r, current)
	case settings.JWT:
		id, err = a.byToken(r, current)
	default:
		need = false
	}
	switch {
	case id.User != nil || err != nil && (need || errors.Is(err, errForeign)):
		return id, err
	case need:
		return id, errRequired
	}
	id.User, err = a.accounts.Guest(r.Context())
	return id, err
}

// Permit refuses who has none of the roles; none are needed where the list is empty.
func Permit(u *kernel.User, roles []string) error {
	if len(roles) == 0 || u.Superuser() {
		return nil
	}
	if slices.ContainsFunc(roles, u.Is) {
		return nil
	}
	return errForbidden
}

// ownOrigin tells whether a page of this host has sent a request. The scheme is not compared: a proxy may have taken
// TLS away.
func ownOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

// safe are the methods that change nothing (RFC 9110, 9.2.1).
func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// site is what tokens name as issuer and audience: the host of a request, without its port.
func site(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "" {
		return "localhost"
	}
	return strings.ToLower(host)
}

// Jobs remove what has ended.
func (a *Auth) Jobs() []jobs.Job {
	return []jobs.Job{{Name: "auth", Every: 10 * time.Minute, Run: a.sweep}}
}

func (a *Auth) sweep(ctx context.Context) (done int, err error) {
	now := a.Now()
	for _, of := range []struct {
		table, key, column string
		before             time.Time
	}{
		{"cms_sessions", "id", "seen_at", now.Add(-sessions.Idle)},
		{"cms_revoked_tokens", "jti", "ends_at", now},
		{"cms_refresh_tokens", "hash", "ends_at", now},
		{"cms_attempts", "key", "ends_at", now},
	} {
		n, err := a.DB.Purge(ctx, 1000, "DELETE FROM "+of.table+" WHERE "+of.key+" IN (SELECT "+of.key+" FROM "+of.table+" WHERE "+of.column+" <= ? LIMIT ?)", of.before.UnixMicro())
		done += int(n)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}
