// Package web serves the pages of the authorization server on which users sign in, give consent to applications, and
// sign out. Other packages make the decisions. A page consists of an entry in the list routes, a method of the type
// call, and a template.
//
// Methods of call are named by what they do: askX answers the GET request of a form by showing it, and x handles the
// submitted form. xUserChanged handles a form that was shown before somebody signed in or out in another tab; see Else
// of pages.Page. If a method has a result named done and returns true for it, the method has sent the response or
// returns an error.
package web

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/account"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authorize"
	"github.com/tollgate-gateway/tollgate/backends/authserver/brokers"
	"github.com/tollgate-gateway/tollgate/backends/authserver/connections"
	"github.com/tollgate-gateway/tollgate/backends/authserver/device"
	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
	"github.com/tollgate-gateway/tollgate/backends/authserver/openid"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/locale"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/signed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

//go:embed templates static
var files embed.FS

//go:embed languages
var catalogues embed.FS

// Catalogues returns the translations of the pages and mails, for locale.Load.
func Catalogues() fs.FS {
	folder, err := fs.Sub(catalogues, "languages")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return folder
}

// builtIn returns the built-in templates. They are parsed once.
var builtIn = sync.OnceValue(func() *pages.Look { return pages.NewLook("authserver", files, nil) })

// Options are the settings of the pages.
type Options struct {
	Login     *login.Login
	Factors   *factors.Factors
	Accounts  *account.Accounts
	Authorize *authorize.Authorize
	OpenID    *openid.OpenID
	Device    *device.Devices
	// Brokers and Connections serve the users' connections to broker providers.
	Brokers     *brokers.Brokers
	Connections *connections.Connections
	// Name is the name of the site in titles. Default: the host of the issuer.
	Name string
	// Mount is the path of the issuer. Default: the empty path.
	Mount string
	// The settings of the session cookie: session.cookie_name, same_site and secure.
	SessionCookie string
	SameSite      http.SameSite
	Secure        bool
	// Users stores the users. Upstream is the provider of the section oidc, or nil.
	Users    *users.Users
	Upstream *Upstream
	// Upstreams are the providers of the list upstreams. Default: no providers.
	Upstreams *upstreams.Upstreams
	// NoPassword hides the password form; see oidc.show_local_login.
	NoPassword bool
	// Bar returns the bar at the top of the pages; see pages.Options.
	Bar func(*http.Request) look.Bar
	// SignedOut is called when a user has signed out. Default: it is not called.
	SignedOut func(ctx context.Context, user string)
	// Languages are the available languages of the pages. Default: English only.
	Languages *locale.Languages
	// Brand is a folder whose templates and files replace the built-in ones. Default: all are built in.
	Brand fs.FS
}

// web serves the pages.
type web struct {
	*kernel.Server
	Options
}

// New returns the handler of the pages. It returns an error if a template of the brand is invalid.
func New(s *kernel.Server, o Options) (http.Handler, error) {
	if o.Upstreams == nil {
		o.Upstreams = upstreams.New(s, upstreams.Options{Users: o.Users})
	}
	w := &web{s, o}
	if issuer, err := url.Parse(s.Issuer); err == nil && w.Name == "" {
		w.Name = issuer.Host
	}
	templates := builtIn().In(o.Languages)
	if o.Brand != nil {
		var err error
		templates, err = pages.NewBrandedLook("authserver", files, nil, o.Brand, o.Languages, new(frame), samples)
		if err != nil {
			return nil, err
		}
	}
	table := slices.Clone(routes)
	for i := range table {
		serve := table[i].Serve
		table[i].Serve = func(c *call) error { return unavailable(serve(c)) }
		if serveElse := table[i].Else; serveElse != nil {
			table[i].Else = func(c *call) error { return unavailable(serveElse(c)) }
		}
		if o.NoPassword && table[i].Method == post && table[i].Path == "/login" {
			table[i].NoToken = true // the page answers 404, even without a valid form token
		}
	}
	return pages.New(pages.Options[*call]{
		Look: templates, Table: table, Begin: w.begin, Admit: everybody, Called: "this site", Closed: true,
		Signer: func() signed.Signer { return s.Signer("form") },
		Mount:  o.Mount, SessionCookie: o.SessionCookie, SameSite: o.SameSite, Secure: &w.Secure,
		TokenField: "csrf_token", Back: "redirect", Bar: o.Bar, Logger: s.Logger(),
	}), nil
}

// unavailable returns an error with status 503 if err means that the database does not answer, and otherwise err.
func unavailable(err error) error {
	if _, known := apierror.From(err); !known && errors.Is(err, store.ErrUnavailable) {
		return apierror.Unavailable("the server", err)
	}
	return err
}

const (
	get  = http.MethodGet
	post = http.MethodPost
)

// route is the entry of a page.
type route = pages.Page[*call]

