package web

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

const (
	// maxForm bounds a form without files, in bytes.
	maxForm = 256 << 10
	// maxToken bounds the first field of a form with files.
	maxToken = 256
	// maxNotice bounds what is told on the page after a form, in bytes.
	maxNotice = 400
)

// call is a request for a page.
type call struct {
	*Site
	w       http.ResponseWriter
	r       *http.Request
	route   route
	actor   *board.Actor
	session *board.Session // nil: a guest
	bound   string         // the cookie that forms are bound to; empty: none yet
}

func (c *call) ctx() context.Context { return c.r.Context() }

func notFound() error {
	return apierror.New(http.StatusNotFound, "not_found", "There is nothing here that you may see.")
}

// id is a number of the path; what stands behind a hyphen is for readers only.
func (c *call) id(name string) (int64, error) {
	text, _, _ := strings.Cut(c.r.PathValue(name), "-")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || text[0] == '+' {
		return 0, notFound()
	}
	return n, nil
}

// query is a parameter of the address.
func (c *call) query(name string) string { return valid(c.r.URL.Query().Get(name)) }

// queryNumber is a parameter that is a number from 0 on; without it 0.
func (c *call) queryNumber(name string) (int64, error) { return number(name, c.query(name)) }

// text is a field of the form.
func (c *call) text(name string) string { return valid(c.r.PostForm.Get(name)) }

// values are the fields of one name.
func (c *call) values(name string) []string { return c.r.PostForm[name] }

// flag reports whether a box is ticked, or a button was the one.
func (c *call) flag(name string) bool { return c.r.PostForm.Get(name) != "" }

// number is a field that is a number from 0 on; empty: 0.
func (c *call) number(name string) (int64, error) { return number(name, c.text(name)) }

func number(name, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, apierror.New(http.StatusBadRequest, "bad_request", "%s must be a number.", name)
	}
	return n, nil
}

// valid is a text as UTF-8.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// redirect leads to a page of the board, with a notice on it.
func (c *call) redirect(to, notice string) error {
	if notice != "" {
		c.setCookie(cookieNotice, base64.RawURLEncoding.EncodeToString([]byte(notice[:min(len(notice), maxNotice)])), time.Minute)
	}
	http.Redirect(c.w, c.r, to, http.StatusSeeOther)
	return nil
}

// local is a path of this site, from a parameter; others lead to the index.
func local(path string) string {
	if len(path) > 2000 || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	if u, err := url.Parse(path); err != nil || u.Host != "" || u.Scheme != "" {
		return "/"
	}
	return path
}

// referrer is the page of this site that the request comes from.
func (c *call) referrer() string {
	u, err := url.Parse(c.r.Referer())
	if err != nil || u.Host != c.r.Host {
		return "/"
	}
	return local(u.RequestURI())
}

// address is the client's, by which attempts are counted.
func (c *call) address() string { return c.service.Address(c.r) }

// The cookies; on https a prefix keeps them from other hosts and paths.
const (
	cookieSession = "board_session"
	cookieForm    = "board_form"
	cookieNotice  = "board_notice"
)

func (c *call) https() bool {
	return c.r.TLS != nil || strings.HasPrefix(c.options.BaseURL, "https://")
}

func (c *call) cookieName(name string) string {
	if c.https() {
		return "__Host-" + name
	}
	return name
}

