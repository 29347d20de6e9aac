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

// secondLife is the time in which a user must prove the second factor after the password.
const secondLife = 10 * time.Minute

// Waiting is a user who has entered the right password and must still prove a second factor.
type Waiting struct {
	User  *users.User
	Kinds factors.Kinds // of the second factors that the user has
	// Upstream is the slug of the provider at which the user has signed in. It is empty if the user entered a password.
	Upstream string
}

// firstStep is the content of the signed text in the form that asks for a second factor.
type firstStep struct {
	User    string `json:"user"`    // the id
	Changed int64  `json:"changed"` // users.User.UpdatedAt, to notice a change of the user
	At      int64  `json:"at"`      // when the text was signed, in microseconds since 1970
	// Upstream is Waiting.Upstream.
	Upstream string `json:"upstream,omitempty"`
}

// waitingText returns the signed text for the form that asks for a second factor, or "" for a user without second
// factors. The browser is Attempt.Browser, and the upstream is Waiting.Upstream.
func (l *Login) waitingText(ctx context.Context, u *users.User, browser, upstream string) (waiting string, err error) {
	if l.options.Factors == nil {
		return "", nil
	}
	list, err := l.options.Factors.Of(ctx, u.ID)
	if err != nil || len(list) == 0 {
		return "", err
	}
	raw, err := json.Marshal(firstStep{u.ID, u.UpdatedAt, l.Micros(), upstream})
	return l.Signer("second").Sign(raw, browser), err
}

// errWaited is the error for a form that asked for a second factor and is no longer valid.
var errWaited = apierror.New(http.StatusUnprocessableEntity, "invalid_credentials",
	"This took too long, or your account has changed meanwhile. Sign in once more.")

// Waiting returns the user who must prove a second factor. The parameter waiting is the signed text that SignIn has
// returned and that the form sends back. The error has status 422 if the text has expired or belongs to another
// browser, or if the user has changed.
func (l *Login) Waiting(ctx context.Context, waiting, browser string) (*Waiting, error) {
	raw, ok := l.Signer("second").Open(waiting, browser)
	var p firstStep
	if !ok || json.Unmarshal(raw, &p) != nil || l.Now().Sub(time.UnixMicro(p.At)) >= secondLife ||
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

// Second checks the second factor of a waiting user, begins a session and returns its cookie. A refusal has status 422,
// or 429 after too many failures.
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
	if w.Upstream != "" { // a provider has replaced the password
		methods = []string{method, factors.ByTwo}
	}
	cookie, err = l.begin(ctx, w.User, a.Former, l.Now(), methods...)
	if errors.Is(err, users.ErrCredentials) {
		return "", errWaited
	}
	if err != nil {
		return "", err
	}
	return cookie, l.recordSignIn(ctx, l.key(w.User.Email, a.Address), w.User, cookie, a.Address)
}

// Proved records that the user of a session has proved a second factor that was just set up. method is the
// authentication method (amr) of this factor. Proved changes only sessions that began with a password: a passkey
// alone already counts as two factors.
func (l *Login) Proved(ctx context.Context, s *Session, method string) error {
	if !slices.Contains(s.Methods, factors.ByPassword) {
		return nil
	}
	return l.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("UPDATE authserver_sessions SET methods = ? WHERE id = ? AND methods <> ''",
			strings.Join([]string{factors.ByPassword, method, factors.ByTwo}, " "), s.ID)
		return err
	})
}

// freshFor is how long after signing in users may change their passwords and second factors.
const freshFor = 15 * time.Minute

// Fresh reports whether the user of a session signed in less than freshFor ago and, if the user has second factors,
// also proved one of them. The kinds are those of the user's second factors.
func (l *Login) Fresh(s *Session, kinds factors.Kinds) bool {
	signedInRecently := l.Now().Sub(s.AuthTime) < freshFor
	return signedInRecently && (s.HasSecondFactor() || !kinds.Any())
}
