package tollgate

import (
	"context"

	"go.uber.org/zap"
)

// signOutListener is a service with a function for the end of sessions.
type signOutListener struct {
	service string
	end     func(ctx context.Context, issuer, subject string) error
}

// OnSignOut registers the function that ends a person's sessions at a service. It is called when the person signs out
// at another service of the configuration. issuer and subject identify the person at the OpenID provider. A module
// calls OnSignOut while it is provisioned.
func (a *App) OnSignOut(service string, end func(ctx context.Context, issuer, subject string) error) {
	a.onSignOut = append(a.onSignOut, signOutListener{service, end})
}

// SignedOut calls the functions of the other services when a person has signed out at the given service. It returns
// when these functions have ended the person's sessions. Errors are logged, because the person is signed out at the
// given service in any case.
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
