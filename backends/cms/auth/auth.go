// Package auth identifies the callers of requests. The authorization mode of the site determines how: in mode none
// every caller is a guest, in mode session a cookie identifies the caller, and in mode jwt a token does. The package
// also implements the routes of /auth, by which users sign in and out.
//
// Sessions, revoked tokens, refresh tokens and the counts of failed logins are database rows, which all nodes share.
// Sessions and tokens are valid until the user is disabled or gets another password.
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

// CookieName is the name of the session cookie.
const CookieName = "cms_session"

// revokedTopic is the topic under which nodes notify each other of revoked tokens.
const revokedTopic = "cms_tokens"

var (
	sessions = session.Store[int64]{Table: "cms_sessions", Idle: 24 * time.Hour, Every: time.Minute, MaxPerUser: 50}
	logins   = attempts.Limit{Table: "cms_attempts", What: "login", Max: 5, Within: 15 * time.Minute}
)

// The errors for refused requests. errForeign is returned on every route, the others only on routes that require
// authorization.
var (
	errRequired = handler.Errorf(http.StatusUnauthorized, "authorization required")
	errForeign  = handler.Errorf(http.StatusForbidden,
		"the request comes from another origin, which the settings do not allow")
	errForbidden = handler.Errorf(http.StatusForbidden, "forbidden")
	errNoSecret  = handler.Errorf(http.StatusInternalServerError, "no JWT secret: save the module settings once")
)

// Auth identifies and signs in the users of a site. An Auth is safe for concurrent use.
type Auth struct {
	*kernel.Server
	accounts *accounts.Accounts
	settings *settings.Store
	revoked  *cache.Cache[bool] // whether a token is revoked, by its ID
	stop     func()             // stops listening for revoked tokens
	logged   func(outcome string)
}

// New returns the Auth of a site, without using the database yet. The caller must call Close. logged is called with the
// outcome of each login: good, bad or limited. It may be nil.
func New(k *kernel.Server, a *accounts.Accounts, s *settings.Store, logged func(outcome string)) *Auth {
	if logged == nil {
		logged = func(string) {}
	}
	au := &Auth{Server: k, accounts: a, settings: s, logged: logged}
	au.revoked = cache.New(100_000, k.Now, au.isRevoked)
	au.stop = k.DB.Listen(revokedTopic, au.revoked.Drop)
	return au
}

// Close stops listening for tokens that other nodes revoke.
func (a *Auth) Close() { a.stop() }

// Identity is the caller of a request.
type Identity struct {
	User *kernel.User
	// Session is nil for the guest, and in every mode other than session.
	Session *Session
	token   *claims // in the mode jwt
}

// Identify returns the caller of a request. A caller without a valid session or token is the guest if required is
// false; otherwise Identify returns an error for the client. A request from a foreign origin is always an error.
func (a *Auth) Identify(r *http.Request, required bool) (id Identity, err error) {
	current := a.settings.Current()
	switch current.Mode() {
	case settings.Session:
		id, err = a.bySession(r, current)
	case settings.JWT:
		id, err = a.byToken(r, current)
	default:
		required = false // in mode none, every caller is the guest
	}
	switch {
	case id.User != nil:
		return id, err
	case err != nil && (required || errors.Is(err, errForeign)):
		return id, err
	case required:
		return id, errRequired
	}
	id.User, err = a.accounts.Guest(r.Context())
	return id, err
}

// Permit returns an error unless u has one of the roles. An empty list permits everybody, and a superuser is always
// permitted.
func Permit(u *kernel.User, roles []string) error {
	if len(roles) == 0 || u.Superuser() {
		return nil
	}
	if slices.ContainsFunc(roles, u.Is) {
		return nil
	}
	return errForbidden
}

// ownOrigin reports whether origin has the given host. It ignores the scheme, because a proxy may have terminated TLS.
func ownOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

// isSafe reports whether a method is safe (RFC 9110, 9.2.1).
func isSafe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// issuer returns the given host without its port. This is the issuer and the audience of tokens.
func issuer(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "" {
		return "localhost"
	}
	return strings.ToLower(host)
}

// Jobs returns the job that removes expired sessions, tokens and counts.
func (a *Auth) Jobs() []jobs.Job {
	return []jobs.Job{{Name: "auth", Every: 10 * time.Minute, Run: a.sweep}}
}

// sweep deletes sessions, tokens and attempts that have expired, and returns how many rows were deleted.
func (a *Auth) sweep(ctx context.Context) (done int, err error) {
	now := a.Now()
	for _, expired := range []struct {
		table, key, column string
		before             time.Time
	}{
		{"cms_sessions", "id", "seen_at", now.Add(-sessions.Idle)},
		{"cms_revoked_tokens", "jti", "ends_at", now},
		{"cms_refresh_tokens", "hash", "ends_at", now},
		{"cms_attempts", "key", "ends_at", now},
	} {
		n, err := a.DB.Purge(ctx, 1000, "DELETE FROM "+expired.table+" WHERE "+expired.key+" IN (SELECT "+
			expired.key+" FROM "+expired.table+" WHERE "+expired.column+" <= ? LIMIT ?)", expired.before.UnixMicro())
		done += int(n)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}
