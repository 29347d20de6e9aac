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
func (a *Accounts) Login(
	ctx context.Context, name, password string,
) (user *kernel.User, epoch int64, err error) {
	var id int64
	var hash, status string
	err = a.Read(ctx, func(c kernel.Conn) error {
		id, epoch, hash, status = 0, 0, "", ""
		return kernel.OrNotFound(c.Row("SELECT id, epoch, password_hash, status FROM cms_users WHERE name = ?",
			fold(name)).Scan(&id, &epoch, &hash, &status), "user")
	})
	if err != nil && !kernel.IsNotFound(err) {
		return nil, 0, err
	}
	matches, err := a.Passwords.Verify(ctx, hash, password)
	if err != nil {
		return nil, 0, apierror.Unavailable("the check of passwords", err)
	}
	if !matches || status != StatusActive {
		return nil, 0, ErrLogin
	}
	if a.Passwords.Stale(hash) {
		if err := a.rehash(ctx, id, hash, password); err != nil {
			return nil, 0, err
		}
	}
	// The cache may have an older state from before a change on another node.
	a.users.Drop(strconv.FormatInt(id, 10))
	user, currentEpoch, err := a.User(ctx, id)
	if kernel.IsNotFound(err) || err == nil && currentEpoch != epoch {
		return nil, 0, ErrLogin // the user has been changed in the meantime
	}
	return user, epoch, err
}

// rehash replaces oldHash, an outdated hash of the password, unless the password has been changed in the meantime.
func (a *Accounts) rehash(ctx context.Context, id int64, oldHash, password string) error {
	newHash, err := a.Passwords.Hash(ctx, password)
	if err != nil {
		return err
	}
	return a.Write(ctx, func(c kernel.Conn) error {
		_, err := c.Exec("UPDATE cms_users SET password_hash = ? WHERE id = ? AND password_hash = ?", newHash, id, oldHash)
		return err
	})
}
