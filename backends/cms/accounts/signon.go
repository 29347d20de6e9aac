package accounts

import (
	"context"
	"crypto/rand"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// SignOn returns the user for a person who has signed in at an OpenID provider, and the user's epoch.
//
// A person who has signed in before is the same user again. A new person becomes the user with the mail address
// that the provider has confirmed, unless only the user has set this address: otherwise somebody could prepare an
// account with the address of another person. If no user has the address, SignOn creates one, provided that a group
// of the person is a managed role. A user has exactly those managed roles that the provider names.
func (a *Accounts) SignOn(ctx context.Context, p *oidclogin.Person, managed []string) (*kernel.User, int64, error) {
	var id int64
	try := func() error {
		return a.Write(ctx, func(c kernel.Conn) (err error) {
			if err := c.Enter(gateSuperuser); err != nil {
				return err
			}
			if id, err = a.identified(c, p, managed); err != nil {
				return err
			}
			return a.settleRoles(c, id, p.Groups, managed)
		})
	}
	err := try()
	if store.IsUniqueViolation(err) { // a concurrent sign-in of the same person or name was faster
		err = try()
	}
	if err != nil {
		return nil, 0, err
	}
	a.users.Drop(strconv.FormatInt(id, 10))
	user, epoch, err := a.User(ctx, id)
	if kernel.IsNotFound(err) {
		return nil, 0, kernel.Forbidden("your account is disabled")
	}
	return user, epoch, err
}

// identified returns the ID of the user of a person. It links the person to a user, or creates one, if necessary.
func (a *Accounts) identified(c kernel.Conn, p *oidclogin.Person, managed []string) (id int64, err error) {
	err = kernel.OrNotFound(c.Row("SELECT user_id FROM cms_identities WHERE issuer = ? AND subject = ?",
		p.Issuer, p.Subject).Scan(&id), "user")
	if !kernel.IsNotFound(err) {
		return id, err
	}
	address, err := mailaddress.Parse(p.Email)
	if err != nil || !p.Confirmed {
		return 0, kernel.Forbidden("your identity provider does not confirm a mail address of yours, so that nobody here can be you")
	}
	var confirmed bool
	var linked int
	err = kernel.OrNotFound(c.Row("SELECT u.id, u.email_confirmed = 1, (SELECT COUNT(*) FROM cms_identities i WHERE i.user_id = u.id AND i.issuer = ?) FROM cms_users u WHERE u.email_key = ?",
		p.Issuer, mailaddress.Key(address)).Scan(&id, &confirmed, &linked), "user")
	switch {
	case kernel.IsNotFound(err):
		if !slices.ContainsFunc(p.Groups, func(role string) bool { return slices.Contains(managed, role) }) {
			return 0, kernel.Forbidden("no group of yours at the identity provider lets you in here")
		}
		if id, err = a.join(c, p, address); err != nil {
			return 0, err
		}
	case err != nil:
		return 0, err
	case linked > 0:
		return 0, kernel.Conflict("another person of your identity provider had this mail address, and has the account here; an administrator can help")
	case !confirmed:
		return 0, kernel.Conflict("there is an account with your mail address that no administrator has confirmed; ask one to set the address")
	}
	_, err = c.Exec("INSERT INTO cms_identities (issuer, subject, user_id) VALUES (?, ?, ?)", p.Issuer, p.Subject, id)
	return id, err
}

// join creates a user for a person, with the first name that is free.
func (a *Accounts) join(c kernel.Conn, p *oidclogin.Person, address string) (id int64, err error) {
	now := a.Moment()
	names := slices.Concat(p.Names, []string{address})
	for range 3 {
		n, _ := rand.Int(rand.Reader, big.NewInt(1_000_000_000)) // never fails
		names = append(names, "user-"+n.String())
	}
	for _, name := range names {
		name, _, _ = strings.Cut(name, "@")
		if name = strings.Join(strings.Fields(strings.ToLower(name)), "."); !GoodName(name) {
			continue
		}
		err := c.Row("INSERT INTO cms_users (name, email, email_key, email_confirmed, created, modified) VALUES (?, ?, ?, 1, ?, ?) ON CONFLICT (name) DO NOTHING RETURNING id",
			name, address, mailaddress.Key(address), now, now).Scan(&id)
		if err = kernel.OrNotFound(err, "user"); !kernel.IsNotFound(err) {
			return id, err
		}
	}
	return 0, kernel.Conflict("no name is free for you; try again")
}

// settleRoles gives a user the managed roles that are named, and removes the other managed roles.
func (a *Accounts) settleRoles(c kernel.Conn, id int64, named, managed []string) error {
	account, err := first(accounts(c, "id = ?", id))
	if err != nil {
		return err
	}
	changed := false
	for _, role := range managed {
		has, wanted := slices.Contains(account.Roles, role), slices.Contains(named, role)
		if has == wanted || role == kernel.RoleGuest {
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
			a.Logger().Warn("single sign-on names a role that the site does not have", zap.String("role", role))
		}
		if changed = true; has && role == kernel.RoleSuperuser {
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
