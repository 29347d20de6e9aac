package tollgate

import (
	"context"
	"sync"
	"time"
)

// TokenIssuer is an authorization server in this process. It checks access tokens directly, so that a revocation takes
// effect at once.
type TokenIssuer interface {
	// CheckToken returns the claims of an access token and when it expires. It returns ok as false if the token is not
	// valid now, and an error if that cannot be determined.
	CheckToken(ctx context.Context, token string) (claims map[string]any, expires time.Time, ok bool, err error)
}

// issuers are the authorization servers of a configuration, by the claim iss.
type issuers struct {
	mu  sync.RWMutex
	all map[string]TokenIssuer
}

// OfferIssuer registers an authorization server under its issuer name. A module calls it while it is provisioned.
func (a *App) OfferIssuer(name string, issuer TokenIssuer) {
	a.issuers.mu.Lock()
	defer a.issuers.mu.Unlock()
	if a.issuers.all == nil {
		a.issuers.all = make(map[string]TokenIssuer)
	}
	a.issuers.all[name] = issuer
}

// Issuer returns the configuration's authorization server with this issuer name, or nil. While modules are provisioned,
// some servers may not be registered yet.
func (a *App) Issuer(name string) TokenIssuer {
	a.issuers.mu.RLock()
	defer a.issuers.mu.RUnlock()
	return a.issuers.all[name]
}
