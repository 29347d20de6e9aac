package factors

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// maxAnswer is the maximum length of a browser's response for a passkey, in bytes.
const maxAnswer = 64 << 10

// Challenge is the request to a browser for creating or using a passkey.
type Challenge struct {
	// Options are the options for navigator.credentials.create or get, as JSON (Web Authentication Level 3, sections
	// 5.1.8 and 5.1.9).
	Options string
	// Signed is the state of the ceremony, signed by the server. The form sends it back unchanged.
	Signed string
}

// challengeState is the content of Challenge.Signed.
type challengeState struct {
	Begun   int64                `json:"begun"` // microseconds since 1970
	Session webauthn.SessionData `json:"session"`
}

// passkeyUser implements webauthn.User.
type passkeyUser struct {
	*users.User
	credentials []webauthn.Credential
}

func (h *passkeyUser) WebAuthnID() []byte                         { return userHandle(h.ID) }
func (h *passkeyUser) WebAuthnName() string                       { return h.Email }
func (h *passkeyUser) WebAuthnCredentials() []webauthn.Credential { return h.credentials }
func (h *passkeyUser) WebAuthnDisplayName() string {
	if h.Name != "" {
		return h.Name
	}
	return h.Email
}

// holder returns a user with the user's passkeys, and the factors of these passkeys in the same order.
func (f *Factors) holder(ctx context.Context, u *users.User) (*passkeyUser, []*Factor, error) {
	list, err := f.Of(ctx, u.ID)
	if err != nil {
		return nil, nil, err
	}
	h := &passkeyUser{User: u}
	var keys []*Factor
	for _, factor := range list {
		if factor.Kind != Passkey {
			continue
		}
		var credential webauthn.Credential
		if err := json.Unmarshal([]byte(factor.credential), &credential); err != nil {
			return nil, nil, fmt.Errorf("reading a passkey: %w", err)
		}
		h.credentials, keys = append(h.credentials, credential), append(keys, factor)
	}
	return h, keys, nil
}

var errNoPasskeys = apierror.New(http.StatusServiceUnavailable, "temporarily_unavailable",
	"Passkeys cannot be used here: browsers make none for this address. Ask the operator.")

// The labels of the signed texts.
const (
	creationLabel = "passkey-new"
	useLabel      = "passkey"
)

// sign returns a challenge. It consists of the options for the browser and the signed state of the ceremony (the
// creation or use of a passkey), which the form sends back. The label separates the kinds of challenges. The user is
// the id of the user, or "" if any user may answer.
func (f *Factors) sign(
	label string, options any, session *webauthn.SessionData, user, browser string,
) (*Challenge, error) {
	raw, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	state, err := json.Marshal(challengeState{f.Micros(), *session})
	if err != nil {
		return nil, err
	}
	return &Challenge{string(raw), f.Signer(label).Sign(state, browser, user)}, nil
}

// openSigned verifies the signed state that sign returned, and returns the state. The error is errOldForm if the state
// is older than life or was used before, on any node.
func (f *Factors) openSigned(
	ctx context.Context, label, signed, user, browser string, life time.Duration,
) (*webauthn.SessionData, error) {
	raw, ok := f.Signer(label).Open(signed, browser, user)
	var state challengeState
	if !ok || json.Unmarshal(raw, &state) != nil || f.Now().Sub(time.UnixMicro(state.Begun)) >= life {
		return nil, errOldForm
	}
	first, err := f.Counters.SetNX(ctx, "authserver:passkey:"+state.Session.Challenge, life)
	if err != nil {
		return nil, apierror.Unavailable("the server", err)
	}
	if !first {
		return nil, errOldForm
	}
	return &state.Session, nil
}

// NewPasskey returns the challenge for creating a passkey of a user in a browser.
func (f *Factors) NewPasskey(ctx context.Context, u *users.User, browser string) (*Challenge, error) {
	if f.party == nil {
		return nil, errNoPasskeys
	}
	h, _, err := f.holder(ctx, u)
	if err != nil {
		return nil, err
	}
	existing := make([]protocol.CredentialDescriptor, len(h.credentials))
	for i := range h.credentials {
		existing[i] = h.credentials[i].Descriptor()
	}
	options, session, err := f.party.BeginRegistration(h, append(f.forAlone(), webauthn.WithExclusions(existing))...)
	if err != nil {
		return nil, fmt.Errorf("asking for a passkey: %w", err)
	}
	return f.sign(creationLabel, options.Response, session, u.ID, browser)
}

