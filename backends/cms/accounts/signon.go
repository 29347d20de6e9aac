package accounts

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/people"
)

// SignOn returns the user for a person who has signed in at an OpenID provider, and the user's epoch; see
// Account.Epoch. managed are the names of the roles that the provider's groups control.
//
// A person who has signed in before gets the same user again. A new person gets the user with the mail address that the
// provider has confirmed, unless that user has set the address without confirmation: otherwise somebody could prepare
// an account with another person's address. If no user has the address and one of the person's groups is a managed
// role, SignOn creates a user. The user then has exactly those managed roles that are among the person's groups.
func (a *Accounts) SignOn(
	ctx context.Context, p *oidclogin.Person, managed []string,
) (user *kernel.User, epoch int64, err error) {
	var id int64
	err = people.Retry(func() error {
		return a.Write(ctx, func(c kernel.Conn) (err error) {
			if err := c.Enter(gateSuperuser); err != nil {
				return err
			}
			if id, err = a.rules(p, managed).Account(c, p); err != nil {
				return err
			}
			return a.settleRoles(c, id, p.Groups, managed)
		})
	})
	if err != nil {
		return nil, 0, err
	}
	a.users.Drop(strconv.FormatInt(id, 10))
	user, epoch, err = a.User(ctx, id)
	if kernel.IsNotFound(err) { // User does not find disabled users
		return nil, 0, errDisabled
	}
	return user, epoch, err
}

// Identities is the table that links users with their identities at OpenID providers.
const Identities people.Table = "cms_identities"

// wording maps the reasons for which package people refuses a sign-in to the errors that the person sees.
var wording = map[string]error{
	people.BadSubject:  errNobody,
	people.NoAddress:   errNobody,
	people.Unconfirmed: errNobody,
	people.Taken: kernel.Conflict("the account with your mail address is linked to another person of your identity" +
		" provider; ask an administrator for help"),
	people.Unproven: kernel.Conflict("there is an account with your mail address, which no administrator has confirmed;" +
		" ask an administrator to set the address"),
}

var (
	errDisabled = kernel.Forbidden("your account is disabled")
	errNobody   = kernel.Forbidden("your identity provider does not confirm a mail address of yours, so your account" +
		" cannot be found")
)

// rules returns the rules by which package people finds, creates and links the user for the person p. managed are the
// roles that the groups of the identity provider decide.
func (a *Accounts) rules(p *oidclogin.Person, managed []string) *people.Rules[int64] {
	return &people.Rules[int64]{
		Linked: Identities.Linked,
		Holder: func(c kernel.Conn, key string) (*people.Holder[int64], error) {
			h := new(people.Holder[int64])
			var status string
			err := c.Row("SELECT id, email, email_confirmed = 1, status FROM cms_users WHERE email_key = ?",
				key).Scan(&h.ID, &h.Email, &h.Proven, &status)
			if err != nil {
				return h, err
			}
			if status != StatusActive {
				h.Closed = errDisabled
			}
			// A user can be linked with one person of an issuer.
			h.Barred, err = Identities.Has(c, h.ID, p.Issuer)
			return h, err
		},
		Join: func(c kernel.Conn, email string) (int64, error) {
			if !slices.ContainsFunc(p.Groups, func(role string) bool { return slices.Contains(managed, role) }) {
				return 0, kernel.Forbidden("no group of yours at the identity provider gives you access here")
			}
			return a.join(c, p, email)
		},
		Link:    func(c kernel.Conn, id int64, _ bool) error { return Identities.Link(c, id, p.Issuer, p.Subject) },
		Wording: wording,
	}
}

// join creates a user for a person, with the first suggested name that no other user has. address is the person's
// confirmed mail address.
func (a *Accounts) join(c kernel.Conn, p *oidclogin.Person, address string) (id int64, err error) {
	now := a.Moment()
	for _, name := range people.Names(p, address, "user-") {
		if name = strings.Join(strings.Fields(strings.ToLower(name)), "."); !kernel.GoodName(name) {
			continue
		}
		err := c.Row("INSERT INTO cms_users (name, email, email_key, email_confirmed, created, modified)"+
			" VALUES (?, ?, ?, 1, ?, ?) ON CONFLICT (name) DO NOTHING RETURNING id",
			name, address, mailaddress.Key(address), now, now).Scan(&id)
		if err = kernel.OrNotFound(err, "user"); !kernel.IsNotFound(err) {
			return id, err
		}
	}
	return 0, kernel.Conflict("all user names that were tried for you are taken; try again")
}

// settleRoles gives a user the managed roles whose names are among the names of the groups, and removes the user's
// other managed roles.
func (a *Accounts) settleRoles(c kernel.Conn, id int64, groups, managed []string) error {
	account, err := first(accounts(c, "id = ?", id))
	if err != nil {
		return err
	}
	changed := false
	for _, role := range managed {
		has, inGroups := slices.Contains(account.Roles, role), slices.Contains(groups, role)
		if has == inGroups || role == kernel.RoleGuest {
			continue
		}
		query := "INSERT INTO cms_user_roles (user_id, role_id) SELECT ?, id FROM cms_roles WHERE name = ?"
		if has {
			query = "DELETE FROM cms_user_roles WHERE user_id = ? AND role_id IN (SELECT id FROM cms_roles WHERE name = ?)"
		}
		n, err := c.Exec(query, id, role)
		if err != nil {
			return err
		}
		if n == 0 {
			a.Logger().Warn("the configuration of single sign-on names a role that the site does not have",
				zap.String("role", role))
		}
		changed = true
		if has && role == kernel.RoleSuperuser {
			if err := keepSuperuser(c); err != nil {
				return err
			}
		}
	}
	if !changed {
		return nil
	}
	return c.Notify(topic, strconv.FormatInt(id, 10))
}
