package tollgate

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// defaultStartWait is the default of StartWait.
const defaultStartWait = 10 * time.Second

// startWait returns how long a start waits for the databases.
func (a *App) startWait() time.Duration {
	if a.StartWait == 0 {
		return defaultStartWait
	}
	return time.Duration(a.StartWait)
}

// AwaitDatabases waits until every database server of the configuration can be reached,
// for at most the time of the option start_wait. A process calls it before it listens, so
// that a balancer finds nobody there instead of a node that answers 503. Nothing is
// migrated: the rest of the configuration may still be refused.
func (a *App) AwaitDatabases(ctx context.Context) error {
	databases, err := a.databases()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.startWait())
	defer cancel()
	for _, d := range databases {
		if d.DB.File() != "" || d.Name == commonDatabase && !a.usesCommon() {
			continue // a file is there, or LookAhead has told why not
		}
		d.DB.Start(ctx)
		_ = d.DB.WaitReady(ctx) // a server that is down has been logged, and is tried again once the app has started
	}
	return nil
}

// openDatabases opens and migrates the databases that the modules have asked for. Each is
// waited for while its first attempt lasts, all together for at most the time of the option
// start_wait. The error is that of a database which a newer version has made: to wait
// longer does not help there.
func (a *App) openDatabases() error {
	ctx, cancel := context.WithTimeout(a.ctx, a.startWait())
	defer cancel()
	for i, o := range a.opened {
		if slices.ContainsFunc(a.opened[:i], func(before opened) bool { return before.db == o.db }) {
			continue
		}
		o.db.Start(a.ctx)
		if errors.Is(o.db.Ready(), store.ErrOpening) { // it may be migrating
			_ = o.db.WaitReady(ctx)
		}
		if err := o.db.Ready(); errors.Is(err, store.ErrNewer) {
			return err
		}
	}
	return nil
}

// Gate has the server that a module belongs to keep new connections waiting until Start has
// returned. Apps start in no fixed order, so the server may listen before the databases are
// open and the keyring is there. Connections of HTTP/3 do not wait; their requests get 503 in
// that moment. A module that does not call From calls Gate while it is provisioned.
func (a *App) Gate(ctx caddy.Context) {
	server, ok := ctx.Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	if !ok || slices.Contains(a.gated, server) {
		return
	}
	a.gated = append(a.gated, server)
	server.RegisterConnContext(func(conn context.Context, _ net.Conn) context.Context {
		select {
		case <-a.startOver:
		case <-a.ctx.Done(): // another app did not start
		}
		return conn
	})
}
