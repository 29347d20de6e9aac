package accounts

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// passwords are the rules for new passwords. The upper limit bounds the work of hashing.
var passwords = password.Rules{Min: 10, Max: 256}

// Change describes a change of a user. A nil member leaves the value unchanged.
type Change struct {
	Email    *string
	Password *string
	Status   *string
	Roles    *[]string // names; guest is allowed but has no effect, since every user has this role
}

// Create creates a user. actor must have the permission users, and must be a superuser to create a superuser; a nil
// actor means the site itself. The error names the invalid fields: name, email, password or roles.
func (a *Accounts) Create(
	ctx context.Context, actor *kernel.User, name string, change Change,
) (account *Account, err error) {
	name = strings.TrimSpace(name)
	if !kernel.GoodName(name) {
		return nil, kernel.BadName()
	}
	valid, err := a.validate(ctx, name, change)
	if err != nil {
		return nil, err
	}
	valid.confirmed = 1
	now := a.Moment()
	err = a.change(ctx, "", func(c kernel.Conn) error {
		if err := mayChange(c, actor, 0, valid.roles); err != nil {
			return err
		}
		var id int64
		err := c.Row("INSERT INTO cms_users (name, created, modified) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING RETURNING id", name, now, now).Scan(&id)
		if err = kernel.OrNotFound(err, "user"); kernel.IsNotFound(err) {
			return kernel.Invalid("name", "taken", "a user with this name exists already")
		}
		if err == nil {
			err = valid.write(c, id, now)
		}
		if err == nil {
			account, err = first(accounts(c, "id = ?", id))
		}
		return err
	})
	return account, err
}

// Update changes a user, under the same conditions as Create; but users may always change their own email and password.
// It returns an error for the guest, and for a change after which no active superuser would be left.
func (a *Accounts) Update(
	ctx context.Context, actor *kernel.User, id int64, change Change,
) (account *Account, err error) {
	old, err := a.Account(ctx, id)
	if err != nil {
		return nil, err
	}
	if old.Name == kernel.RoleGuest {
		return nil, kernel.Conflict("the guest cannot be changed")
	}
	valid, err := a.validate(ctx, old.Name, change)
	if err != nil {
		return nil, err
	}
	self := actor != nil && actor.ID == id
	if !self { // an address that somebody else sets counts as confirmed
		valid.confirmed = 1
	}
	onlyOwnData := self && change.Roles == nil && change.Status == nil
	now := a.Moment()
	err = a.change(ctx, strconv.FormatInt(id, 10), func(c kernel.Conn) error {
		if !onlyOwnData {
			if err := mayChange(c, actor, id, valid.roles); err != nil {
				return err
			}
		}
		err := valid.write(c, id, now)
		if err == nil && (change.Roles != nil || change.Status != nil) {
			err = keepSuperuser(c)
		}
		if err == nil {
			account, err = first(accounts(c, "id = ?", id))
		}
		return err
	})
	return account, err
}

// Delete removes a user, under the same conditions as Update. Pages keep the ID of their author.
func (a *Accounts) Delete(ctx context.Context, actor *kernel.User, id int64) error {
	return a.change(ctx, strconv.FormatInt(id, 10), func(c kernel.Conn) error {
		old, err := first(accounts(c, "id = ?", id))
		switch {
		case err != nil:
			return err
		case old.Name == kernel.RoleGuest:
			return kernel.Conflict("the guest cannot be deleted")
		}
		if err := mayChange(c, actor, id, nil); err != nil {
			return err
		}
		if _, err := c.Exec("DELETE FROM cms_users WHERE id = ?", id); err != nil {
			return err
		}
		return keepSuperuser(c)
	})
}

// Install creates a first superuser with the given name and returns the generated password, which is not stored. If
// there is a superuser already, Install does nothing and returns an empty string.
func (a *Accounts) Install(ctx context.Context, name string) (generated string, err error) {
	var n int64
	err = a.Read(ctx, func(c kernel.Conn) error { return c.Row(superusers).Scan(&n) })
	if err != nil || n > 0 {
		return "", err
	}
	generated = password.Generate()
	_, err = a.Create(ctx, nil, name, Change{Password: &generated, Roles: &[]string{kernel.RoleSuperuser}})
	return generated, err
}

// validChange is a validated Change and the values derived from it.
type validChange struct {
	Change
	key       string   // mailaddress.Key of the address
	hash      string   // of the password
	roles     []string // sorted, without guest and duplicates
	confirmed int64    // 1 if the address is set by someone else than the user, else 0
}

