package tollgate

import (
	"context"
	"errors"
	"slices"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

var errStopping = errors.New("this node is about to stop")

// Parts checks the parts that services need on this node. It returns the error of each part by the part's name; the
// error is nil if the part is healthy. The parts are database, keyring, counters and node. A service's separate
// database is database/<service>. The part node has an error if the node is about to stop. Without services, Parts
// covers the whole configuration. ctx is a request's context.
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
		if _, separate := a.named[service]; separate && len(services) != 1 { // one service has only one database
			name += "/" + service
		}
		parts[name] = a.databaseReady(db)
	}
	for _, s := range a.sealedServices {
		if len(services) > 0 && !slices.Contains(services, s.service) {
			continue
		}
		_, err := a.Keyring(s.service)()
		if parts["keyring"] == nil { // otherwise keep the error of an earlier service
			parts["keyring"] = err
		}
	}
	return parts
}

// databaseReady returns an error if a database cannot be used, or if it was not opened yet.
func (a *App) databaseReady(db *store.DB) error {
	if !a.started.Load() {
		return errNotStarted
	}
	return db.Ready()
}

// IsStopping reports whether the process is about to end or the request's server is about to close. With the option
// shutdown_delay, load balancers have time to notice that. ctx is a request's context.
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
