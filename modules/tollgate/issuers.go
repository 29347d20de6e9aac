package tollgate

import (
	"context"
	"sync"
	"time"
)

// TokenIssuer is an authorization server in this process. Checks of its access tokens ask it directly and so see
// revocations at once.
type TokenIssuer interface {
	// CheckToken returns the claims and the end of an access token that is valid now. It returns ok as false for one
	// that is not, and an error if that cannot be determined.
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

// Issuer returns the authorization server of this configuration with a name, or nil. All are known once requests are
// served, but not before.
func (a *App) Issuer(name string) TokenIssuer {
	a.issuers.mu.RLock()
	defer a.issuers.mu.RUnlock()
	return a.issuers.all[name]
}
