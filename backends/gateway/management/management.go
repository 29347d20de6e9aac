// Package management is the HTTP API in which users of the model gateway manage their keys, models and preferences, and
// see health and usage. It also has the gateway's public routes. It works on what the keychain stores and what the
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

// Service implements the management routes; see Routes.
type Service struct {
	Keychain *keychain.Service
	// Spending reports what was spent.
	Spending *spending.Ledger
	// NewUsers is the policy for those who sign in for the first time.
	NewUsers keychain.NewUsers
	// Teams puts people into teams when they sign in.
	Teams TeamRules
	// Mail sends invitations. If it is nil the operator passes the links on.
	Mail mail.Transport
	// Alerts lists the alerts that were sent.
	Alerts *alerts.Service
	// Operators and Auditors name those who may change or see the users, teams and limits of others.
	Operators, Auditors Who
	// Engine knows health and candidates, and tests provider keys.
	Engine *cascade.Engine
	// Catalog returns the current catalog. It is called once per request.
	Catalog func() *catalog.Catalog
	// Reprice makes Catalog have the own prices that are stored. It is called after they have changed.
	Reprice func(ctx context.Context) error
	// Parts returns the state of the parts that the gateway needs, by name. A nil error means that the part works.
	Parts func(ctx context.Context) map[string]error
	// Bar returns the contents of the bar at the top of the API reference for a request. Default: nothing more.
	Bar func(*http.Request) look.Bar
}

// The functions of routes: of any route, of one for a user or team, and of one for the owner of keys or aliases. The
// guards below turn the latter two into the first.
type (
	handler      = func(c *rest.Call) (any, error)
	idHandler    = func(c *rest.Call, id string) (any, error)
	ownerHandler = func(c *rest.Call, owner keychain.Owner) (any, error)
)

// own returns a route's function that calls fn for the user in the path, or returns an error with status 403 if that is
// not the user who signed in, or if the user is not active.
func (s *Service) own(fn idHandler) handler {
	return func(c *rest.Call) (any, error) {
		user := c.Path("user_id")
		if user != c.User() {
			return nil, apierror.New(http.StatusForbidden, "forbidden", "the user of the path is not the one who signed in")
		}
		return s.mine(func(c *rest.Call) (any, error) { return fn(c, user) })(c)
	}
}

// mine returns a route's function that calls fn if the user who signed in is active, and returns an error otherwise.
func (s *Service) mine(fn handler) handler {
	return func(c *rest.Call) (any, error) {
		if err := s.Keychain.Active(c.R.Context(), c.User()); err != nil {
			return nil, unavailable(err)
		}
		answer, err := fn(c)
		return answer, unavailable(err)
	}
}

// signedIn returns a route's function that calls fn for every user who signed in. fn must check whether the user is
// active.
func (s *Service) signedIn(fn handler) handler {
	return func(c *rest.Call) (any, error) {
		answer, err := fn(c)
		return answer, unavailable(err)
	}
}

// unavailable turns the error of an unreachable database into a 503.
func unavailable(err error) error {
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return apierror.Unavailable("the database", err)
	}
	return err
}
