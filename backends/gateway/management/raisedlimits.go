package management

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// raiseRoutes returns the routes for temporarily raised limits of one kind of holder. holderName names the holder in
// the documentation. kind and holder are those of limits. readGuard guards the route that only reads; the other routes
// are for operators.
func (s *Service) raiseRoutes(path, holderName, kind string, holder func(c *rest.Call) string,
	readGuard func(fn handler) handler,
) []rest.Route {
	show := func(c *rest.Call) (any, error) {
		raise, err := s.Keychain.RaiseOf(c.R.Context(), kind, holder(c))
		if err == nil && raise == nil {
			err = apierror.New(http.StatusNotFound, "not_found", "the limits are not raised now")
		}
		return raise, err
	}
	set := func(c *rest.Call) (any, error) {
		var in keychain.Raise
		if err := c.Decode(&in); err != nil {
			return nil, err
		}
		if err := s.Keychain.SetRaise(c.R.Context(), kind, holder(c), &in, s.Catalog()); err != nil {
			return nil, err
		}
		return in, nil
	}
	end := func(c *rest.Call) (any, error) {
		return nil, s.Keychain.SetRaise(c.R.Context(), kind, holder(c), nil, nil)
	}
	return []rest.Route{
		{
			Method: "GET", Path: path, Serve: readGuard(show), Answer: "Raise", Errors: []int{404},
			Summary: "Show the raise of the limits on " + holderName, Description: "404 if the limits are not raised now.",
		},
		{
			Method: "PUT", Path: path, Serve: s.forOperator(set), Body: "Raise", Answer: "Raise", Errors: []int{404, 409},
			Summary:     "Raise the limits on " + holderName + " for a time",
			Description: "Until that time, each given limit replaces the limit of the same name; the other limits stay. 409 if there are no limits.",
		},
		{
			Method: "DELETE", Path: path, Serve: s.forOperator(end), Errors: []int{404},
			Summary: "End the raise of the limits on " + holderName,
		},
	}
}

// limited lists the holders of limits, with the amounts left in their budgets.
func (s *Service) limited(c *rest.Call) (any, error) {
	return listAfter(c, func(cursor string, limit int) ([]keychain.Limited, error) {
		kind, err := c.Choice("on", append([]string{"all"}, keychain.LimitedKinds()...)...)
		if err != nil {
			return nil, err
		}
		if kind == "all" {
			kind = ""
		}
		return s.Keychain.Limited(c.R.Context(), kind, cursor, limit)
	}, (*keychain.Limited).Place, unchanged)
}
