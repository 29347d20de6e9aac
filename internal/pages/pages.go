// Package pages serves HTML pages. It has a table of pages, forms that are bound to a browser, notices, faults of
// fields, error pages, versions of edited records, and a style. The pages use html/template and work without scripts.
// The service determines their content and the access to them.
//
// A service has a type for a request, which embeds *Call, one Look, and a table:
//
//	//go:embed templates static
//	var files embed.FS
//
//	var look = sync.OnceValue(func() *pages.Look { return pages.NewLook("shop", files, nil) })
//
//	type call struct {
//		*pages.Call
//		user *shop.User // nil for a guest
//	}
//
//	var table = []pages.Page[*call]{
//		{Method: http.MethodGet, Path: "/{$}", Serve: (*call).index},
//		{Method: http.MethodGet, Path: "/things/{thingId}", Admit: members, Serve: (*call).thing},
//		{Method: http.MethodPost, Path: "/things/{thingId}", Admit: members, Serve: (*call).saveThing},
//	}
//
//	site := pages.New(pages.Options[*call]{Look: look(), Table: table, Begin: begin, …})
//
// Begin identifies the user: if the session cookie is valid it calls SignedIn with the user's id. It sets Name, Zone
// and Site, and returns the service's call. Admit is an access rule: it returns an error, redirects (ToLogin), or
// returns nil. Serve answers:
//
//	func (c *call) saveThing() error {
//		thing := shop.Thing{ID: c.ID("thingId"), Title: c.Form.Text("title")}
//		if err := c.service.Save(c.Context(), c.user, thing); err != nil {
//			return c.ShowForm(err, "thing", thing.Title, thing)
//		}
//		return c.Redirect("/", "Saved.")
//	}
//
// An error becomes a page with its status. ShowForm shows the form again, with the entered values and the faults of the
// fields.
//
// templates/thing.html defines "main" and gets a View. Its .Data is the data passed to Show, and .Site is Call.Site.
// Files whose names end in parts.html are shared by all pages. They may define the optional blocks of the layout:
// "head", "top", "foot" and "home". "top" begins with {{template "brand" .Top}}, the name and the menu of services. A
// form with the method POST contains {{template "token" .}}; the token is checked before Admit. A field looks like
// this:
//
//	{{template "problems" .}}
//	<input id="title" name="title" value="{{.Data.Title}}" {{.Invalid "title"}}>
//	{{template "note" .Note "title"}}
//
// A form for a record that several users may change contains its version by {{template "version" .Data}}, whose data
// embeds an Edit (Call.Edit). The service compares the version (Call.Match). If another user has saved meanwhile, the
// form is shown again with both texts. Pages with Upload read files with Call.ReadFiles, or as a stream with
// Call.Parts.
//
// A template that pages share gets the view by {{template "things" ($.With .List)}}. {{$.When .At}} shows a time in the
// reader's time zone; functions.go has further functions. static/shop.css follows static/pages.css of this package,
// which has the colours, light and dark, and the components. {{$.At (asset "shop.svg")}} is the URL of a file, under
// which browsers cache the file until it changes.
package pages

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/signed"
)

// Page is a row of a table: a page, or the target of a form. C is the service's call type.
type Page[C any] struct {
	Method string // POST, or GET, which also answers HEAD
	// Path is a pattern of http.ServeMux without the mount. A wildcard whose name ends in Id matches only numbers from
	// 1 on (Call.ID); anything else is answered with 404.
	Path string
	// Admit is the access rule. Default: Options.Admit.
	Admit func(C) error
	// Serve answers the request. An error that it returns becomes an error page.
	Serve func(C) error
	// Else answers a form that was made in this browser for another person than the one now signed in. This is also the
	// case if somebody has signed in or out since the form was made, for example in another tab. Else must not carry out
	// the form in the name of the person now signed in. Default: the form is refused.
	Else func(C) error
	// Public pages are the same for everybody: no cookie is read or set.
	Public bool
	// NoToken means that a form posted to this page needs no token, because the URL contains a proof or another site
	// sends the form. Serve reads the fields with Call.ReadForm.
	NoToken bool
	// Secret means that the URL holds a secret, which must not reach logs or other sites.
	Secret bool
	// Upload is the maximum size of a multipart form, in bytes. Default: 0, multipart forms are refused.
	Upload int64
	// Keeps names the fields of a form whose text took time to write. If the session has ended or changed since the
	// form was opened, the form is not refused but shown again with these fields. Serve must then change nothing
	// (Call.Previews), and Admit may ask the user to sign in (Call.ReadKept, Call.Kept). Default: the form is refused.
	Keeps []string
}

