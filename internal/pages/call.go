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
	"github.com/tollgate-gateway/tollgate/internal/locale"
	"github.com/tollgate-gateway/tollgate/internal/origin"
	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// maxNotice limits the notice that is shown on the page after a form, in bytes.
const maxNotice = 400

// Call is a request for a page.
type Call struct {
	W http.ResponseWriter
	R *http.Request
	// Form has the fields of the form that was sent, and Query the parameters of the URL.
	Form, Query Fields

	// Name is the name of the site for titles.
	Name string
	// Zone is the time zone in which the page shows times. Default: UTC.
	Zone *time.Location
	// Site is the value of .Site in templates: the user, settings, data for the head.
	Site any

	site     *site
	language *locale.Language // nil for English
	person   string           // id of the signed-in user; empty for a guest
	browser  string           // the result of Browser; empty before its first call
	ids      []id
	images   string // further sources of images for the policy
	forms    string // further targets of forms for the policy
	requests string // where scripts may send requests, for the policy
	begun    bool   // Begin succeeded, so the layout can be used
	answered bool

	public    bool     // Page.Public
	concealed bool     // Page.Secret
	upload    int64    // Page.Upload
	keeps     []string // Page.Keeps
	outdated  bool     // the form that was sent is only shown again
}

// newCall returns the call for a request to a site, in the language that the browser prefers.
func newCall(s *site, w http.ResponseWriter, r *http.Request) *Call {
	inbound.Default.Keep(w, r)
	c := &Call{W: w, R: r, Query: Fields{values: r.URL.Query()}, Zone: time.UTC, site: s}
	c.Prefer()
	return c
}

// headers sets the headers of every page.
func (c *Call) headers() {
	h := c.W.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Add("Vary", "Cookie")
	if len(c.site.look.languages.List()) > 1 {
		h.Add("Vary", "Accept-Language")
	}
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

// noStore keeps the page out of shared caches, or out of all caches if the site is closed.
func (c *Call) noStore() {
	if c.site.closed {
		c.W.Header().Set("Cache-Control", "no-store")
		return
	}
	c.W.Header().Set("Cache-Control", "private, no-store")
}

// setPolicy sets the header Content-Security-Policy.
func (c *Call) setPolicy() {
	c.W.Header().Set("Content-Security-Policy", policy(c.images, c.forms, c.requests))
}

// policy returns a Content-Security-Policy that allows scripts, styles and images from the site itself. images
// contains further sources of images, and forms contains further targets of forms. requests is a directive for the
// requests of scripts, or empty.
func policy(images, forms, requests string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'" + images + requests +
		"; form-action 'self'" + forms + "; frame-ancestors 'none'; base-uri 'none'"
}

// AllowImages lets the page show images from a further source, such as https:.
func (c *Call) AllowImages(source string) {
	c.images += onePolicySource(source)
	c.setPolicy()
}

// AllowForms lets a form of the page lead to another site, such as https://client.example, also by a redirect. A text
// that is not a source (CSP 3, section 2.3.1) is ignored, because it may come from an attacker.
func (c *Call) AllowForms(source string) {
	c.forms += onePolicySource(source)
	c.setPolicy()
}

// AllowRequests lets the scripts of the page send requests to the site itself.
func (c *Call) AllowRequests() {
	c.requests = "; connect-src 'self'"
	c.setPolicy()
}

// onePolicySource returns the text with a space before it if the text is exactly one source of a policy, and
// otherwise "".
func onePolicySource(text string) string {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`;,'"`, r)
	}) {
		return ""
	}
	return " " + text
}

// Common returns the call itself. A service's call, which embeds it, inherits the method. Packages that serve pages of
// any service use it to get the common part of the call.
func (c *Call) Common() *Call { return c }

// Context returns the context of the request.
func (c *Call) Context() context.Context { return c.R.Context() }

// Answered reports whether the request has been answered, for example by Redirect.
func (c *Call) Answered() bool { return c.answered }

// At returns the URL path of a page of this site: the mount followed by path.
func (c *Call) At(path string) string { return c.site.mount + path }

// Base returns the URL of this site with its host, without a slash at the end.
func (c *Call) Base() string {
	if c.site.baseURL != "" {
		return c.site.baseURL + c.site.mount
	}
	return origin.Of(c.R) + c.site.mount
}

// Here returns the path of this page with its parameters, so that another page can lead back. If the URL contains a
// secret, Here returns "/".
func (c *Call) Here() string {
	if c.concealed {
		return "/"
	}
	return c.withoutMount(c.R.URL.RequestURI())
}

// withoutMount returns a path of this site without the mount, or "/" if uri does not lead to this site.
func (c *Call) withoutMount(uri string) string {
	path, ok := strings.CutPrefix(uri, c.site.mount)
	if !ok {
		return "/"
	}
	return Local(path)
}

// Referrer returns the path of the page of this site that sent the browser here, or "/" if it was another site or is
// unknown.
func (c *Call) Referrer() string {
	u, err := url.Parse(c.R.Referer())
	if err != nil || u.Host != c.R.Host && (u.Host == "" || u.Host != c.site.host) {
		return "/"
	}
	return c.withoutMount(u.RequestURI())
}

// Redirect redirects to a path of this site. The page there shows the notice, unless it is empty.
func (c *Call) Redirect(target, notice string) error {
	if notice != "" {
		c.setCookie(noticeCookie, base64.RawURLEncoding.EncodeToString([]byte(short(notice))), time.Minute)
	}
	c.answered = true
	http.Redirect(c.W, c.R, c.At(target), http.StatusSeeOther)
	return nil
}

