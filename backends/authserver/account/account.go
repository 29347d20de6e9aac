// Package account is what users can do with their own accounts: see where they are signed in and which applications may
// act for them, end both, and change their password.
package account

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/audit"
	"github.com/tollgate-gateway/tollgate/backends/authserver/consent"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/locale"
	"github.com/tollgate-gateway/tollgate/internal/mail"
)

// Accounts manages the accounts of all users on their own behalf.
type Accounts struct {
	*kernel.Server
	Users    *users.Users
	Login    *login.Login
	Consents *consent.Consents
	Tokens   *tokens.Tokens
	Catalog  *resources.Catalog
	Feed     *audit.Feed
	// Mail sends mails. If it is nil, none are sent, and features that need mails are not available.
	Mail mail.Transport
	// Languages are those in which mails are written. Default: English only.
	Languages *locale.Languages
	// Site is the name of the server in mails, such as its host.
	Site string
	// Grace is how long an account is kept after its user has deleted it. If it is zero, users cannot delete their
	// accounts.
	Grace time.Duration
	// Registration defines who may create an account. Default: nobody.
	Registration Registration

	// downUntil is until when, in microseconds since 1970, it is not noted again that the mail server is down.
	downUntil atomic.Int64
}

const (
	// activityDays and maxActivity bound the events that a user is shown.
	activityDays = 30
	maxActivity  = 20
)

// Activity returns the recent events of a user's account, the latest first.
func (a *Accounts) Activity(ctx context.Context, user string) ([]audit.Record, error) {
	now := a.Now()
	list, _, err := a.Feed.List(ctx, audit.Query{
		Since: now.Add(-activityDays * 24 * time.Hour), Until: now, Actor: user, Action: "user.",
	}, maxActivity, 0)
	return list, err
}

// SetPassword replaces the password of a signed-in user. It ends all of their sessions and tokens, and returns the
// cookie of a new session for this browser. The error has status 422 if the present password is wrong or the next one
// is not allowed, and 429 while the lockout of sign-ins holds.
func (a *Accounts) SetPassword(
	ctx context.Context, s *login.Session, present, next, address string,
) (cookie string, err error) {
	if err := a.Login.Confirm(ctx, s.User, present, address); err != nil {
		return "", err
	}
	u, err := a.Users.Update(ctx, s.User.ID, users.Change{Password: &next}, s.User.ID)
	if err != nil {
		return "", err
	}
	return a.Login.Restart(ctx, u, s)
}

// Delete plans the deletion of the account of a signed-in user after the grace period, and ends all sessions and tokens
// now. A user who has a password here must send it; the errors are those of SetPassword.
func (a *Accounts) Delete(ctx context.Context, u *users.User, present, address string) error {
	if u.Provider == users.Local {
		if err := a.Login.Confirm(ctx, u, present, address); err != nil {
			return err
		}
	}
	return a.Users.PlanDeletion(ctx, u.ID, a.Now().Add(a.Grace))
}
