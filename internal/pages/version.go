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
