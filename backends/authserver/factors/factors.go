// Package factors implements second factors: authenticator apps (RFC 6238), passkeys (Web Authentication Level 3), and
// recovery codes for users who have lost both. A user who has a second factor here must prove it after the password,
// and after the sign-in at a provider of the list upstreams. The sign-in at the provider of the section oidc needs no
// second factor, since that provider decides how its users authenticate. A passkey may also sign in alone; see
// Factors.Alone.
package factors

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/attempts"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// The kinds of factors.
const (
	App     = "app"
	Passkey = "passkey"
)

// The authentication methods of a sign-in (amr, RFC 8176 section 2).
const (
	ByPassword = "pwd"
	ByCode     = "otp" // a code of an app, or a recovery code
	ByKey      = "pop" // a passkey
	ByTwo      = "mfa" // two factors
)

const (
	// maxFactors is the maximum number of factors of a user.
	maxFactors = 20
	// maxName is the maximum length of a factor's name, in characters.
	maxName = 60
	// timeLimit is the maximum time for setting up or using an app or a passkey.
	timeLimit = 10 * time.Minute
)

// guesses limits the wrong codes for a user, from all addresses together, since a code has only six digits.
var guesses = attempts.Limit{Table: "authserver_attempts", What: "second factor", Max: 5, Within: 15 * time.Minute}

// Factor is an app or a passkey of a user.
type Factor struct {
	ID, Kind, Name string
	// CreatedAt and UsedAt are in microseconds since 1970. UsedAt is zero for a factor that was never used.
	CreatedAt, UsedAt int64

	secret     string // of an app: the encrypted secret
	step       int64  // of an app: the time step of the last accepted code
	credential string // of a passkey: the webauthn.Credential as JSON
}

// Factors manages the second factors of all users.
type Factors struct {
	*kernel.Server
	encryptor encryption.Encryptor
	party     *webauthn.WebAuthn // the relying party; nil if browsers do not support passkeys for this server's address
	name      string
	alone     bool // passkeys sign in without a password
}

// Options are the settings of Factors.
type Options struct {
	// Encryptor encrypts the secrets of apps. If it is nil, apps cannot be set up.
	Encryptor encryption.Encryptor
	// Name is the name of the server in apps and browsers. Default: the host of the issuer.
	Name string
	// Alone allows users to sign in with a passkey alone (session.passkey_login).
	Alone bool
}

// Sealed is the column of the encrypted secrets of apps.
var Sealed = encryption.Column{Table: "authserver_factors", ID: "id", Column: "secret"}

func place(id string) []byte { return encryption.Place(Sealed.Table, id, Sealed.Column) }

// New returns the factors of a server. Passkeys are bound to the host of the issuer. They are not available if that
// host is an IP address, or if the issuer is not https, except on localhost: browsers do not support passkeys there.
func New(s *kernel.Server, o Options) (*Factors, error) {
	issuer, err := url.Parse(s.Issuer)
	if err != nil {
		return nil, err
	}
	f := &Factors{Server: s, encryptor: o.Encryptor, name: o.Name, alone: o.Alone}
	if f.name == "" {
		f.name = issuer.Host
	}
	host := issuer.Hostname()
	if _, err := netip.ParseAddr(host); err == nil || issuer.Scheme != "https" && host != "localhost" {
		return f, nil
	}
	f.party, err = webauthn.New(&webauthn.Config{
		RPID: host, RPDisplayName: f.name, RPOrigins: []string{issuer.Scheme + "://" + issuer.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey:      protocol.ResidentKeyRequirementPreferred,
			UserVerification: protocol.VerificationDiscouraged,
		},
		Timeouts: webauthn.TimeoutsConfig{
			Login:        webauthn.TimeoutConfig{Timeout: timeLimit},
			Registration: webauthn.TimeoutConfig{Timeout: timeLimit},
		},
	})
	return f, err
}

// Apps reports whether apps can be set up, which requires an encryptor.
func (f *Factors) Apps() bool { return f.encryptor != nil }

// Passkeys reports whether passkeys can be set up.
func (f *Factors) Passkeys() bool { return f.party != nil }

const columns = "id, kind, name, secret, step, credential, created_at, used_at"

func scan(r store.Row) (factor *Factor, err error) {
	factor = new(Factor)
	return factor, r.Scan(&factor.ID, &factor.Kind, &factor.Name, &factor.secret, &factor.step, &factor.credential,
		&factor.CreatedAt, &factor.UsedAt)
}

