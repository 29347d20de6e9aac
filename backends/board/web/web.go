// Package web is the board as pages for people. They work without script; every
// rule is the service's, and pages and API call the same methods of it.
//
// A page is a row in routes.go, a method of call, and a template:
//
//	{method: get, path: "/members/{userId}", serve: (*call).member}
//
//	func (c *call) member() error {
//		id, err := c.id("userId")
//		if err != nil {
//			return err // becomes an error page
//		}
//		user, err := c.service.Profile(c.ctx(), c.actor, id)
//		if err != nil {
//			return err
//		}
//		return c.page("member", user.Name, user)
//	}
//
// templates/member.html defines "main" and sees a view: what page was given is
// .Data; .User is who looks (nil: a guest), .Settings the board's. Every form that
// posts holds {{template "token" .}}, which is checked before the handler runs.
// Methods of call for handlers of forms:
//
//	c.text("title")  c.flag("locked")  c.number("forum")  c.values("scope")
//	c.redirect("/threads/7", "Saved.")    303, with a notice on the next page
//	c.form(err, "thread_new", "New thread", data)
//
// form shows a form once more after a refusal, with the problems of its fields
// and the status of err; data holds what was typed. In its template
// {{template "problems" .}} lists them and {{.Invalid "title"}} in a field's tag
// marks it. Without an error form is page. A route that is fresh asks for the
// password first when that was given long ago. One with upload takes a multipart
// form, whose first field must be the token: c.parts reads it.
//
// {{$.When .CreatedAt}} shows a time in the time zone of who looks. A template
// that pages share gets the view by {{template "threads" ($.With .Data.Threads)}}.
// Funcs of templates are in render.go: html, plural, forumPath, threadPath…
package web

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/webassets"
)

//go:embed static
var static embed.FS

// Options are the settings of the pages.
type Options struct {
	// BaseURL is the address of the board. With https cookies are marked so even
	// behind a proxy that ends TLS. Default: none.
	BaseURL string
	// MembersOnly shows guests how to sign in and nothing else.
	MembersOnly bool
	// Conceal keeps a request whose address holds a secret out of the logs.
	// Default: nothing does.
	Conceal func(*http.Request)
}

// Site is the pages of a board.
type Site struct {
	service *board.Service
	options Options
	logger  *zap.Logger
	mux     *http.ServeMux
	origin  *http.CrossOriginProtection
	files   *webassets.Files
	pages   pages
	now     func() time.Time
}

// New returns the pages of a board.
func New(service *board.Service, options Options, logger *zap.Logger) *Site {
	s := &Site{
		service: service, options: options, logger: logger, mux: http.NewServeMux(), origin: http.NewCrossOriginProtection(),
		files: webassets.New("default-src 'none'").Load(static, "static"), pages: templates(), now: service.Now,
	}
	for _, rt := range routes {
		s.mux.HandleFunc(rt.method+" "+rt.path, func(w http.ResponseWriter, r *http.Request) { s.run(w, r, rt) })
	}
	return s
}

// Owns reports whether a path is a page; all are but those of the API.
func (*Site) Owns(path string) bool {
	return path != board.Mount && !strings.HasPrefix(path, board.Mount+"/")
}

