// Package web is the board as pages for people. Every rule is the service's, and
// pages and API call the same methods of it. How a page is added is told by package
// pages: a row in routes.go, a method of call, and a template.
package web

import (
	"context"
	"embed"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/resource"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

//go:embed templates static
var files embed.FS

// shown is parsed once.
var shown = sync.OnceValue(func() *pages.Look {
	return pages.NewLook("board", files, template.FuncMap{
		"html":       func(safe string) template.HTML { return template.HTML(safe) }, //nolint:gosec // sanitised by markup.Render
		"zones":      text.Zones,
		"initial":    func(name string) string { return pages.Capital(string([]rune(name)[:min(1, len([]rune(name)))])) },
		"tint":       tint,
		"before":     func(id int64) int64 { return id - 1 },
		"forumPath":  func(f content.ForumInfo) string { return pages.Slugged("/forums/", f.ID, f.Slug) },
		"threadPath": func(t content.ThreadInfo) string { return pages.Slugged("/threads/", t.ID, t.Slug) },

		"administering": adminTabs.At,
		"moderating":    moderationTabs.At,
	}, resource.Templates)
})

// tint returns the class of the colour behind what stands for a picture of a member.
func tint(name string) string {
	sum := 0
	for _, r := range name {
		sum = (sum*31 + int(r)) % 8
	}
	return "tint" + strconv.Itoa(sum)
}

// Options are the settings of the pages.
type Options struct {
	// BaseURL is the address of the board. Default: none.
	BaseURL string
	// MembersOnly shows guests how to sign in and nothing else.
	MembersOnly bool
	// OIDC is a provider at which members may sign in, and OIDCLabel what it is called. Default: none.
	OIDC      *oidclogin.Provider
	OIDCLabel string
	// Conceal keeps a request whose address holds a secret out of the logs.
	// Default: nothing does.
	Conceal func(*http.Request)
	// Bar is that of pages.Options.
	Bar func(*http.Request) look.Bar

	sitemaps chan struct{} // who writes one now
}

// Rooms are those of a board that its pages show. All are required.
type Rooms struct {
	Rights      *rights.Service
	Attachments *attachments.Service
	Following   *following.Service
	Search      *search.Service
	Posts       *posts.Service
	Accounts    *accounts.Service
	Mails       *mails.Service
	Admin       *admin.Service
	// Ready prepares the board before a page is served.
	Ready func(ctx context.Context) error
}

// New returns the pages of a board.
func New(board *kernel.Server, rooms Rooms, options Options, logger *zap.Logger) http.Handler {
	options.sitemaps = make(chan struct{}, sitemapsAtOnce)
	return pages.New(pages.Options[*call]{
		Look: shown(), Table: routes, Admit: members, Signer: rooms.Accounts.Forms, Called: "the board",
		Begin: func(p *pages.Call) (*call, error) {
			return begin(&call{Call: p, Rooms: &rooms, kernel: board, options: &options})
		},
		BaseURL: options.BaseURL, Conceal: options.Conceal, Bar: options.Bar, Logger: logger,
	})
}

// Owns reports whether a path is a page; all are but those of the API.
func Owns(path string) bool {
	return path != kernel.Mount && !strings.HasPrefix(path, kernel.Mount+"/")
}

// ErrorPage returns the page for what is refused before the board.
func ErrorPage(e *apierror.Error) (http.Header, []byte) { return shown().ErrorPage("", e) }

// call is a request for a page.
type call struct {
	*pages.Call
	*Rooms
	kernel  *kernel.Server
	options *Options
	actor   *rights.Actor
	session *accounts.Session // nil: a guest
	frame   *frame
}

// begin finds who asks. What is the same for everybody is kept by caches, so it goes
// to nobody in particular: it has no cookie.
func begin(c *call) (*call, error) {
	if err := c.Ready(c.Context()); err != nil {
		return nil, err
	}
	if err := c.become(c.Session()); err != nil {
		return nil, err
	}
	if c.session != nil && c.session.Prolonged {
		c.SignIn(c.Session(), accounts.SessionIdle)
	}
	if c.frame.Settings.Images {
		c.AllowImages("https:")
	}
	return c, nil
}

// become makes the member whose session a cookie names the one who asks. Without a good session it is a guest.
func (c *call) become(cookie string) (err error) {
	if c.actor, c.session, err = c.Accounts.Resume(c.Context(), cookie); err != nil {
		return err
	}
	if c.session != nil {
		c.SignedIn(strconv.FormatInt(c.actor.User.ID, 10))
	}
	c.frame = &frame{
		User: c.actor.User, Settings: c.actor.Settings(), Joining: c.actor.Unconfirmed(),
		Administers: c.actor.MayAdminister(), call: c,
	}
	c.Name, c.Zone, c.Site = c.frame.Settings.Name, c.actor.User.Zone(), c.frame
	return nil
}

// The rules of who may open a page. What they may do there is the service's to say.

// everybody admits all, also the banned, and while the board is offline.
func everybody(*call) error { return nil }

// readers admits programs that read feeds, as a guest does.
func readers(c *call) error { return c.Rights.Admit(c.actor) }

func guests(c *call) error { return c.admit(c.options.MembersOnly, false) }

func members(c *call) error { return c.admit(true, false) }

// joining admits members, also those who have not confirmed their mail address.
func joining(c *call) error {
	if c.actor.Unconfirmed() {
		return nil
	}
	return members(c)
}

// administrators admits administrators, and asks them for the password if that was long ago. For others their
// pages are not there.
func administrators(c *call) error { return c.admit(true, true) }

func (c *call) admit(signedIn, administers bool) error {
	if c.actor.Unconfirmed() {
		return c.Redirect("/account/email", "")
	}
	if err := c.Rights.Admit(c.actor); err != nil {
		return err
	}
	switch {
	case signedIn && c.actor.User == nil && c.Keeps():
		return c.signInWith()
	case signedIn && c.actor.User == nil:
		return c.ToLogin("/login")
	case administers && !c.actor.MayAdminister():
		return pages.NotFound()
	case c.session != nil && c.session.Once && c.R.URL.Path != "/account/password":
		return c.Redirect("/account/password", "Your password was shown to an administrator. Choose one of your own first.")
	case administers && !c.session.Fresh(c.kernel.Now()):
		return c.ToConfirm("/confirm")
	}
	return nil
}

// address returns the client's address, by which attempts are counted.
func (c *call) address() string { return c.kernel.Address(c.R) }

// once makes a form that is sent twice one.
func (c *call) once(texts ...string) posts.Once {
	key := c.Once(texts...)
	return posts.Once{Key: key, Hash: key}
}

// frame is what is around a page: .Site of templates.
type frame struct {
	User        *rights.User // who looks; nil: a guest
	Settings    kernel.Settings
	Joining     bool   // who looks has not confirmed the mail address yet, and may do nothing else
	Administers bool   // who looks may change the board
	Feed        string // path of the Atom feed of this page
	Place       string // path that names this page for ever

	call *call
}

// Canonical returns the address under which search engines know this page. It is whole where the address of
// the board is known, since the board may be open under several.
func (f *frame) Canonical() string {
	if f.Place == "" {
		return ""
	}
	return strings.TrimSuffix(f.call.options.BaseURL, "/") + f.Place
}

// Moderates reports whether who looks approves posts anywhere.
func (f *frame) Moderates() bool {
	return f.User != nil && f.call.actor.MayAnywhere(rights.ContentApprove)
}

// Suspended reports whether who looks may read but not decide.
func (f *frame) Suspended() bool { return f.call.actor.Suspended(f.call.kernel.Now()) }

// Unseen returns how many notifications were not read.
func (f *frame) Unseen() (int, error) {
	return f.call.Following.Unseen(f.call.Context(), f.call.actor)
}

// Joins reports whether who looks may become a member now.
func (f *frame) Joins() bool {
	return f.Settings.Registration != kernel.RegistrationClosed && f.call.Rights.Admit(f.call.actor) == nil
}

// SignOn returns what the provider is called at which members may sign in. It is empty where there is none.
func (f *frame) SignOn() string {
	if f.call.options.OIDC == nil {
		return ""
	}
	return f.call.options.OIDCLabel
}

// Mails reports whether the board sends mails.
func (f *frame) Mails() bool { return f.call.Accounts.Mails() }

// Again returns the page that mails another link, for the page that a link leads to.
func (f *frame) Again() string {
	return map[string]string{"/reset": "/forgot", "/email": "/account/email"}[f.call.R.URL.Path]
}
