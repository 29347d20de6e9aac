// Package api answers requests to the routes of a site: limit, route, authorization, input, call, output
// (specification, section 4).
//
// Paths are matched as they are decoded: %2F divides segments as / does. A route is looked for before the limit of
// a body, which is the route's; a body that is announced too large is refused before everything else.
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

// Options of an API.
type Options struct {
	Kernel   *kernel.Server
	Auth     *auth.Auth
	Settings *settings.Store
	// Table is the routes in use; nil: there are none yet, everything is 503. A request finishes on the one that it began with.
	Table func() *routes.Table
	// Called is told of each call of a method: the status of its answer, and how long it took. Default: nobody is.
	Called func(status int, took time.Duration)
	// RequestID is that of a request, as other logs have it. Default: a random one.
	RequestID func(*http.Request) string
}

// API serves the routes of one site. It is safe for concurrent use.
type API struct{ Options }

// New makes an API.
func New(o Options) *API {
	if o.Called == nil {
		o.Called = func(int, time.Duration) {}
	}
	if o.RequestID == nil {
		o.RequestID = func(*http.Request) string { return rand.Text() }
	}
	return &API{o}
}

// Below is the path of a request below the endpoint, and whether it is on the endpoint.
func Below(s *settings.Settings, path string) (below string, ok bool) {
	path, slash := strings.CutPrefix(path, "/")
	mount := s.Mount()
	if !slash || !strings.HasPrefix(path, mount) {
		return "", false
	}
	below = path[len(mount):]
	return below, below == "" || below[0] == '/'
}

// previews is where links to previews lead to.
const previews = "content/preview/"

// Secret tells whether a path below the endpoint is a secret that no log should have: a link to a preview.
func Secret(below string) bool { return strings.HasPrefix(strings.TrimLeft(below, "/"), previews) }

// request is one on its way.
type request struct {
	*API
	w       http.ResponseWriter
	r       *http.Request // its context ends with the call
	whole   *http.Request // as it came
	current *settings.Settings
	route   *routes.Route
	call    handler.Call
	id      auth.Identity
}

// ServeHTTP answers a request on the endpoint; see Below.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := &request{API: a, w: w, r: r, whole: r, current: a.Settings.Current()}
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

// serve is the answer to a request.
func (q *request) serve() (any, error) {
	table := q.Table()
	if table == nil {
		return nil, &handler.Error{Code: http.StatusServiceUnavailable, Message: "the routes are not loaded yet", Header: http.Header{"Retry-After": {"1"}}}
	}
	m := table.Find(q.r.Method, q.call.Path)
	limit := routes.Defaults().BodyLimit
	if m.Route != nil {
		limit = m.Route.Options.BodyLimit
	}
	if q.r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if m.Route == nil || m.Route.Options.CORS {
		q.cors(table)
	}
	if m.Route == nil {
		switch {
		case m.Allow == nil:
			return nil, handler.Errorf(http.StatusNotFound, "endpoint not found")
		case q.r.Method == http.MethodOptions && len(q.current.Origins) > 0:
			return nil, nil
		}
		allow := strings.Join(m.Allow, ", ")
		return nil, &handler.Error{Code: http.StatusMethodNotAllowed, Message: "method not allowed", Header: http.Header{"Allow": {allow}}}
	}
	if m.Route.Options.Auth && m.Route.Options.CORS && m.Route.Method == "*" && q.preflight() { // browsers send it without credentials
		return nil, nil
	}
	q.route = m.Route
	ctx, cancel := context.WithTimeout(q.r.Context(), m.Route.Options.Timeout)
	defer cancel()
	q.r = q.r.WithContext(ctx)
	var err error
	if q.id, err = q.Auth.Identify(q.r, m.Route.Options.Auth); err != nil {
		return nil, err
	}
	if m.Route.Options.Auth {
		if err := auth.Permit(q.id.User, m.Route.Options.Roles); err != nil {
			return nil, err
		}
	}
	if err := q.input(m.Params, limit); err != nil {
		return nil, err
	}
	began := time.Now()
	value, err := q.run(ctx)
	if err == nil && q.id.Session != nil {
		err = q.Auth.Keep(q.r, q.id.Session)
	}
	q.Called(q.status(value, err), time.Since(began))
	return value, err
}

// run calls the method.
func (q *request) run(ctx context.Context) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			q.Kernel.Logger().Error("handler panics", zap.String("request", q.call.RequestID), zap.String("class", q.route.Class), zap.String("method", q.route.Func), zap.Any("panic", p), zap.Stack("stack"))
			err = errPanic
		}
	}()
	if own, ok := q.own(); ok {
		return own(ctx, &auth.Call{Call: &q.call, Request: q.r, Identity: q.id})
	}
	return q.route.Call(ctx, &q.call)
}

var errPanic = errors.New("the method has panicked")

// own is a method of /auth, which needs more of a request than others.
func (q *request) own() (func(context.Context, *auth.Call) (any, error), bool) {
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

// preflight reports whether a browser asks for a page of another origin that is allowed whether it may send a request.
func (q *request) preflight() bool {
	allowed, _ := q.current.Allowed(q.r.Header.Get("Origin"))
	return allowed && q.r.Method == http.MethodOptions && q.r.Header.Get("Access-Control-Request-Method") != ""
}

// cors tells a browser that pages of another origin may see the answer.
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
	asked := q.r.Header.Get("Access-Control-Request-Method")
	if q.r.Method != http.MethodOptions || asked == "" {
		header.Set("Access-Control-Expose-Headers", "Content-Disposition, ETag, Retry-After")
		return
	}
	methods := table.Find(" ", q.call.Path) // no route has this method but by *
	allow := methods.Allow
	if m := table.Find(asked, q.call.Path); m.Route != nil && !slices.Contains(allow, asked) {
		allow = append(allow, asked)
	}
	header.Set("Access-Control-Allow-Methods", strings.Join(allow, ", "))
	if headers := q.r.Header.Get("Access-Control-Request-Headers"); headers != "" && len(headers) <= 1024 {
		header.Set("Access-Control-Allow-Headers", headers)
	}
	header.Set("Access-Control-Max-Age", "600")
}

// refusal is what is told of an error, and whether it is all of it: the rest is for the log.
func refusal(err error) (e *handler.Error, whole bool) {
	if e, ok := handler.Of(err); ok {
		return e, true
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return handler.Errorf(http.StatusGatewayTimeout, "the handler took too long"), true
	}
	if e, ok := apierror.From(err); ok && e.Status >= 400 && e.Status <= 599 {
		told := handler.Errorf(e.Status, "%s", e.Message)
		if e.RetryAfter > 0 {
			told.Header = http.Header{"Retry-After": {strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds())))}}
		}
		return told, e.Status < 500
	}
	return handler.Errorf(http.StatusInternalServerError, "internal error"), false
}
