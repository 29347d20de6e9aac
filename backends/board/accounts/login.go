package accounts

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/attempts"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// attemptLimit returns a limit of attempts within a period. Several limits share the table of attempts; name
// identifies this limit in the table.
func attemptLimit(name string, limit int64, period time.Duration) attempts.Limit {
	return attempts.Limit{Table: "board_attempts", What: name, Max: limit, Within: period}
}

// The limits of wrong passwords (for a name and a client, and for a client), and of registrations by a client.
var (
	loginsOfAccount = attemptLimit("account", 5, 15*time.Minute)
	loginsOfAddress = attemptLimit("address", 50, 15*time.Minute)
	NewAccounts     = attemptLimit("register", 10, time.Hour)
)

// passwords holds the rules for new passwords.
var passwords = password.Rules{Min: 10, Max: 256}

// maxNameBytes is the maximum length, in bytes, of names and mail addresses to sign in with. Longer ones are not looked
// up.
const maxNameBytes = 400

// errWait returns the error (status 429) for a client with too many attempts. The error's message begins with
// messageStart. wait is the time until the next attempt. If wait is 0, the client need not wait, and errWait returns
// nil.
func errWait(wait time.Duration, messageStart string) error {
	if wait == 0 {
		return nil
	}
	return &apierror.Error{
		Status: http.StatusTooManyRequests, Code: "rate_limited", RetryAfter: wait,
		Message: messageStart + " from your address; wait a little and try again",
	}
}

// errLogin returns the error for a wrong name or a wrong password. It is the same for both, to hide which names exist.
func errLogin() error {
	return kernel.Invalid("password", "wrong", "the name or the password is wrong")
}

// Login signs a member in by password and returns the cookie of the new session. name is the member's name or mail
// address. Login ends the session of formerCookie, which may be empty. address is the client's IP address, by which
// wrong passwords are counted.
func (s *Service) Login(ctx context.Context, name, password, address, formerCookie string) (cookie string, err error) {
	if len(name) > maxNameBytes || passwords.Long(password) {
		return "", errLogin()
	}
	p, err := s.verify(ctx, name, password, address)
	if err != nil {
		return "", err
	}
	user := p.user
	a := &rights.Actor{User: user}
	// A member who has not confirmed the mail address may sign in, to request the link again.
	if err := a.CheckBlocked(s.Moment()); err != nil && !a.Unconfirmed() {
		if user.State == "awaiting" {
			return "", apierror.New(http.StatusForbidden, "owner_unavailable",
				"an administrator has not approved your registration yet; come back later")
		}
		return "", err
	}
	return kernel.Value(ctx, s.Write, func(c store.Conn) (cookie string, err error) {
		if err := p.checkUnchanged(c); err != nil {
			return cookie, err
		}
		if err := sessions.End(c, formerCookie); err != nil {
			return cookie, err
		}
		now := s.Now()
		if _, err := c.Exec("UPDATE board_users SET last_active_at = ? WHERE id = ?", now.UnixMicro(), user.ID); err != nil {
			return cookie, err
		}
		return sessions.Begin(c, user.ID, now)
	})
}

// Confirm checks the actor's password again and records in the session n that the password was given now. address is
// the client's IP address.
func (s *Service) Confirm(ctx context.Context, a *rights.Actor, n *Session, password, address string) error {
	p, err := s.confirm(ctx, a, password, address)
	if err != nil {
		return err
	}
	now := s.Now()
	err = s.Write(ctx, func(c store.Conn) error {
		if err := p.checkUnchanged(c); err != nil {
			return err
		}
		return sessions.Confirm(c, n.ID, now)
	})
	if err == nil {
		n.ConfirmedAt = now
	}
	return err
}

// proof is the result of a successful password check: the member, and the password hash at the time of the check.
type proof struct {
	user *rights.User
	hash string
}

// checkUnchanged returns an error if the member's password, state or ban has changed since the password was checked,
// because hashing takes long enough for such a change. Otherwise it locks the member's row, so that password, state
// and ban cannot change until the transaction ends.
func (p proof) checkUnchanged(c store.Conn) error {
	var hash, state string
	var banEnd kernel.Moment
	err := c.Row("SELECT password_hash, state, COALESCE(banned_until, 0) FROM board_users WHERE id = ?"+
		c.Lock(), p.user.ID).Scan(&hash, &state, &banEnd)
	if err != nil {
		return err
	}
	if hash != p.hash || state != p.user.State || banEnd != p.user.BannedUntil {
		return errLogin()
	}
	return nil
}

