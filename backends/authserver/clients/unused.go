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
	// seenEvery is the resolution of Client.SeenAt.
	seenEvery = time.Hour
	// maxSelf is the default of Options.MaxSelfRegistered.
	maxSelf = 100_000
	// minSelf is the minimum age of a self-registered client that is removed early. SeenAt may be out of date by
	// seenEvery. The age is longer than that, so that a client is kept while a user is about to authorize it.
	minSelf = 2 * seenEvery
	// unusedRows is the number of clients that are removed in one transaction.
	unusedRows = 100
	// maxUnused is the maximum number of clients that are removed in one run, since each removal is recorded in the
	// audit feed.
	maxUnused = 50 * unusedRows
)

// recordUse records the current time as the last use of a self-registered client. The row is written in the background,
// at most once an hour.
func (cs *Clients) recordUse(c *Client) {
	if c.Source == DCR && cs.Now().Sub(c.SeenAt) >= seenEvery {
		cs.seen.Add(c.ID) // if the batch is full, the client will be seen again
	}
}

// writeSeen stores the current time as the last use of clients.
func (cs *Clients) writeSeen(ctx context.Context, ids []string) error {
	slices.Sort(ids) // the same order on all nodes prevents deadlocks
	ids = slices.Compact(ids)
	now := cs.Now()
	err := cs.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		for _, id := range ids {
			if _, err := c.Exec("UPDATE authserver_clients SET seen_at = ? WHERE id = ? AND seen_at <= ?",
				now.UnixMicro(), id, now.Add(-seenEvery).UnixMicro()); err != nil {
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

// Run writes the recorded uses of clients until the context is done.
func (cs *Clients) Run(ctx context.Context) { cs.seen.Run(ctx) }

// Flush writes the recorded uses of clients.
func (cs *Clients) Flush(ctx context.Context) error { return cs.seen.Flush(ctx) }

// idleCondition is the SQL condition for self-registered clients that can be removed without loss. They have no stored
// grants and no tokens, and no administrator has set their scope, suspended them or named them in a policy.
const idleCondition = "source = '" + DCR + "' AND status = '" + Active + "'" +
	" AND (scope = '' OR NOT (grants LIKE '%\"" + GrantClient + "\"%' OR grants LIKE '%\"" + GrantExchange +
	"\"%' OR grants LIKE '%\"" + GrantJWT + "\"%'))" +
	" AND NOT EXISTS (SELECT 1 FROM authserver_consents o WHERE o.client_id = c.id)" +
	" AND NOT EXISTS (SELECT 1 FROM authserver_families f WHERE f.client_id = c.id)" +
	" AND NOT EXISTS (SELECT 1 FROM authserver_issuances i WHERE i.client_id = c.id)" +
	" AND NOT EXISTS (SELECT 1 FROM authserver_resources r WHERE r.policy LIKE '%\"' || c.id || '\"%')" +
	" AND NOT EXISTS (SELECT 1 FROM authserver_xaa_policies p WHERE p.client_ids LIKE '%\"' || c.id || '\"%')"

// SweepUnused removes idle self-registered clients and returns their number. It removes those that were never used,
// those that have not been used for long, and, if there are too many clients, those with the oldest last use.
func (cs *Clients) SweepUnused(ctx context.Context) (total int, err error) {
	now := cs.Now()
	cutoff := func(age time.Duration) int64 { return now.Add(-age).UnixMicro() }
	if d := cs.options.UnusedLife; d > 0 {
		total, err = cs.removeIdle(ctx, maxUnused, "never_used", "seen_at = 0 AND issued_at < ? AND updated_at < ?",
			cutoff(d), cutoff(d))
	}
	if d := cs.options.IdleLife; err == nil && d > 0 {
		var n int
		n, err = cs.removeIdle(ctx, maxUnused-total, "idle", "seen_at > 0 AND seen_at < ? AND updated_at < ?",
			cutoff(d), cutoff(d))
		total += n
	}
	if err == nil && cs.options.UnusedLife > 0 {
		var excess, n int
		if excess, err = cs.excess(ctx); err == nil {
			n, err = cs.removeIdle(ctx, min(excess, maxUnused-total), "too_many",
				"seen_at < ? AND issued_at < ? AND updated_at < ?", cutoff(minSelf), cutoff(minSelf), cutoff(minSelf))
			total += n
		}
	}
	if total > 0 {
		cs.Logger().Info("unused clients that had registered themselves have been removed", zap.Int("clients", total))
	}
	return total, err
}

// excess returns the number of self-registered clients above MaxSelfRegistered, or zero.
func (cs *Clients) excess(ctx context.Context) (n int, err error) {
	err = cs.Read(ctx, func(c store.Conn) error {
		return c.Row("SELECT count(*) FROM authserver_clients WHERE source = '" + DCR + "' AND status = '" + Active +
			"'").Scan(&n)
	})
	return max(0, n-cs.options.MaxSelfRegistered), err
}

// removeIdle removes idle clients that match an SQL condition, up to limit, and returns their number. The audit
// events contain the reason. removeIdle searches for the clients before the write transaction, and checks each client
// again in that transaction.
func (cs *Clients) removeIdle(
	ctx context.Context, limit int, reason, condition string, args ...any,
) (total int, err error) {
	if limit <= 0 {
		return 0, nil
	}
	condition = idleCondition + " AND " + condition
	ids, err := kernel.Read(ctx, cs.Server, func(c store.Conn) ([]string, error) {
		return store.List(c, func(r store.Row) (id string, err error) { return id, r.Scan(&id) },
			"SELECT id FROM authserver_clients c WHERE "+condition+" ORDER BY seen_at, issued_at LIMIT ?",
			append(slices.Clone(args), limit)...)
	})
	if err != nil {
		return 0, err
	}
	// Each client is to be found by its id. Without statistics, PostgreSQL would instead read the whole index of the other
	// columns. The condition is therefore changed so that only the index of the id fits it.
	recheck := strings.NewReplacer("status = ", "status || '' = ", "issued_at", "issued_at + 0").Replace(condition)
	for batch := range slices.Chunk(ids, unusedRows) {
		var removed []string
		err := cs.Write(ctx, func(c store.Conn) error {
			removed = nil
			for _, id := range batch { // one by one: for many ids at once, PostgreSQL would read the other tables as a whole
				n, err := c.Exec("DELETE FROM authserver_clients AS c WHERE id = ? AND "+recheck, append([]any{id}, args...)...)
				if err != nil {
					return err
				}
				if n > 0 {
					removed = append(removed, id)
				}
			}
			return nil
		})
		if err != nil {
			return total, err
		}
		for _, id := range removed {
			cs.Audit(ctx, kernel.Event{Action: "client.deleted", Client: id, Detail: []string{"source", DCR, "reason", reason}})
		}
		total += len(removed)
		cs.Tell(topic, "")
	}
	return total, nil
}
