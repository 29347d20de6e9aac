package tollgate

import (
	"context"
	"errors"
	"slices"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

var errStopping = errors.New("this node is about to stop")

// Parts tells the errors of what services need on this node, by name: database (of a
// service that has one of its own: database/board), keyring, counters, and node,
// which is about to stop where it has an error. Without services it is what the whole
// configuration needs. ctx is that of a request.
func (a *App) Parts(ctx context.Context, services ...string) map[string]error {
	parts := map[string]error{"node": nil, "counters": a.counters.Ready(ctx)}
	if Stopping(ctx) {
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
	for _, s := range a.sealings {
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

// Stopping reports whether the process is about to end, or the server of the request
// to close: the option shutdown_delay gives balancers the time to notice. ctx is that
// of a request.
func Stopping(ctx context.Context) bool {
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