// RedirectForGood redirects to a path of this site, with status 301, which browsers remember.
func (c *Call) RedirectForGood(target string) error {
	c.answered = true
	http.Redirect(c.W, c.R, c.At(target), http.StatusMovedPermanently)
	return nil
}

// short cuts a notice to maxNotice bytes.
func short(notice string) string {
	if len(notice) <= maxNotice {
		return notice
	}
	const more = "…"
	return text.CutBytes(notice, maxNotice-len(more)) + more
}

// Then redirects like Redirect if err is nil, and returns err otherwise.
func (c *Call) Then(err error, target, notice string) error {
	if err != nil {
		return err
	}
	return c.Redirect(target, notice)
}

// ToLogin redirects a guest to the sign-in page, with the path to return to in a parameter (Options.Back). If the
// request is a form, ToLogin returns an error instead, because a redirect would lose the fields; see Page.Keeps for
// forms whose text must be kept.
func (c *Call) ToLogin(page string) error {
	if c.R.Method == http.MethodPost {
		return errSignedOut
	}
	return c.Redirect(page+"?"+c.site.back+"="+url.QueryEscape(c.Here()), "")
}

// ToConfirm redirects to the page that asks for the password again. That page leads back to this page or, if the
// request is a form, to the page with the form.
func (c *Call) ToConfirm(page string) error {
	next := c.Here()
	if c.R.Method == http.MethodPost {
		next = c.Referrer()
	}
	return c.Redirect(page+"?"+c.site.back+"="+url.QueryEscape(next), "")
}

// notice returns the notice set by the previous page and removes its cookie.
func (c *Call) notice() string {
	if c.public {
		return ""
	}
	notice, err := base64.RawURLEncoding.DecodeString(c.cookie(noticeCookie))
	if err != nil || len(notice) == 0 || !utf8.Valid(notice) {
		return ""
	}
	c.setCookie(noticeCookie, "", 0)
	return string(notice)
}

// The names of the cookies begin with the name of the look. The prefix __Host- protects secure cookies from other hosts
// and paths.
const (
	sessionCookie = "_session"
	formCookie    = "_form"
	noticeCookie  = "_notice"
)

// https reports whether browsers reach the site by https.
func (c *Call) https() bool {
	return origin.Scheme(c.R) == "https" || strings.HasPrefix(c.site.baseURL, "https://")
}

// cookieName returns the full name of a cookie. name is one of the constants above.
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

// secure reports whether the cookie with the given name is marked Secure, so that browsers send it over https only.
func (c *Call) secure(name string) bool {
	if name == sessionCookie && c.site.sameSite == http.SameSiteNoneMode {
		return true // browsers reject it otherwise
	}
	if c.site.secure != nil {
		return *c.site.secure
	}
	return c.https()
}

// cookie returns the value of the cookie that the browser sent, or "". name is as for cookieName.
func (c *Call) cookie(name string) string {
	cookie, err := c.R.Cookie(c.cookieName(name))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// setCookie sets a cookie with a lifetime. A lifetime of zero removes the cookie. name is as for cookieName.
func (c *Call) setCookie(name, value string, lifetime time.Duration) {
	age := int(lifetime.Seconds())
	if age <= 0 {
		age = -1 // which net/http writes as Max-Age=0
	}
	sameSite := http.SameSiteLaxMode
	if name == sessionCookie {
		sameSite = c.site.sameSite
	}
	http.SetCookie(c.W, &http.Cookie{ //nolint:gosec // Secure depends on the site
		Name: c.cookieName(name), Value: value, Path: "/", MaxAge: age,
		Secure: c.secure(name), HttpOnly: true, SameSite: sameSite,
	})
}

// Session returns the session cookie that the browser sent, which may not be valid. It returns "" if the browser sent
// none, and on all public pages.
func (c *Call) Session() string {
	if c.public {
		return ""
	}
	return c.cookie(sessionCookie)
}

// SignedIn records that the browser's session is valid. Begin calls it. person is the user's id, unique within the
// site. The forms of the page are then valid only for this user in this browser, also after the user signs in again,
// and no cache stores the page. Without SignedIn the request counts as a guest's.
func (c *Call) SignedIn(person string) { c.person = person }

// SignIn sets the session cookie with a lifetime, or extends its lifetime.
func (c *Call) SignIn(cookie string, lifetime time.Duration) {
	c.setCookie(sessionCookie, cookie, lifetime)
}

// SignOut removes the session cookie.
func (c *Call) SignOut() { c.setCookie(sessionCookie, "", 0) }

// browserLifetime is how long a browser keeps its secret after the last page that used the secret. It is longer than
// idle sessions last, so that an open form is valid as long as the session.
const browserLifetime = 30 * 24 * time.Hour

// Browser returns a secret of the browser, to which forms and processes over several pages are bound. The secret stays
// the same when somebody signs in or out, so that all tabs share it. The first call in a request sets the cookie with
// the secret, or extends its lifetime.
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
	c.setCookie(formCookie, c.browser, browserLifetime)
	return c.browser
}

// Once returns a key that identifies a form, so that a service can detect a form that is sent twice. The key also
// depends on texts: a form whose texts were changed after going back counts as another form. Once returns "" if the
// form has no field for the key (View.Once).
func (c *Call) Once(texts ...string) string {
	random := c.Form.Text("once")
	if random == "" || len(random) > maxToken {
		return ""
	}
	sum := sha256.New()
	for _, text := range append([]string{c.R.URL.Path, random}, texts...) {
		sum.Write([]byte(text + "\x00"))
	}
	return hex.EncodeToString(sum.Sum(nil))
}
