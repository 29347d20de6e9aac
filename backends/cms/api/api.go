// Package api serves the routes of a site. The steps of a request are, in this order: the body limit, routing,
// authorization, input, the call of the method, and output.
//
// Paths are matched in their decoded form: %2F separates segments like /. A body whose Content-Length exceeds the limit
// of the route is refused before the other steps. Only the look-up of the route comes earlier, because the route
// determines the limit.
package api

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/auth"
	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/routes"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Options configures an API. Kernel, Auth, Settings and Table are required.
type Options struct {
	Kernel   *kernel.Server
	Auth     *auth.Auth
	Settings *settings.Store
	// Table returns the current routes. While it returns nil, each request is answered with 503. A request uses one
	// table from beginning to end.
	Table func() *routes.Table
	// Called is called after each call of a method with the status of the answer and the duration of the call. It may
	// be nil.
	Called func(status int, duration time.Duration)
	// RequestID returns the ID under which other logs contain the request. By default the ID is random.
	RequestID func(*http.Request) string
}

// API serves the routes of one site. An API is safe for concurrent use.
type API struct{ Options }

// New returns an API.
func New(o Options) *API {
	if o.Called == nil {
		o.Called = func(int, time.Duration) {}
	}
	if o.RequestID == nil {
		o.RequestID = func(*http.Request) string { return rand.Text() }
	}
	return &API{o}
}

// Below returns the part of a request's path below the endpoint, and reports whether the path is at or below the
// endpoint.
func Below(s *settings.Settings, path string) (below string, ok bool) {
	path, slash := strings.CutPrefix(path, "/")
	mount := s.Mount()
	if !slash || !strings.HasPrefix(path, mount) {
		return "", false
	}
	below = path[len(mount):]
	return below, below == "" || below[0] == '/'
}

// previews is the prefix of the paths of preview links, relative to the endpoint.
const previews = "content/preview/"

// Secret reports whether a path, relative to the endpoint, contains a secret that must not be logged. This is the case
// for preview links.
func Secret(below string) bool { return strings.HasPrefix(strings.TrimLeft(below, "/"), previews) }

// request is the state of one request.
type request struct {
	*API
	w        http.ResponseWriter
	r        *http.Request // its context ends with the call
	original *http.Request // the request with the original context
	current  *settings.Settings
	route    *routes.Route
	call     handler.Call
	id       auth.Identity
}

// ServeHTTP answers a request whose path is at or below the endpoint; see Below.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := &request{API: a, w: w, r: r, original: r, current: a.Settings.Current()}
	below, _ := Below(q.current, r.URL.Path)
	q.call.Path = strings.Trim(below, "/")
	q.call.RequestID = a.RequestID(r)
	value, err := q.serve()
	if err != nil {
		q.fail(err)
		return
	}
	q.answer(value)
}

// serve processes a request and returns the value for the answer.
func (q *request) serve() (any, error) {
	table := q.Table()
	if table == nil {
		return nil, &handler.Error{
			Code: http.StatusServiceUnavailable, Message: "the routes are not loaded yet",
			Header: http.Header{"Retry-After": {"1"}},
		}
	}
	match := table.Find(q.r.Method, q.call.Path)
	limit := routes.Defaults().BodyLimit
	if match.Route != nil {
		limit = match.Route.Options.BodyLimit
	}
	if q.r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if match.Route == nil || match.Route.Options.CORS {
		q.cors(table)
	}
	switch {
	case match.Route == nil && match.Allow == nil:
		return nil, handler.Errorf(http.StatusNotFound, "endpoint not found")
	case match.Route == nil && q.r.Method == http.MethodOptions && len(q.current.Origins) > 0:
		return nil, nil // a preflight, which q.cors has answered with headers
	case match.Route == nil:
		return nil, &handler.Error{
			Code: http.StatusMethodNotAllowed, Message: "method not allowed",
			Header: http.Header{"Allow": {strings.Join(match.Allow, ", ")}},
		}
	}
	// Browsers send preflights without credentials. If a route for * handles the method OPTIONS, too, a preflight must
	// not fail because of the authorization that the route requires.
	if match.Route.Options.Auth && match.Route.Options.CORS && match.Route.Method == "*" && q.preflight() {
		return nil, nil
	}
	q.route = match.Route
	ctx, cancel := context.WithTimeout(q.r.Context(), match.Route.Options.Timeout)
	defer cancel()
	q.r = q.r.WithContext(ctx)
	var err error
	if q.id, err = q.Auth.Identify(q.r, match.Route.Options.Auth); err != nil {
		return nil, err
	}
	if match.Route.Options.Auth {
		if err := auth.Permit(q.id.User, match.Route.Options.Roles); err != nil {
			return nil, err
		}
	}
	if err := q.input(match.Params, limit); err != nil {
		return nil, err
	}
	began := time.Now()
	value, err := q.run(ctx)
	if err == nil && q.id.Session != nil { // store the values that the method has set in the session
		err = q.Auth.Keep(q.r, q.id.Session)
	}
	q.Called(q.status(value, err), time.Since(began))
	return value, err
}

