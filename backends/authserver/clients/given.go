package clients

import (
	"context"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/password"
)

// Given holds the id and the secret of a client that is imported from another server.
type Given struct {
	ID string // empty for a new id
	// Secret is the secret in clear. Hash is its stored form, made by another program (see password.Known) or by this
	// one with the same pepper. If both are empty and the client needs a secret, a new one is made.
	Secret, Hash string
}

const (
	givenIDMost     = 255 // characters
	givenSecretMost = 512
)

// checkGiven returns an error for an invalid id or secret (RFC 6749 appendix A).
func (cs *Clients) checkGiven(g *Given) error {
	invisible := func(r rune) bool { return r < ' ' || r > '~' }
	switch {
	case len(g.ID) > givenIDMost || strings.ContainsFunc(g.ID, invisible) || strings.ContainsAny(g.ID, ` "\\`):
		return refuse("client_id", "must have at most 255 characters of ASCII, without blanks and quotes")
	case strings.HasPrefix(g.ID, "http://") || strings.HasPrefix(g.ID, "https://"):
		return refuse("client_id", "must not be a URL, which is the id of a client with a metadata document")
	case len(g.Secret) > givenSecretMost || strings.ContainsFunc(g.Secret, invisible):
		return refuse("client_secret", "must have at most 512 characters of ASCII")
	case g.Hash != "" && !password.Known(g.Hash) && (len(cs.options.Pepper) == 0 || !strings.HasPrefix(g.Hash, peppered)):
		return refuse("client_secret", "is hashed in a way that is not known here, or that costs too much to check")
	}
	return nil
}

// CheckGiven returns the error that CreateGiven would return, except for an id that exists already.
func (cs *Clients) CheckGiven(c *Client, g Given) error {
	if err := cs.checkGiven(&g); err != nil {
		return err
	}
	return cs.Check(c)
}

// CreateGiven stores a client like Create, with an id or a secret that it brings from elsewhere. The returned secret is
// empty if it brought one. If the id exists already, the error wraps that of the database; see store.IsUniqueViolation.
func (cs *Clients) CreateGiven(ctx context.Context, c *Client, g Given) (secret string, err error) {
	if err := cs.CheckGiven(c, g); err != nil {
		return "", err
	}
	if c.ID = g.ID; c.ID == "" {
		c.ID = kernel.NewID()
	}
	switch needs := c.AuthMethod == MethodBasic || c.AuthMethod == MethodPost; {
	case !needs:
	case g.Hash != "":
		c.Secret = g.Hash
	case g.Secret != "":
		c.Secret, err = cs.hashed(ctx, g.Secret)
	default:
		secret, c.Secret, err = cs.newSecret(ctx)
	}
	if err != nil {
		return "", err
	}
	return secret, cs.store(ctx, c)
}
