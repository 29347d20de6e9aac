package board

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// Mount is the path of the API, behind the base URL.
const Mount = "/api/v1"

const (
	jsonType = "application/json; charset=utf-8"

	pageLimit, pageMost = 25, 100
)

// API serves the JSON API of a board.
type API struct {
	service *Service
	router  *rest.Router
}

// API returns the API of the board.
func (s *Service) API() *API {
	api := &API{service: s, router: rest.NewRouter(Mount, s.Routes())}
	api.router.Admit = s.admit
	return api
}

// Owns reports whether a path belongs to the API.
func (*API) Owns(path string) bool { return path == Mount || strings.HasPrefix(path, Mount+"/") }

// NeedsToken reports whether a request is one that guests cannot make.
func (api *API) NeedsToken(r *http.Request) bool {
	found, ok := api.router.Find(r)
	return ok && !found.Guest()
}

// Serve answers a request for a path that it owns. What is refused is an
// *apierror.Error, and nothing has been written then.
func (api *API) Serve(w http.ResponseWriter, r *http.Request, a *rights.Actor) error {
	w.Header().Add("Vary", "Authorization")
	found, ok := api.router.Find(r)
	switch {
	case !ok:
		return apierror.New(http.StatusNotFound, "no_such_route", "there is no such route; see %s/openapi.json", Mount)
	case r.Method == http.MethodOptions:
		w.Header().Set("Allow", found.Allow())
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if a.Token != nil {
		w.Header().Set("Cache-Control", "no-store")
	}
	return found.Serve(w, a)
}

// admit makes the checks that come before a route's own.
func (s *Service) admit(c *rest.Call, route *rest.Route) error {
	a := actor(c)
	if route.Scope == "" { // public
		return nil
	}
	if a.Token != nil && !a.Token.Has(route.Scope) {
		return apierror.New(http.StatusForbidden, "missing_scope", "this needs a token with the scope %s", route.Scope)
	}
	if err := a.CheckBlocked(s.Micros()); err != nil {
		return err
	}
	if err := a.CheckOffline(); err != nil {
		return err
	}
	query := c.R.URL.Query()
	for _, p := range route.Query {
		if len(query[p.Name]) > 1 {
			return kernel.BadRequest(p.Name, p.Name+" is given twice")
		}
	}
	return nil
}

// envelope holds one thing, or of a list without pages.
type envelope struct {
	Data any `json:"data"`
}

// actor is who sends a request.
func actor(c *rest.Call) *rights.Actor { return c.Who.(*rights.Actor) }

// handler answers a request of an actor.
type handler func(c *rest.Call, a *rights.Actor) (any, error)

// with makes a route's function of a handler.
func with(h handler) func(c *rest.Call) (any, error) {
	return func(c *rest.Call) (any, error) {
		answer, err := h(c, actor(c))
		if err != nil {
			return nil, err
		}
		switch answer := answer.(type) {
		case nil, rest.Raw, http.Handler:
			return answer, nil
		}
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		if err := e.Encode(answer); err != nil {
			return nil, err
		}
		return rest.Raw{Type: jsonType, Data: out.Bytes()}, nil
	}
}

func (s *Service) locate(c *rest.Call, path string) {
	c.W.Header().Set("Location", s.Options.BaseURL+Mount+path)
}
