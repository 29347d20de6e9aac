package pages

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/inbound"
	"github.com/tollgate-gateway/tollgate/internal/origin"
	"github.com/tollgate-gateway/tollgate/internal/secret"
)

// maxNotice bounds what is told on the page after a form, in bytes.
const maxNotice = 400

// Call is a request for a page.
type Call struct {
	W http.ResponseWriter
	R *http.Request
	// Form are the fields of the form that was sent, Query the parameters of the address.
	Form, Query Fields

	// Name is that of the site, as titles have it.
	Name string
	// Zone is where the times of the page are. Default: UTC.
	Zone *time.Location
	// Site is what templates see as .Site: who looks, settings, what the head needs.
	Site any

	site     *site
	person   string // who is signed in; empty: a guest
	browser  string // what Browser returned; empty: nobody has asked yet
	ids      []id
	images   string // further sources of images
	forms    string // where forms may lead
	begun    bool   // the layout has what it needs
	answered bool

	public, concealed bool
	upload            int64
	keeps             []string
	outdated          bool // the form that was sent is only shown once more
}

func newCall(s *site, w http.ResponseWriter, r *http.Request) *Call {
	inbound.Default.Keep(w, r)
	return &Call{W: w, R: r, Query: Fields{values: r.URL.Query()}, Zone: time.UTC, site: s}
}

// headers are those of every page.
func (c *Call) headers() {
	h := c.W.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Add("Vary", "Cookie")
	c.noStore()
	c.setPolicy()
	if c.concealed {
		h.Set("Referrer-Policy", "strict-origin") // requests for the files of the page are logged, too
		if c.site.conceal != nil {
			c.site.conceal(c.R)
		}
	}
	if c.site.closed {
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Frame-Options", "DENY")
	}
}

// noStore keeps the page for who asked.
func (c *Call) noStore() {
	if c.site.closed {
		c.W.Header().Set("Cache-Control", "no-store")
		return
	}
	c.W.Header().Set("Cache-Control", "private, no-store")
}

func (c *Call) setPolicy() {
	c.W.Header().Set("Content-Security-Policy", policy(c.images, c.forms))
}

// policy lets pages run and show what is theirs, and images and targets of forms from
// further sources.
func policy(images, forms string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'" + images + "; form-action 'self'" + forms + "; frame-ancestors 'none'; base-uri 'none'"
}

// AllowImages lets the page show images from a further source, such as https:.
func (c *Call) AllowImages(source string) {
	c.images += onePolicySource(source)
	c.setPolicy()
}

// AllowForms lets a form of the page lead to another site, such as
// https://client.example, also by a redirect. What is no source (CSP 3, section 2.3.1)
// is not allowed: others may have written it.
func (c *Call) AllowForms(source string) {
	c.forms += onePolicySource(source)
	c.setPolicy()
}

// onePolicySource is a source behind a space; empty: the text is none, or more than one.
func onePolicySource(text string) string {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`;,'"`, r) }) {
		return ""
	}
	return " " + text
}

// Common returns the call itself. A service's call, which embeds it, has it too: packages that serve pages of any
// service reach the common part of its calls by it.
func (c *Call) Common() *Call { return c }

// Context is that of the request.
func (c *Call) Context() context.Context { return c.R.Context() }

// Answered reports whether there is an answer already, as after Redirect.
func (c *Call) Answered() bool { return c.answered }

// At is the address of a path of this site.
func (c *Call) At(path string) string { return c.site.mount + path }

// Base is the address of this site with its host, without a slash at the end.
func (c *Call) Base() string {
	if c.site.baseURL != "" {
		return c.site.baseURL + c.site.mount
	}
	return origin.Of(c.R) + c.site.mount
}

// Here is the path of this page with its parameters, to come back to; of one whose
// address holds a secret, that of the first page.
func (c *Call) Here() string {
	if c.concealed {
		return "/"
	}
	return c.inside(c.R.URL.RequestURI())
}

func (c *Call) inside(uri string) string {
	path, ok := strings.CutPrefix(uri, c.site.mount)
	if !ok {
		return "/"
	}
	return Local(path)
}

// Referrer is the page of this site that the request comes from.
func (c *Call) Referrer() string {
	u, err := url.Parse(c.R.Referer())
	if err != nil || u.Host != c.R.Host && (u.Host == "" || u.Host != c.site.host) {
		return "/"
	}
	return c.inside(u.RequestURI())
}

// Redirect leads to a path of this site, with a notice on its page; empty: none.
func (c *Call) Redirect(to, notice string) error {
	if notice != "" {
		c.setCookie(noticeCookie, base64.RawURLEncoding.EncodeToString([]byte(short(notice))), time.Minute)
	}
	c.answered = true
	http.Redirect(c.W, c.R, c.At(to), http.StatusSeeOther)
	return nil
}

// short is a notice that fits, with whole characters.
func short(notice string) string {
	if len(notice) <= maxNotice {
		return notice
	}
	const more = "…"
	end := maxNotice - len(more)
	for !utf8.RuneStart(notice[end]) {
		end--
	}
	return notice[:end] + more
}