func (c *call) cookie(name string) string {
	cookie, err := c.r.Cookie(c.cookieName(name))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// setCookie sets a cookie for a time; none removes it.
func (c *call) setCookie(name, value string, lasts time.Duration) {
	age := int(lasts.Seconds())
	if age <= 0 {
		age = -1
	}
	http.SetCookie(c.w, &http.Cookie{ //nolint:gosec // Secure where the site is on https
		Name: c.cookieName(name), Value: value, Path: "/", MaxAge: age, Secure: c.https(), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// identify finds who asks. What is the same for everybody is kept by caches, so
// it goes to nobody in particular.
func (c *call) identify() (err error) {
	if c.route.public {
		c.actor, err = c.service.Guest(c.ctx())
		return err
	}
	cookie := c.cookie(cookieSession)
	c.actor, c.session, err = c.service.Resume(c.ctx(), cookie)
	if c.session == nil {
		c.bound = c.cookie(cookieForm)
		return err
	}
	if c.bound = cookie; c.session.Prolonged {
		c.setCookie(cookieSession, cookie, board.SessionIdle)
	}
	return err
}

// signIn keeps a new session in the browser.
func (c *call) signIn(cookie string) {
	c.setCookie(cookieSession, cookie, board.SessionIdle)
	c.setCookie(cookieForm, "", 0)
}

// token is what forms of this page send back. A guest's is bound to a cookie of
// its own, set with the first form.
func (c *call) token() string {
	c.w.Header().Set("Cache-Control", "private, no-store") // a copy of the form would be nobody's
	if c.bound == "" {
		c.bound = board.NewSecret()
		c.setCookie(cookieForm, c.bound, 24*time.Hour)
	}
	return c.service.FormToken(c.bound)
}

// once makes a form that is sent twice one: its page has a word of its own, and
// what else it holds tells another text apart that was written after going back.
func (c *call) once(texts ...string) board.Once {
	word := c.text("once")
	if word == "" || len(word) > maxToken {
		return board.Once{}
	}
	sum := sha256.New()
	for _, text := range append([]string{c.r.URL.Path, word}, texts...) {
		sum.Write([]byte(text + "\x00"))
	}
	key := hex.EncodeToString(sum.Sum(nil))
	return board.Once{Key: key, Hash: key}
}

var errForm = apierror.New(http.StatusForbidden, "forbidden",
	"This form is out of date or comes from another site. Go back, copy what you wrote, and load the page again.")

// guard lets a form pass only when a page of the board made it for this browser.
func (c *call) guard() error {
	if err := c.origin.Check(c.r); err != nil {
		return errForm
	}
	kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	switch {
	case err == nil && c.route.upload > 0 && kind == "multipart/form-data":
		if c.r.ContentLength > c.route.upload {
			return errTooLarge
		}
		c.r.Body = http.MaxBytesReader(c.w, c.r.Body, c.route.upload)
		return nil // parts asks for the token
	case err != nil || kind != "application/x-www-form-urlencoded":
		return apierror.New(http.StatusBadRequest, "bad_request", "This is not a form of the board.")
	}
	if c.r.ContentLength > maxForm {
		return errTooLarge
	}
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, maxForm)
	if err := c.r.ParseForm(); err != nil {
		return badForm(err)
	}
	if !c.service.CheckFormToken(c.bound, c.r.PostForm.Get("token")) {
		return errForm
	}
	return nil
}

var errTooLarge = apierror.New(http.StatusRequestEntityTooLarge, "payload_too_large", "This is larger than the board takes.")

func badForm(err error) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return errTooLarge
	}
	return apierror.New(http.StatusBadRequest, "bad_request", "The form could not be read.")
}

// parts reads a form with files, behind its first field, the token.
func (c *call) parts() (*multipart.Reader, error) {
	reader, err := c.r.MultipartReader()
	if err != nil {
		return nil, badForm(err)
	}
	first, err := reader.NextPart()
	if err != nil {
		return nil, badForm(err)
	}
	token, err := io.ReadAll(io.LimitReader(first, maxToken))
	if err != nil {
		return nil, badForm(err)
	}
	if first.FormName() != "token" || !c.service.CheckFormToken(c.bound, string(token)) {
		return nil, errForm
	}
	return reader, nil
}

// asset serves a file of the pages.
func (c *call) asset() error {
	name := c.r.PathValue("file")
	if !c.files.Has(name) {
		return notFound()
	}
	c.w.Header().Del("Vary")
	c.files.Serve(c.w, c.r, name)
	return nil
}

func (c *call) nothing() error { return notFound() }
