package pages

import (
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// errOutdated is shown with a form that is shown again.
var errOutdated = apierror.New(http.StatusForbidden, "forbidden",
	"You have signed in since this form was opened. Nothing was sent yet: look at it and send it again.")

// Kept is a field of a form that is shown again.
type Kept struct{ Name, Value string }

// Kept returns the form's fields that Page.Keeps names. An intermediate form, such as the sign-in form, sends them on
// to the same path.
func (c *Call) Kept() (list []Kept) {
	for _, name := range c.keeps {
		if c.Form.Has(name) {
			list = append(list, Kept{name, c.Form.Text(name)})
		}
	}
	return list
}

// Keeps reports whether the request is a form whose text is kept (Page.Keeps).
func (c *Call) Keeps() bool { return c.R.Method == http.MethodPost && len(c.keeps) > 0 }

// Outdated reports whether the request is a form of another session than the browser's current one.
func (c *Call) Outdated() bool { return c.outdated }

// ShowAgain makes Outdated report true, so that the form is only shown again. It is called after the sender has
// signed in with the form.
func (c *Call) ShowAgain() { c.outdated = true }

// Previews reports whether a form should only be shown with its content: its sender wants a preview, or the form is
// outdated.
func (c *Call) Previews() bool { return c.outdated || c.Form.Flag("preview") }

// ReadKept reads the fields of a form with files into Form, up to the first file, and marks the form as outdated.
// Callers use it when the sender is not signed in. It does nothing if the form was read before.
func (c *Call) ReadKept() error {
	if !c.Uploads() {
		return nil
	}
	c.outdated = true
	c.R.Body = http.MaxBytesReader(c.W, c.R.Body, MaxForm)
	reader, err := c.R.MultipartReader()
	if err != nil {
		return c.badForm(err)
	}
	c.Form.values = make(url.Values)
	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) || err == nil && part.FileName() != "" {
			return nil
		}
		if err != nil {
			return c.badForm(err)
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return c.badForm(err)
		}
		c.Form.values.Add(part.FormName(), string(value))
	}
}