// confirm checks the actor's password before a change of the account, and returns the proof that the change needs.
// address is the client's IP address, by which attempts are limited as in verify. It returns NotFound for a guest.
func (s *Service) confirm(ctx context.Context, a *rights.Actor, password, address string) (proof, error) {
	if a.User == nil {
		return proof{}, kernel.NotFound()
	}
	p, err := s.verify(ctx, a.User.Name, password, address)
	if e, ok := apierror.From(err); ok && e.Status == http.StatusUnprocessableEntity {
		err = kernel.Invalid("password", "wrong", "the password is wrong")
	}
	return p, err
}

// verify returns the member with this name or mail address if the password is right. It returns errLogin if the name
// or the password is wrong, and errWait after too many wrong passwords. address is the client's IP address.
//
// Before the check, verify counts an attempt of the client, and an attempt of the client for this name. If the
// password is right, it undoes the first count and resets the second. It then also replaces the stored hash if the
// parameters of that hash are outdated.
func (s *Service) verify(ctx context.Context, name, password, address string) (proof, error) {
	byAccount, byAddress := loginsOfAccount.Of(text.Fold(name), address), loginsOfAddress.Of(address)
	user, storedHash, err := s.attempt(ctx, name, byAddress, byAccount)
	if err != nil {
		return proof{}, err
	}
	// The password is verified even if there is no member, so that this takes as long as for a wrong password.
	matches, err := s.Options.Passwords.Verify(ctx, storedHash, password)
	if err != nil {
		return proof{}, err
	}
	if !matches || user == nil || user.State == "deleted" {
		return proof{}, errLogin()
	}
	newHash := storedHash // the hash that is stored when verify returns
	if s.Options.Passwords.Stale(storedHash) {
		if newHash, err = s.Options.Passwords.Hash(ctx, password); err != nil {
			return proof{}, err
		}
	}
	raced := false // whether the stored hash has changed during the check
	err = s.Write(ctx, func(c store.Conn) error {
		if newHash != storedHash {
			changed, err := c.Exec("UPDATE board_users SET password_hash = ? WHERE id = ? AND password_hash = ?",
				newHash, user.ID, storedHash)
			if err != nil {
				return err
			}
			raced = changed == 0
		}
		if err := rights.LoadGroups(c, user); err != nil {
			return err
		}
		// The password was right, so the attempt does not count for the client.
		if err := byAddress.GiveBack(c); err != nil {
			return err
		}
		return byAccount.Forget(c)
	})
	if raced && err == nil {
		// Meanwhile another login or a new password has stored another hash. The check is repeated with that hash.
		return s.verify(ctx, name, password, address)
	}
	return proof{user, newHash}, err
}

// attempt counts an attempt to sign in, and returns the member with this name or mail address and the member's password
// hash. If there is no such member, user is nil and hash is empty. After too many attempts, attempt returns errWait.
func (s *Service) attempt(
	ctx context.Context, name string, counts ...attempts.Count,
) (user *rights.User, hash string, err error) {
	var wait time.Duration
	err = s.Write(ctx, func(c store.Conn) (err error) {
		user, hash = nil, ""
		now := s.Now()
		for _, count := range counts {
			if wait, err = count.Try(c, now); err != nil || wait > 0 {
				return err // err is nil for a wait, since an error would roll back the counts
			}
		}
		// If the text is the name of one member and looks like the mail address of another, the member with the name is
		// meant.
		user, err = rights.ScanUser(c.Row("SELECT "+rights.UserColumns+", u.password_hash FROM board_users u"+
			" WHERE u.username_key = ? OR u.email_key = ?"+
			" ORDER BY CASE WHEN u.username_key = ? THEN 0 ELSE 1 END LIMIT 1", text.Fold(name), mailaddress.Key(name),
			text.Fold(name)), &hash)
		if errors.Is(err, sql.ErrNoRows) {
			user, err = nil, nil
		}
		return err
	})
	return user, hash, cmp.Or(err, errWait(wait, "too many wrong passwords"))
}