// Serve answers a request for a path that it owns.
func (s *Site) Serve(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// run answers a request by its route.
func (s *Site) run(w http.ResponseWriter, r *http.Request, rt route) {
	c := &call{Site: s, w: w, r: r, route: rt}
	h := w.Header()
	h.Set("Content-Security-Policy", policy("'self'"))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-store")
	h.Add("Vary", "Cookie")
	if rt.secret {
		h.Set("Referrer-Policy", "strict-origin") // requests for the files of the page are logged, too
		if s.options.Conceal != nil {
			s.options.Conceal(r)
		}
	}
	if err := c.answer(); err != nil {
		c.fail(err)
	}
}

// policy lets pages show what is theirs, and images of these sources.
func policy(images string) string {
	return "default-src 'none'; style-src 'self'; img-src " + images + "; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
}

// answer makes the checks that come before every page, and serves it.
func (c *call) answer() error {
	if err := c.service.Ready(c.ctx()); err != nil {
		return err
	}
	if err := c.identify(); err != nil {
		return err
	}
	if c.actor.Settings().Images {
		c.w.Header().Set("Content-Security-Policy", policy("'self' https:"))
	}
	if c.session == nil {
		c.w.Header().Set("Cache-Control", "no-cache")
	}
	if c.route.method == post && !c.route.signed {
		if err := c.guard(); err != nil {
			return err
		}
	}
	joining := c.actor.Unconfirmed()
	if joining && !c.route.always && !c.route.joining {
		return c.redirect("/account/email", "")
	}
	if !c.route.always && !joining {
		if err := c.service.Admit(c.actor); err != nil {
			return err
		}
		if c.actor.User == nil && !c.route.public && (c.route.who > guests || c.options.MembersOnly) {
			return c.toLogin()
		}
	}
	if c.route.who == administrators && !c.actor.MayAdminister() {
		return notFound()
	}
	if c.session != nil && c.session.Once && !c.route.always && c.route.path != "/account/password" {
		return c.redirect("/account/password", "Your password was shown to an administrator. Choose one of your own first.")
	}
	if c.route.fresh && !c.session.Fresh(c.now()) {
		return c.toConfirm()
	}
	return c.route.serve(c)
}

// toLogin sends a guest to sign in, and back.
func (c *call) toLogin() error {
	if c.r.Method == http.MethodPost {
		return apierror.New(http.StatusForbidden, "forbidden", "You are signed out. Sign in in another tab, then go back and send the form again.")
	}
	return c.redirect("/login?next="+url.QueryEscape(c.r.URL.RequestURI()), "")
}

// toConfirm asks for the password, and leads back.
func (c *call) toConfirm() error {
	next := c.r.URL.RequestURI()
	if c.r.Method == http.MethodPost {
		next = c.referrer()
	}
	return c.redirect("/confirm?next="+url.QueryEscape(next), "")
}

// fail answers with an error page.
func (c *call) fail(err error) {
	e, ok := apierror.From(err)
	if !ok {
		if c.r.Context().Err() != nil {
			return // the client is gone
		}
		c.logger.Error("page failed", zap.String("path", c.r.URL.Path), zap.Error(err))
		e = apierror.New(http.StatusInternalServerError, "internal", "Something went wrong here. Try again; if it stays so, tell the administrator.")
	}
	if e.Cause != nil && e.Status >= http.StatusInternalServerError {
		c.logger.Warn("page not available", zap.String("path", c.r.URL.Path), zap.Error(errors.Join(e, e.Cause)))
	}
	if e.RetryAfter > 0 {
		c.w.Header().Set("Retry-After", seconds(e.RetryAfter))
	}
	if c.actor == nil {
		c.bare(e)
		return
	}
	if err := c.show(e.Status, "error", headings[e.Status], errorPage{Status: e.Status, Heading: headings[e.Status], Message: sentence(e.Message), Wait: e.RetryAfter, Again: again[c.route.path]}, nil); err != nil {
		c.logger.Error("error page failed", zap.Error(err))
		c.bare(e)
	}
}

// errorPage is what the page of an error tells.
type errorPage struct {
	Status  int
	Heading string
	Message string
	Wait    time.Duration
	Again   string // where another link can be asked for
}

// again are the pages that mail the links to others.
var again = map[string]string{"/reset": "/forgot", "/email": "/account/email"}

// headings are those of error pages.
var headings = map[int]string{
	http.StatusBadRequest:            "This does not work",
	http.StatusForbidden:             "Not allowed",
	http.StatusNotFound:              "Nothing here",
	http.StatusConflict:              "Settled already",
	http.StatusGone:                  "This link is over",
	http.StatusRequestEntityTooLarge: "Too large",
	http.StatusUnprocessableEntity:   "This does not work",
	http.StatusTooManyRequests:       "Too fast",
	http.StatusInternalServerError:   "Something went wrong",
	http.StatusServiceUnavailable:    "Closed for now",
}

// bare tells of an error where not even the settings could be read.
func (c *call) bare(e *apierror.Error) {
	header, body := ErrorPage(e)
	maps.Copy(c.w.Header(), header)
	c.w.WriteHeader(e.Status)
	_, _ = c.w.Write(body) // the client may be gone
}

// ErrorPage is the page of an error that needs nothing of the board, for what is
// refused before it.
func ErrorPage(e *apierror.Error) (http.Header, []byte) {
	var out bytes.Buffer
	page := errorPage{Status: e.Status, Heading: cmp.Or(headings[e.Status], headings[http.StatusInternalServerError]), Message: sentence(e.Message), Wait: e.RetryAfter}
	if err := bare().Execute(&out, page); err != nil {
		panic(err) // it is run by a test
	}
	return http.Header{
		"Content-Type": {"text/html; charset=utf-8"}, "Content-Security-Policy": {policy("'self'")}, "X-Content-Type-Options": {"nosniff"},
		"Referrer-Policy": {"strict-origin"}, // the address may hold a secret
	}, out.Bytes()
}

// bare is the template of ErrorPage.
var bare = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("bare.html").Funcs(funcs).ParseFS(templateFiles, "templates/bare.html"))
})