// routes are all pages.
var routes = slices.Concat(signInRoutes, accountRoutes, linkRoutes, providerRoutes)

// signInRoutes are the routes for signing in and for the requests of applications.
var signInRoutes = []route{
	{Method: get, Path: "/{$}", Serve: (*call).home},
	{Method: get, Path: "/login", Serve: (*call).askLogin},
	{Method: post, Path: "/login", Serve: (*call).login, Else: (*call).loginUserChanged},
	{Method: get, Path: "/login/second", Serve: (*call).restartLogin},
	{Method: post, Path: "/login/second", Serve: (*call).second, Else: (*call).secondUserChanged},
	{Method: get, Path: passkeyPath, Serve: (*call).restartLogin},
	{Method: post, Path: passkeyPath, Serve: (*call).byPasskey, Else: (*call).byPasskeyUserChanged},
	{Method: get, Path: securityPath, Serve: (*call).security},
	{Method: get, Path: securityPath + "/app", Serve: (*call).askApp},
	{Method: post, Path: securityPath + "/app", Serve: (*call).addApp, Else: (*call).toSecurity},
	{Method: get, Path: securityPath + "/passkey", Serve: (*call).askPasskey},
	{Method: post, Path: securityPath + "/passkey", Serve: (*call).addPasskey, Else: (*call).toSecurity},
	{Method: post, Path: securityPath + "/remove", Serve: (*call).removeFactor, Else: (*call).toSecurity},
	{Method: post, Path: securityPath + "/recovery", Serve: (*call).newRecovery, Else: (*call).toSecurity},
	{Method: get, Path: upstreamStart, Serve: (*call).startUpstream},
	{Method: get, Path: upstreamCallback, Serve: (*call).finishUpstream},
	{Method: post, Path: "/logout", Serve: (*call).logout, Else: (*call).logoutUserChanged},
	{Method: get, Path: openid.LogoutPath, Serve: (*call).endSession},
	{Method: post, Path: openid.LogoutPath, Serve: (*call).endSessionForm, NoToken: true},
	{Method: get, Path: "/oauth/authorize", Serve: (*call).authorize},
	{Method: post, Path: "/oauth/authorize", Serve: (*call).authorizeForm, NoToken: true},
	{Method: get, Path: device.Path, Serve: (*call).askDevice},
	{Method: post, Path: device.Path, Serve: (*call).device, Else: (*call).deviceUserChanged},
	{Method: get, Path: "/consent", Serve: (*call).askConsent},
	{Method: post, Path: "/consent", Serve: (*call).consent, Else: (*call).consentUserChanged},
	{Method: get, Path: connections.Path + "{provider}", Serve: (*call).connect},
	{Method: get, Path: connections.Path + "{provider}/callback", Serve: (*call).connected},
	{Method: get, Path: "/connections", Serve: (*call).connections},
	{Method: http.MethodDelete, Path: "/connections/{provider}", Serve: (*call).disconnect},
}

// unsafeGets lists the paths whose GET requests have an effect, as the protocols require: they use up a single-use
// value, issue a code, or sign a user in or out. They do not answer HEAD, which link scanners send and which must be
// safe (RFC 9110 section 9.2.1).
var unsafeGets = []string{
	"/oauth/authorize", "/consent", openid.LogoutPath, upstreamStart, upstreamCallback, providerStart, providerCallback,
	connections.Path + "{provider}",
	connections.Path + "{provider}/callback",
}

// everybody implements the access rule of pages that every visitor may open.
func everybody(*call) error { return nil }

// call is a request for a page.
type call struct {
	*pages.Call
	*web
	session *login.Session // nil if nobody is signed in
}

// frame is the data for the part of a page around its content; templates read it as .Site.
type frame struct {
	User           string // the name of the signed-in user; empty if nobody is signed in
	PasswordLength int    // the minimum number of characters of a new password
}

// begin creates the call of a request, with its session.
func (w *web) begin(p *pages.Call) (*call, error) {
	p.R = p.R.WithContext(kernel.FromBrowser(p.Context(), w.Address(p.R), p.R.UserAgent()))
	c := &call{Call: p, web: w, session: w.Login.Resume(p.Context(), p.Session())}
	c.setPageLanguage()
	site := w.frame()
	if c.session != nil {
		c.SignedIn(c.session.User.ID)
		// The address is unknown while the database does not answer.
		site.User = cmp.Or(c.session.User.Email, c.T("your account"))
	}
	c.Name, c.Call.Site = w.Name, site
	return c, nil
}

// frame returns the frame for a visitor without a session.
func (w *web) frame() *frame { return &frame{PasswordLength: w.Users.PasswordLength()} }

// home shows the name of the signed-in user.
func (c *call) home() error { return c.Show("home", "", nil) }

// redirectTo redirects the browser to a URL of another site, or to the path of a page of this site that At returns.
func (c *call) redirectTo(location string) error {
	status := http.StatusFound
	if c.R.Method == post {
		status = http.StatusSeeOther
	}
	c.W.Header().Set("Location", location)
	c.W.WriteHeader(status)
	return nil
}

