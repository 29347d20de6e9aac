// Package web serves the board as web pages. It contains no rules: pages and API call the same methods of the services.
// To add a page, add a row to routes.go, a method to the type call, and a template; package pages describes this.
package web

import (
	"context"
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/conversations"
	"github.com/tollgate-gateway/tollgate/backends/board/drafts"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/backends/board/moderation"
	"github.com/tollgate-gateway/tollgate/backends/board/owndata"
	"github.com/tollgate-gateway/tollgate/backends/board/polls"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/reactions"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/backends/board/tags"
	"github.com/tollgate-gateway/tollgate/backends/board/warnings"
	"github.com/tollgate-gateway/tollgate/backends/board/web/administration"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/locale"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/resource"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

//go:embed templates static
var files embed.FS

//go:embed languages
var catalogues embed.FS

// Catalogues returns the translations of the pages and mails, for pages.LoadLanguages.
func Catalogues() fs.FS {
	folder, err := fs.Sub(catalogues, "languages")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return folder
}

// sharedLook returns the templates and static files, which are parsed once.
var sharedLook = sync.OnceValue(func() *pages.Look {
	return pages.NewLook("board", files, template.FuncMap{
		"html":       func(safe string) template.HTML { return template.HTML(safe) }, //nolint:gosec // sanitised by markup.Render
		"zones":      text.Zones,
		"initial":    func(name string) string { return pages.Capital(string([]rune(name)[:min(1, len([]rune(name)))])) },
		"tint":       tint,
		"before":     func(id int64) int64 { return id - 1 },
		"forumPath":  func(f content.ForumInfo) string { return pages.Slugged("/forums/", f.ID, f.Slug) },
		"pagePath":   pagePath,
		"pictures":   func() string { return strings.Join(attachments.AvatarExtensions, ",") },
		"add":        func(n, more int64) int64 { return n + more },
		"threadPath": func(t content.ThreadInfo) string { return pages.Slugged("/threads/", t.ID, t.Slug) },

		"administering": administration.Tabs.At,
	}, resource.Templates)
})

// tint returns the CSS class for the background colour of the letter that replaces a missing picture.
func tint(name string) string {
	sum := 0
	for _, r := range name {
		sum = (sum*31 + int(r)) % 8
	}
	return "tint" + strconv.Itoa(sum)
}

// Options are the settings of the pages.
type Options struct {
	// BaseURL is the URL of the board. It may have a path, which is not part of the requests' paths. Default: none.
	BaseURL string
	// MembersOnly limits guests to the pages for signing in and joining.
	MembersOnly bool
	// OIDC is a provider at which members may sign in. OIDCLabel is its name. Default: none.
	OIDC      *oidclogin.Provider
	OIDCLabel string
	// Conceal keeps a request whose URL contains a secret out of the logs. If it is nil, such requests are logged.
	Conceal func(*http.Request)
	// Languages are the available languages of the pages. Default: English only.
	Languages *locale.Languages
	// Bar is passed on to pages.Options.
	Bar func(*http.Request) look.Bar

	path string        // of BaseURL, without a slash at the end
	long chan struct{} // has an element for each long file that is being written; see longFile
}

// Services holds the services of a board that its pages use. All are required.
type Services struct {
	Rights        *rights.Service
	Attachments   *attachments.Service
	Following     *following.Service
	Search        *search.Service
	Reactions     *reactions.Service
	Posts         *posts.Service
	Conversations *conversations.Service
	Drafts        *drafts.Service
	Accounts      *accounts.Service
	Mails         *mails.Service
	Admin         *admin.Service
	Moderation    *moderation.Service
	Warnings      *warnings.Service
	Tags          *tags.Service
	Polls         *polls.Service
	OwnData       *owndata.Service
}

// New returns the handler of a board's pages. It calls ready, which prepares the board, before each page.
func New(
	board *kernel.Server, services *Services, ready func(ctx context.Context) error, options Options, logger *zap.Logger,
) http.Handler {
	options.long = make(chan struct{}, longFilesAtOnce)
	if base, err := url.Parse(options.BaseURL); err == nil {
		options.path = strings.TrimSuffix(base.Path, "/")
	}
	if options.path != "" {
		below := newUnder(options.path, nil) // the pages need its bar first
		options.Bar = below.bar(options.Bar)
		below.pages = newSite(board, services, ready, &options, logger)
		return below
	}
	return newSite(board, services, ready, &options, logger)
}

// newSite returns the handler of the pages at the root of a host.
func newSite(
	board *kernel.Server, services *Services, ready func(ctx context.Context) error, options *Options, logger *zap.Logger,
) http.Handler {
	return pages.New(pages.Options[*call]{
		Look: sharedLook().In(options.Languages), Table: routes, Admit: members, Signer: services.Accounts.Forms,
		Called: "the board",
		Begin: func(p *pages.Call) (*call, error) {
			if err := ready(p.Context()); err != nil {
				return nil, err
			}
			return begin(&call{Call: p, Services: services, kernel: board, options: options})
		},
		BaseURL: options.BaseURL, Conceal: options.Conceal, Bar: options.Bar, Logger: logger,
	})
}

// ErrorPage returns the page for a request that was refused before it reached the board. path is the board's path on
// the host, or empty for the root.
func ErrorPage(path string, e *apierror.Error) (http.Header, []byte) {
	return sharedLook().ErrorPage(path, e)
}

// call is a request for a page.
type call struct {
	*pages.Call
	*Services
	kernel  *kernel.Server
	options *Options
	actor   *rights.Actor
	session *accounts.Session // nil for a guest
	frame   *frame
}

// begin prepares a request: it determines the actor and renews the actor's cookie. Public pages are cached, so their
// actor is always the guest, and they set no cookies. begin returns c.
func begin(c *call) (*call, error) {
	if err := c.setActor(c.Session()); err != nil {
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

// setActor sets the actor of the request, and everything that depends on the actor, such as the language. The actor
// is the member whose session belongs to the cookie, or the guest if there is no valid session.
func (c *call) setActor(cookie string) (err error) {
	if c.actor, c.session, err = c.Accounts.Resume(c.Context(), cookie); err != nil {
		return err
	}
	if c.session != nil {
		c.SignedIn(strconv.FormatInt(c.actor.User.ID, 10))
		c.AllowRequests() // of the script compose.js
	}
	c.frame = &frame{
		User: c.actor.User, Settings: c.actor.Settings(), Joining: c.actor.Unconfirmed(),
		Administers: c.actor.MayAdminister(), call: c,
	}
	c.Name, c.Zone, c.Site = c.frame.Settings.Name, c.actor.User.Zone(), c.frame
	c.setLanguage()
	return nil
}

// setLanguage sets the language of the page, and of mails that are requested on it: the language that the member has
// chosen, or else one that the browser accepts. The administration and the log are in English.
func (c *call) setLanguage() {
	var preferred string
	if c.actor.User != nil {
		preferred = c.actor.User.Language
	}
	if path := c.R.URL.Path; path == "/admin" || strings.HasPrefix(path, "/admin/") || path == logList.Path {
		preferred = locale.English
	}
	c.Prefer(preferred)
	c.R = c.R.WithContext(locale.NewContext(c.Context(), c.Language()))
}

// These functions decide which users may open a page. The services decide which actions they may take there.

// everybody admits all users, even banned members, and even while the board is offline.
func everybody(*call) error { return nil }

// readers admits programs that read feeds and sitemaps, with the rights of guests.
func readers(c *call) error { return c.Rights.Admit(c.actor) }

// guests admits guests and members. If the board is for members only, it works like members.
func guests(c *call) error { return c.admit(c.options.MembersOnly, false) }

// members admits members and asks guests to sign in.
func members(c *call) error { return c.admit(true, false) }

// joining admits members, including members who have not confirmed their mail address yet.
func joining(c *call) error {
	if c.actor.Unconfirmed() {
		return nil
	}
	return members(c)
}

// administrators admits administrators. It asks for their password if they have not entered it recently (see
// accounts.ConfirmedFor). For other users the pages do not exist.
func administrators(c *call) error { return c.admit(true, true) }

// administration returns the call for the pages of package administration.
func (c *call) administration() *administration.Call {
	return &administration.Call{Call: c.Call, Actor: c.actor, Services: administration.Services{
		Kernel: c.kernel, Rights: c.Rights, Admin: c.Admin, Tags: c.Tags,
	}}
}

// admit checks whether the user may open a page; if not, it returns an error or redirects. If signedIn is set, the user
// must be signed in. If administers is set, the user must be an administrator.
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
		return c.Redirect("/account/password", c.T("Your password was shown to an administrator. Choose one of your own first."))
	case administers && !c.session.Fresh(c.kernel.Now()):
		return c.ToConfirm("/confirm")
	}
	return nil
}

// address returns the client's address, by which attempts are counted.
func (c *call) address() string { return c.kernel.Address(c.R) }

// once returns an idempotency key for a form, so that sending the same form twice creates only one post. texts are the
// contents of the form.
func (c *call) once(texts ...string) posts.Once {
	key := c.Once(texts...)
	return posts.Once{Key: key, Hash: key}
}

// frame holds the data of a page's frame, such as its header. Templates have it as .Site.
type frame struct {
	User        *rights.User // the user of the page; nil for a guest
	Settings    kernel.Settings
	Joining     bool   // the user has registered but not confirmed the mail address yet
	Administers bool   // the user is an administrator
	Feed        string // path of the Atom feed of this page
	Place       string // permanent path of this page

	call   *call
	shared *shared
	// forums holds, by id, the forums of the threads in a list. It is set only if the list has threads of several
	// forums.
	forums map[int64]content.ForumInfo
	faces  map[int64]attachments.Face // of the authors on the page
	tags   map[int64][]tags.Tag       // of the threads on this page
	polls  map[int64]shownPoll        // of the posts on this page
}

// ForumOf returns the forum with the given id, if the page has a list with threads of several forums. For other lists
// it returns nil.
func (f *frame) ForumOf(id int64) *content.ForumInfo {
	if forum, ok := f.forums[id]; ok {
		return &forum
	}
	return nil
}

// Canonical returns the URL under which search engines should index this page.
func (f *frame) Canonical() string {
	if f.Place == "" {
		return ""
	}
	return f.call.Base() + f.Place
}

// Moderates reports whether the user may approve posts in at least one forum.
func (f *frame) Moderates() bool {
	return f.User != nil && f.call.actor.MayAnywhere(rights.ContentApprove)
}

// Suspended reports whether the user may currently read but not write.
func (f *frame) Suspended() bool { return f.call.actor.CheckSuspended(f.call.kernel.Moment()) != nil }

// Unseen returns the number of unread notifications.
func (f *frame) Unseen() (int, error) {
	return f.call.Following.Unseen(f.call.Context(), f.call.actor)
}

// UnreadConversations returns the number of the user's private conversations with unread messages.
func (f *frame) UnreadConversations() (int, error) {
	return f.call.Conversations.Unread(f.call.Context(), f.call.actor)
}

// Joins reports whether the user may currently register as a member.
func (f *frame) Joins() bool {
	return f.Settings.Registration != kernel.RegistrationClosed && f.call.Rights.Admit(f.call.actor) == nil
}

// SignOn returns the name of the provider at which members may sign in, or an empty string if no provider is
// configured.
func (f *frame) SignOn() string {
	if f.call.options.OIDC == nil {
		return ""
	}
	return f.call.options.OIDCLabel
}

// Mails reports whether the board sends mails.
func (f *frame) Mails() bool { return f.call.Accounts.Mails() }

// Again returns the path of the page that mails a new link, of the same kind as the link that led to this page. It
// returns an empty string on other pages.
func (f *frame) Again() string {
	return map[string]string{"/reset": "/forgot", "/email": "/account/email"}[f.call.R.URL.Path]
}
