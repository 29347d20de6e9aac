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

// tagOf is the entity tag of one as it is read alone, and of when it was changed last, which
// also changes with what is not told, such as a password.
func tagOf(told any, updated time.Time) string {
	text, err := json.Marshal(told)
	if err != nil {
		panic(err) // texts, and JSON that was stored as such
	}
	return rest.ETag(strconv.AppendInt(text, updated.UnixMicro(), 10))
}

func clientTag(c *clients.Client) string { return tagOf(tellWhole(c), c.UpdatedAt) }

func userTag(u *users.User) string { return tagOf(tellUser(u), time.UnixMicro(u.UpdatedAt)) }

func resourceTag(r *resources.Resource) string { return tagOf(tellResource(r), r.UpdatedAt) }

func brokerTag(p *brokers.Provider) string { return tagOf(tellProvider(p), p.UpdatedAt) }

func idpTag(i *xaa.IdP) string { return tagOf(tellIdP(i), i.UpdatedAt) }

func policyTag(p *xaa.Policy) string { return tagOf(tellXAAPolicy(p), p.UpdatedAt) }

func modeTag(mode string) string { return rest.ETag([]byte(mode)) }

// tagged tells one with its entity tag.
func tagged(c *call, told any, tag string) any {
	c.W.Header().Set("ETag", tag)
	return told
}

// matching refuses, 412, a change that was made of something else than what is stored, where
// the request says by If-Match what that was.
func matching[T any](c *call, tag func(one T) string) (func(one T) error, error) {
	match, err := c.Match()
	return func(one T) error {
		if match == nil {
			return nil
		}
		return match.Check(tag(one))
	}, err
}