// setCookie sets a cookie for the pages below path, for the given time. If lasts is negative, it deletes the cookie.
func (c *call) setCookie(name, path, value string, lasts time.Duration) {
	http.SetCookie(c.W, &http.Cookie{ //nolint:gosec // G124: Secure wherever the site is https
		Name: name, Value: value, Path: c.At(path), MaxAge: int(lasts / time.Second), HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: c.Options.Secure || strings.HasPrefix(c.Issuer, "https://"),
	})
}

// deleteCookie deletes a cookie for the pages below path.
func (c *call) deleteCookie(name, path string) { c.setCookie(name, path, "", -time.Second) }

// sample is a consent question for testing templates.
var sample = &authorize.Question{
	Client: "Sample", SelfDeclared: true, ClientHost: "client.example",
	Target: authorize.Target{Host: "127.0.0.1:8000", Scheme: "http", Loopback: true},
	Parts: []authorize.Part{
		{Scopes: []resources.Scope{{Name: "openid", Description: "Know who you are"}}},
		{Resource: "Files", Scopes: []resources.Scope{{Name: "read"}}},
	},
}

// samples are sample data of all pages, for testing the templates of Options.Brand.
var samples = map[string]any{
	"home": nil,
	"login": &loginForm{
		Email: "ann@example.com", Redirect: "/", Application: "Sample",
		Passkey:  &factors.Challenge{Options: "{}", Signed: "challenge"},
		Upstream: "/oidc/start?redirect=%2F", UpstreamName: "Example",
		Providers: []providerLink{{"Company", "/oidc/company/start"}}, ByAddress: true, Joins: "Company",
		Meanwhile: "bob@example.com",
	},
	"second": &secondForm{
		&loginForm{Redirect: "/", Application: "Sample"}, "waiting",
		&factors.Challenge{Options: "{}", Signed: "challenge"}, true,
	},
	"security": &security{
		Redirect: "/consent",
		Factors:  []*factors.Factor{{ID: "id", Kind: factors.App, Name: "Telephone"}}, Left: 10, Apps: true,
		Passkeys: true, Alone: true, Required: true,
	},
	"account":  sampleAccount,
	"join":     &joinForm{"Example", "ann", "ann@example.com", "/"},
	"password": &passwordForm{"ann@example.com"},
	"forgot":   &mailForm{Email: "ann@example.com"},
	"register": &mailForm{Email: "ann@example.com", Name: "Ann"},
	"choose":   &chooseForm{"link", "ann@example.com", "Ann", true},
	"address":  &addressForm{"link", "ann@example.com"},
	"deletion": &deletionForm{time.Unix(1e9, 0), "ann@example.com", true},
	"app": &appForm{&factors.Draft{
		Secret: "ABCD EFGH", QR: factors.QR{Size: 9, Path: "M4 4h1v1h-1z"},
		Signed: "draft",
	}, "/consent", "Telephone"},
	"passkey":   &passkeyForm{&factors.Challenge{Options: "{}", Signed: "challenge"}, "/consent", "Telephone", true},
	"recovery":  &recoveryCodes{[]string{"abcd-efgh-ijkl-mnop"}, "/consent"},
	"logout":    &logoutForm{Application: "Sample"},
	"signedout": "Sample",
	"consent":   &consentForm{sample, "transaction"},
	"respond": &respondForm{
		&authorize.Response{
			To: "https://client.example/cb", Form: true, Parameters: []authorize.Parameter{{Name: "code", Value: "c"}},
		},
		authorize.Target{Host: "client.example", Scheme: "https"},
	},
	"device":        &deviceForm{"BCDF-GHJK"},
	"deviceconsent": &deviceConsentForm{sample, "BCDF-GHJK", "found"},
	"devicedone":    true,
}

// Routes returns the routes of the pages for the site of the authorization server. The handler h is the result of New.
// The site removes mount, the path of the issuer, from the paths of its requests. The handler needs that prefix, so the
// routes add it again.
func Routes(h http.Handler, mount string) []kernel.Route {
	serve := func(w http.ResponseWriter, r *http.Request) error {
		request := *r // a copy, so that the site's request keeps its pattern
		if mount != "" {
			path := *r.URL
			path.Path, path.RawPath = mount+path.Path, ""
			request.URL = &path
		}
		h.ServeHTTP(w, &request)
		return nil
	}
	list := make([]kernel.Route, 0, 1+len(routes))
	list = append(list, kernel.Route{Method: get, Path: "/assets/{file}", Serve: serve})
	for _, page := range routes {
		list = append(list, kernel.Route{
			Method: page.Method, Path: page.Path, Serve: serve,
			Acts: slices.Contains(unsafeGets, page.Path),
		})
	}
	return list
}
