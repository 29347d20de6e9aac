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

// AwaitDatabases waits until every database server of the configuration can be reached, for at most the time StartWait.
// A process calls it before it listens, so that a load balancer finds a closed port instead of a node that answers 503.
// It does not migrate the databases, because the rest of the configuration may still be refused.
func (a *App) AwaitDatabases(ctx context.Context) error {
	databases, err := a.databases()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.startWait())
	defer cancel()
	for _, d := range databases {
		if d.DB.File() != "" || d.Name == commonDatabase && !a.usesCommon() {
			continue // the file exists, or LookAhead has reported why not
		}
		d.DB.Start(ctx)
		_ = d.DB.WaitReady(ctx) // a failure has been logged; the app tries again once it has started
	}
	return nil
}

// openDatabases opens and migrates the databases that the modules have requested. It waits for the first attempts, for
// at most the time StartWait in total. It returns an error only for a database that a newer version has created, or
// that is too old, because waiting does not help there.
func (a *App) openDatabases() error {
	ctx, cancel := context.WithTimeout(a.ctx, a.startWait())
	defer cancel()
	for i, p := range a.pending {
		if a.pendingBefore(i) {
			continue
		}
		p.db.Start(a.ctx)
		if errors.Is(p.db.Ready(), store.ErrOpening) { // it may be migrating
			_ = p.db.WaitReady(ctx)
		}
		if err := p.db.Ready(); errors.Is(err, store.ErrNewer) || errors.Is(err, store.ErrTooOld) {
			return err
		}
	}
	return nil
}

// pendingBefore reports whether the database of a.pending[i] also occurs before i: a database is pending once for each
// of its schemas.
func (a *App) pendingBefore(i int) bool {
	return slices.ContainsFunc(a.pending[:i], func(p pendingDatabase) bool { return p.db == a.pending[i].db })
}

// Gate makes the server of a module hold new connections until Start has returned. Apps start in no fixed order, so the
// server may listen before the databases and the keyring are open. HTTP/3 connections are not held; their requests get
// 503 during that time. A module that does not call From calls Gate while it is provisioned.
func (a *App) Gate(ctx caddy.Context) {
	server, ok := ctx.Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	if !ok || slices.Contains(a.gated, server) {
		return
	}
	a.gated = append(a.gated, server)
	server.RegisterConnContext(func(conn context.Context, _ net.Conn) context.Context {
		select {
		case <-a.startDone:
		case <-a.ctx.Done(): // the configuration was dropped because another app did not start
		}
		return conn
	})
}
