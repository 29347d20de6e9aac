package login

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// errPasskey is the error for every refused passkey. It does not reveal the reason.
var errPasskey = apierror.New(http.StatusUnprocessableEntity, "invalid_credentials",
	"this passkey does not sign in here; use your password")

// ByPasskey signs a user in with a passkey alone, and returns the cookie of the new session. The response is the
// browser's response for the passkey. The challenge is the signed text from the page that requested the response. The
// session counts as one with two factors: possession of the passkey, and verification of the user by the
// authenticator.
//
// It returns an error with status 422 if the passkey is refused, and with status 429 during a lockout. Failures of a
// known passkey count together with its owner's wrong passwords. Failures of an unknown passkey count for its
// credential ID.
func (l *Login) ByPasskey(ctx context.Context, response, challenge string, a Attempt) (cookie string, err error) {
	claim, err := l.options.Factors.Claim(ctx, response)
	if errors.Is(err, factors.ErrWrong) { // malformed; it is refused below like an unknown passkey
		claim = new(factors.Claim)
	} else if err != nil {
		return "", err
	}
	identity, detail := claim.Credential, []string{"method", "passkey"}
	if claim.User != nil {
		identity, detail = cmp.Or(claim.User.Email, claim.User.ID), append(detail, "user", claim.User.ID)
	}
	key := l.key(identity, a.Address)
	if wait := l.Lockout.Locked(key); wait > 0 {
		return "", l.lockedOut(wait)
	}
	err = l.options.Factors.Prove(ctx, claim, a.Browser, challenge)
	if err == nil {
		cookie, err = l.begin(ctx, claim.User, a.Former, l.Now(), factors.ByKey, factors.ByTwo)
	}
	if reason := refusal(claim, err); reason != "" {
		return "", l.refuse(ctx, key, a.Address, errPasskey, append(detail, "reason", reason)...)
	}
	if err != nil {
		return "", err
	}
	return cookie, l.recordSignIn(ctx, key, claim.User, cookie, a.Address, "method", "passkey")
}

// refusal returns the reason for which a passkey was refused, as a text for the audit feed. It returns "" if err is
// not a refusal.
func refusal(claim *factors.Claim, err error) string {
	switch {
	case errors.Is(err, factors.ErrCopied):
		return "copied"
	case errors.Is(err, factors.ErrWrong) && claim.User == nil:
		return "unknown"
	case errors.Is(err, factors.ErrWrong):
		return "wrong"
	case errors.Is(err, users.ErrCredentials):
		return "disabled"
	}
	return ""
}
