// Package accounts manages the users of a site, their roles and the permissions of the roles.
//
// Every site has the roles guest and superuser, and the user guest, which represents callers who have not signed in.
// Every user has the role guest. The name of a user consists of lower-case letters, digits and inner dots, hyphens and
// underscores; see kernel.GoodName. Users are cached for a few seconds, so most requests identify the caller without a
// query. Nodes notify each other of changed users.
package accounts

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/cache"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The statuses of a user.
const (
	StatusActive   = "active"
	StatusDisabled = "disabled" // cannot sign in; existing sessions and tokens are not accepted
)

// topic is the topic under which nodes notify each other of changed users.
const topic = "cms_users"

// Accounts manages the users and roles of a site. An Accounts is safe for concurrent use.
type Accounts struct {
	*kernel.Server
	users *cache.Cache[*signedIn] // by ID; the guest is under its name
	stop  func()                  // stops listening for notifications
}

// signedIn is a user in the cache, with the data that requests need.
type signedIn struct {
	kernel.User
	active bool
	epoch  int64 // see Account.Epoch
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

// Guest returns the user guest, which represents callers who have not signed in.
func (a *Accounts) Guest(ctx context.Context) (*kernel.User, error) {
	u, err := a.users.Get(ctx, kernel.RoleGuest)
	if err != nil {
		return nil, err
	}
	return &u.User, nil
}

// User returns a user and the user's epoch, both of which may be a few seconds old; see Account.Epoch. The error is a
// not-found error if the user is disabled, does not exist, or is the guest.
func (a *Accounts) User(ctx context.Context, id int64) (user *kernel.User, epoch int64, err error) {
	u, err := a.users.Get(ctx, strconv.FormatInt(id, 10))
	if err != nil {
		return nil, 0, err
	}
	if !u.active || u.Guest() {
		return nil, 0, kernel.NotFound("user")
	}
	return &u.User, u.epoch, nil
}

// fold returns a name in its stored form: in lower case, without space around it. It replaces zero bytes, which
// PostgreSQL does not accept and no name has.
func fold(name string) string {
	return strings.ToLower(strings.TrimSpace(strings.ReplaceAll(name, "\x00", "\uFFFD")))
}

// load reads a user for the cache. key is the user's ID, or "guest".
func (a *Accounts) load(ctx context.Context, key string) (u *signedIn, err error) {
	condition, arg := "name = ?", any(key)
	if key != kernel.RoleGuest {
		id, err := strconv.ParseInt(key, 10, 64)
		if err != nil {
			return nil, kernel.NotFound("user")
		}
		condition, arg = "id = ?", id
	}
	err = a.Read(ctx, func(c kernel.Conn) error {
		account, err := first(accounts(c, condition, arg))
		if err != nil {
			return err
		}
		u = &signedIn{
			User: kernel.User{ID: account.ID, Name: account.Name}, active: account.Status == StatusActive,
			epoch: account.Epoch,
		}
		u.Roles = append(account.Roles, kernel.RoleGuest)
		slices.Sort(u.Roles)
		u.Permissions, err = store.List(c, scanText, `SELECT DISTINCT p.permission FROM cms_permissions p JOIN cms_roles r ON r.id = p.role_id
			WHERE r.name = 'guest' OR r.id IN (SELECT role_id FROM cms_user_roles WHERE user_id = ?) ORDER BY 1`, account.ID)
		return err
	})
	return u, err
}

// scanText reads a text from a row with one column.
func scanText(r store.Row) (word string, err error) {
	err = r.Scan(&word)
	return word, err
}
