package tollgate

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/tollgate-gateway/tollgate/internal/look"
)

// Newest holds the app of the newest configuration that has started. It is meant for values that outlive
// configurations.
type Newest struct{ app atomic.Pointer[App] }

// Follow makes the given app the newest app when that app starts. A module calls Follow while it is provisioned.
func (n *Newest) Follow(a *App) {
	a.OnStart(func() error {
		n.app.Store(a)
		return nil
	})
}

// App returns the newest app, or nil if no configuration has started yet.
func (n *Newest) App() *App { return n.app.Load() }

// SignedOut calls SignedOut of the newest app, if there is an app.
func (n *Newest) SignedOut(ctx context.Context, service, issuer, subject string) {
	if app := n.app.Load(); app != nil {
		app.SignedOut(ctx, service, issuer, subject)
	}
}

// Bar returns a function that calls Bar of the newest app for the pages of a service.
func (n *Newest) Bar(service string) func(*http.Request) look.Bar {
	return func(r *http.Request) look.Bar {
		if app := n.app.Load(); app != nil {
			return app.Bar(service)(r)
		}
		return look.Bar{Current: service}
	}
}
