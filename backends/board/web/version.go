package web

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// A form tells the version of what it changes. Who comes second sees what the
// other one made of it beside the own text, with the version of that: to save
// again is to decide.

// version is of what a form changes, and what the other version has else.
type version struct {
	Version   string
	Differing []board.Difference // From is what is there, To what the form says
}

// match is the version that a form was made of; one without it is of any.
func (c *call) match() rest.Match {
	of := c.text("version")
	if of == "" {
		return nil
	}
	return func(tag string) bool { return tag == of }
}

// changed makes a refusal because of another version one for people.
func changed(err error) (refusal error, is bool) {
	e, ok := apierror.From(err)
	if !ok || e.Status != http.StatusPreconditionFailed {
		return err, false
	}
	return apierror.New(http.StatusConflict, "conflict", "somebody else has changed this since you opened it; look at both below, and save again what is right"), true
}