// Within returns the pages of a part of a site as pages of the site. C is the type of the site's calls and D the type
// of the part's calls; toPart returns the call of the part for a call of the site. admit is the access rule of all
// these pages.
func Within[C, D any](list []Page[D], admit func(C) error, toPart func(C) D) []Page[C] {
	pages := make([]Page[C], len(list))
	for i, p := range list {
		pages[i] = Page[C]{
			Method: p.Method, Path: p.Path, Admit: admit, Serve: func(c C) error { return p.Serve(toPart(c)) },
			Public: p.Public, NoToken: p.NoToken, Secret: p.Secret, Upload: p.Upload, Keeps: p.Keeps,
		}
		if p.Else != nil {
			pages[i].Else = func(c C) error { return p.Else(toPart(c)) }
		}
	}
	return pages
}

// Options holds the settings of a site.
type Options[C any] struct {
	Look  *Look
	Table []Page[C]
	// Bar returns the content of the bar at the top of each page for the sender of a request: the brand's name and logo
	// and the menu of services. The site adds its own navigation. Default: the product's name, and no menu.
	Bar func(*http.Request) look.Bar
	// Begin identifies the user and returns the service's call. If it returns an error, the error page has no layout.
	Begin func(*Call) (C, error)
	// Admit is the access rule of pages without a rule.
	Admit func(C) error
	// Signer signs the tokens of forms.
	Signer func() signed.Signer
	// Called is the name of the site within sentences, for example "the board".
	Called string
	// Part is shown in the bar after the brand's name, if the site has no name (Call.Name).
	Part string
	// BaseURL is the URL of the site, such as https://forum.example.com. If it begins with https, cookies are marked
	// Secure even behind a proxy that terminates TLS. Default: taken from the request.
	BaseURL string
	// Mount is the path prefix of all pages, such as /forum. Default: none.
	Mount string
	// SessionCookie is the name of the session cookie. Default: the look's name followed by _session, with the prefix
	// __Host- if the site is on https.
	SessionCookie string
	// SameSite is the attribute SameSite of the session cookie (RFC 6265bis, section 5.6.7). Default: lax, as for all
	// other cookies.
	SameSite http.SameSite
	// Secure says whether browsers send cookies over https only. A session cookie with SameSite=None is always Secure.
	// Default: true if the site is on https.
	Secure *bool
	// TokenField is the name of the form field for the token. Default: token.
	TokenField string
	// Back is the query parameter of the sign-in page with the path to return to. Default: next.
	Back string
	// Closed keeps pages out of frames and of all caches, and sends no Referer to other sites. It is for a site that
	// issues valuable secrets.
	Closed bool
	// Conceal keeps a request whose URL holds a secret (Page.Secret) out of the logs. Default: none.
	Conceal func(*http.Request)
	Logger  *zap.Logger
}

// Site serves the pages of a service.
type Site[C any] struct {
	*site
	options Options[C]
	mux     *http.ServeMux
}

// site is the part of a Site that does not depend on the type parameter C, so that other types can refer to it. Its
// fields are those of Options, with their defaults, unless a comment says otherwise.
type site struct {
	look                            *Look
	called, part                    string
	baseURL, host, mount            string // host is the host of baseURL
	sessionCookie, tokenField, back string
	sameSite                        http.SameSite
	secure                          *bool
	closed                          bool
	bar                             func(*http.Request) look.Bar
	signer                          func() signed.Signer
	origin                          *http.CrossOriginProtection
	conceal                         func(*http.Request)
	logger                          *zap.Logger
	buffers                         sync.Pool // of *bytes.Buffer, for rendering pages
}

// New makes a site. It panics if two routes of the options conflict, which is a programming mistake.
func New[C any](o Options[C]) *Site[C] {
	o.Bar = look.Always(o.Bar)
	s := &Site[C]{options: o, mux: http.NewServeMux(), site: &site{
		bar: o.Bar, look: o.Look, part: o.Part, called: o.Called,
		baseURL: strings.TrimSuffix(o.BaseURL, "/"), mount: o.Mount, signer: o.Signer,
		sessionCookie: o.SessionCookie, tokenField: cmp.Or(o.TokenField, "token"), back: cmp.Or(o.Back, "next"),
		sameSite: cmp.Or(o.SameSite, http.SameSiteLaxMode), secure: o.Secure, closed: o.Closed,
		origin: http.NewCrossOriginProtection(), conceal: o.Conceal, logger: o.Logger,
	}}
	for i := range o.Table {
		page := &o.Table[i]
		ids := idsOf(page.Path)
		s.mux.HandleFunc(page.Method+" "+o.Mount+page.Path, func(w http.ResponseWriter, r *http.Request) {
			s.run(w, r, page, ids)
		})
	}
	if base, err := url.Parse(s.baseURL); err == nil && base.Host != "" { // a proxy may use another host name
		s.host = base.Host
		_ = s.origin.AddTrustedOrigin(base.Scheme + "://" + base.Host) // it is a valid origin
	}
	everybody := func(C) error { return nil }
	notFound := func(C) error { return NotFound() }
	missingAsset := &Page[C]{Method: http.MethodGet, Admit: everybody, Serve: notFound, Public: true}
	s.mux.HandleFunc("GET "+o.Mount+"/assets/{file}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("file")
		if brand := o.Bar(r).Brand; brand.Has(name) {
			brand.Serve(w, r, name)
			return
		}
		if o.Look.files.Has(name) {
			o.Look.files.Serve(w, r, name)
			return
		}
		s.run(w, r, missingAsset, nil)
	})
	missingPage := &Page[C]{Method: http.MethodGet, Admit: everybody, Serve: notFound}
	s.mux.HandleFunc(o.Mount+"/", func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet, http.MethodHead, http.MethodPost:
			s.run(w, r, missingPage, nil)
		default:
			w.Header().Set("Allow", "GET, HEAD, POST")
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		}
	})
	return s
}

