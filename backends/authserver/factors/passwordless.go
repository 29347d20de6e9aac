package factors

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// aloneLabel is the label of signed texts for sign-ins with a passkey alone.
	aloneLabel = "passkey-alone"
	// aloneLife is how long a challenge of the sign-in page can be answered. The page may be open in a tab long before
	// the user signs in.
	aloneLife = time.Hour
	// maxHandle is the maximum length of a user handle, in bytes (Web Authentication Level 3, section 5.4.3).
	maxHandle = 64
)

// errOldPage is the error for a challenge that is too old or was already answered.
var errOldPage = apierror.New(http.StatusUnprocessableEntity, "invalid_credentials",
	"This page was open for too long. Use the passkey once more.")

// userHandle returns the user handle by which authenticators identify a user's account (Web Authentication Level 3,
// section 5.4.3). The handle is the user's id. If an imported id is too long or may be a mail address, the handle is
// a digest of the id.
func userHandle(id string) []byte {
	if len(id) > maxHandle || strings.Contains(id, "@") {
		sum := sha256.Sum256([]byte("user handle\n" + id))
		return sum[:]
	}
	return []byte(id)
}

// Alone reports whether users can sign in with a passkey alone, without a password.
func (f *Factors) Alone() bool { return f.alone && f.party != nil }

// forAlone returns the options for registering a passkey that can sign in alone. They ask the authenticator to verify
// the user, if possible. A passkey whose authenticator cannot verify the user is only a second factor.
func (f *Factors) forAlone() []webauthn.RegistrationOption {
	if !f.alone {
		return nil
	}
	return []webauthn.RegistrationOption{webauthn.WithAuthenticatorSelection(protocol.AuthenticatorSelection{
		ResidentKey: protocol.ResidentKeyRequirementPreferred, UserVerification: protocol.VerificationPreferred,
	})}
}

// AskAnyone returns a challenge that any user's discoverable passkey can answer. It returns nil if passkeys cannot sign
// in alone. The challenge is not stored.
func (f *Factors) AskAnyone(browser string) (*Challenge, error) {
	if !f.Alone() {
		return nil, nil
	}
	options, session, err := f.party.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, fmt.Errorf("asking for a passkey: %w", err)
	}
	return f.sign(aloneLabel, options.Response, session, "", browser)
}

// Claim is a browser's response for a passkey that is to sign in alone. It proves nothing before Prove has checked it.
type Claim struct {
	// User is the owner of the passkey, or nil for an unknown passkey.
	User *users.User
	// Credential is the credential ID of the passkey, in base64url.
	Credential string

	parsed *protocol.ParsedCredentialAssertionData
}

// Claim parses the browser's response for a passkey and finds the owner of the passkey. The error is ErrWrong if the
// response is malformed, and an *apierror.Error if passkeys cannot sign in alone.
func (f *Factors) Claim(ctx context.Context, response string) (*Claim, error) {
	if !f.Alone() {
		return nil, errNoPasskeys
	}
	parsed, err := parse(response, protocol.ParseCredentialRequestResponseBytes)
	if err != nil {
		return nil, ErrWrong
	}
	claim := &Claim{Credential: base64.RawURLEncoding.EncodeToString(parsed.RawID), parsed: parsed}
	err = f.Read(ctx, func(c store.Conn) error {
		var user string
		err := c.Row("SELECT user_id FROM authserver_factors WHERE handle = ? AND kind = ?",
			claim.Credential, Passkey).Scan(&user)
		if errors.Is(err, sql.ErrNoRows) { // the passkey is unknown
			return nil
		}
		if err != nil {
			return err
		}
		claim.User, err = users.In(c, user)
		if users.IsNone(err) {
			return nil
		}
		return err
	})
	return claim, err
}

// Prove checks the response of a claim against the signed challenge of the page. The response must come from this site
// and contain the user handle of the owner. The authenticator must have verified the user.
//
// The error is ErrWrong if the response is not accepted, and ErrCopied if the signature counter has gone back. It is an
// *apierror.Error if the challenge is too old, belongs to another browser, or was answered before.
func (f *Factors) Prove(ctx context.Context, claim *Claim, browser, challenge string) error {
	if claim.User == nil {
		return ErrWrong
	}
	session, err := f.openSigned(ctx, aloneLabel, challenge, "", browser, aloneLife)
	if errors.Is(err, errOldForm) {
		return errOldPage
	}
	if err != nil {
		return err
	}
	h, keys, err := f.holder(ctx, claim.User)
	if err != nil {
		return err
	}
	owner := func(_, _ []byte) (webauthn.User, error) { return h, nil } // Claim has found the owner
	used, err := f.party.ValidateDiscoverableLogin(owner, *session, claim.parsed)
	if err != nil {
		return ErrWrong
	}
	return f.storeUsed(ctx, h, keys, used)
}
