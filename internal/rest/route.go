// Package rest is what the HTTP APIs of the services share: one table of routes
// that the router, the OpenAPI document and the tests all read, JSON in and out,
// and cursors.
package rest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Route is a row of a service's table.
type Route struct {
	Method string // GET answers HEAD too
	// Path is a pattern of http.ServeMux without method and host, for example
	// "/users/{user_id}/keys".
	Path string
	// Tag and Summary head the route in the documentation, Description explains it.
	Tag, Summary, Description string
	// Guest lets requests without a credential in.
	Guest bool
	// Scope is what a token must hold; empty: any token will do.
	Scope string
	// Cost is what the request takes from a budget, for the document; nil: it is
	// not told.
	Cost *int64
	// Hidden leaves the route out of the document: it is for people.
	Hidden bool
	// Versioned tells that a read answers with an ETag (Call.Tell) and a write
	// takes one as If-Match (Call.Match).
	Versioned bool
	// Query lists the parameters behind the question mark.
	Query []Param
	// Body and Answer name schemas of the document; empty: there is none.
	Body, Answer string
	// BodyMedia is the type of a body that is not JSON; any: */*.
	BodyMedia string
	// OptionalBody lets a request leave its body away.
	OptionalBody bool
	// Status of success. Default: 200, or 204 where there is no Answer.
	Status int
	// Also lists further statuses of success with the same Answer.
	Also []int
	// Media is the type of the answer, or without an Answer several between
	// commas. Default: application/json.
	Media string
	// Errors lists the statuses of refusals, beside those that every route has:
	// 400, 429 and 503, and 401 where a credential is needed.
	Errors []int
	// Serve answers: with a value that becomes JSON, a Raw, an http.Handler that
	// writes the answer, or nil for 204. To answer with one of Also it calls
	// Call.Status.
	Serve func(c *Call) (any, error)
}

// Param is a query parameter of a route.
type Param struct {
	Name, Description string
	// Schema is JSON Schema, for example {"type":"integer","minimum":1}.
	Schema   string
	Required bool
}

// Raw is an answer that is not JSON, or is JSON already.
type Raw struct {
	Type string // Content-Type
	// Name makes it a download under this file name; empty: it is shown.
	Name string
	Data []byte
}

func (r *Route) status() int {
	switch {
	case r.Status != 0:
		return r.Status
	case r.Answer == "" && r.Media == "":
		return http.StatusNoContent
	}
	return http.StatusOK
}

// Router finds the route of a request.
type Router struct {
	// Admit may refuse a request before its route serves it; nil: it does not.
	Admit func(c *Call, route *Route) error

	mux *http.ServeMux
	// heads are the first segments of all paths, so that a request for something
	// else is passed on at no cost.
	heads map[string]struct{}
	wild  bool // one of them is a wildcard
}

// head is the first segment of a path.
func head(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return name
}

// node holds the routes of one path.
type node struct {
	methods map[string]*Route
	allow   string
}

// NewRouter makes a router of tables. It panics when two routes collide, which
// is a mistake in a table.
func NewRouter(tables ...[]Route) *Router {
	nodes := make(map[string]*node)
	mux := http.NewServeMux()
	heads := make(map[string]struct{})
	for _, table := range tables {
		for i := range table {
			route := &table[i]
			n := nodes[route.Path]
			if n == nil {
				n = &node{methods: make(map[string]*Route)}
				nodes[route.Path] = n
				mux.Handle(route.Path, n)
				heads[head(route.Path)] = struct{}{}
			}
			if n.methods[route.Method] != nil {
				panic(fmt.Sprintf("two routes for %s %s", route.Method, route.Path))
			}
			n.methods[route.Method] = route
		}
	}
	for _, n := range nodes {
		allow := make([]string, 0, len(n.methods)+1)
		for method := range n.methods {
			allow = append(allow, method)
		}
		if get := n.methods[http.MethodGet]; get != nil {
			n.methods[http.MethodHead] = get
			allow = append(allow, http.MethodHead)
		}
		slices.Sort(allow)
		n.allow = strings.Join(allow, ", ")
	}
	rt := &Router{mux: mux, heads: heads}
	for name := range heads {
		rt.wild = rt.wild || strings.HasPrefix(name, "{")
	}
	return rt
}

// Find reports whether the path is of a route, whatever the method.
func (rt *Router) Find(r *http.Request) bool {
	_, ok := rt.node(r)
	return ok
}

func (rt *Router) node(r *http.Request) (*node, bool) {
	if _, ok := rt.heads[head(r.URL.Path)]; !ok && !rt.wild {
		return nil, false
	}
	h, _ := rt.mux.Handler(r) // a redirect to a cleaner path is no match
	n, ok := h.(*node)
	return n, ok
}

// Needs reports whether the request is for a route that needs a credential.
func (rt *Router) Needs(r *http.Request) bool {
	n, ok := rt.node(r)
	if !ok {
		return false
	}
	route := n.methods[r.Method]
	return route != nil && !route.Guest
}

// Serve answers a request for a path that Find knows. user is the id of who
// signed in; empty: nobody did. What is refused is an *apierror.Error, and
// nothing has been written then.
func (rt *Router) Serve(w http.ResponseWriter, r *http.Request, user string) error {
	c := &Call{W: w, User: user, admit: rt.Admit}
	rt.mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
	return c.err
}

type callKey struct{}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := r.Context().Value(callKey{}).(*Call)
	c.R = r
	c.err = n.serve(w, c)
}

// Allow lists the methods of the path of a request; empty: there is no route.
func (rt *Router) Allow(r *http.Request) string {
	if n, ok := rt.node(r); ok {
		return n.allow
	}
	return ""
}

func (n *node) serve(w http.ResponseWriter, c *Call) error {
	route := n.methods[c.R.Method]
	if route == nil {
		w.Header().Set("Allow", n.allow)
		return apierror.New(http.StatusMethodNotAllowed, "method_not_allowed", "%s is not allowed here, use %s", Quote(c.R.Method), n.allow)
	}
	if c.User == "" && !route.Guest {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return apierror.New(http.StatusUnauthorized, "invalid_token", "this needs the token of a signed-in user: send it as Authorization: Bearer …")
	}
	if c.admit != nil {
		if err := c.admit(c, route); err != nil {
			return err
		}
	}
	c.Status = route.status()
	answer, err := route.Serve(c)
	if err != nil {
		return err
	}
	if !route.Guest {
		w.Header().Set("Cache-Control", "no-store")
	}
	return c.write(w, answer)
}
