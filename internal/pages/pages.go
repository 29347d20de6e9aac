// Package pages is what pages that people read need, whatever they are about: a
// table of pages, forms that are bound to a browser, notices, problems of fields,
// error pages, versions of what is changed, a style. The pages are html/template
// and work without script. What they say, and who may open them, is the service's.
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
//		user *shop.User // nil: a guest
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
// Begin finds who asks: where the cookie of the session is good it calls SignedIn with who that is,
// sets Name, Zone and Site, and returns the service's call. Admit is a rule: it
// refuses, redirects (ToLogin), or returns nil. Serve answers:
//
//	func (c *call) saveThing() error {
//		thing := shop.Thing{ID: c.ID("thingId"), Title: c.Form.Text("title")}
//		if err := c.service.Save(c.Context(), c.user, thing); err != nil {
//			return c.ShowForm(err, "thing", thing.Title, thing)
//		}
//		return c.Redirect("/", "Saved.")
//	}
//
// An error becomes a page with its status; ShowForm shows the form once more, with
// what was typed and the problems of its fields.
//
// templates/thing.html defines "main" and sees a View: what Show was given is .Data,
// Call.Site is .Site. Files that end in parts.html are shared by all pages, and may
// define what the layout leaves open: "head", "top", "foot" and "home"; "top" begins
// with {{template "brand" .Top}}, the name and the menu of services. A form that posts holds {{template "token" .}}, which is checked before Admit. Of a field:
//
//	{{template "problems" .}}
//	<input id="title" name="title" value="{{.Data.Title}}" {{.Invalid "title"}}>
//	{{template "note" .Note "title"}}
//
// A form that changes what others may change, too, tells its version by {{template
// "version" .Data}}, whose data embed an Edit (Call.Edit): the service compares it
// (Call.Match), and who comes second sees both. Rows with Upload read files by
// Call.ReadFiles, or as they come by Call.Parts.
//
// A template that pages share gets the view by {{template "things" ($.With .List)}}.
// {{$.When .At}} shows a time where the reader is; further functions are in words.go.
// static/shop.css is put behind static/pages.css here, which has the colours, light
// and dark, and the parts. {{$.At (asset "shop.svg")}} is the address of a file, under
// which browsers keep it until it changes.
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

// Page is a row of a table: a page, or what a form posts to. C is the service's call.
type Page[C any] struct {
	Method string // GET, which answers HEAD too, or POST
	// Path is a pattern of http.ServeMux without the mount. What a wildcard whose
	// name ends in Id takes is a number from 1 on (Call.ID); else there is no page.
	Path string
	// Admit is the rule of who may open it. Default: that of the options.
	Admit func(C) error
	Serve func(C) error
	// Else answers a form that was made in this browser for another person than the one who is signed in now, or
	// before somebody signed in or out, as one of another tab may be. It must not do what the form asks for in the
	// name of who is signed in now. Default: the form is refused.
	Else func(C) error
	// Public pages are the same for everybody: no cookie is asked for or set.
	Public bool
	// NoToken: a form that posts to it needs no token, since the address holds a proof
	// or another site sends it. Its fields are not read but by Call.ReadForm.
	NoToken bool
	// Secret: the address holds a secret, which is for no log and no other site.
	Secret bool
	// Upload takes a multipart form of at most so many bytes. Default: none.
	Upload int64
	// Keeps names the fields of a form with a text that somebody took time to write. Where
	// the session has ended, or another has begun, since the form was opened, the form is
	// not refused but shown once more, with them: Serve does nothing then (Call.Previews),
	// and Admit may ask who it is (Call.ReadKept, Call.Kept). Default: the form is refused.
	Keeps []string
}

// Options are the settings of a site.
type Options[C any] struct {
	Look  *Look
	Table []Page[C]
	// Bar returns what the bar shows beside the site's own navigation, for who asks.
	// Default: the product's own name, and no menu of services.
	Bar func(*http.Request) look.Bar
	// Begin finds who asks. What it returns as an error is shown without the layout.
	Begin func(*Call) (C, error)
	// Admit is the rule of pages that have none.
	Admit func(C) error
	// Signer signs the tokens of forms.
	Signer func() signed.Signer
	// Called is what sentences call the site, for example "the board".
	Called string
	// Part is what the bar says beside the brand's name, for a site without a name of its own
	// (Call.Name).
	Part string
	// BaseURL is the address of the site, such as https://forum.example.com. With
	// https cookies are marked so even behind a proxy that ends TLS. Default: as asked.
	BaseURL string
	// Mount is the path that all pages are below, such as /forum. Default: none.
	Mount string
	// SessionCookie is the name of the cookie of a session. Default: that of the look
	// and _session, behind __Host- on https.
	SessionCookie string
	// SameSite of that cookie (RFC 6265bis, 5.6.7). Default: lax, which all others are.
	SameSite http.SameSite
	// Secure says whether browsers send cookies over https alone; the one of a session
	// with SameSite=None always is so. Default: where the site is on https.
	Secure *bool
	// TokenField is the name of the field with a form's token. Default: token.
	TokenField string
	// Back is the parameter of the page to sign in that leads back. Default: next.
	Back string
	// Closed keeps pages out of frames, of all caches and of what other sites are told,
	// for a site that hands out what is worth stealing.
	Closed bool
	// Conceal keeps a request whose address holds a secret out of the logs.
	// Default: nothing does.
	Conceal func(*http.Request)
	Logger  *zap.Logger
}

