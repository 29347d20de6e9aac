package pages

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// A form states the version of what it changes. Whoever saves second sees the other's text beside the own one, with its
// version: saving again is then a decision between them.

// Edit is the version of what a form changes, and where the current one differs: a list of structs with What, From
// (what is stored) and To (what the form says). The template "version" shows it within the form.
type Edit struct {
	Version   string
	Differing any
}

// Match returns the condition that the version of the form is still current. A form without a version matches any.
func (c *Call) Match() rest.Match {
	version := c.Form.Text("version")
	if version == "" {
		return nil
	}
	return func(tag string) bool { return tag == version }
}

// Changed reports whether err refuses a change because the record has another version than the one that was edited,
// and returns a refusal worded for people.
func Changed(err error) (refusal error, is bool) {
	e, ok := apierror.From(err)
	if !ok || e.Status != http.StatusPreconditionFailed {
		return err, false
	}
	return apierror.New(http.StatusConflict, "conflict",
		"somebody else has changed this since you opened it; look at both below, and save again what is right"), true
}

// Edit returns the version that a form shows: the one that it was based on or, at first and after a conflict, the
// current one, which now returns. The error is the refusal worded for people, or that of now if it fails.
func (c *Call) Edit(refusal error, now func() (tag string, differing any, err error)) (Edit, error) {
	refusal, is := Changed(refusal)
	e := Edit{Version: c.Form.Text("version")}
	if !is && e.Version != "" {
		return e, refusal
	}
	tag, differing, err := now()
	if err != nil {
		return e, err
	}
	if e.Version = tag; is {
		e.Differing = differing
	}
	return e, refusal
}
