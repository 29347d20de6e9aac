// Package management is the HTTP API in which users of the model gateway manage their keys, models and preferences, and
// see health and usage. It also has the gateway's public routes. The data comes from the keychain and the cascade. The
// caller of a route is the user who signed in. A guard wraps the handler of a route and refuses callers who may not use
// it.
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
	// Spending reports the amounts spent.
	Spending *spending.Ledger
	// NewUsers is the policy for people who sign in for the first time.
	NewUsers keychain.NewUsers
	// Teams puts people into teams when they sign in.
	Teams TeamRules
	// Mail sends invitations. If it is nil the operator passes the links on.
	Mail mail.Transport
	// Alerts lists the alerts that were sent.
	Alerts *alerts.Service
	// Operators may see and change the users, teams and limits of others. Auditors may see them.
	Operators, Auditors Who
	// Engine knows health and candidates, and tests provider keys.
	Engine *cascade.Engine
	// Catalog returns the current catalog. Handlers call it once per request.
	Catalog func() *catalog.Catalog
	// Reprice makes Catalog use the operator's prices that are stored. It is called after a change of these prices.
	Reprice func(ctx context.Context) error
	// Parts returns the state of the parts that the gateway depends on, by name. A nil error means that the part works.
	Parts func(ctx context.Context) map[string]error
	// Bar returns the additional contents of the bar at the top of the API reference. Default: no additional contents.
	Bar func(*http.Request) look.Bar
}

// A handler serves a route. An idHandler serves a route for one user or team, an ownerHandler one for an owner of
// provider keys or aliases. The guards below turn an idHandler or an ownerHandler into a handler.
type (
	handler      = func(c *rest.Call) (any, error)
	idHandler    = func(c *rest.Call, id string) (any, error)
	ownerHandler = func(c *rest.Call, owner keychain.Owner) (any, error)
)

// forUser returns a handler that calls fn with the id of the user in the path. The handler returns an error with
// status 403 if the user in the path is not the signed-in user or is not active.
func (s *Service) forUser(fn idHandler) handler {
	return func(c *rest.Call) (any, error) {
		user := c.Path("user_id")
		if user != c.User() {
			return nil, apierror.New(http.StatusForbidden, "forbidden", "the path names another user than the signed-in user")
		}
		return s.forCaller(func(c *rest.Call) (any, error) { return fn(c, user) })(c)
	}
}

// forCaller returns a handler that calls fn if the signed-in user is active, and otherwise returns an error with status
// 403.
func (s *Service) forCaller(fn handler) handler {
	return func(c *rest.Call) (any, error) {
		if err := s.Keychain.Active(c.R.Context(), c.User()); err != nil {
			return nil, unavailable(err)
		}
		answer, err := fn(c)
		return answer, unavailable(err)
	}
}

// forSignedIn returns a handler that calls fn for every user who signed in. fn must check whether the user is active.
func (s *Service) forSignedIn(fn handler) handler {
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
