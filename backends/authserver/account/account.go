// Package account lets users manage their accounts. They can see and end their sessions, see and revoke the access of
// applications, change the password and the mail address, and delete the account. The package also sends the mails that
// this requires.
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

// Accounts manages the accounts of users at their request.
type Accounts struct {
	*kernel.Server
	Users    *users.Users
	Login    *login.Login
	Consents *consent.Consents
	Tokens   *tokens.Tokens
	Catalog  *resources.Catalog
	Feed     *audit.Feed
	// Mail sends mails. If it is nil, no mails are sent, and features that need mails are not available.
	Mail mail.Transport
	// Languages are the available languages of mails. Default: English only.
	Languages *locale.Languages
	// Site is the name of the server in mails, such as its host.
	Site string
	// Grace is the time between a user's request to delete the account and its deletion. If it is zero, users cannot
	// delete their accounts.
	Grace time.Duration
	// Registration defines who may create an account. Default: nobody.
	Registration Registration

	// downUntil is the time, in microseconds since 1970, until which no further audit event about an unreachable mail
	// server is recorded. It is 0 while the mail server can be reached.
	downUntil atomic.Int64
}

const (
	// activityDays and maxActivity limit the age and the number of the events that a user sees.
	activityDays = 30
	maxActivity  = 20
)

// Activity returns the recent events of a user's account, newest first.
func (a *Accounts) Activity(ctx context.Context, user string) ([]audit.Record, error) {
	now := a.Now()
	list, _, err := a.Feed.List(ctx, audit.Query{
		Since: now.Add(-activityDays * 24 * time.Hour), Until: now, Actor: user, Action: "user.",
	}, maxActivity, 0)
	return list, err
}

// SetPassword replaces the password of the user of a session. It ends all of the user's sessions and tokens, and
// returns the cookie of a new session for this browser. The clientAddress is the IP address of the browser. The error
// has status 422 if currentPassword is wrong or newPassword is not allowed, and 429 after too many wrong passwords.
func (a *Accounts) SetPassword(
	ctx context.Context, s *login.Session, currentPassword, newPassword, clientAddress string,
) (cookie string, err error) {
	if err := a.Login.Confirm(ctx, s.User, currentPassword, clientAddress); err != nil {
		return "", err
	}
	u, err := a.Users.Update(ctx, s.User.ID, users.Change{Password: &newPassword}, s.User.ID)
	if err != nil {
		return "", err
	}
	return a.Login.Restart(ctx, u, s)
}

// Delete schedules the deletion of a signed-in user's account after the grace period. It ends all sessions and tokens
// at once. If the user has a password on this server, the parameter password must be that password. The clientAddress
// is the IP address of the browser. The errors are those of SetPassword.
func (a *Accounts) Delete(ctx context.Context, u *users.User, password, clientAddress string) error {
	if u.Provider == users.Local {
		if err := a.Login.Confirm(ctx, u, password, clientAddress); err != nil {
			return err
		}
	}
	return a.Users.PlanDeletion(ctx, u.ID, a.Now().Add(a.Grace))
}
