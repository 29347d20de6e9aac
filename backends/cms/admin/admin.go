// Package admin serves the administration of a site: web pages that work without JavaScript, for users with the
// necessary permissions. The pages use the same services as the API and follow the same rules. Lists and forms are
// described for package resource. Every other page consists of a row in the variable table, a method of the type call,
// and a template.
package admin

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/backends/cms/auth"
	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/files"
	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/routes"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/resource"
	"github.com/tollgate-gateway/tollgate/internal/signed"
)

//go:embed templates static
var embedded embed.FS

// assets holds the templates and static files, which are parsed once.
var assets = sync.OnceValue(func() *pages.Look { return pages.NewLook("cms", embedded, nil, resource.Templates) })

// maxUpload limits the size of a form with a file, in bytes. The settings of a field may limit its files further.
const maxUpload = 128 << 20

// Options configures the administration. Fields without a documented default are required.
type Options struct {
	// Mount is the path of the administration, such as /admin.
	Mount    string
	Accounts *accounts.Accounts
	Auth     *auth.Auth
	Content  *content.Content
	Files    *files.Files
	Settings *settings.Store
	// Routes returns the result of the last reading of the site's files, and Reload reads the files again.
	Routes func() Routes
	Reload func() error
	// OIDC is a provider at which users may sign in, and OIDCLabel is its name on the sign-in page. By default there is
	// no provider.
	OIDC      *oidclogin.Provider
	OIDCLabel string
	// Bar returns the bar at the top of the pages; see pages.Options.
	Bar func(*http.Request) look.Bar
}

// Routes describes the result of the last reading of a site's files.
type Routes struct {
	Table    *routes.Table // the table in use, or nil if no table has been loaded yet
	Loaded   time.Time
	Warnings []*routes.Error
	Failed   error // why the current files are not in use
}

// admin holds the state of the administration.
type admin struct {
	*kernel.Server
	Options
}

// New returns the handler of the administration.
func New(s *kernel.Server, o Options) http.Handler {
	a := &admin{s, o}
	return pages.New(pages.Options[*call]{
		Look: assets(), Table: table, Begin: a.begin, Admit: requireMember, Called: "the administration",
		Part: "Site", Closed: true, BaseURL: s.BaseURL, Mount: o.Mount,
		SessionCookie: "cms_admin", SameSite: http.SameSiteLaxMode,
		Signer: func() signed.Signer { return s.Signer("form") }, Bar: o.Bar, Logger: s.Logger(),
	})
}

const (
	get  = http.MethodGet
	post = http.MethodPost
)

// table lists all pages with their handlers.
var table = slices.Concat([]pages.Page[*call]{
	{Method: get, Path: "/login", Admit: allowEverybody, Serve: (*call).askLogin},
	{Method: post, Path: "/login", Admit: allowEverybody, Serve: (*call).login, Else: (*call).loginMeanwhile},
	{Method: get, Path: "/login/oidc", Admit: allowEverybody, Serve: (*call).beginSignOn},
	{Method: get, Path: "/login/oidc/callback", Secret: true, Admit: allowEverybody, Serve: (*call).signOn},
	{Method: post, Path: "/logout", Admit: allowEverybody, Serve: (*call).logout, Else: (*call).logoutMeanwhile},

	{Method: get, Path: "/{$}", Serve: (*call).root},
	{Method: get, Path: "/new", Serve: (*call).newPage},
	{Method: post, Path: "/new", Serve: (*call).create},
	{Method: get, Path: "/pages/{pageId}", Serve: (*call).page},
	{Method: post, Path: "/pages/{pageId}", Serve: (*call).save},
	{Method: post, Path: "/pages/{pageId}/files", Serve: (*call).upload, Upload: maxUpload},
	{Method: post, Path: "/pages/{pageId}/act", Serve: (*call).act},
	{Method: get, Path: "/pages/{pageId}/revisions", Serve: (*call).revisions},
	{Method: get, Path: "/files/{fileId}", Serve: (*call).file},
	{Method: get, Path: "/routes", Admit: requireSettings, Serve: (*call).routes},
	{Method: post, Path: "/routes", Admit: requireSettings, Serve: (*call).reload},
},
	accountForm.Pages(), treeList.Pages(), pageList.Pages(), trashList.Pages(), templateList.Pages(), templateForm.Pages(),
	fieldList.Pages(), fieldForm.Pages(),
	userList.Pages(), userForm.Pages(), roleList.Pages(), roleForm.Pages(), settingsForm.Pages())

