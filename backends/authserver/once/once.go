// Package once records values that may be used only once, such as assertions and proofs, for all nodes that share a
// database.
package once

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Marks is a counters.Store that stores marks, the records of used values, as rows of the database. All nodes see them.
// Marks forwards all calls but SetNX to the wrapped store.
type Marks struct {
	counters.Store
	server *kernel.Server
}

// New returns a counters.Store for a server whose own counters exist only in the memory of this process. It wraps these
// counters.
func New(s *kernel.Server) *Marks { return &Marks{s.Counters, s} }

// SetNX implements counters.Store. The mark expires by this server's clock, not by the database's clock. Callers
// check the expiry of the marked value by this server's clock too. If the mark expired by another clock, it might
// expire while the value is still accepted.
func (m *Marks) SetNX(ctx context.Context, key string, ttl time.Duration) (first bool, err error) {
	digest, now := sha256.Sum256([]byte(key)), m.server.Now()
	var q store.Questions
	// The statement returns a row unless there is a mark that has not expired.
	q.Row(func(r store.Row) error {
		err := r.Scan(&first)
		if errors.Is(err, sql.ErrNoRows) {
			first, err = false, nil
		}
		return err
	}, `INSERT INTO authserver_once AS old (digest, expires_at) VALUES (?, ?)
		ON CONFLICT (digest) DO UPDATE SET expires_at = excluded.expires_at WHERE old.expires_at <= ? RETURNING 1`,
		digest[:], now.Add(ttl).UnixMicro(), now.UnixMicro())
	err = m.server.Write(store.Hastily(store.ReadCommitted(ctx)), func(c store.Conn) error { return c.Ask(&q) })
	return first && err == nil, err
}

const (
	// maxClockLag is the maximum time by which another node's clock may be behind the clock of the node that removes
	// the marks.
	maxClockLag = 10 * time.Minute
	// batch is the number of marks that are removed at a time.
	batch = 1000
)

// Sweep removes the marks that have expired by the clocks of all nodes, and returns their number.
func (m *Marks) Sweep(ctx context.Context) (int, error) {
	n, err := m.server.DB.Purge(ctx, batch,
		"DELETE FROM authserver_once WHERE digest IN (SELECT digest FROM authserver_once WHERE expires_at <= ? LIMIT ?)",
		m.server.Now().Add(-maxClockLag).UnixMicro())
	return int(n), err
}
