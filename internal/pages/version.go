package pages

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// A form tells the version of what it changes. Who comes second sees what the
// other one made of it beside the own text, with the version of that: to save
// again is to decide.

// Edit is the version of what a form changes, and where the other one differs: a list
// of what has What, From (what is there) and To (what the form says). The template
// "version" shows it inside of the form.
type Edit struct {
	Version   string
	Differing any
}

// Match is the version that the form was made of; one without it is of any.
func (c *Call) Match() rest.Match {
	of := c.Form.Text("version")
	if of == "" {
		return nil
	}
	return func(tag string) bool { return tag == of }
}

// Changed makes a refusal because of another version one for people.
func Changed(err error) (refusal error, is bool) {
	e, ok := apierror.From(err)
	if !ok || e.Status != http.StatusPreconditionFailed {
		return err, false
	}
	return apierror.New(http.StatusConflict, "conflict", "somebody else has changed this since you opened it; look at both below, and save again what is right"), true
}

// Edit is the version that a form shows: the one that it was made of, and at first, or
// when something else is there by now, that of now. The refusal that comes back is for
// people; it is the error of now where that fails.
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
