package accounts

import (
	"context"
	"net/http"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

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