// factorsIn returns the factors of a user within a transaction, oldest first.
func factorsIn(c store.Conn, user string) ([]*Factor, error) {
	return store.List(c, scan, "SELECT "+
		columns+" FROM authserver_factors WHERE user_id = ? ORDER BY created_at, id LIMIT ?", text.Storable(user), maxFactors)
}

// Of returns the factors of a user, oldest first.
func (f *Factors) Of(ctx context.Context, user string) ([]*Factor, error) {
	return kernel.Read(ctx, f.Server, func(c store.Conn) ([]*Factor, error) {
		return factorsIn(c, user)
	})
}

// Kinds is the set of the kinds of factors that a user has.
type Kinds struct{ App, Passkey bool }

// Any reports whether the user has any factor.
func (k Kinds) Any() bool { return k.App || k.Passkey }

// KindsOf returns the kinds of a list of factors.
func KindsOf(list []*Factor) (k Kinds) {
	for _, factor := range list {
		k.App = k.App || factor.Kind == App
		k.Passkey = k.Passkey || factor.Kind == Passkey
	}
	return k
}

var (
	errNone = apierror.New(http.StatusNotFound, "not_found", "there is no such app or passkey")
	errMany = apierror.New(http.StatusConflict, "conflict",
		"you have as many apps and passkeys as one may; remove one first")
	errTaken = apierror.New(http.StatusConflict, "conflict", "this passkey is there already")
)

// add stores a factor that a user has set up; see insert. If it is the user's first, add returns new recovery codes.
func (f *Factors) add(ctx context.Context, user string, factor *Factor, handle string) (codes []string, err error) {
	if factor.Name, err = factorName(factor.Name); err != nil {
		return nil, err
	}
	err = f.Write(ctx, func(c store.Conn) error {
		codes = nil
		// Lock the user, so that factors are added one at a time: their number is limited, and only the first factor of a
		// user brings recovery codes.
		err := c.Row("SELECT id FROM authserver_users WHERE id = ?"+c.Lock(), user).Scan(new(string))
		if err != nil {
			return err
		}
		existing, err := factorsIn(c, user)
		if err != nil {
			return err
		}
		if len(existing) >= maxFactors {
			return errMany
		}
		if err := f.insert(c, user, factor, handle); err != nil || len(existing) > 0 {
			return err
		}
		codes, err = replaceRecoveryCodes(c, user)
		return err
	})
	if err != nil {
		return nil, err
	}
	f.note(ctx, "user.factor_added", user, user, factor.Kind)
	return codes, nil
}

