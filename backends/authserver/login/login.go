// Package login signs users in and out. It checks passwords, which a lockout protects against guessing, and stores the
// login sessions of browsers.
package login

import (
	"context"
	"encoding/binary"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login/lockout"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/session"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Options are the settings of Login.
type Options struct {
	// MaxAge is the life of a session, counted from the sign-in. Use does not extend it.
	MaxAge time.Duration
	// FailClosed rejects all sessions while the database does not answer. If it is not set, session cookies are trusted
	// during that time.
	FailClosed bool
	// Lockout counts failed sign-ins. Default: a new lockout with the settings below.
	Lockout *lockout.Lockout
	// The settings of the lockout: rate_limit.auth_fail_max, auth_fail_max times auth_spray_factor, auth_fail_window,
	// auth_lockout and max_tracked_identities.
	Failures   int
	Spray      int
	Window     time.Duration
	Lock       time.Duration
	Identities int
	// Factors are the second factors. A user who has set up a second factor must prove it after the password. Default:
	// no second factors.
	Factors *factors.Factors
}

// maxSessions is the maximum number of browsers in which a user is signed in.
const maxSessions = 100

// Login signs users in and out.
type Login struct {
	*kernel.Server
	Lockout  *lockout.Lockout
	users    *users.Users
	options  Options
	sessions session.Store[string]
}

// New returns a Login.
func New(s *kernel.Server, people *users.Users, o Options) *Login {
	if o.Lockout == nil {
		o.Lockout = o.NewLockout(s.Now, s.Logger)
	}
	return &Login{
		Server: s, users: people, options: o, Lockout: o.Lockout,
		sessions: session.Store[string]{
			Table: "authserver_sessions", Idle: o.MaxAge, Whole: o.MaxAge, MaxPerUser: maxSessions,
			More: "methods",
		},
	}
}

// NewLockout returns a lockout with the settings of o. The lockout may outlive the Login that uses it.
func (o Options) NewLockout(now func() time.Time, logger func() *zap.Logger) *lockout.Lockout {
	return lockout.New(lockout.Options{
		Max: o.Failures, Spray: o.Spray, Window: o.Window, Lock: o.Lock, Bound: o.Identities, Now: now,
		Warn: func(message string) { logger().Warn(message, zap.Int("tracked", o.Identities)) },
	})
}

// MaxAge returns the life of a session.
func (l *Login) MaxAge() time.Duration { return l.options.MaxAge }

// Jobs returns the background jobs.
func (l *Login) Jobs() []jobs.Job {
	return []jobs.Job{
		{Name: "lockout", Every: time.Minute, Run: func(context.Context) (int, error) { return l.Lockout.Sweep(), nil }},
		{Name: "sessions", Every: time.Hour, Run: func(ctx context.Context) (int, error) {
			n, err := l.DB.Purge(ctx, 1000, "DELETE FROM authserver_sessions WHERE id IN (SELECT id FROM authserver_sessions WHERE seen_at <= ? LIMIT ?)",
				l.Now().Add(-l.options.MaxAge).UnixMicro())
			return int(n), err
		}},
	}
}

// Session is the session of a browser in which a user is signed in.
type Session struct {
	ID int64 // zero while the database does not answer
	// User is the signed-in user. While the database does not answer, only its ID and Status are set.
	User *users.User
	// AuthTime is when the user signed in, here or at another server.
	AuthTime time.Time
	// Methods are the authentication methods of the sign-in (amr, RFC 8176). It is empty if another server
	// authenticated the user, and while the database does not answer.
	Methods []string
}

// HasSecondFactor reports whether the user proved a second factor in this session. It is also true if another server
// authenticated the user, since this server does not ask for a second factor in that case.
func (s *Session) HasSecondFactor() bool {
	return len(s.Methods) == 0 || slices.Contains(s.Methods, factors.ByTwo)
}

// errCredentials returns the error of a refused sign-in, which does not reveal whether the mail address or the password
// was wrong.
func errCredentials() error {
	return apierror.New(http.StatusUnprocessableEntity, "invalid_credentials", "%v", users.ErrCredentials)
}

// Attempts is the name of the metric that counts sign-ins by outcome.
const Attempts = "login_attempts_total"

// lockedOut counts a sign-in that was refused because of a lockout, and returns the error. wait is the remaining time
// of the lockout.
func (l *Login) lockedOut(wait time.Duration) error {
	l.Count(Attempts, "locked_out")
	return &apierror.Error{
		Status: http.StatusTooManyRequests, Code: "locked_out", RetryAfter: wait,
		Message: "too many logins failed; wait before you try again",
	}
}

// Attempt is an attempt to sign in.
type Attempt struct {
	Email, Password string
	// Address is the client's address.
	Address string
	// Former is the browser's current session cookie, or empty. A successful sign-in ends that session.
	Former string
	// Browser is the secret to which the browser's forms are bound.
	Browser string
}

// SignIn checks the password of a user. If the user has no second factors, SignIn begins a session and returns the
// cookie of the session. Otherwise cookie is empty, and waiting is a signed text for the form that asks for a second
// factor; see Login.Waiting. A refusal has status 422, or 429 during a lockout.
func (l *Login) SignIn(ctx context.Context, a Attempt) (cookie, waiting string, err error) {
	key := l.key(a.Email, a.Address)
	if wait := l.Lockout.Locked(key); wait > 0 {
		return "", "", l.lockedOut(wait)
	}
	if len(a.Email) > lockout.MaxIdentity { // the key depends only on a part of such an address
		return "", "", l.failed(ctx, key, a.Email, a.Address)
	}
	u, err := l.users.Verify(ctx, a.Email, a.Password)
	if errors.Is(err, users.ErrCredentials) {
		return "", "", l.failed(ctx, key, a.Email, a.Address)
	}
	if err != nil {
		return "", "", err
	}
	if waiting, err = l.waitingText(ctx, u, a.Browser, ""); err != nil {
		return "", "", err
	}
	if waiting != "" {
		// If concurrent attempts have locked the key, an attacker must not learn which guess was right.
		if wait := l.Lockout.Locked(key); wait > 0 {
			return "", "", l.lockedOut(wait)
		}
		return "", waiting, nil // earlier failures still count: the client may go on to guess codes
	}
	cookie, err = l.begin(ctx, u, a.Former, l.Now(), factors.ByPassword)
	if errors.Is(err, users.ErrCredentials) {
		return "", "", l.failed(ctx, key, a.Email, a.Address)
	}
	if err != nil {
		return "", "", err
	}
	return cookie, "", l.recordSignIn(ctx, key, u, cookie, a.Address)
}

// key returns the lockout key of a mail address, in any spelling, and a client address.
func (l *Login) key(email, address string) lockout.Key {
	return l.Lockout.Of(mailaddress.Key(email), kernel.Network(address))
}

// recordSignIn records a successful sign-in in the audit feed, with detail as further names and values. If the key was
// locked since the password was checked, recordSignIn ends the new session and returns the refusal.
func (l *Login) recordSignIn(
	ctx context.Context, key lockout.Key, u *users.User, cookie, address string, detail ...string,
) error {
	if wait := l.Lockout.Succeed(key); wait > 0 {
		return errors.Join(l.lockedOut(wait), l.end(ctx, cookie))
	}
	l.Count(Attempts, "success")
	l.Audit(ctx, kernel.Event{Action: "user.login", Actor: u.ID, Address: address, Detail: detail})
	return nil
}

// Enter begins a session for a user whom another server has authenticated, and returns its cookie. authTime is when
// that server authenticated the user; a zero or future time means now. The session of formerCookie, the previous
// cookie of the browser, ends. The list detail has further names and values for the audit event. For a disabled user
// the error has status 403, and the caller must record it.
func (l *Login) Enter(
	ctx context.Context, u *users.User, authTime time.Time, address, formerCookie string, detail ...string,
) (cookie string, err error) {
	if now := l.Now(); authTime.IsZero() || authTime.After(now) {
		authTime = now
	}
	if !u.Active() {
		return "", users.ErrDisabled
	}
	cookie, err = l.begin(ctx, u, formerCookie, authTime)
	if errors.Is(err, users.ErrCredentials) { // the user was changed in the meantime
		return "", users.ErrDisabled
	}
	if err != nil {
		return "", err
	}
	l.Count(Attempts, "success")
	l.Audit(ctx, kernel.Event{Action: "user.oidc_login", Actor: u.ID, Address: address, Detail: detail})
	return cookie, nil
}

// failed counts a failed sign-in and returns the refusal.
func (l *Login) failed(ctx context.Context, key lockout.Key, email, address string) error {
	var detail []string
	if typed, err := mailaddress.Parse(email); err == nil { // otherwise it may be a password in the wrong field
		detail = []string{"email", typed}
	}
	return l.refuse(ctx, key, address, errCredentials(), detail...)
}

// refuse records a failed sign-in in the audit feed, with detail as further names and values. It returns refusal, or an
// error with status 429 while the key is locked.
func (l *Login) refuse(ctx context.Context, key lockout.Key, address string, refusal error, detail ...string) error {
	wait, locks := l.Lockout.Fail(key)
	if wait > 0 {
		return l.lockedOut(wait)
	}
	l.Count(Attempts, "failure")
	e := kernel.Event{Action: "user.login_failed", Address: address, Detail: detail}
	l.Audit(ctx, e)
	if locks {
		l.Count("lockout_engaged_total", "")
		e.Action = "auth.locked_out"
		if l.Lockout.AddressLocked(key) { // the event names no identity, since many were tried from the address
			e.Detail = []string{"reason", "spraying"}
		}
		l.Audit(ctx, e)
	}
	return refusal
}

// begin creates a session and returns its cookie. The session of formerCookie, the previous cookie of the browser,
// ends. authTime is when the user signed in, and methods are the authentication methods. begin returns
// users.ErrCredentials if the user was changed while the password was being checked.
func (l *Login) begin(
	ctx context.Context, u *users.User, formerCookie string, authTime time.Time, methods ...string,
) (cookie string, err error) {
	now := l.Now()
	var sessionSecret string
	err = l.Write(ctx, func(c store.Conn) error {
		current, err := users.In(c, u.ID)
		changed := err == nil && (!current.Active() || current.UpdatedAt != u.UpdatedAt)
		if changed || users.IsNone(err) {
			return users.ErrCredentials
		}
		if err != nil {
			return err
		}
		if sessionSecret, err = l.sessions.Begin(c, u.ID, now); err != nil {
			return err
		}
		if old, ok := l.open(formerCookie); ok {
			if err := l.replace(c, u.ID, old.secret, sessionSecret); err != nil {
				return err
			}
		}
		_, err = c.Exec("UPDATE authserver_sessions SET confirmed_at = ?, methods = ?, address = ?, agent = ? WHERE secret_hash = ?",
			authTime.UnixMicro(), strings.Join(methods, " "), kernel.AddressOf(ctx), agent(ctx), secret.Hash(sessionSecret))
		return err
	})
	if err != nil {
		return "", err
	}
	// The cookie contains the secret, the time and the id of the user; open reads them.
	payload := binary.BigEndian.AppendUint64([]byte(sessionSecret), uint64(now.UnixMicro()))
	return l.Signer("session").Sign(append(payload, u.ID...)), nil
}

// replace ends the session with the secret oldSecret, after the session with the secret newSecret has begun in the
// same browser. If both sessions belong to the same user, clients that must be notified of a logout are moved to the
// new session, since the user has not signed out.
func (l *Login) replace(c store.Conn, user, oldSecret, newSecret string) error {
	_, err := c.Exec(`UPDATE authserver_session_clients SET session_id = (SELECT id FROM authserver_sessions WHERE secret_hash = ?)
		WHERE session_id = (SELECT id FROM authserver_sessions WHERE secret_hash = ? AND user_id = ?)`,
		secret.Hash(newSecret), secret.Hash(oldSecret), user)
	if err != nil {
		return err
	}
	return l.sessions.End(c, oldSecret)
}

// cookieContent is the content of a session cookie: the session's secret, the user's id, and the start of the session.
// The id and the start are used while the database does not answer.
type cookieContent struct {
	secret, user string
	begun        time.Time
}

// secretSize is the length of a session's secret in a cookie, in bytes.
const secretSize = 43

// open returns the content of a session cookie. The result ok is false if this server did not sign the cookie.
func (l *Login) open(cookie string) (o cookieContent, ok bool) {
	raw, ok := l.Signer("session").Open(cookie)
	if !ok || len(raw) <= secretSize+8 {
		return o, false
	}
	begun := int64(binary.BigEndian.Uint64(raw[secretSize:])) //nolint:gosec // written by begin
	return cookieContent{string(raw[:secretSize]), string(raw[secretSize+8:]), time.UnixMicro(begun)}, true
}

// Resume returns the session of a cookie, or nil if the cookie belongs to no valid session. While the database does not
// answer, the result depends on Options.FailClosed.
func (l *Login) Resume(ctx context.Context, cookie string) *Session {
	o, ok := l.open(cookie)
	now := l.Now()
	if !ok || now.Sub(o.begun) >= l.options.MaxAge {
		return nil
	}
	var s *Session
	err := l.ReadBriefly(ctx, func(c store.Conn) error {
		var methods string
		found, err := l.sessions.Find(c, o.secret, now, &methods)
		if err != nil {
			return err
		}
		u, err := users.In(c, found.User)
		if err != nil || !u.Active() {
			return err // s stays nil
		}
		s = &Session{found.ID, u, found.ConfirmedAt, strings.Fields(methods)}
		return nil
	})
	if err == nil || errors.Is(err, session.ErrNone) || users.IsNone(err) {
		return s
	}
	if ctx.Err() == nil {
		l.Logger().Warn("a session could not be looked up", zap.Bool("counts", !l.options.FailClosed), zap.Error(err))
	}
	if l.options.FailClosed {
		return nil
	}
	// Without the database, the session is made from the content of the signed cookie alone.
	return &Session{User: &users.User{ID: o.user, Status: users.Active}, AuthTime: o.begun}
}

// SignOut ends the session of a cookie. A cookie without a session is not an error.
func (l *Login) SignOut(ctx context.Context, cookie, address string) error {
	s := l.Resume(ctx, cookie)
	if err := l.end(ctx, cookie); err != nil {
		return err
	}
	if s != nil {
		l.Audit(ctx, kernel.Event{Action: "user.logout", Actor: s.User.ID, Address: address})
	}
	return nil
}

// EndSessions ends all sessions of a user who has signed out at another service.
func (l *Login) EndSessions(ctx context.Context, user string) error {
	if err := l.Write(ctx, func(c store.Conn) error { return l.sessions.EndAll(c, user) }); err != nil {
		return err
	}
	l.Audit(ctx, kernel.Event{Action: "user.logout", Actor: user})
	return nil
}

// end ends the session of a cookie. A cookie without a session is not an error.
func (l *Login) end(ctx context.Context, cookie string) error {
	o, ok := l.open(cookie)
	if !ok {
		return nil
	}
	return l.Write(ctx, func(c store.Conn) error { return l.sessions.End(c, o.secret) })
}
