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
	// Secret is the secret in clear. Hash is the stored form of a secret, from another program (see password.Known) or
	// from this program with the same pepper. If both are empty and the client needs a secret, a new secret is created.
	Secret, Hash string
}

const (
	maxGivenID     = 255 // bytes
	maxGivenSecret = 512 // bytes
)

// checkGiven returns an error for an invalid id or secret (RFC 6749 appendix A).
func (cs *Clients) checkGiven(g *Given) error {
	invisible := func(r rune) bool { return r < ' ' || r > '~' }
	switch {
	case len(g.ID) > maxGivenID || strings.ContainsFunc(g.ID, invisible) || strings.ContainsAny(g.ID, ` "\\`):
		return refuse("client_id", "must have at most 255 printable ASCII characters, without spaces, quotes and backslashes")
	case strings.HasPrefix(g.ID, "http://") || strings.HasPrefix(g.ID, "https://"):
		return refuse("client_id", "must not be a URL, which is the id of a client with a metadata document")
	case len(g.Secret) > maxGivenSecret || strings.ContainsFunc(g.Secret, invisible):
		return refuse("client_secret", "must have at most 512 printable ASCII characters")
	// A peppered hash can be verified only by a server with a pepper.
	case g.Hash != "" && !password.Known(g.Hash) && (len(cs.options.Pepper) == 0 || !strings.HasPrefix(g.Hash, peppered)):
		return refuse("client_secret", "has an unknown hash format, or a hash that is too expensive to verify")
	}
	return nil
}

// CheckGiven returns the error that CreateGiven would return, except for an id that already exists.
func (cs *Clients) CheckGiven(c *Client, g Given) error {
	if err := cs.checkGiven(&g); err != nil {
		return err
	}
	return cs.Check(c)
}

// CreateGiven stores a client like Create, with the id and the secret of g. The returned secret is empty unless
// CreateGiven had to create one. If the id already exists, the error wraps the database's error; see
// store.IsUniqueViolation.
func (cs *Clients) CreateGiven(ctx context.Context, c *Client, g Given) (secret string, err error) {
	if err := cs.CheckGiven(c, g); err != nil {
		return "", err
	}
	if c.ID = g.ID; c.ID == "" {
		c.ID = kernel.NewID()
	}
	switch {
	case !usesSecret(c.AuthMethod):
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

// UpdateGiven changes the stored client with the id of g to c, and returns the names of the changed members. The source
// and the status are kept. The secret is kept unless replaceSecret is set or the client has no secret. If dry is set,
// nothing is stored. The error has status 400 if c is invalid, if only one of the two clients is an agent, or if the
// stored client is revoked.
func (cs *Clients) UpdateGiven(
	ctx context.Context, c *Client, g Given, replaceSecret, dry bool,
) (changed []string, err error) {
	if err := cs.CheckGiven(c, g); err != nil {
		return nil, err
	}
	stored, err := cs.Stored(ctx, g.ID)
	if err != nil {
		return nil, err
	}
	secret, keep, err := cs.secretFor(ctx, stored, c, g, replaceSecret)
	if err != nil {
		return nil, err
	}
	// change is called with the stored client and, unless dry is set, again in the transaction. It sets the result
	// changed.
	change := func(stored *Client) error {
		switch {
		case stored.Status == Revoked:
			return refuse("client_id", ErrRevoked.Error())
		case stored.Agent != c.Agent:
			return refuse("agent", "cannot be changed")
		}
		changed = stored.become(c)
		if !keep && stored.Secret != secret {
			changed, stored.Secret = append(changed, "client_secret"), secret
		}
		return nil
	}
	if err := change(stored); err != nil || len(changed) == 0 || dry {
		return changed, err
	}
	_, err = cs.Edit(ctx, g.ID, change)
	return changed, err
}

// become copies the registration of newClient to c, and returns the names of the changed members.
func (c *Client) become(newClient *Client) (changed []string) {
	metadata := newClient.Metadata
	if c.SelfDeclared() {
		metadata.FirstParty, metadata.Claims = false, nil
	}
	for _, member := range []struct {
		name          string
		current, next any
	}{
		{"client_name", c.Name, newClient.Name},
		{"token_endpoint_auth_method", c.AuthMethod, newClient.AuthMethod},
		{"redirect_uris", c.Redirects, newClient.Redirects},
		{"grant_types", c.Grants, newClient.Grants},
		{"response_types", c.Responses, newClient.Responses},
		{"scope", c.Scope, newClient.Scope},
		{"agent_description", c.AgentText, newClient.AgentText},
		{"metadata", c.Metadata, metadata},
	} {
		if kernel.JSON(member.current) != kernel.JSON(member.next) {
			changed = append(changed, member.name)
		}
	}
	c.Name, c.AuthMethod = newClient.Name, newClient.AuthMethod
	c.Redirects, c.Grants, c.Responses = newClient.Redirects, newClient.Grants, newClient.Responses
	c.Scope, c.AgentText, c.Metadata = newClient.Scope, newClient.AgentText, metadata
	return changed
}

// secretFor returns the stored form of the new secret of a client that changes from stored to next. If the client
// keeps its present secret instead, keep is true and secret is empty. A client that has a secret keeps it unless
// replace is set.
func (cs *Clients) secretFor(
	ctx context.Context, stored, next *Client, g Given, replace bool,
) (secret string, keep bool, err error) {
	switch {
	case !usesSecret(next.AuthMethod):
		return "", false, nil
	case stored.Secret != "" && !replace:
		return "", true, nil
	case g.Hash != "":
		return g.Hash, false, nil
	case g.Secret != "":
		if stored.Secret != "" {
			if matches, err := cs.verify(ctx, stored, g.Secret); err != nil || matches {
				return "", matches, err
			}
		}
		secret, err = cs.hashed(ctx, g.Secret)
		return secret, false, err
	case stored.Secret != "":
		return "", true, nil
	}
	return "", false, refuse("client_secret",
		"is required: the client authenticates with a secret, and none is stored for it")
}