// Then is Redirect after something that went well, and its error otherwise.
func (c *Call) Then(err error, to, notice string) error {
	if err != nil {
		return err
	}
	return c.Redirect(to, notice)
}

// ToLogin leads a guest to the page to sign in, which leads back by a parameter
// (Options.Back). A form that was sent is refused instead: it would be lost. See
// Page.Keeps for one that must not be.
func (c *Call) ToLogin(page string) error {
	if c.R.Method == http.MethodPost {
		return errSignedOut
	}
	return c.Redirect(page+"?"+c.site.back+"="+url.QueryEscape(c.Here()), "")
}

// ToConfirm leads to the page that asks for the password once more, and from there
// back: of a form that was sent to the page that it was on.
func (c *Call) ToConfirm(page string) error {
	next := c.Here()
	if c.R.Method == http.MethodPost {
		next = c.Referrer()
	}
	return c.Redirect(page+"?"+c.site.back+"="+url.QueryEscape(next), "")
}

// notice is what the former page had to say; it is told once.
func (c *Call) notice() string {
	if c.public {
		return ""
	}
	text, err := base64.RawURLEncoding.DecodeString(c.cookie(noticeCookie))
	if err != nil || len(text) == 0 || !utf8.Valid(text) {
		return ""
	}
	c.setCookie(noticeCookie, "", 0)
	return string(text)
}

// The cookies, behind the name of the look; a prefix keeps secure ones from other
// hosts and paths.
const (
	sessionCookie = "_session"
	formCookie    = "_form"
	noticeCookie  = "_notice"
)

func (c *Call) https() bool {
	return origin.Scheme(c.R) == "https" || strings.HasPrefix(c.site.baseURL, "https://")
}

func (c *Call) cookieName(name string) string {
	if name == sessionCookie && c.site.sessionCookie != "" {
		return c.site.sessionCookie
	}
	full := c.site.look.name + name
	if c.secure(name) {
		return "__Host-" + full
	}
	return full
}

// secure reports whether the browser shall send a cookie over https alone.
func (c *Call) secure(name string) bool {
	if name == sessionCookie && c.site.sameSite == http.SameSiteNoneMode {
		return true // no browser takes it else
	}
	if c.site.secure != nil {
		return *c.site.secure
	}
	return c.https()
}

func (c *Call) cookie(name string) string {
	cookie, err := c.R.Cookie(c.cookieName(name))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// setCookie sets a cookie for a time; none removes it.
func (c *Call) setCookie(name, value string, lasts time.Duration) {
	age := int(lasts.Seconds())
	if age <= 0 {
		age = -1
	}
	sameSite := http.SameSiteLaxMode
	if name == sessionCookie {
		sameSite = c.site.sameSite
	}
	http.SetCookie(c.W, &http.Cookie{ //nolint:gosec // Secure as the site is
		Name: c.cookieName(name), Value: value, Path: "/", MaxAge: age, Secure: c.secure(name), HttpOnly: true, SameSite: sameSite,
	})
}

// Session is the cookie of a session that the browser sends, which may be good for
// nothing; empty: none, as always on public pages.
func (c *Call) Session() string {
	if c.public {
		return ""
	}
	return c.cookie(sessionCookie)
}

// SignedIn says, in Begin, that the session of the browser is good, and whose it is: person is an id that no other
// person of the site has. The forms of the page are then good for this person alone, in this browser, also after a
// further sign-in of theirs, and no cache keeps the page. Without SignedIn the request is a guest's.
func (c *Call) SignedIn(person string) { c.person = person }

// SignIn keeps the cookie of a session in the browser, or keeps it longer.
func (c *Call) SignIn(cookie string, lasts time.Duration) { c.setCookie(sessionCookie, cookie, lasts) }

// SignOut takes the cookie of the session from the browser.
func (c *Call) SignOut() { c.setCookie(sessionCookie, "", 0) }

// browserLasts is how long a browser keeps its secret after the last page that used it: longer than sessions last
// while nobody uses them, so that a form that was left open is good as long as its session is.
const browserLasts = 30 * 24 * time.Hour

// Browser returns a secret of the browser, which forms and what goes on over several pages are bound to. It stays the
// same when somebody signs in or out, so that all tabs have one. The first call of a request sets the cookie that
// holds it, or has the browser keep it longer.
func (c *Call) Browser() string {
	if c.browser != "" {
		return c.browser
	}
	if !c.public {
		c.browser = c.cookie(formCookie)
	}
	if c.browser == "" {
		c.browser = secret.New()
	}
	c.setCookie(formCookie, c.browser, browserLasts)
	return c.browser
}

// Once is a key by which a form that is sent twice is known, empty where the form
// has no word for it (View.Once). What else it holds tells another text apart that
// was written after going back.
func (c *Call) Once(texts ...string) string {
	word := c.Form.Text("once")
	if word == "" || len(word) > maxToken {
		return ""
	}
	sum := sha256.New()
	for _, text := range append([]string{c.R.URL.Path, word}, texts...) {
		sum.Write([]byte(text + "\x00"))
	}
	return hex.EncodeToString(sum.Sum(nil))
}
