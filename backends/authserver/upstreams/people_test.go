package upstreams_test

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/people/peopletest"
)

// attacked returns the service that peopletest attacks. signIn signs in a person as one of the two sections of the
// configuration does.
func attacked(
	t *testing.T, all *users.Users, signIn func(p *oidclogin.Person) (*users.User, error),
) *peopletest.Service {
	t.Helper()
	add := func(email, password string) string {
		t.Helper()
		u, err := all.Create(t.Context(), users.New{Email: email, Password: password}, "")
		if err != nil {
			t.Fatal(err)
		}
		return u.ID
	}
	return &peopletest.Service{
		SignOn: func(p *oidclogin.Person) (string, error) {
			u, err := signIn(p)
			if err != nil {
				return "", err
			}
			if !u.Active() { // as the following sign-in does
				return "", users.ErrDisabled
			}
			return u.ID, nil
		},
		Member:   func(email string) string { return add(email, "") },
		Unproven: func(email string) string { return add(email, "correct horse battery") },
		Suspend: func(id string) {
			if _, err := all.Disable(t.Context(), id, ""); err != nil {
				t.Error(err)
			}
		},
		Restore: func(id string) {
			if _, err := all.Enable(t.Context(), id, ""); err != nil {
				t.Error(err)
			}
		},
		Delete: func(id string) {
			if err := all.Delete(t.Context(), id, ""); err != nil {
				t.Error(err)
			}
		},
	}
}

// TestPeople attacks the linking of persons at providers to users, for both sections of the configuration.
func TestPeople(t *testing.T) {
	t.Parallel()
	t.Run("oidc", func(t *testing.T) {
		t.Parallel()
		authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
			all := newDesk(t, k).Users
			s := attacked(t, all, func(p *oidclogin.Person) (*users.User, error) {
				return all.FindOrCreate(t.Context(), p)
			})
			s.Adopts, s.JoinsUnconfirmed = true, true
			peopletest.Attack(t, s)
		})
	})
	t.Run("upstreams", func(t *testing.T) {
		t.Parallel()
		authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
			d := newDesk(t, k)
			d.List = nil
			for _, issuer := range []string{peopletest.Issuer, peopletest.Issuer + "/", peopletest.Other} {
				d.List = append(d.List, &upstreams.Upstream{Slug: issuer, Provider: provider(t, issuer), Registers: true})
			}
			peopletest.Attack(t, attacked(t, d.Users, func(p *oidclogin.Person) (*users.User, error) {
				up := d.At(p.Issuer)
				if up == nil {
					up = d.List[0]
				}
				return d.SignIn(t.Context(), up, p)
			}))
		})
	})
}
