// Package accounts manages the users of a site, their roles and the permissions of the roles.
//
// Every site has the roles guest and superuser, and the user guest, as whom callers act who have not signed in. Every
// user has the role guest. The name of a user consists of lower-case letters, digits and inner dots, hyphens and
// underscores; see GoodName. Users are cached for a few seconds, so most requests identify the caller without a query.
// Nodes notify each other of changed users.
package accounts

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/cache"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The statuses of a user.
const (
	StatusActive   = "active"
	StatusDisabled = "disabled" // cannot sign in; existing sessions and tokens are not accepted
)

// MaxName limits the name of a user or a role, in characters.
const MaxName = 128

// passwords are the rules for new passwords. The upper limit bounds the work of hashing.
var passwords = password.Rules{Min: 10, Max: 256}

// topic is the topic under which nodes notify each other of changed users.
const topic = "cms_users"

// Accounts manages the users and roles of a site. An Accounts is safe for concurrent use.
type Accounts struct {
	*kernel.Server
	users *cache.Cache[*signedIn]
	stop  func()
}

// signedIn is a cached user, as requests need it.
type signedIn struct {
	kernel.User
	active bool
	epoch  int64
}

// New returns the accounts of the site of s, without using the database yet. The caller must call Close.
func New(s *kernel.Server) *Accounts {
	a := &Accounts{Server: s}
	a.users = cache.New(10_000, s.Now, a.load)
	a.stop = s.DB.Listen(topic, a.users.Drop)
	return a
}

// Close stops listening for notifications from other nodes.
func (a *Accounts) Close() { a.stop() }

// Account is a user as administrators see it.
type Account struct {
	ID       int64         `json:"id"`
	Name     string        `json:"name"`
	Email    string        `json:"email"` // may be empty
	Status   string        `json:"status"`
	Roles    []string      `json:"roles"` // sorted names, without guest
	Created  kernel.Moment `json:"created"`
	Modified kernel.Moment `json:"modified"`
	// Epoch grows when the password or the status changes, which invalidates the sessions and tokens of earlier epochs.
	Epoch int64 `json:"-"`
}

// Change describes a change of a user. A nil member leaves the value unchanged.
type Change struct {
	Email    *string
	Password *string
	Status   *string
	Roles    *[]string // names; guest may be included, but every user has it anyway
}

// Guest returns the user guest, as whom callers act who have not signed in.
func (a *Accounts) Guest(ctx context.Context) (*kernel.User, error) {
	u, err := a.users.Get(ctx, kernel.RoleGuest)
	if err != nil {
		return nil, err
	}
	return &u.User, nil
}

// User returns a user and the user's epoch, both of which may be a few seconds old. The error is a not-found error if
// the user is disabled, does not exist, or is the guest.
func (a *Accounts) User(ctx context.Context, id int64) (*kernel.User, int64, error) {
	u, err := a.users.Get(ctx, strconv.FormatInt(id, 10))
	if err != nil {
		return nil, 0, err
	}
	if !u.active || u.Guest() {
		return nil, 0, kernel.NotFound("user")
	}
	return &u.User, u.epoch, nil
}

// Named returns the account with the given name, ignoring case.
func (a *Accounts) Named(ctx context.Context, name string) (*Account, error) {
	return a.read(ctx, "name = ?", fold(name))
}

// Account returns the account with the given ID.
func (a *Accounts) Account(ctx context.Context, id int64) (*Account, error) {
	return a.read(ctx, "id = ?", id)
}

// List returns up to limit accounts (1 to 500) with IDs greater than after, ordered by ID. The guest's account is
// included.
func (a *Accounts) List(ctx context.Context, after int64, limit int) (list []*Account, err error) {
	err = a.Read(ctx, func(c kernel.Conn) error {
		list, err = accounts(c, "id > ? ORDER BY id LIMIT ?", after, min(max(limit, 1), 500))
		return err
	})
	return list, err
}

// Query selects and orders accounts.
type Query struct {
	Text   string // prefix of the name, or a whole mail address
	Role   string // name of a role; empty for any
	Status string // empty for any
	// Newest orders accounts by creation, newest first, instead of by name. It is ignored if Text is set, and if Role
	// is set, which orders accounts by creation, oldest first.
	Newest bool
	After  string // the next that was returned with the previous page
	Limit  int    // from 1 to 500
}