// call is a request for a page.
type call struct {
	*pages.Call
	*admin
	user *kernel.User // nil if nobody has signed in
}

// frame is the data for the layout around each page. Templates access it as .Site.
type frame struct {
	User string // name of the user, or empty if nobody has signed in
	// The following fields tell which sections of the administration the user may open.
	Admin, Templates, Users, Roles, Settings bool
	// SignOn is the name of the provider at which users may sign in, or empty.
	SignOn string
}

// begin returns the call for a request, with the user whom the session cookie identifies, if any.
func (a *admin) begin(p *pages.Call) (*call, error) {
	c := &call{Call: p, admin: a}
	f := new(frame)
	if a.OIDC != nil {
		f.SignOn = a.OIDCLabel
	}
	if cookie := p.Session(); cookie != "" {
		user, _, err := a.Auth.Find(p.R, cookie)
		if err != nil {
			return nil, err
		}
		c.user = user
	}
	if u := c.user; u != nil {
		c.SignedIn(strconv.FormatInt(u.ID, 10))
		*f = frame{
			u.Name, u.May(kernel.PermissionAdmin), u.May(kernel.PermissionTemplates), u.May(kernel.PermissionUsers),
			u.Superuser(), u.May(kernel.PermissionSettings), f.SignOn,
		}
	}
	c.Call.Site = f
	return c, nil
}

// Each of the following functions decides whether the user may open a page. If nobody has signed in, it redirects to
// the sign-in page and returns nil; the caller recognizes this by Call.Answered. For a user without the necessary
// permissions it returns an error.

// allowEverybody admits all callers, also those who have not signed in.
func allowEverybody(*call) error { return nil }

// requireMember admits users who may open the administration.
func requireMember(c *call) error { return c.requirePermissions(kernel.PermissionAdmin) }

// requireTemplates admits users who may also change templates and fields.
func requireTemplates(c *call) error {
	return c.requirePermissions(kernel.PermissionAdmin, kernel.PermissionTemplates)
}

// requirePeople admits users who may also change users.
func requirePeople(c *call) error {
	return c.requirePermissions(kernel.PermissionAdmin, kernel.PermissionUsers)
}

// requireSettings admits users who have the permission for settings, besides the one for the administration.
func requireSettings(c *call) error {
	return c.requirePermissions(kernel.PermissionAdmin, kernel.PermissionSettings)
}

// requireSuperuser admits superusers.
func requireSuperuser(c *call) error {
	if err := c.requirePermissions(kernel.PermissionAdmin); err != nil || c.Answered() {
		return err
	}
	if !c.user.Superuser() {
		return kernel.Forbidden("only a superuser may open this page")
	}
	return nil
}

// requirePermissions admits users who have all the given permissions.
func (c *call) requirePermissions(permissions ...string) error {
	if c.user == nil {
		return c.ToLogin("/login")
	}
	for _, permission := range permissions {
		if !c.user.May(permission) {
			return kernel.Forbidden("this requires the permission %s, which none of your roles has", permission)
		}
	}
	return nil
}

// apiError converts an error of package handler to an apierror, and returns other errors unchanged.
func apiError(err error) error {
	if e, ok := errors.AsType[*handler.Error](err); ok {
		converted := apierror.New(e.Code, "", "%s", e.Message)
		converted.RetryAfter = retryAfter(e.Header)
		return converted
	}
	return err
}

// retryAfter returns the value of the header Retry-After, which is a number of seconds, or 0 if there is none.
func retryAfter(h http.Header) time.Duration {
	d, err := time.ParseDuration(h.Get("Retry-After") + "s")
	if err != nil {
		return 0
	}
	return d
}

// ctx returns the context of the request.
func (c *call) ctx() context.Context { return c.Context() }
