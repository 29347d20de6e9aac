package pages

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/inbound"
)

const (
	// MaxForm limits a form without files, in bytes.
	MaxForm = 256 << 10
	// maxToken limits the first field of a form with files, which is the token, in bytes.
	maxToken = 256
)

var (
	errForm = apierror.New(http.StatusForbidden, "forbidden",
		"This form is out of date or comes from another site. Go back, copy what you wrote, and load the page again.")
	errSignedOut = apierror.New(http.StatusForbidden, "forbidden",
		"You are signed out. Sign in in another tab, then go back and send the form again.")
)

// errOtherPerson refuses a form that was made in this browser, but for another person than the one now signed in.
var errOtherPerson = fmt.Errorf("made for somebody else: %w", errForm)

// token returns the token that forms of this page send back. It identifies the person for whom the page was made, and
// it is signed for this browser.
func (c *Call) token() string {
	c.noStore() // another person could not use a cached copy of the form
	return c.site.signer().Sign(c.personTag(), c.Browser())
}

// personTag returns the part of a token that identifies the signed-in person. It is empty for a guest.
func (c *Call) personTag() []byte {
	if c.person == "" {
		return nil
	}
	sum := sha256.Sum256([]byte("person\n" + c.person))
	return sum[:16]
}

// checkToken returns nil for a token that was made in this browser for the person now signed in. It returns
// errOtherPerson for a token that was made in this browser for another person, or before somebody signed in or out, and
// errForm for any other.
func (c *Call) checkToken(token string) error {
	browser := c.browser
	if browser == "" && !c.public {
		browser = c.cookie(formCookie)
	}
	if browser == "" {
		return errForm
	}
	tag, ok := c.site.signer().Open(token, browser)
	switch {
	case !ok:
		return errForm
	case !bytes.Equal(tag, c.personTag()):
		return errOtherPerson
	}
	return nil
}

// checkForm returns an error for a form unless a page of this site made the form for this browser.
func (c *Call) checkForm() error {
	if err := c.site.origin.Check(c.R); err != nil && !c.hidesOrigin() {
		return errForm
	}
	kind, _, err := mime.ParseMediaType(c.R.Header.Get("Content-Type"))
	switch {
	case err == nil && c.upload > 0 && kind == "multipart/form-data":
		if c.R.ContentLength > c.upload {
			return c.tooLarge()
		}
		c.R.Body = http.MaxBytesReader(c.W, c.R.Body, c.upload)
		return nil // Parts checks the token
	case err != nil || kind != "application/x-www-form-urlencoded":
		return apierror.New(http.StatusBadRequest, "bad_request", "This is not a form of %s.", c.site.called)
	}
	if err := c.ReadForm(); err != nil {
		return err
	}
	return c.takeForm(c.Form.Text(c.site.tokenField))
}

// takeForm returns an error for a form whose token is not valid. A form whose text is kept (Page.Keeps) is accepted
// nevertheless, but only to be shown again.
func (c *Call) takeForm(token string) error {
	err := c.checkToken(token)
	if err != nil && len(c.keeps) > 0 {
		c.outdated = true
		return nil
	}
	return err
}

// Script checks a request of a script that changes something with a method other than POST. It returns an error unless
// the request comes from a page of this site, according to the browser's headers or by a token from the method Token.
func (c *Call) Script(token string) error {
	if c.site.origin.Check(c.R) == nil {
		return nil
	}
	return c.checkToken(token)
}

// Token returns a token that a script in this browser may send back to Script.
func (c *Call) Token() string { return c.token() }

// hidesOrigin reports whether the browser does not reveal where a form comes from, so that only the token can be
// checked. That happens on a closed site without https: its Referrer-Policy makes browsers send the Origin null, and
// they send Sec-Fetch-Site only over https.
func (c *Call) hidesOrigin() bool {
	h := c.R.Header
	return c.site.closed && h.Get("Origin") == "null" && h.Get("Sec-Fetch-Site") == ""
}

// ReadForm reads the fields of a form without files into Form. The site calls it for all forms except those of pages
// with NoToken.
func (c *Call) ReadForm() error {
	if c.R.ContentLength > MaxForm {
		return c.tooLarge()
	}
	c.R.Body = http.MaxBytesReader(c.W, c.R.Body, MaxForm)
	if err := c.R.ParseForm(); err != nil {
		return c.badForm(err)
	}
	c.Form.values = c.R.PostForm
	return nil
}

// tooLarge returns the error for a body that is too large.
func (c *Call) tooLarge() error {
	return apierror.New(http.StatusRequestEntityTooLarge, "payload_too_large",
		"This is larger than %s takes.", c.site.called)
}

// badForm returns the error, with its status, for a body that could not be read because of err.
func (c *Call) badForm(err error) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large || errors.Is(err, multipart.ErrMessageTooLarge) {
		return c.tooLarge()
	}
	if inbound.TooSlow(err) {
		return apierror.New(http.StatusRequestTimeout, "request_timeout",
			"The form took too long to arrive. Send it again.")
	}
	return apierror.New(http.StatusBadRequest, "bad_request", "The form could not be read.")
}

// Uploads reports whether the request is a form that may have files, which Parts or ReadFiles has yet to read. Any
// other form is in Form.
func (c *Call) Uploads() bool { return c.Form.values == nil }

// Parts checks the token, which is the first field of a form with files, and returns a reader for the rest as it
// arrives.
func (c *Call) Parts() (*multipart.Reader, error) {
	reader, err := c.R.MultipartReader()
	if err != nil {
		return nil, c.badForm(err)
	}
	first, err := reader.NextPart()
	if err != nil {
		return nil, c.badForm(err)
	}
	token, err := io.ReadAll(io.LimitReader(first, maxToken))
	if err != nil {
		return nil, c.badForm(err)
	}
	if first.FormName() != c.site.tokenField {
		return nil, errForm
	}
	return reader, c.takeForm(string(token))
}

// ReadFiles reads a form with files of at most limit bytes, and its fields into Form. The caller removes the files with
// RemoveAll. A caller that would refuse the form anyway passes the reason as refusal: if the form is too large,
// ReadFiles returns it instead of its own error.
func (c *Call) ReadFiles(limit int64, refusal error) (*multipart.Form, error) {
	c.R.Body = http.MaxBytesReader(c.W, c.R.Body, limit)
	reader, err := c.Parts()
	if err != nil {
		return nil, err
	}
	form, err := reader.ReadForm(MaxForm)
	if err != nil {
		if refusal != nil {
			return nil, refusal
		}
		return nil, c.badForm(err)
	}
	size := 0
	for _, values := range form.Value {
		for _, value := range values {
			size += len(value)
		}
	}
	if size > MaxForm {
		_ = form.RemoveAll() // temporary files
		return nil, c.tooLarge()
	}
	c.Form.values = form.Value
	return form, nil
}