// Find returns the accounts that match a query, including the guest's, and the value of Query.After for the next part
// of the list. next is empty at the end of the list.
func (a *Accounts) Find(ctx context.Context, q Query) (list []*Account, next string, err error) {
	limit := min(max(q.Limit, 1), 500)
	where, order := "1 = 1", "name"
	var args []any
	add := func(condition string, values ...any) {
		where += " AND " + condition
		args = append(args, values...)
	}
	after, _ := strconv.ParseInt(q.After, 10, 64) // for lists that are ordered by ID
	role := "role_id = (SELECT id FROM cms_roles WHERE name = ?)"
	switch text := fold(q.Text); {
	case strings.Contains(text, "@"): // no name contains this character
		add("email_key = ?", mailaddress.Key(text))
	case text != "":
		add("name >= ? AND name < ?", text, text+"\U0010ffff")
	case q.Role != "": // one page at a time from the index of the role
		order = "id"
		from := "SELECT r.user_id FROM cms_user_roles r JOIN cms_users s ON s.id = r.user_id WHERE r." + role +
			" AND r.user_id > ?"
		values := []any{fold(q.Role), after}
		if q.Status != "" {
			from += " AND s.status = ?"
			values = append(values, fold(q.Status))
		}
		add("id IN ("+from+" ORDER BY r.user_id LIMIT ?)", append(values, limit+1)...)
	case q.Newest:
		order = "id DESC"
		if after == 0 {
			after = math.MaxInt64
		}
		add("id < ?", after)
	}
	if q.Role != "" && order == "name" {
		add("EXISTS (SELECT 1 FROM cms_user_roles WHERE user_id = cms_users.id AND "+role+")", fold(q.Role))
	}
	if q.Status != "" && order != "id" {
		add("status = ?", fold(q.Status))
	}
	if order == "name" {
		add("name > ?", fold(q.After))
	}
	err = a.Read(ctx, func(c kernel.Conn) error {
		list, err = accounts(c, where+" ORDER BY "+order+" LIMIT ?", append(slices.Clip(args), limit+1)...)
		return err
	})
	list, next = store.CutAt(list, limit, func(u *Account) string {
		if order == "name" {
			return u.Name
		}
		return strconv.FormatInt(u.ID, 10)
	})
	return list, next, err
}