// ServeHTTP answers a request below the mount.
func (s *Site[C]) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

var idWildcard = regexp.MustCompile(`\{([^}]*Id)\}`)

// idsOf returns the names of the wildcards in a path that match only numbers; see Page.Path.
func idsOf(path string) (names []string) {
	for _, match := range idWildcard.FindAllStringSubmatch(path, -1) {
		names = append(names, match[1])
	}
	return names
}

// run answers a request for a page. ids are the names of the wildcards with numbers in its path.
func (s *Site[C]) run(w http.ResponseWriter, r *http.Request, page *Page[C], ids []string) {
	c := newCall(s.site, w, r)
	c.public, c.concealed, c.upload, c.keeps = page.Public, page.Secret, page.Upload, page.Keeps
	c.headers()
	if err := s.answer(c, page, ids); err != nil {
		c.fail(err)
	}
}

// answer makes the checks that precede every page, and then calls Serve. ids are as for run.
func (s *Site[C]) answer(c *Call, page *Page[C], ids []string) error {
	serviceCall, err := s.options.Begin(c)
	if err != nil || c.answered {
		return err
	}
	c.begun = true
	if c.person == "" && !c.site.closed {
		c.W.Header().Set("Cache-Control", "no-cache") // may be stored, unless the page gets a form; see token
	}
	serve := page.Serve
	if c.R.Method == http.MethodPost && !page.NoToken {
		err := c.checkForm()
		switch {
		case errors.Is(err, errOtherPerson) && page.Else != nil:
			serve = page.Else
		case err != nil:
			return err
		}
	}
	admit := page.Admit
	if admit == nil {
		admit = s.options.Admit
	}
	if err := admit(serviceCall); err != nil || c.answered {
		return err
	}
	if err := c.readIDs(ids); err != nil {
		return err
	}
	return serve(serviceCall)
}

// NotFound returns the error for a record that does not exist, or that the sender of the request must not see.
func NotFound() error {
	return apierror.New(http.StatusNotFound, "not_found", "There is nothing here that you may see.")
}

// readIDs parses the numbers in the path that were matched by the wildcards in names. It ignores the text after a
// hyphen, which is for readers. The error is NotFound if one of the numbers is not a number from 1 on.
func (c *Call) readIDs(names []string) error {
	for _, name := range names {
		text, _, _ := strings.Cut(c.R.PathValue(name), "-")
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 || text[0] == '+' {
			return NotFound()
		}
		c.ids = append(c.ids, id{name, n})
	}
	return nil
}

// id is a number in the path of a request, with the name of its wildcard.
type id struct {
	name   string
	number int64
}

// ID returns the number in the path that the wildcard with the given name has matched, or 0 if the path has no such
// wildcard.
func (c *Call) ID(name string) int64 {
	for _, id := range c.ids {
		if id.name == name {
			return id.number
		}
	}
	return 0
}

// Slugged returns the path of a record with a number, followed by words for readers: /things/7-a-thing.
func Slugged(prefix string, id int64, slug string) string {
	path := prefix + strconv.FormatInt(id, 10)
	if slug != "" {
		path += "-" + slug
	}
	return path
}

// Local checks a path of this site that comes from a parameter. It returns the path or, if the path leads to another
// site or has more than 2000 bytes, "/".
func Local(path string) string { return LocalUpTo(2000, path) }

// LocalUpTo works like Local with another limit, in bytes.
func LocalUpTo(limit int, path string) string {
	if len(path) > limit || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") ||
		strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	if u, err := url.Parse(path); err != nil || u.Host != "" || u.Scheme != "" {
		return "/"
	}
	return path
}
