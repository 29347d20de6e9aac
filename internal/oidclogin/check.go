package oidclogin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/tollgate-gateway/tollgate/internal/jwks"
)

// Facts has facts about a provider, from its discovery document and its key set.
type Facts struct {
	// Authorization and Token are the URLs of these endpoints.
	Authorization, Token string
	// Keys is the number of keys that verify tokens.
	Keys int
	// TellsIssuer reports whether authorization responses have the parameter iss (RFC 9207).
	TellsIssuer bool
}

// Check fetches the discovery document and the keys of the provider, even if they are cached, and caches the document.
// The error is for the operator: it describes the fault and may quote the provider.
func (p *Provider) Check(ctx context.Context) (Facts, error) {
	var m *metadata
	select {
	case result := <-p.refresh(p.o.Now()):
		if result.Err != nil {
			return Facts{}, result.Err
		}
		m = result.Val.(*metadata)
	case <-ctx.Done():
		return Facts{}, ctx.Err()
	}
	endpoint := m.provider.Endpoint()
	facts := Facts{Authorization: endpoint.AuthURL, Token: endpoint.TokenURL, TellsIssuer: m.sendsIss}
	var err error
	if facts.Keys, err = p.countKeys(ctx, m.keysURL); err != nil {
		return facts, fmt.Errorf("fetching its keys: %w", err)
	}
	return facts, nil
}

// countKeys fetches a key set and returns the number of keys that verify signatures.
func (p *Provider) countKeys(ctx context.Context, address string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	response, err := p.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, errors.New("it answered " + response.Status)
	}
	text, err := io.ReadAll(response.Body) // the transport limits its size
	if err != nil {
		return 0, err
	}
	set, err := jwks.ParseSet(text)
	if err != nil {
		return 0, err
	}
	return len(set), nil
}
