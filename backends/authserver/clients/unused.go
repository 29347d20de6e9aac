package clients

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// seenEvery is how exactly it is known when a client was last there.
	seenEvery = time.Hour
	// selfMost is how many clients may have registered themselves before those that hold
	// nothing go early.
	selfMost = 100_000
	// selfLeast is how long such a client is kept then: longer than seenEvery, so that one
	// that is on its way with somebody stays.
	selfLeast = 2 * seenEvery
	// unusedRows is how many go in one transaction.
	unusedRows = 100
	// unusedMost is how many go in one run: the audit feed takes them.
	unusedMost = 50 * unusedRows
)

// see notes that a client that registered itself is there: once an hour, with others, and
// nobody waits for it.
func (cs *Clients) see(c *Client) {
	if c.Source == DCR && cs.Now().Sub(c.SeenAt) >= seenEvery {
		cs.seen.Add(c.ID) // one that is lost comes again
	}
}

func (cs *Clients) writeSeen(ctx context.Context, ids []string) error {
	slices.Sort(ids) // nodes that write at once meet in one order
	ids = slices.Compact(ids)
	now := cs.Now()
	err := cs.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		for _, id := range ids {
			if _, err := c.Exec("UPDATE authserver_clients SET seen_at = ? WHERE id = ? AND seen_at <= ?", now.UnixMicro(), id, now.Add(-seenEvery).UnixMicro()); err != nil {
				return err
			}
		}
		return nil
	})
	for _, id := range ids {
		cs.rows.Drop(id)
	}
	return err
}

// Run writes what is noted of clients until the context ends.
func (cs *Clients) Run(ctx context.Context) { cs.seen.Run(ctx) }

// Flush writes what is noted of clients.
func (cs *Clients) Flush(ctx context.Context) error { return cs.seen.Flush(ctx) }

// idle are clients that registered themselves and have nothing that would be lost with them:
// nothing was granted or issued to them that is remembered, and no administrator has given
// them a scope of their own, stopped them or named them in a policy.
const idle = "source = '" + DCR + "' AND status = '" + Active + "'" +
	" AND (scope = '' OR NOT (grants LIKE '%\"" + GrantClient + "\"%' OR grants LIKE '%\"" + GrantExchange + "\"%' OR grants LIKE '%\"" + GrantJWT + "\"%'))" +
	" AND NOT EXISTS (SELECT 1 FROM authserver_consents o WHERE o.client_id = c.id)" +
	" AND NOT EXISTS (SELECT 1 FROM authserver_families f WHERE f.client_id = c.id)" +
	" AND NOT EXISTS (SELECT 1 FROM authserver_issuances i WHERE i.client_id = c.id)" +
	" AND NOT EXISTS (SELECT 1 FROM authserver_resources r WHERE r.policy LIKE '%\"' || c.id || '\"%')" +
	" AND NOT EXISTS (SELECT 1 FROM authserver_xaa_policies p WHERE p.client_ids LIKE '%\"' || c.id || '\"%')"

// SweepUnused removes the clients that registered themselves and hold nothing: those that
// never came after it, those that have not come for long, and, where there are too many,
// those that came longest ago.
func (cs *Clients) SweepUnused(ctx context.Context) (total int, err error) {
	now := cs.Now()
	before := func(d time.Duration) int64 { return now.Add(-d).UnixMicro() }
	if d := cs.options.UnusedLife; d > 0 {
		total, err = cs.removeIdle(ctx, unusedMost, "never_used", "seen_at = 0 AND issued_at < ? AND updated_at < ?", before(d), before(d))
	}
	if d := cs.options.IdleLife; err == nil && d > 0 {
		var n int
		n, err = cs.removeIdle(ctx, unusedMost-total, "idle", "seen_at > 0 AND seen_at < ? AND updated_at < ?", before(d), before(d))
		total += n
	}
	if err == nil && cs.options.UnusedLife > 0 {
		var excess, n int
		if excess, err = cs.excess(ctx); err == nil {
			n, err = cs.removeIdle(ctx, min(excess, unusedMost-total), "too_many", "seen_at < ? AND issued_at < ? AND updated_at < ?", before(selfLeast), before(selfLeast), before(selfLeast))
			total += n
		}
	}
	if total > 0 {
		cs.Logger().Info("clients that registered themselves and were not used have been removed", zap.Int("clients", total))
	}
	return total, err
}

// excess is by how many the clients that registered themselves are too many.
func (cs *Clients) excess(ctx context.Context) (n int, err error) {
	err = cs.Read(ctx, func(c store.Conn) error {
		return c.Row("SELECT count(*) FROM authserver_clients WHERE source = '" + DCR + "' AND status = '" + Active + "'").Scan(&n)
	})
	return max(0, n-cs.options.SelfMost), err
}

// removeIdle removes at most so many idle clients of a condition. They are looked for beside
// the writer, who asks once more of each.
func (cs *Clients) removeIdle(ctx context.Context, most int, reason, where string, args ...any) (total int, err error) {
	if most <= 0 {
		return 0, nil
	}
	where = idle + " AND " + where
	var found []string
	err = cs.Read(ctx, func(c store.Conn) (err error) {
		found, err = store.List(c, func(r store.Row) (id string, err error) { return id, r.Scan(&id) },
			"SELECT id FROM authserver_clients c WHERE "+where+" ORDER BY seen_at, issued_at LIMIT ?", append(slices.Clone(args), most)...)
		return err
	})
	if err != nil {
		return 0, err
	}
	// Each is found by its id: PostgreSQL would read the whole index of what is looked for
	// where it does not know yet how much that is.
	still := strings.NewReplacer("status = ", "status || '' = ", "issued_at", "issued_at + 0").Replace(where)
	for part := range slices.Chunk(found, unusedRows) {
		var gone []string
		err := cs.Write(ctx, func(c store.Conn) error {
			gone = nil
			for _, id := range part { // of one client all is found by its id, of many PostgreSQL reads the other tables whole
				n, err := c.Exec("DELETE FROM authserver_clients AS c WHERE id = ? AND "+still, append([]any{id}, args...)...)
				if err != nil {
					return err
				}
				if n > 0 {
					gone = append(gone, id)
				}
			}
			return nil
		})
		if err != nil {
			return total, err
		}
		for _, id := range gone {
			cs.Audit(ctx, kernel.Event{Action: "client.deleted", Client: id, Detail: []string{"source", DCR, "reason", reason}})
		}
		total += len(gone)
		cs.Tell(topic, "")
	}
	return total, nil
}
