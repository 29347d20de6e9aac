package tollgate

import (
	"context"

	"go.uber.org/zap"
)

// signOutListener is a service that wants to know about sign-outs.
type signOutListener struct {
	service string
	end     func(ctx context.Context, issuer, subject string) error
}

// OnSignOut registers a function that is called with each person who signs out at another service of the configuration.
// It ends the sessions of the person that began with the account of that issuer. A module calls OnSignOut while it is
// provisioned.
func (a *App) OnSignOut(service string, end func(ctx context.Context, issuer, subject string) error) {
	a.onSignOut = append(a.onSignOut, signOutListener{service, end})
}

// SignedOut tells the other services that a person has signed out at service, and returns when they have ended the
// person's sessions. Errors are logged: the person is signed out all the same where it was asked for.
func (a *App) SignedOut(ctx context.Context, service, issuer, subject string) {
	for _, l := range a.onSignOut {
		if l.service == service {
			continue
		}
		if err := l.end(ctx, issuer, subject); err != nil {
			a.logger.Error("sessions of a person who has signed out elsewhere did not end",
				zap.String("service", l.service), zap.Error(err))
		}
	}
}
