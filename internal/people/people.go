// Package people finds a person's account in a service when the person signs in at an OpenID provider. It is the only
// place with the rule for this; the services only define how accounts are stored and who may have one.
//
// The issuer and the subject alone identify a person. A mail address leads to an existing account at most once, to link
// the account with the person. This requires that both the provider and the service have verified that the address
// belongs to the person and the account's owner.
package people

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// RefusedError is the error for a person who gets no account.
type RefusedError struct {
	// Reason is one of the constants below, or a reason of the service.
	Reason string
}

func (e *RefusedError) Error() string { return "the person gets no account: " + e.Reason }

// Values of RefusedError.Reason.
const (
	// BadSubject means that the subject does not identify exactly one person; see Identifies.
	BadSubject = "bad_subject"
	// NoRegistration means that the service neither links nor adds accounts.
	NoRegistration = "registration_off"
	// NoAddress means that the provider returned no valid mail address.
	NoAddress = "no_address"
	// Unconfirmed means that the provider has not verified the address.
	Unconfirmed = "address_not_confirmed"
	// Unproven means that the service has not verified that the account with the address belongs to the owner of the
	// address.
	Unproven = "address_not_proven"
	// Taken means that the account with the address is barred for people who only have the address; see Holder.Barred.
	Taken = "address_taken"
)

// Holder is the account that has a person's mail address.
type Holder[ID any] struct {
	ID    ID
	Email string
	// Proven reports whether the service has verified that the account's user owns the address.
	Proven bool
	// Barred reports whether the address alone never leads to the account, for example because another person of the
	// same provider is linked with the account.
	Barred bool
	// Closed is the error for an account that is disabled, or nil.
	Closed error
}

// Rules defines how a service stores accounts, and who may have one. All functions run in the transaction of the
// sign-in.
type Rules[ID any] struct {
	// Linked returns the account that is linked with a person, or sql.ErrNoRows.
	Linked func(c store.Conn, issuer, subject string) (ID, error)
	// Holder returns the account with an address, given by mailaddress.Key, or sql.ErrNoRows. It locks the account's
	// row.
	Holder func(c store.Conn, key string) (*Holder[ID], error)
	// Join adds an account with an address for a new person. If it is nil the service neither links nor adds accounts.
	Join func(c store.Conn, email string) (ID, error)
	// Link links an account with the person. isNew reports whether Join has added the account.
	Link func(c store.Conn, id ID, isNew bool) error
	// JoinUnconfirmed lets people join even if the provider has not verified their address. Such people are never linked
	// with an existing account.
	JoinUnconfirmed bool
	// Wording maps reasons to errors that are returned instead of a *RefusedError.
	Wording map[string]error
}

// Account returns the account of a person. It is the first of these:
//   - the account that is linked with the person's issuer and subject, whatever the address is now;
//   - the account with the person's mail address, if the provider has verified the address and the account is proven
//     and not barred; the account is linked with the person from then on;
//   - a new account, if the service lets the person join.
//
// Otherwise the error is a *RefusedError, or the error that Wording has for its reason. Account runs in the transaction
// of the sign-in, which the caller runs by Retry.
func (r *Rules[ID]) Account(c store.Conn, p *oidclogin.Person) (ID, error) {
	id, err := r.account(c, p)
	if refused, ok := errors.AsType[*RefusedError](err); ok && r.Wording[refused.Reason] != nil {
		err = r.Wording[refused.Reason]
	}
	return id, err
}

// account works like Account without Wording.
func (r *Rules[ID]) account(c store.Conn, p *oidclogin.Person) (zero ID, err error) {
	if !Identifies(p.Issuer, p.Subject) {
		return zero, &RefusedError{BadSubject}
	}
	if id, err := r.Linked(c, p.Issuer, p.Subject); !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	email, err := mailaddress.Parse(p.Email)
	switch {
	case r.Join == nil:
		return zero, &RefusedError{NoRegistration}
	case err != nil:
		return zero, &RefusedError{NoAddress}
	case !p.Confirmed && !r.JoinUnconfirmed:
		return zero, &RefusedError{Unconfirmed}
	}
	h, err := r.Holder(c, mailaddress.Key(email))
	if err == nil {
		if err := h.checkLink(p, email); err != nil {
			return zero, err
		}
		return h.ID, r.Link(c, h.ID, false)
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return zero, err
	}
	id, err := r.Join(c, email)
	if err != nil {
		return zero, err
	}
	return id, r.Link(c, id, true)
}

// checkLink returns nil if the person p, whose parsed mail address is email, may be linked with the account. Otherwise
// it returns a *RefusedError with the reason Taken or Unproven or, for a disabled account, h.Closed.
func (h *Holder[ID]) checkLink(p *oidclogin.Person, email string) error {
	// The addresses differ if the key by which the service has found the account is outdated.
	sameAddress := mailaddress.Key(h.Email) == mailaddress.Key(email)
	if h.Barred || !p.Confirmed || !sameAddress {
		return &RefusedError{Taken}
	}
	if !h.Proven {
		return &RefusedError{Unproven}
	}
	return h.Closed
}

// maxSubject is the maximum length of a subject (OpenID Connect Core 1.0, section 2).
const maxSubject = 255

// Identifies reports whether an issuer and a subject identify one person. It reports false for a subject that a
// database cannot store, or in which a decoder has replaced invalid bytes, because it could equal another person's.
func Identifies(issuer, subject string) bool {
	return issuer != "" && subject != "" && len(subject) <= maxSubject && utf8.ValidString(subject) &&
		!strings.ContainsFunc(subject, func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) })
}

// Retry calls try, which signs somebody in in a transaction. It calls try once more if that conflicts with another
// transaction: a sign-in of the same person in another tab, or of another person who takes the name or the address.
func Retry(try func() error) error {
	err := try()
	if e, ok := apierror.From(err); store.IsUniqueViolation(err) || ok && e.Status == http.StatusConflict {
		err = try()
	}
	return err
}

// Names returns names for a person's account, best first: the provider's suggestions, the local part of the mail
// address, and random names that begin with prefix. No name contains an @.
func Names(p *oidclogin.Person, email, prefix string) []string {
	names := slices.Concat(p.Names, []string{email})
	for range 3 {
		n, _ := rand.Int(rand.Reader, big.NewInt(1_000_000_000)) // rand.Reader never fails
		names = append(names, prefix+n.String())
	}
	for i, name := range names {
		names[i], _, _ = strings.Cut(name, "@")
	}
	return names
}
