package upstreams

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// UnknownError is returned for a person who has signed in at a provider but has no connected account here and may
// not get a new one.
type UnknownError struct {
	// Reason is one of the constants below, for the audit feed.
	Reason string
}

func (e *UnknownError) Error() string {
	return "nobody here is connected with this account: " + e.Reason
}

// Values of UnknownError.Reason.
const (
	NoRegistration = "registration_off"
	NoAddress      = "no_address"
	Unconfirmed    = "address_not_confirmed"
	OtherDomain    = "address_of_another_domain"
	Taken          = "address_taken"
)

// SignIn returns the user who is connected with a person of a provider. For an unknown person it creates a user if the
// provider registers people and has confirmed a mail address that no user has; an existing user with that address is
// never returned, since only the user may connect the two accounts. SignIn also replaces the groups that the provider
// has given the user. It returns an *UnknownError if there is no user.
func (s *Upstreams) SignIn(ctx context.Context, up *Upstream, p *oidclogin.Person) (u *users.User, err error) {
	made := false
	try := func(c store.Conn) error {
		row, isNew, err := s.find(c, up, p)
		if err != nil {
			return err
		}
		made = isNew
		u, err = s.update(c, row, p)
		return err
	}
	if err = s.Write(ctx, try); raced(err) { // in another tab the same person was faster
		err = s.Write(ctx, try)
	}
	if err != nil {
		return nil, err
	}
	if made {
		s.Users.Note(ctx, "user.created", "", u.ID, "upstream", up.Slug)
	} else {
		s.Tell(users.Topic, u.ID)
	}
	return u, nil
}

func raced(err error) bool {
	e, ok := apierror.From(err)
	return ok && e.Status == http.StatusConflict || store.IsUniqueViolation(err)
}

// find returns the row of a person, and inserts it for a new user or for one whom the section oidc knew. made reports
// whether the user is new.
func (s *Upstreams) find(c store.Conn, up *Upstream, p *oidclogin.Person) (row *identity, made bool, err error) {
	row, err = rowOf(c, p.Issuer, p.Subject)
	if !errors.Is(err, errNone) {
		return row, false, err
	}
	// The provider may have moved here from the section oidc.
	u, err := users.ByUpstream(c, p.Issuer, p.Subject)
	if users.IsNone(err) {
		made = true
		u, err = s.register(c, up, p)
	}
	if err == nil {
		row, err = s.insert(c, u.ID, p.Issuer, p.Subject, p.Username)
	}
	return row, made, err
}

// register creates a user for a person, or returns an *UnknownError that says why it does not.
func (s *Upstreams) register(c store.Conn, up *Upstream, p *oidclogin.Person) (*users.User, error) {
	domain := domainOf(p.Email)
	switch {
	case !up.Registers:
		return nil, &UnknownError{NoRegistration}
	case domain == "":
		return nil, &UnknownError{NoAddress}
	case !p.Confirmed:
		return nil, &UnknownError{Unconfirmed}
	case len(up.RegistrationDomains) > 0 && !slices.Contains(up.RegistrationDomains, domain):
		return nil, &UnknownError{OtherDomain}
	}
	name := p.Name
	if name == "" {
		name = p.Username
	}
	u, made, err := s.Users.Arrive(c, users.Person{Email: p.Email, EmailVerified: true, Name: name})
	if err == nil && !made {
		err = &UnknownError{Taken}
	}
	return u, err
}

// update records a sign-in and replaces the groups that the provider has given the user.
func (s *Upstreams) update(c store.Conn, row *identity, p *oidclogin.Person) (*users.User, error) {
	u, err := users.In(c, row.User)
	if err != nil {
		return nil, err
	}
	kept, err := groupsOfOthers(c, row)
	if err != nil {
		return nil, err
	}
	told := p.Groups[:min(len(p.Groups), groupsMost)]
	if err := s.Users.SwapGroups(c, u, row.Groups, slices.Concat(told, kept)); err != nil {
		return nil, err
	}
	_, err = c.Exec("UPDATE authserver_identities SET username = ?, user_groups = ?, used_at = ? WHERE id = ?",
		username(p.Username), encode(told), s.Micros(), row.ID)
	return u, err
}

// usernameMost is the maximum length of a stored user name of a provider, in characters.
const usernameMost = 200

func username(told string) string {
	called := text.Short(text.Storable(text.Normal(told)), usernameMost)
	if !text.IsLine(called) {
		return ""
	}
	return called
}
