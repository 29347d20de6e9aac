// Package rest provides the common parts of the services' HTTP APIs: a table of routes, the decoding and encoding of
// JSON, and cursors. The router, the OpenAPI document and the tests read the table.
package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Route is a row of a service's table.
type Route struct {
	Method string // GET also answers HEAD
	// Path is a pattern of http.ServeMux without method and host, for example "/users/{user_id}/keys".
	Path string
	// Tag, Summary and Description document the route. Tag groups routes, and Summary is the heading.
	Tag, Summary, Description string
	// Guest allows requests without a credential.
	Guest bool
	// Scope is the scope that a token must have. If it is empty any token is accepted.
	Scope string
	// Cost is the cost of the request to be shown in the document. Nil means that no cost is shown.
	Cost *int64
	// Hidden leaves the route out of the document, because it is not part of the API.
	Hidden bool
	// Versioned means that a read answers with an ETag (Call.Tell) and that a write accepts one as If-Match
	// (Call.Match).
	Versioned bool
	// Query lists the query parameters.
	Query []Param
	// Body and Answer name schemas of the document. An empty name means that the route has no body or no answer.
	Body, Answer string
	// BodyMedia is the media type of a body that is not JSON; */* means any type.
	BodyMedia string
	// OptionalBody lets a request omit its body.
	OptionalBody bool
	// Status is the status of success. Default: 200, or 204 without an Answer.
	Status int
	// Also lists further statuses with the same Answer, either of success or to report that a part is down.
	Also []int
	// Media is the media type of the answer or, without an Answer, several types separated by commas. Default:
	// application/json.
	Media string
	// Errors lists the statuses of errors besides those of every route: 400, 429 and 503, and 401 if a credential is
	// needed.
	Errors []int
	// Serve returns the answer: a value to encode as JSON, a Raw, an http.Handler that writes the answer, or nil for 204.
	// To answer with one of the statuses in Also, it sets Call.Status.
	Serve func(c *Call) (any, error)
}

// Param is a query parameter of a route.
type Param struct {
	Name, Description string
	// Schema is a JSON Schema, for example {"type":"integer","minimum":1}.
	Schema   string
	Required bool
}

// Raw is an answer that is not JSON, or that is already encoded.
type Raw struct {
	Type string // Content-Type
	// Name is the file name of a download. If it is empty the answer is displayed.
	Name string
	Data []byte
}

// status returns the status of success, with its default.
func (r *Route) status() int {
	switch {
	case r.Status != 0:
		return r.Status
	case r.Answer == "" && r.Media == "":
		return http.StatusNoContent
	}
	return http.StatusOK
}

// Call returns a Call with which the route serves a request.
func (r *Route) Call(w http.ResponseWriter, req *http.Request, sender Identity) *Call {
	return &Call{W: w, R: req, Who: sender, Status: r.status()}
}

// Identity identifies the sender of a request in a service.
type Identity interface {
	// UserID returns the id of the signed-in user, or "" for a guest.
	UserID() string
}

// Router finds the route of a request.
type Router struct {
	// Admit returns an error for a request that its route must not serve. If it is nil all requests are served.
	Admit func(c *Call, route *Route) error

	paths Paths[*node]
}

// node holds the routes of one path.
type node struct {
	methods map[string]*Route // by method
	allow   string            // see Found.Allow
}

// NewRouter makes a router for the routes in tables. prefix, such as "/api/v1", precedes the paths of all these
// routes; it may be empty. NewRouter panics if two routes conflict, which is a programming mistake.
func NewRouter(prefix string, tables ...[]Route) *Router {
	nodes := make(map[string]*node)
	rt := new(Router)
	for _, table := range tables {
		for i := range table {
			route := &table[i]
			n := nodes[route.Path]
			if n == nil {
				n = &node{methods: make(map[string]*Route)}
				nodes[route.Path] = n
				rt.paths.Add(prefix+route.Path, n)
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
	return rt
}

// Found is a request whose path a router knows.
type Found struct {
	router *Router
	node   *node
	r      *http.Request
}

// Find looks up the path of a request. ok reports whether the path exists, for any method.
func (rt *Router) Find(r *http.Request) (f Found, ok bool) {
	n, ok := rt.paths.Find(r)
	return Found{rt, n, r}, ok
}

// Route returns the route of the request's method, or nil if the path has no route for that method.
func (f Found) Route() *Route { return f.node.methods[f.r.Method] }

// Guest reports whether guests are admitted. It reports true for a method that does not exist, so that they get a 405.
func (f Found) Guest() bool {
	route := f.Route()
	return route == nil || route.Guest
}

// Allow returns the methods of the path as a list for the header Allow.
func (f Found) Allow() string { return f.node.allow }

// Serve answers the request of a user. A nil sender means that the user is unknown. If Serve returns an
// *apierror.Error, it has written nothing.
func (f Found) Serve(w http.ResponseWriter, sender Identity) error {
	route := f.Route()
	if route == nil {
		w.Header().Set("Allow", f.node.allow)
		return apierror.New(http.StatusMethodNotAllowed, "method_not_allowed",
			"%s is not allowed here, use %s", Quote(f.r.Method), f.node.allow)
	}
	c := route.Call(w, f.r, sender)
	if !route.Guest && c.User() == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return apierror.New(http.StatusUnauthorized, "invalid_token",
			"this needs the token of a signed-in user: send it as Authorization: Bearer …")
	}
	if f.router.Admit != nil {
		if err := f.router.Admit(c, route); err != nil {
			return err
		}
	}
	answer, err := route.Serve(c)
	if err != nil {
		return err
	}
	if !route.Guest {
		w.Header().Set("Cache-Control", "no-store")
	}
	return c.Write(answer)
}
