package admin

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/brokers"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/backends/authserver/xaa"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// tagOf returns the entity tag of an object. It is made from the response about the object and from the time of its
// last change. The time covers changes that the response does not show, such as a new password.
func tagOf(response any, updated time.Time) string {
	text, err := json.Marshal(response)
	if err != nil {
		panic(err) // texts and stored JSON can be encoded
	}
	return rest.ETag(strconv.AppendInt(text, updated.UnixMicro(), 10))
}

// The following functions return the entity tags of objects.

func clientTag(c *clients.Client) string { return tagOf(fullClientResponse(c), c.UpdatedAt) }

func userTag(u *users.User) string { return tagOf(userResponse(u), time.UnixMicro(u.UpdatedAt)) }

func resourceTag(r *resources.Resource) string { return tagOf(resourceResponse(r), r.UpdatedAt) }

func brokerTag(p *brokers.Provider) string { return tagOf(providerResponse(p), p.UpdatedAt) }

func idpTag(i *xaa.IdP) string { return tagOf(idpResponse(i), i.UpdatedAt) }

func policyTag(p *xaa.Policy) string { return tagOf(xaaPolicyResponse(p), p.UpdatedAt) }

func modeTag(mode string) string { return rest.ETag([]byte(mode)) }

// tagged sets the entity tag of a response and returns the response. If the request shows that the client already has
// that version, the response is 304.
func tagged(c *call, response any, tag string) any {
	c.Tell(tag)
	return response
}

// objectResponse returns the response about an object, with its entity tag. The parameter err is the error of reading
// the object; objectResponse returns it if it is not nil.
func objectResponse[T, U any](c *call, object T, err error, response func(T) U, tag func(T) string) (any, error) {
	if err != nil {
		return nil, err
	}
	return tagged(c, response(object), tag(object)), nil
}

// checkIfMatch returns a function that compares the request's header If-Match with the entity tag of the stored object.
// That function returns an error with status 412 if they do not match. Without the header, it accepts every object. A
// malformed If-Match is an error of checkIfMatch.
func checkIfMatch[T any](c *call, tag func(object T) string) (func(object T) error, error) {
	match, err := c.Match()
	return func(object T) error {
		if match == nil {
			return nil
		}
		return match.Check(tag(object))
	}, err
}
