// Package once makes what can be used once, such as an assertion or a proof, so on all nodes that share a database.
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

// Marks is a counters.Store whose marks are rows, which all nodes see. It passes everything else to the store that it
// wraps.
type Marks struct {
	counters.Store
	server *kernel.Server
}

// New returns a counters.Store for a server whose own counters are only in the memory of this process.
func New(s *kernel.Server) *Marks { return &Marks{s.Counters, s} }

// SetNX implements counters.Store. When the mark expires is determined by the clock of the caller and not by that of
// the database, because the caller checks the expiry of the marked value by the same clock: otherwise a clock that is
// ahead or behind would allow a second use.
func (m *Marks) SetNX(ctx context.Context, key string, ttl time.Duration) (first bool, err error) {
	digest, now := sha256.Sum256([]byte(key)), m.server.Now()
	var q store.Questions
	q.Row(func(r store.Row) error {
		err := r.Scan(&first)
		if errors.Is(err, sql.ErrNoRows) {
			first, err = false, nil
		}
		return err
	}, `INSERT INTO authserver_once AS old (digest, expires_at) VALUES (?, ?)
		ON CONFLICT (digest) DO UPDATE SET expires_at = excluded.expires_at WHERE old.expires_at <= ? RETURNING 1`, digest[:], now.Add(ttl).UnixMicro(), now.UnixMicro())
	err = m.server.Write(store.Hastily(store.ReadCommitted(ctx)), func(c store.Conn) error { return c.Ask(&q) })
	return first && err == nil, err
}

const (
	// slow is how far the clock of another node may be behind that of the node that removes its marks.
	slow = 10 * time.Minute
	// batch is how many marks are removed at a time.
	batch = 1000
)

// Sweep removes expired marks.
func (m *Marks) Sweep(ctx context.Context) (int, error) {
	n, err := m.server.DB.Purge(ctx, batch,
		"DELETE FROM authserver_once WHERE digest IN (SELECT digest FROM authserver_once WHERE expires_at <= ? LIMIT ?)",
		m.server.Now().Add(-slow).UnixMicro())
	return int(n), err
}
