package tollgate

import (
	"context"
	"sync"
	"time"
)

// TokenIssuer is an authorization server in this process: what checks its access tokens
// asks it, and sees what was revoked at once.
type TokenIssuer interface {
	// CheckToken returns the claims of an access token that is good now, and its end; ok
	// is false for one that is not. An error tells that it is not known.
	CheckToken(ctx context.Context, token string) (claims map[string]any, expires time.Time, ok bool, err error)
}

// issuers are those of a configuration, by the claim iss.
type issuers struct {
	mu  sync.RWMutex
	all map[string]TokenIssuer
}

// OfferIssuer tells of an authorization server. A module calls it while it is
// provisioned.
func (a *App) OfferIssuer(name string, issuer TokenIssuer) {
	a.issuers.mu.Lock()
	defer a.issuers.mu.Unlock()
	if a.issuers.all == nil {
		a.issuers.all = make(map[string]TokenIssuer)
	}
	a.issuers.all[name] = issuer
}

// Issuer is the authorization server of this configuration that has a name; nil: there
// is none. It is known when requests are served, not before.
func (a *App) Issuer(name string) TokenIssuer {
	a.issuers.mu.RLock()
	defer a.issuers.mu.RUnlock()
	return a.issuers.all[name]
}
