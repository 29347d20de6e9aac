package upstreams

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/people"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// OtherDomain is the reason in a *people.RefusedError for a mail address whose domain is not open for registration.
const OtherDomain = "address_of_another_domain"

// SignIn returns the user who is connected with a person of a provider, and replaces the user's groups that come from
// the provider.
//
// For an unknown person it creates a user, if the provider permits registration and has verified the person's mail
// address, and no user has that address. It never returns an existing user with that address, since only the user may
// connect the two accounts. If there is no user, the error is a *people.RefusedError.
func (s *Upstreams) SignIn(ctx context.Context, provider *Upstream, p *oidclogin.Person) (u *users.User, err error) {
	created := false
	err = people.Retry(func() error {
		return s.Write(ctx, func(c store.Conn) error {
			created = false
			row, err := s.rules(provider, p, &created).Account(c, p)
			if err != nil {
				return err
			}
			u, err = s.update(c, row, p)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if created {
		s.Users.Note(ctx, "user.created", "", u.ID, "upstream", provider.Slug)
	} else {
		s.Tell(users.Topic, u.ID)
	}
	return u, nil
}

// rules returns the rules by which a person of a provider is accepted. It sets created when a user is created.
func (s *Upstreams) rules(provider *Upstream, p *oidclogin.Person, created *bool) *people.Rules[*identity] {
	rules := &people.Rules[*identity]{
		Linked: func(c store.Conn, issuer, subject string) (*identity, error) {
			row, err := rowOf(c, issuer, subject)
			if !errors.Is(err, sql.ErrNoRows) {
				return row, err
			}
			// The provider may have moved here from the section oidc.
			u, err := users.ByUpstream(c, issuer, subject)
			if err != nil {
				return nil, err
			}
			return s.insert(c, u.ID, issuer, subject, p.Username)
		},
		Holder: func(c store.Conn, key string) (*people.Holder[*identity], error) {
			_, domain, _ := strings.Cut(key, "@")
			if len(provider.RegistrationDomains) > 0 && !slices.Contains(provider.RegistrationDomains, domain) {
				return nil, &people.RefusedError{Reason: OtherDomain}
			}
			_, _, err := users.HolderOf(c, key)
			return &people.Holder[*identity]{Barred: true}, err // never connected without the consent of the user
		},
	}
	if provider.Registers {
		rules.Join = func(c store.Conn, email string) (*identity, error) {
			*created = true
			u, err := s.Users.Arrive(c, email, true, cmp.Or(p.Name, p.Username))
			if err != nil {
				return nil, err
			}
			return s.insert(c, u.ID, p.Issuer, p.Subject, p.Username)
		}
		rules.Link = func(store.Conn, *identity, bool) error { return nil } // done by Join
	}
	return rules
}

// update records a sign-in and replaces the user's groups that come from the provider.
func (s *Upstreams) update(c store.Conn, row *identity, p *oidclogin.Person) (*users.User, error) {
	u, err := users.In(c, row.User)
	if err != nil {
		return nil, err
	}
	others, err := groupsOfOthers(c, row)
	if err != nil {
		return nil, err
	}
	groups := p.Groups[:min(len(p.Groups), maxGroups)]
	if err := s.Users.SwapGroups(c, u, row.Groups, slices.Concat(groups, others)); err != nil {
		return nil, err
	}
	_, err = c.Exec("UPDATE authserver_identities SET username = ?, user_groups = ?, used_at = ? WHERE id = ?",
		username(p.Username), kernel.JSON(groups), s.Micros(), row.ID)
	return u, err
}

// maxUsername is the maximum length of a stored user name of a provider, in characters.
const maxUsername = 200

func username(claim string) string {
	name := text.Short(text.Storable(text.Normal(claim)), maxUsername)
	if !text.IsLine(name) {
		return ""
	}
	return name
}