// Site serves the pages of a service.
type Site[C any] struct {
	*site
	options Options[C]
	mux     *http.ServeMux
}

// site is what does not depend on the service's call.
type site struct {
	look                            *Look
	called, part                    string
	baseURL, host, mount            string // host is that of baseURL
	sessionCookie, tokenField, back string
	sameSite                        http.SameSite
	secure                          *bool
	closed                          bool
	bar                             func(*http.Request) look.Bar
	signer                          func() signed.Signer
	origin                          *http.CrossOriginProtection
	conceal                         func(*http.Request)
	logger                          *zap.Logger
	buffers                         sync.Pool // *bytes.Buffer, for pages
}

// New makes a site. It panics where two rows collide, which is a mistake in a table.
func New[C any](o Options[C]) *Site[C] {
	o.Bar = look.Always(o.Bar)
	s := &Site[C]{options: o, mux: http.NewServeMux(), site: &site{
		bar: o.Bar, look: o.Look, part: o.Part, called: o.Called, baseURL: strings.TrimSuffix(o.BaseURL, "/"), mount: o.Mount, signer: o.Signer,
		sessionCookie: o.SessionCookie, tokenField: cmp.Or(o.TokenField, "token"), back: cmp.Or(o.Back, "next"),
		sameSite: cmp.Or(o.SameSite, http.SameSiteLaxMode), secure: o.Secure, closed: o.Closed, origin: http.NewCrossOriginProtection(), conceal: o.Conceal, logger: o.Logger,
	}}
	for i := range o.Table {
		page := &o.Table[i]
		ids := idsOf(page.Path)
		s.mux.HandleFunc(page.Method+" "+o.Mount+page.Path, func(w http.ResponseWriter, r *http.Request) { s.run(w, r, page, ids) })
	}
	if base, err := url.Parse(s.baseURL); err == nil && base.Host != "" { // a proxy may ask by another name
		s.host = base.Host
		_ = s.origin.AddTrustedOrigin(base.Scheme + "://" + base.Host) // it is one
	}
	everybody := func(C) error { return nil }
	missing := func(C) error { return NotFound() }
	asset := &Page[C]{Method: http.MethodGet, Admit: everybody, Serve: missing, Public: true}
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
		s.run(w, r, asset, nil)
	})
	nothing := &Page[C]{Method: http.MethodGet, Admit: everybody, Serve: missing}
	s.mux.HandleFunc(o.Mount+"/", func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet, http.MethodHead, http.MethodPost:
			s.run(w, r, nothing, nil)
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

func idsOf(path string) (names []string) {
	for _, match := range idWildcard.FindAllStringSubmatch(path, -1) {
		names = append(names, match[1])
	}
	return names
}

// run answers a request by its row.
func (s *Site[C]) run(w http.ResponseWriter, r *http.Request, page *Page[C], ids []string) {
	c := newCall(s.site, w, r)
	c.public, c.concealed, c.upload, c.keeps = page.Public, page.Secret, page.Upload, page.Keeps
	c.headers()
	if err := s.answer(c, page, ids); err != nil {
		c.fail(err)
	}
}

// answer makes the checks that come before every page, and serves it.
func (s *Site[C]) answer(c *Call, page *Page[C], ids []string) error {
	own, err := s.options.Begin(c)
	if err != nil || c.answered {
		return err
	}
	if c.begun = true; c.person == "" && !c.site.closed {
		c.W.Header().Set("Cache-Control", "no-cache")
	}
	serve := page.Serve
	if c.R.Method == http.MethodPost && !page.NoToken {
		err := c.guard()
		switch {
		case errors.Is(err, errOther) && page.Else != nil:
			serve = page.Else
		case err != nil:
			return err
		}
	}
	admit := page.Admit
	if admit == nil {
		admit = s.options.Admit
	}
	if err := admit(own); err != nil || c.answered {
		return err
	}
	if err := c.readIDs(ids); err != nil {
		return err
	}
	return serve(own)
}

// NotFound is the refusal of what is not there, or not for who asks.
func NotFound() error {
	return apierror.New(http.StatusNotFound, "not_found", "There is nothing here that you may see.")
}

// readIDs reads the numbers of the path. What stands behind a hyphen is for readers only.
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

type id struct {
	name   string
	number int64
}

// ID is the number that a wildcard of the path took.
func (c *Call) ID(name string) int64 {
	for _, id := range c.ids {
		if id.name == name {
			return id.number
		}
	}
	return 0
}

// Slugged is the path of something with a number, and behind it words for readers:
// /things/7-a-thing.
func Slugged(prefix string, id int64, slug string) string {
	path := prefix + strconv.FormatInt(id, 10)
	if slug != "" {
		path += "-" + slug
	}
	return path
}

// Local is a path of this site from a parameter that anybody can have written;
// what leads elsewhere, or has more than 2000 bytes, is "/".
func Local(path string) string { return LocalUpTo(2000, path) }

// LocalUpTo is Local for a path of at most so many bytes.
func LocalUpTo(most int, path string) string {
	if len(path) > most || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	if u, err := url.Parse(path); err != nil || u.Host != "" || u.Scheme != "" {
		return "/"
	}
	return path
}
