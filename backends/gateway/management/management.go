// Package management is the HTTP API in which users of the model gateway look
// after their keys, models and preferences, and see health and usage; and the
// gateway's public routes. It works on what the keychain keeps and what the
// cascade learns.
package management

import (
	"context"
	"errors"
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/gateway/alerts"
	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/mail"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Service answers the management routes; see Routes.
type Service struct {
	Keychain *keychain.Service
	// Spending knows what was spent.
	Spending *spending.Ledger
	// NewUsers says what becomes of those who sign in for the first time.
	NewUsers keychain.NewUsers
	// Teams puts people into teams when they sign in.
	Teams TeamRules
	// Mail sends invitations. Default: whoever invites passes the link on.
	Mail mail.Transport
	// Alerts are what somebody was told of.
	Alerts *alerts.Service
	// Operators and Auditors name who may do what with the users, teams and limits of others.
	Operators, Auditors Who
	// Engine tells of health and candidates, and tests provider keys.
	Engine *cascade.Engine
	// Catalog is asked once a request.
	Catalog func() *catalog.Catalog
	// Parts tells the errors of what the gateway cannot work without, by name.
	Parts func(ctx context.Context) map[string]error
	// Bar returns what the bar at the top of the API reference shows to who asks. Default: nothing more.
	Bar func(*http.Request) look.Bar
}

// own runs fn when the user of the path is the one who signed in, and active.
func (s *Service) own(fn func(c *rest.Call, user string) (any, error)) func(c *rest.Call) (any, error) {
	return func(c *rest.Call) (any, error) {
		user := c.Path("user_id")
		if user != c.User() {
			return nil, apierror.New(http.StatusForbidden, "forbidden", "the user of the path is not the one who signed in")
		}
		return s.mine(func(c *rest.Call) (any, error) { return fn(c, user) })(c)
	}
}

// mine runs fn when who signed in is active.
func (s *Service) mine(fn func(c *rest.Call) (any, error)) func(c *rest.Call) (any, error) {
	return func(c *rest.Call) (any, error) {
		if err := s.Keychain.Active(c.R.Context(), c.User()); err != nil {
			return nil, unavailable(err)
		}
		answer, err := fn(c)
		return answer, unavailable(err)
	}
}

// signedIn runs fn for who signed in, and may not be active yet: fn looks itself.
func (s *Service) signedIn(fn func(c *rest.Call) (any, error)) func(c *rest.Call) (any, error) {
	return func(c *rest.Call) (any, error) {
		answer, err := fn(c)
		return answer, unavailable(err)
	}
}

// unavailable turns the error of a database that is down into a 503.
func unavailable(err error) error {
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return apierror.Unavailable("the database", err)
	}
	return err
}