// insert stores the row of a factor. The handle is the credential ID of a passkey in base64url, or empty for an app.
// The error is errTaken if the passkey is stored already.
func (f *Factors) insert(c store.Conn, user string, factor *Factor, handle string) error {
	_, err := c.Exec("INSERT INTO authserver_factors (id, user_id, kind, name, secret, step, credential, handle, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		factor.ID, user, factor.Kind, factor.Name, factor.secret, factor.step, factor.credential, handle, f.Micros())
	if store.IsUniqueViolation(err) {
		return errTaken
	}
	return err
}

// factorName returns the stored form of the name that a user has typed for a factor. The error has status 422 if the
// name is empty, too long or not a single line.
func factorName(typed string) (string, error) {
	name := text.Storable(text.Normal(typed))
	if name == "" || len([]rune(name)) > maxName || !text.IsLine(name) {
		return "", &apierror.Error{
			Status: http.StatusUnprocessableEntity, Code: "validation_failed", Param: "name",
			Message: "the name must be one line of 1 to 60 characters",
			Details: []apierror.Detail{{
				Field: "name", Reason: "invalid",
				Message: "the name must be one line of 1 to 60 characters",
			}},
		}
	}
	return name, nil
}

// Remove removes a factor of a user, and the recovery codes if it was the last factor.
func (f *Factors) Remove(ctx context.Context, user, id string) error {
	var kind string
	err := f.Write(ctx, func(c store.Conn) error {
		list, err := factorsIn(c, user)
		if err != nil {
			return err
		}
		index := slices.IndexFunc(list, func(factor *Factor) bool { return factor.ID == id })
		if index < 0 {
			return errNone
		}
		kind = list[index].Kind
		_, err = c.Exec("DELETE FROM authserver_factors WHERE id = ? AND user_id = ?", id, user)
		if err != nil || len(list) > 1 {
			return err
		}
		_, err = c.Exec("DELETE FROM authserver_recovery WHERE user_id = ?", user)
		return err
	})
	if err == nil {
		f.note(ctx, "user.factor_removed", user, user, kind)
	}
	return err
}

// Reset removes all factors of a user, who may have lost them, and returns their number. The audit event names the
// actor.
func (f *Factors) Reset(ctx context.Context, user, actor string) (n int64, err error) {
	err = f.Write(ctx, func(c store.Conn) (err error) {
		if _, err := users.In(c, user); err != nil {
			return err
		}
		if n, err = c.Exec("DELETE FROM authserver_factors WHERE user_id = ?", user); err != nil {
			return err
		}
		if _, err = c.Exec("DELETE FROM authserver_recovery WHERE user_id = ?", user); err != nil {
			return err
		}
		return guesses.Of(user).Forget(c)
	})
	if err == nil {
		f.note(ctx, "user.factors_reset", actor, user, "")
	}
	return n, err
}

// note records an event about a user's factors in the audit feed. The parameter kind is the kind of the factor, or
// empty.
func (f *Factors) note(ctx context.Context, action, actor, user, kind string) {
	e := kernel.Event{Action: action, Actor: actor, Detail: []string{"user", user}}
	if kind != "" {
		e.Detail = append(e.Detail, "kind", kind)
	}
	f.Audit(ctx, e)
}

// ErrWrong is the error for every code or passkey that is not accepted.
var ErrWrong = errors.New("the code or the passkey is not right")

// ErrCopied is the error for a passkey whose signature counter has gone back, which means that the passkey was copied.
// It wraps ErrWrong.
var ErrCopied = fmt.Errorf("the counter of the passkey went back: %w", ErrWrong)

// Proof is a user's proof of a second factor. Code is a code of an app or a recovery code. Alternatively, Assertion is
// the browser's response for a passkey, and Challenge the signed challenge that it answers.
type Proof struct{ Code, Assertion, Challenge string }

// Check checks a user's proof in a browser, and returns the authentication method (amr). The error is ErrWrong if the
// proof is not accepted, and an *apierror.Error with status 429 after too many wrong proofs.
func (f *Factors) Check(ctx context.Context, u *users.User, browser string, p Proof) (method string, err error) {
	// Each proof is counted before it is checked, and the count is taken back unless the proof is wrong. Otherwise many
	// concurrent guesses could pass the limit.
	count := guesses.Of(u.ID)
	var wait time.Duration
	err = f.Write(ctx, func(c store.Conn) (err error) {
		wait, err = count.Try(c, f.Now())
		return err
	})
	if err != nil {
		return "", err
	}
	if wait > 0 {
		return "", &apierror.Error{
			Status: http.StatusTooManyRequests, Code: "locked_out", RetryAfter: wait,
			Message: "too many codes were wrong; wait before you try again",
		}
	}
	method, err = f.check(ctx, u, browser, p)
	switch {
	case errors.Is(err, ErrWrong):
		f.note(ctx, "user.second_factor_failed", u.ID, u.ID, "")
		return "", err
	case err != nil: // does not count as a guess
		return "", errors.Join(err, f.Write(ctx, count.GiveBack))
	}
	return method, f.Write(ctx, count.Forget)
}

// check implements Check without the limit of wrong proofs.
func (f *Factors) check(ctx context.Context, u *users.User, browser string, p Proof) (method string, err error) {
	if p.Assertion != "" {
		return ByKey, f.checkAssertion(ctx, u, browser, p)
	}
	digits := compact(p.Code)
	if len(digits) == codeDigits {
		return ByCode, f.checkCode(ctx, u.ID, digits)
	}
	return ByCode, f.useRecoveryCode(ctx, u.ID, digits)
}

// Jobs returns the background jobs.
func (f *Factors) Jobs() []jobs.Job {
	return []jobs.Job{{Name: "attempts", Every: time.Hour, Run: func(ctx context.Context) (int, error) {
		n, err := f.DB.Purge(ctx, 1000,
			"DELETE FROM authserver_attempts WHERE key IN (SELECT key FROM authserver_attempts WHERE ends_at <= ? LIMIT ?)",
			f.Micros())
		return int(n), err
	}}}
}