// AddPasskey stores a passkey that a browser has created, with label as its name. If it is the user's first factor,
// AddPasskey returns recovery codes.
func (f *Factors) AddPasskey(
	ctx context.Context, u *users.User, browser, signed, label, response string,
) (recovery []string, err error) {
	if f.party == nil {
		return nil, errNoPasskeys
	}
	session, err := f.openSigned(ctx, creationLabel, signed, u.ID, browser, timeLimit)
	if err != nil {
		return nil, err
	}
	var credential *webauthn.Credential
	parsed, err := parse(response, protocol.ParseCredentialCreationResponseBytes)
	if err == nil {
		credential, err = f.party.CreateCredential(&passkeyUser{User: u}, *session, parsed)
	}
	if err != nil {
		return nil, &apierror.Error{
			Status: http.StatusUnprocessableEntity, Code: "validation_failed",
			Message: "the passkey that the browser has made cannot be used here", Cause: err,
		}
	}
	raw, err := json.Marshal(credential)
	if err != nil {
		return nil, err
	}
	return f.add(ctx, u.ID, &Factor{ID: kernel.NewID(), Kind: Passkey, Name: label, credential: string(raw)},
		base64.RawURLEncoding.EncodeToString(credential.ID))
}

// parse returns the result of calling read with the response of a browser. If the response is too long, parse returns
// an error instead.
func parse[T any](response string, read func([]byte) (T, error)) (parsed T, err error) {
	if len(response) > maxAnswer {
		return parsed, errors.New("the browser's response is too long")
	}
	return read([]byte(response))
}

// Ask returns a challenge for the passkeys of a user. It returns nil for a user without passkeys, and if this server
// does not support passkeys.
func (f *Factors) Ask(ctx context.Context, u *users.User, browser string) (*Challenge, error) {
	if f.party == nil {
		return nil, nil
	}
	h, _, err := f.holder(ctx, u)
	if err != nil || len(h.credentials) == 0 {
		return nil, err
	}
	options, session, err := f.party.BeginLogin(h)
	if err != nil {
		return nil, fmt.Errorf("asking for a passkey: %w", err)
	}
	return f.sign(useLabel, options.Response, session, u.ID, browser)
}

// checkAssertion checks a browser's response for a passkey of a user.
func (f *Factors) checkAssertion(ctx context.Context, u *users.User, browser string, p Proof) error {
	if f.party == nil {
		return errNoPasskeys
	}
	session, err := f.openSigned(ctx, useLabel, p.Challenge, u.ID, browser, timeLimit)
	if err != nil {
		return err
	}
	h, keys, err := f.holder(ctx, u)
	if err != nil {
		return err
	}
	parsed, err := parse(p.Assertion, protocol.ParseCredentialRequestResponseBytes)
	if err != nil {
		return ErrWrong
	}
	used, err := f.party.ValidateLogin(h, *session, parsed)
	if err != nil {
		return ErrWrong
	}
	return f.storeUsed(ctx, h, keys, used)
}

// storeUsed stores the new state of a passkey that was used. The list keys has the factors of the passkeys of h, in
// the same order. The error is ErrCopied if the signature counter has gone back, and ErrWrong if the passkey was
// removed or used in the meantime.
func (f *Factors) storeUsed(ctx context.Context, h *passkeyUser, keys []*Factor, passkey *webauthn.Credential) error {
	if passkey.Authenticator.CloneWarning { // the authenticator may have been cloned (section 6.1.1)
		return ErrCopied
	}
	raw, err := json.Marshal(passkey)
	if err != nil {
		return err
	}
	for i := range h.credentials {
		if string(h.credentials[i].ID) != string(passkey.ID) {
			continue
		}
		// The condition on the old credential makes sure that of two concurrent uses only one is accepted.
		stored, err := f.useUp(ctx, "UPDATE authserver_factors SET credential = ?, used_at = ? WHERE id = ? AND credential = ?",
			string(raw), f.Micros(), keys[i].ID, keys[i].credential)
		if err != nil || stored {
			return err
		}
	}
	return ErrWrong
}

var _ webauthn.User = (*passkeyUser)(nil)
