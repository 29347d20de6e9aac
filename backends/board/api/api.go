// Package api serves a board as a JSON API. It defines the routes, decodes requests and encodes responses; the services
// decide what an actor may do.
package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

const (
	// JsonType is the content type of the API's responses.
	JsonType = "application/json; charset=utf-8"
	// pageLimit is the length of a page if the request does not state a limit.
	pageLimit = 25
)

// service holds the services that the routes call.
type service struct {
	Options

	kernel *kernel.Server
}

// Options holds the services of a board that its API uses. All are required.
type Options struct {
	Attachments *attachments.Service
	Following   *following.Service
	Search      *search.Service
	Posts       *posts.Service
	Accounts    *accounts.Service
}

// API serves the JSON API of a board.
type API struct {
	service *service
	Router  *rest.Router // finds the route of a request
}

// Owns reports whether a path belongs to the API.
func (*API) Owns(path string) bool {
	return path == kernel.Mount || strings.HasPrefix(path, kernel.Mount+"/")
}

// NeedsToken reports whether a request is for a route that is closed to guests. It returns false if no route matches.
func (api *API) NeedsToken(r *http.Request) bool {
	found, ok := api.Router.Find(r)
	return ok && !found.Guest()
}

// Serve answers a request of an actor for a path that the API owns. If it refuses the request, it writes no body and
// returns an *apierror.Error.
func (api *API) Serve(w http.ResponseWriter, r *http.Request, a *rights.Actor) error {
	w.Header().Add("Vary", "Authorization")
	found, ok := api.Router.Find(r)
	switch {
	case !ok:
		return apierror.New(http.StatusNotFound, "no_such_route", "there is no such route; see %s/openapi.json", kernel.Mount)
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

// admit makes the checks that are common to all routes except public routes. It checks the scope of the token, and
// the state of the member and of the board, and refuses repeated query parameters.
func (s *service) admit(c *rest.Call, route *rest.Route) error {
	a := actor(c)
	if route.Scope == "" { // public
		return nil
	}
	if a.Token != nil && !a.Token.Has(route.Scope) {
		return apierror.New(http.StatusForbidden, "missing_scope", "this needs a token with the scope %s", route.Scope)
	}
	if err := a.CheckBlocked(s.kernel.Moment()); err != nil {
		return err
	}
	if err := a.CheckOffline(); err != nil {
		return err
	}
	query := c.R.URL.Query()
	for _, p := range route.Query {
		if len(query[p.Name]) > 1 {
			return kernel.BadRequest(p.Name, "the query parameter "+p.Name+" must be given only once")
		}
	}
	return nil
}

// envelope is the JSON of a response with a single object, or with a list that has no pages.
type envelope struct {
	Data any `json:"data"`
}

// actor returns the actor of a request.
func actor(c *rest.Call) *rights.Actor { return c.Who.(*rights.Actor) }

// handler handles an actor's request and returns the value that the function with encodes as the response.
type handler func(c *rest.Call, a *rights.Actor) (any, error)

// with converts a handler to the function of a route. It encodes the handler's result as JSON, without escaping HTML. A
// result that is nil, a rest.Raw or an http.Handler is returned unchanged.
func with(handle handler) func(c *rest.Call) (any, error) {
	return func(c *rest.Call) (any, error) {
		answer, err := handle(c, actor(c))
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
		return rest.Raw{Type: JsonType, Data: out.Bytes()}, nil
	}
}

// withID works like with, for a route without a body that has an id in its path. name is the name that the id has in
// the path of the route.
func withID(
	name string, handle func(c *rest.Call, a *rights.Actor, id int64) (any, error),
) func(c *rest.Call) (any, error) {
	return with(func(c *rest.Call, a *rights.Actor) (any, error) {
		in := noBody(c)
		id := in.id(name)
		if err := in.finish(); err != nil {
			return nil, err
		}
		return handle(c, a, id)
	})
}

// withPost works like with, for a route without a body that has the ids of a thread and of a post in its path.
func withPost(
	handle func(c *rest.Call, a *rights.Actor, thread, post int64) (any, error),
) func(c *rest.Call) (any, error) {
	return with(func(c *rest.Call, a *rights.Actor) (any, error) {
		in := noBody(c)
		thread, post := in.post()
		if err := in.finish(); err != nil {
			return nil, err
		}
		return handle(c, a, thread, post)
	})
}

// locate sets the Location header of the response to a path below the mount of the API.
func (s *service) locate(c *rest.Call, path string) {
	c.W.Header().Set("Location", s.kernel.Options.BaseURL+kernel.Mount+path)
}

// New returns the API of a board.
func New(board *kernel.Server, o Options) *API {
	s := &service{o, board}
	api := &API{service: s, Router: rest.NewRouter(kernel.Mount, s.routes())}
	api.Router.Admit = s.admit
	return api
}

// Routes returns the routes of the API, with paths below its mount.
func Routes() []rest.Route { return new(service).routes() }

// OpenAPI returns the OpenAPI 3.1 document of the API.
func (api *API) OpenAPI() ([]byte, error) { return api.service.openAPI() }
