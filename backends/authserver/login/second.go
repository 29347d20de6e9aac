package login

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// secondLasts is how long a user may take to prove the second factor.
const secondLasts = 10 * time.Minute

// Waiting is a user whose password was right and who still has to prove a second factor.
type Waiting struct {
	User  *users.User
	Kinds factors.Kinds
	// Upstream is the slug of the provider at which the user has signed in, or empty for a password.
	Upstream string
}

// passed is what the signed text of the form contains.
type passed struct {
	User    string `json:"user"`
	Changed int64  `json:"changed"` // User.UpdatedAt, to notice a change of the user
	At      int64  `json:"at"`
	// Upstream is Waiting.Upstream.
	Upstream string `json:"upstream,omitempty"`
}

// waits returns the signed text for the form that asks for a second factor, or "" if the user has none. upstream
// is Waiting.Upstream.
func (l *Login) waits(ctx context.Context, u *users.User, browser, upstream string) (waiting string, err error) {
	if l.options.Factors == nil {
		return "", nil
	}
	list, err := l.options.Factors.Of(ctx, u.ID)
	if err != nil || len(list) == 0 {
		return "", err
	}
	raw, err := json.Marshal(passed{u.ID, u.UpdatedAt, l.Micros(), upstream})
	return l.Signer("second").Sign(raw, browser), err
}

var errWaited = apierror.New(http.StatusUnprocessableEntity, "invalid_credentials",
	"This took too long, or your account has changed meanwhile. Sign in once more.")

// Waiting returns the user of a form that asks for a second factor. waiting is the text that SignIn returned. It
// returns an error with status 422 if that has expired, belongs to another browser, or the user has changed.
func (l *Login) Waiting(ctx context.Context, waiting, browser string) (*Waiting, error) {
	raw, ok := l.Signer("second").Open(waiting, browser)
	var p passed
	if !ok || json.Unmarshal(raw, &p) != nil || l.Now().Sub(time.UnixMicro(p.At)) >= secondLasts ||
		l.options.Factors == nil {
		return nil, errWaited
	}
	u, err := l.users.Find(ctx, p.User)
	if users.IsNone(err) || err == nil && (!u.Active() || u.UpdatedAt != p.Changed) {
		return nil, errWaited
	}
	if err != nil {
		return nil, err
	}
	list, err := l.options.Factors.Of(ctx, u.ID)
	return &Waiting{User: u, Kinds: factors.KindsOf(list), Upstream: p.Upstream}, err
}

// Second checks the second factor of a waiting user and begins a session, whose cookie it returns. A refusal has status
// 422, or 429 after too many failures.
func (l *Login) Second(ctx context.Context, w *Waiting, proof factors.Proof, a Attempt) (cookie string, err error) {
	method, err := l.options.Factors.Check(ctx, w.User, a.Browser, proof)
	if errors.Is(err, factors.ErrWrong) {
		l.Count(Attempts, "failure")
		return "", apierror.New(http.StatusUnprocessableEntity, "invalid_credentials", "%v", err)
	}
	if err != nil {
		return "", err
	}
	methods := []string{factors.ByPassword, method, factors.ByTwo}
	if w.Upstream != "" {
		methods = methods[1:]
	}
	cookie, err = l.begin(ctx, w.User, a.Former, l.Now(), methods...)
	if errors.Is(err, users.ErrCredentials) {
		return "", errWaited
	}
	if err != nil {
		return "", err
	}
	return cookie, l.entered(ctx, l.key(w.User.Email, a.Address), w.User, cookie, a.Address)
}

// Proved records that the user of a session has proved a second factor, which they have just set up. A session that was
// begun by a passkey alone stays as it is.
func (l *Login) Proved(ctx context.Context, s *Session, method string) error {
	if !slices.Contains(s.Methods, factors.ByPassword) { // a passkey has proved two already
		return nil
	}
	return l.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("UPDATE authserver_sessions SET methods = ? WHERE id = ? AND methods <> ''",
			strings.Join([]string{factors.ByPassword, method, factors.ByTwo}, " "), s.ID)
		return err
	})
}

// fresh is how long after signing in users may change how they sign in.
const fresh = 15 * time.Minute

// Fresh reports whether the user has signed in recently, and with a second factor if they have any.
func (l *Login) Fresh(s *Session, k factors.Kinds) bool {
	return l.Now().Sub(s.AuthTime) < fresh && (s.HasSecondFactor() || !k.Any())
}