// validate validates a change of the user called name. It hashes the password, which is slow, and is therefore called
// before the transaction begins.
func (a *Accounts) validate(ctx context.Context, name string, change Change) (*validChange, error) {
	s := &validChange{Change: change}
	var faults []error
	if change.Email != nil && *change.Email != "" {
		address, err := mailaddress.Parse(*change.Email)
		if err != nil || utf8.RuneCountInString(address) > 255 {
			faults = append(faults, kernel.Invalid("email", "form", "this is not a valid mail address"))
		}
		s.Email, s.key = &address, mailaddress.Key(address)
	}
	if change.Status != nil && *change.Status != StatusActive && *change.Status != StatusDisabled {
		faults = append(faults, kernel.Invalid("status", "unknown", "the status must be active or disabled"))
	}
	if change.Password != nil {
		switch err := passwords.Check(*change.Password, name, s.key); {
		case err == nil:
		case errors.Is(err, password.ErrShort):
			faults = append(faults, kernel.Invalid("password", "length", "the password must have at least 10 characters"))
		case errors.Is(err, password.ErrLong):
			faults = append(faults, kernel.Invalid("password", "length", "the password may have at most 256 characters"))
		default:
			faults = append(faults, kernel.Invalid("password", "guessable", err.Error()))
		}
	}
	if change.Roles != nil {
		s.roles = slices.DeleteFunc(slices.Clone(*change.Roles), func(role string) bool { return role == kernel.RoleGuest })
		slices.Sort(s.roles)
		s.roles = slices.Compact(s.roles)
	}
	if err := apierror.Join(faults...); err != nil {
		return nil, err
	}
	if change.Password != nil {
		var err error
		if s.hash, err = a.Passwords.Hash(ctx, *change.Password); err != nil {
			return nil, apierror.Unavailable("the hashing of passwords", err)
		}
	}
	return s, nil
}

// write stores the change in the row of the user with the given ID.
func (s *validChange) write(c kernel.Conn, id int64, now kernel.Moment) error {
	if s.Email != nil { // an unchanged address stays confirmed or unconfirmed, as it was
		_, err := c.Exec("UPDATE cms_users SET email = ?, email_key = NULLIF(?, ''), email_confirmed = CASE WHEN email_key = ? THEN email_confirmed ELSE ? END WHERE id = ?", *s.Email, s.key, s.key, s.confirmed, id)
		if store.IsUniqueViolation(err) {
			return kernel.Invalid("email", "taken", "another user has this address")
		}
		if err != nil {
			return err
		}
	}
	if s.Password != nil {
		if _, err := c.Exec("UPDATE cms_users SET password_hash = ?, epoch = epoch + 1 WHERE id = ?",
			s.hash, id); err != nil {
			return err
		}
	}
	if s.Status != nil {
		if _, err := c.Exec("UPDATE cms_users SET status = ?, epoch = epoch + 1 WHERE id = ? AND status <> ?",
			*s.Status, id, *s.Status); err != nil {
			return err
		}
	}
	if s.Change.Roles != nil {
		if _, err := c.Exec("DELETE FROM cms_user_roles WHERE user_id = ?", id); err != nil {
			return err
		}
		for _, role := range s.roles {
			n, err := c.Exec("INSERT INTO cms_user_roles (user_id, role_id) SELECT ?, id FROM cms_roles WHERE name = ?",
				id, role)
			if err != nil {
				return err
			}
			if n == 0 {
				return kernel.Invalid("roles", "unknown", "there is no role "+strconv.Quote(role))
			}
		}
	}
	_, err := c.Exec("UPDATE cms_users SET modified = ? WHERE id = ?", now, id)
	return err
}

// mayChange returns an error if actor must not change the user with the given ID, or must not give that user the given
// roles. Only superusers may change superusers, and nobody may grant permissions that they do not have.
func mayChange(c kernel.Conn, actor *kernel.User, id int64, roles []string) error {
	if actor == nil || actor.Superuser() {
		return nil
	}
	if !actor.May(kernel.PermissionUsers) {
		return kernel.Forbidden("you may not change users")
	}
	account, err := first(accounts(c, "id = ?", id))
	if kernel.IsNotFound(err) { // a new user
		account, err = &Account{}, nil
	}
	if err != nil {
		return err
	}
	affected := slices.Concat(roles, account.Roles) // the roles after and before the change
	if slices.Contains(affected, kernel.RoleSuperuser) {
		return kernel.Forbidden("only a superuser may change a superuser")
	}
	for _, role := range affected {
		granted, err := permissions(c, role)
		if err != nil {
			return err
		}
		for _, permission := range granted {
			if !actor.May(permission) {
				return kernel.Forbidden("the role %s has the permission %s, which you do not have", role, permission)
			}
		}
	}
	return nil
}

// superusers is a query that counts the superusers who can sign in with a password.
const superusers = `SELECT COUNT(*) FROM cms_users u JOIN cms_user_roles ur ON ur.user_id = u.id JOIN cms_roles r ON r.id = ur.role_id
	WHERE r.name = 'superuser' AND u.status = 'active' AND u.password_hash <> ''`

// gateSuperuser serializes changes of users on PostgreSQL. Otherwise two concurrent transactions could each remove a
// superuser because the other one is left, so that none would remain.
const gateSuperuser = 0x636d7375

// keepSuperuser returns an error if no active superuser is left.
func keepSuperuser(c kernel.Conn) error {
	var n int64
	if err := c.Row(superusers).Scan(&n); err != nil {
		return err
	}
	if n == 0 {
		return kernel.Conflict("the last active superuser with a password must remain one")
	}
	return nil
}

// change runs fn in a transaction that may change users, and then removes the user with the given cache key from the
// caches of all nodes. An empty key removes all users.
func (a *Accounts) change(ctx context.Context, key string, fn func(c kernel.Conn) error) error {
	err := a.Write(ctx, func(c kernel.Conn) error {
		if err := c.Enter(gateSuperuser); err != nil {
			return err
		}
		if err := fn(c); err != nil {
			return err
		}
		return c.Notify(topic, key)
	})
	a.users.Drop(key) // also after an error: the commit may have succeeded
	return err
}