// run calls the method of the route and returns its result. If the method panics, run logs the panic with its stack and
// returns errPanic.
func (q *request) run(ctx context.Context) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			q.Kernel.Logger().Error("handler panicked", zap.String("request", q.call.RequestID),
				zap.String("class", q.route.Class), zap.String("method", q.route.Func), zap.Any("panic", p), zap.Stack("stack"))
			err = errPanic
		}
	}()
	if method, ok := q.authMethod(); ok {
		return method(ctx, &auth.Call{Call: &q.call, Request: q.r, Identity: q.id})
	}
	return q.route.Call(ctx, &q.call)
}

var errPanic = errors.New("the handler method panicked")

// authMethod returns the method of /auth that the route names, if any. These methods need an auth.Call, which
// contains more data of the request than the handler.Call that other methods get.
func (q *request) authMethod() (method func(context.Context, *auth.Call) (any, error), ok bool) {
	if !q.route.Default || q.route.Class != auth.Class {
		return nil, false
	}
	switch q.route.Func {
	case auth.Login:
		return q.Auth.SignIn, true
	case auth.Logout:
		return q.Auth.SignOut, true
	case auth.Access:
		return q.Auth.Renew, true
	}
	return nil, false
}

// preflight reports whether the request is a CORS preflight from an allowed origin.
func (q *request) preflight() bool {
	allowed, _ := q.current.Allowed(q.r.Header.Get("Origin"))
	return allowed && q.r.Method == http.MethodOptions && q.r.Header.Get("Access-Control-Request-Method") != ""
}

// cors sets the CORS headers of the answer if the request's origin is allowed.
func (q *request) cors(table *routes.Table) {
	if len(q.current.Origins) == 0 {
		return
	}
	header := q.w.Header()
	header.Add("Vary", "Origin")
	origin := q.r.Header.Get("Origin")
	ok, credentials := q.current.Allowed(origin)
	if !ok {
		return
	}
	if credentials {
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Allow-Credentials", "true")
	} else {
		header.Set("Access-Control-Allow-Origin", "*")
	}
	requested := q.r.Header.Get("Access-Control-Request-Method")
	if q.r.Method != http.MethodOptions || requested == "" {
		header.Set("Access-Control-Expose-Headers", "Content-Disposition, ETag, Retry-After")
		return
	}
	// Only a route for * answers the method " ". If the path has no such route, Allow lists all methods of the path.
	allow := table.Find(" ", q.call.Path).Allow
	if match := table.Find(requested, q.call.Path); match.Route != nil && !slices.Contains(allow, requested) {
		allow = append(allow, requested)
	}
	header.Set("Access-Control-Allow-Methods", strings.Join(allow, ", "))
	if headers := q.r.Header.Get("Access-Control-Request-Headers"); headers != "" && len(headers) <= 1024 {
		header.Set("Access-Control-Allow-Headers", headers)
	}
	header.Set("Access-Control-Max-Age", "600")
}

// refusal returns the answer for an error, and reports whether the answer contains the whole error. If it does not, the
// error must be logged.
func refusal(err error) (e *handler.Error, complete bool) {
	if e, ok := handler.Of(err); ok {
		return e, true
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return handler.Errorf(http.StatusGatewayTimeout, "the handler took too long"), true
	}
	if e, ok := apierror.From(err); ok && e.Status >= 400 && e.Status <= 599 {
		answer := handler.Errorf(e.Status, "%s", e.Message)
		if e.RetryAfter > 0 {
			answer.Header = http.Header{"Retry-After": {strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds())))}}
		}
		return answer, e.Status < 500
	}
	return handler.Errorf(http.StatusInternalServerError, "internal error"), false
}
