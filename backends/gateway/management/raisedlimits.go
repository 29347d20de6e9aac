package management

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// raiseRoutes returns the routes for raises of the limits of one kind of holder. whom names the holder in the
// documentation. kind and holder are as for limits. reading is the guard for requests that only read.
func (s *Service) raiseRoutes(path, whom, kind string, holder func(c *rest.Call) string,
	reading func(fn handler) handler,
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
			Method: "GET", Path: path, Serve: reading(show), Answer: "Raise", Errors: []int{404},
			Summary: "Show the raise of the limits on " + whom, Description: "404 where there is none now.",
		},
		{
			Method: "PUT", Path: path, Serve: s.forOperator(set), Body: "Raise", Answer: "Raise", Errors: []int{404, 409},
			Summary:     "Raise the limits on " + whom + " for a time",
			Description: "Each limit that is given stands for the one of the same name until then; the others stay. 409 where there are no limits.",
		},
		{
			Method: "DELETE", Path: path, Serve: s.forOperator(end), Errors: []int{404},
			Summary: "End the raise of the limits on " + whom,
		},
	}
}

// limited lists the holders of limits, with the amounts left in their budgets.
func (s *Service) limited(c *rest.Call) (any, error) {
	return list(c, func(after string, limit int) ([]keychain.Limited, error) {
		kind, err := c.Choice("on", append([]string{"all"}, keychain.LimitedKinds()...)...)
		if err != nil {
			return nil, err
		}
		if kind == "all" {
			kind = ""
		}
		return s.Keychain.Limited(c.R.Context(), kind, after, limit)
	}, (*keychain.Limited).Place, unchanged)
}