// Create creates a user. actor must have the permission users, and must be a superuser to create a superuser; a nil
// actor means the site itself. The error names the invalid fields: name, email, password or roles.
func (a *Accounts) Create(
	ctx context.Context, actor *kernel.User, name string, change Change,
) (account *Account, err error) {
	name = strings.TrimSpace(name)
	if !GoodName(name) {
		return nil, kernel.Invalid("name", "form",
			"a name has 1 to 128 of a-z, 0-9, dot, dash and underscore, and begins and ends with a letter or digit")
	}
	set, err := a.settle(ctx, name, change)
	if err != nil {
		return nil, err
	}
	set.confirmed = 1
	now := a.Moment()
	err = a.change(ctx, "", func(c kernel.Conn) error {
		if err := mayChange(c, actor, 0, set.roles); err != nil {
			return err
		}
		var id int64
		err := c.Row("INSERT INTO cms_users (name, created, modified) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING RETURNING id", name, now, now).Scan(&id)
		if err = kernel.OrNotFound(err, "user"); kernel.IsNotFound(err) {
			return kernel.Invalid("name", "taken", "there is a user of this name")
		}
		if err == nil {
			err = set.write(c, id, now)
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
	set, err := a.settle(ctx, old.Name, change)
	if err != nil {
		return nil, err
	}
	if actor == nil || actor.ID != id {
		set.confirmed = 1
	}
	own := actor != nil && actor.ID == id && change.Roles == nil && change.Status == nil
	now := a.Moment()
	err = a.change(ctx, strconv.FormatInt(id, 10), func(c kernel.Conn) error {
		if !own {
			if err := mayChange(c, actor, id, set.roles); err != nil {
				return err
			}
		}
		err := set.write(c, id, now)
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

// ErrLogin refuses a login. It does not reveal whether the name or the password is wrong.
var ErrLogin = apierror.New(http.StatusUnauthorized, "login_failed", "Login not successful")

// Login returns the active user with the given name and password, and the user's epoch. It returns ErrLogin if there is
// no such user or the password is wrong. A password is hashed in either case, so that the duration does not reveal
// whether a user exists. Login replaces the stored hash if that is outdated.
func (a *Accounts) Login(ctx context.Context, name, typed string) (*kernel.User, int64, error) {
	var id, epoch int64
	var stored, status string
	err := a.Read(ctx, func(c kernel.Conn) error {
		id, epoch, stored, status = 0, 0, "", ""
		return kernel.OrNotFound(c.Row("SELECT id, epoch, password_hash, status FROM cms_users WHERE name = ?",
			fold(name)).Scan(&id, &epoch, &stored, &status), "user")
	})
	if err != nil && !kernel.IsNotFound(err) {
		return nil, 0, err
	}
	good, err := a.Passwords.Verify(ctx, stored, typed)
	if err != nil {
		return nil, 0, apierror.Unavailable("the check of passwords", err)
	}
	if !good || status != StatusActive {
		return nil, 0, ErrLogin
	}
	if a.Passwords.Stale(stored) {
		if err := a.rehash(ctx, id, stored, typed); err != nil {
			return nil, 0, err
		}
	}
	// the cache may have an older state from before a change on another node
	a.users.Drop(strconv.FormatInt(id, 10))
	u, now, err := a.User(ctx, id)
	if kernel.IsNotFound(err) || err == nil && now != epoch {
		return nil, 0, ErrLogin // changed in the meantime
	}
	return u, epoch, err
}

// rehash replaces an outdated hash, unless the password has been changed in the meantime.
func (a *Accounts) rehash(ctx context.Context, id int64, stored, typed string) error {
	fresh, err := a.Passwords.Hash(ctx, typed)
	if err != nil {
		return err
	}
	return a.Write(ctx, func(c kernel.Conn) error {
		_, err := c.Exec("UPDATE cms_users SET password_hash = ? WHERE id = ? AND password_hash = ?", fresh, id, stored)
		return err
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

// ResetPassword gives a user a new password and returns it; it is shown only once. It acts in the name of the site.
// Existing sessions and tokens become invalid, and a disabled user becomes active again.
func (a *Accounts) ResetPassword(ctx context.Context, name string) (made string, err error) {
	account, err := a.Named(ctx, name)
	if err != nil {
		return "", err
	}
	made, active := password.Generate(), StatusActive
	_, err = a.Update(ctx, nil, account.ID, Change{Password: &made, Status: &active})
	return made, err
}

// GoodName reports whether name is valid for a user or a role.
func GoodName(name string) bool {
	if name == "" || len(name) > MaxName || strings.ContainsAny(name[:1]+name[len(name)-1:], "._-") {
		return false
	}
	for _, r := range []byte(name) {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-' {
			return false
		}
	}
	return true
}

// fold returns a name in its stored form: in lower case, without space around it. It replaces zero bytes, which
// PostgreSQL does not accept and no name has.
func fold(name string) string {
	return strings.ToLower(strings.TrimSpace(strings.ReplaceAll(name, "\x00", "\uFFFD")))
}

// set is a validated Change and the values derived from it.
type set struct {
	Change
	key, hash string
	roles     []string
	confirmed int64 // 1 if the address is set by someone else than the user, else 0
}

// settle validates a change of the user called name. It hashes the password, which is slow, and is therefore called
// before the transaction begins.
func (a *Accounts) settle(ctx context.Context, name string, change Change) (*set, error) {
	s := &set{Change: change}
	var faults []error
	if change.Email != nil && *change.Email != "" {
		address, err := mailaddress.Parse(*change.Email)
		if err != nil || utf8.RuneCountInString(address) > 255 {
			faults = append(faults, kernel.Invalid("email", "form", "this is not a mail address"))
		}
		s.Email, s.key = &address, mailaddress.Key(address)
	}
	if change.Status != nil && *change.Status != StatusActive && *change.Status != StatusDisabled {
		faults = append(faults, kernel.Invalid("status", "unknown", "a user is active or disabled"))
	}
	if change.Password != nil {
		switch err := passwords.Check(*change.Password, name, s.key); {
		case err == nil:
		case errors.Is(err, password.ErrShort):
			faults = append(faults, kernel.Invalid("password", "length", "a password has at least 10 characters"))
		case errors.Is(err, password.ErrLong):
			faults = append(faults, kernel.Invalid("password", "length", "a password has at most 256 characters"))
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
func (s *set) write(c kernel.Conn, id int64, now kernel.Moment) error {
	if s.Email != nil {
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
	if err == nil {
		roles = slices.Concat(roles, account.Roles)
	} else if !kernel.IsNotFound(err) {
		return err
	}
	if slices.Contains(roles, kernel.RoleSuperuser) {
		return kernel.Forbidden("only a superuser changes a superuser")
	}
	for _, role := range roles {
		granted, err := permissions(c, role)
		if err != nil {
			return err
		}
		for _, permission := range granted {
			if !actor.May(permission) {
				return kernel.Forbidden("the role %s permits %s, which you do not have", role, permission)
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
		return kernel.Conflict("this is the last active superuser")
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

// load reads a user for the cache. key is the user's ID, or "guest".
func (a *Accounts) load(ctx context.Context, key string) (u *signedIn, err error) {
	where, arg := "name = ?", any(key)
	if key != kernel.RoleGuest {
		id, err := strconv.ParseInt(key, 10, 64)
		if err != nil {
			return nil, kernel.NotFound("user")
		}
		where, arg = "id = ?", id
	}
	err = a.Read(ctx, func(c kernel.Conn) error {
		account, err := first(accounts(c, where, arg))
		if err != nil {
			return err
		}
		u = &signedIn{
			User: kernel.User{ID: account.ID, Name: account.Name}, active: account.Status == StatusActive,
			epoch: account.Epoch,
		}
		u.Roles = append(account.Roles, kernel.RoleGuest)
		slices.Sort(u.Roles)
		u.Permissions, err = store.List(c, text, `SELECT DISTINCT p.permission FROM cms_permissions p JOIN cms_roles r ON r.id = p.role_id
			WHERE r.name = 'guest' OR r.id IN (SELECT role_id FROM cms_user_roles WHERE user_id = ?) ORDER BY 1`, account.ID)
		return err
	})
	return u, err
}

func (a *Accounts) read(ctx context.Context, where string, arg any) (account *Account, err error) {
	err = a.Read(ctx, func(c kernel.Conn) error {
		account, err = first(accounts(c, where, arg))
		return err
	})
	return account, err
}

// accounts returns the accounts, with their roles, that match the SQL condition where with its arguments.
func accounts(c kernel.Conn, where string, args ...any) ([]*Account, error) {
	list, err := store.List(c, func(r store.Row) (*Account, error) {
		u := &Account{Roles: []string{}}
		return u, r.Scan(&u.ID, &u.Name, &u.Email, &u.Status, &u.Created, &u.Modified, &u.Epoch)
	}, "SELECT id, name, email, status, created, modified, epoch FROM cms_users WHERE "+where, args...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	byID, ids := make(map[int64]*Account, len(list)), make([]any, len(list))
	for i, u := range list {
		byID[u.ID], ids[i] = u, u.ID
	}
	err = c.All(`SELECT ur.user_id, r.name FROM cms_user_roles ur JOIN cms_roles r ON r.id = ur.role_id
		WHERE ur.user_id IN (?`+strings.Repeat(", ?", len(ids)-1)+") ORDER BY r.name", ids, func(r store.Row) error {
		var id int64
		var role string
		err := r.Scan(&id, &role)
		byID[id].Roles = append(byID[id].Roles, role)
		return err
	})
	return list, err
}

func first(list []*Account, err error) (*Account, error) {
	if err == nil && len(list) == 0 {
		return nil, kernel.NotFound("user")
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

func text(r store.Row) (word string, err error) {
	err = r.Scan(&word)
	return word, err
}
