package tollgate

import (
	"context"
	"errors"
	"slices"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

var errStopping = errors.New("this node is about to stop")

// Parts returns the state of what services need on this node, as errors by name: database (database/board for a service
// with a database of its own), keyring, counters, and node, whose error means that the node is about to stop. A nil
// error means healthy. Without services it covers the whole configuration. ctx is that of a request.
func (a *App) Parts(ctx context.Context, services ...string) map[string]error {
	parts := map[string]error{"node": nil, "counters": a.counters.Ready(ctx)}
	if IsStopping(ctx) {
		parts["node"] = errStopping
	}
	for service, db := range a.served {
		if len(services) > 0 && !slices.Contains(services, service) {
			continue
		}
		name := "database"
		if _, own := a.named[service]; own && len(services) != 1 {
			name += "/" + service
		}
		parts[name] = a.databaseReady(db)
	}
	for _, s := range a.sealedServices {
		if len(services) > 0 && !slices.Contains(services, s.service) {
			continue
		}
		if _, err := a.Keyring(s.service)(); parts["keyring"] == nil {
			parts["keyring"] = err
		}
	}
	return parts
}

func (a *App) databaseReady(db *store.DB) error {
	if !a.started.Load() {
		return errNotStarted
	}
	return db.Ready()
}

// IsStopping reports whether the process is about to end, or the server of the request to close; the option
// shutdown_delay gives load balancers the time to notice. ctx is that of a request.
func IsStopping(ctx context.Context) bool {
	if caddy.Exiting() {
		return true
	}
	replacer, ok := ctx.Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	if !ok {
		return false
	}
	stopping, _ := replacer.Get("http.shutting_down")
	return stopping == true
}
