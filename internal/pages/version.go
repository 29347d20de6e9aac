package pages

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// A form contains the version of the record that it changes. If somebody else has changed the record meanwhile, the
// form is shown again with both texts and the new version; saving once more then replaces the other text deliberately.

// Edit is the version of the record that a form changes. Differing lists the differences from the current version:
// structs with What, From (the stored value) and To (the value in the form). The template "version" shows an Edit
// within the form.
type Edit struct {
	Version   string
	Differing any
}

// Match returns the condition that the version in the form is still current. It returns nil, no condition, for a form
// without a version.
func (c *Call) Match() rest.Match {
	version := c.Form.Text("version")
	if version == "" {
		return nil
	}
	return func(tag string) bool { return tag == version }
}

// Changed reports whether err refuses a change because the record no longer has the version that was edited. If so,
// refusal is worded for people; otherwise it is err.
func Changed(err error) (refusal error, conflict bool) {
	e, ok := apierror.From(err)
	if !ok || e.Status != http.StatusPreconditionFailed {
		return err, false
	}
	return apierror.New(http.StatusConflict, "conflict",
		"somebody else has changed this since you opened it; look at both below, and save again what is right"), true
}

// Edit returns the version for a form. After a refusal this is the version in the form that was sent. At first and
// after a conflict it is the current version, which Edit gets by calling current. The error is the refusal, worded for
// people, or an error of current.
func (c *Call) Edit(refusal error, current func() (tag string, differing any, err error)) (Edit, error) {
	refusal, conflict := Changed(refusal)
	e := Edit{Version: c.Form.Text("version")}
	if !conflict && e.Version != "" {
		return e, refusal
	}
	tag, differing, err := current()
	if err != nil {
		return e, err
	}
	e.Version = tag
	if conflict {
		e.Differing = differing
	}
	return e, refusal
}
