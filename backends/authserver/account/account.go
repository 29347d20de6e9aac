// Package account is what people do with their accounts by themselves: they see where they are
// signed in and which applications may act for them, end both, and change their password.
package account

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/audit"
	"github.com/tollgate-gateway/tollgate/backends/authserver/consent"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/mail"
)

// Accounts are those of all users.
type Accounts struct {
	*kernel.Server
	Users    *users.Users
	Login    *login.Login
	Consents *consent.Consents
	Tokens   *tokens.Tokens
	Catalog  *resources.Catalog
	Feed     *audit.Feed
	// Mail sends mails. Nil means that none are sent, and that nothing is there which needs them.
	Mail mail.Transport
	// Site is what mails call the server, such as its host.
	Site string
	// Grace is how long an account is kept whose user has deleted it. Zero means that users
	// cannot delete their accounts.
	Grace time.Duration
	// Registration says who may make an account. Default: nobody.
	Registration Registration
}

const (
	// activityDays and activityMost bound what a user is shown of what happened.
	activityDays = 30
	activityMost = 20
)

// Activity lists what happened lately to a user's account, the latest first.
func (a *Accounts) Activity(ctx context.Context, user string) ([]audit.Record, error) {
	now := a.Now()
	list, _, err := a.Feed.List(ctx, audit.Query{
		Since: now.Add(-activityDays * 24 * time.Hour), Until: now, Actor: user, Action: "user.",
	}, activityMost, 0)
	return list, err
}

// SetPassword gives a user who is signed in a new password in place of the present one. It ends
// all of their sessions and what was issued for them, and returns the cookie of a new session for
// this browser. Errors: 422 where the present password is wrong or the new one cannot be one, and
// 429 while the lockout of sign-ins holds.
func (a *Accounts) SetPassword(ctx context.Context, s *login.Session, present, next, address string) (cookie string, err error) {
	if err := a.Login.Confirm(ctx, s.User, present, address); err != nil {
		return "", err
	}
	u, err := a.Users.Update(ctx, s.User.ID, users.Change{Password: &next}, s.User.ID)
	if err != nil {
		return "", err
	}
	return a.Login.Restart(ctx, u, s)
}

// Delete plans the deletion of the account of a user who is signed in, after the time of grace. All
// sessions and what was issued end now. Who has a password here proves it with 422 and 429 as for
// SetPassword.
func (a *Accounts) Delete(ctx context.Context, u *users.User, present, address string) error {
	if u.Provider == users.Local {
		if err := a.Login.Confirm(ctx, u, present, address); err != nil {
			return err
		}
	}
	return a.Users.PlanDeletion(ctx, u.ID, a.Now().Add(a.Grace))
}
