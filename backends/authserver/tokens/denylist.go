package tokens

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	deniedTopic = "denied"
	// deniedAge is the maximum time until this node knows an id that another node denied.
	deniedAge = kernel.CacheAge
	// deniedOverlap is the period before its previous read that sync reads once more. A row may become visible later
	// than its time suggests, if its node commits slowly or its clock is behind.
	deniedOverlap = time.Minute
)

// denied is the list of revoked tokens in memory: jtis of access tokens and ids of families, until they expire.
type denied struct {
	kernel *kernel.Server

	mu     sync.RWMutex
	until  map[string]int64 // when the revoked token would have expired anyway
	synced time.Time        // zero if a notification may have been missed

	syncing sync.Mutex
	last    int64 // the time of the latest row that was read
}

func newDenied(s *kernel.Server) *denied {
	return &denied{kernel: s, until: make(map[string]int64)}
}

// requireSync makes the next lookup read the table, since notifications of other nodes may have been missed.
func (d *denied) requireSync() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced = time.Time{}
}

// heard handles a notification of another node. The text is an id and its expiry, separated by a space.
func (d *denied) heard(text string) {
	id, expires, ok := strings.Cut(text, " ")
	until, err := strconv.ParseInt(expires, 10, 64)
	if !ok || err != nil {
		d.requireSync()
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.until[id] = until
}

// has reports whether one of the ids is denied. An error means that the database does not answer.
func (d *denied) has(ctx context.Context, ids ...string) (bool, error) {
	if err := d.kernel.DB.Ready(); err != nil {
		return false, err
	}
	now := d.kernel.Now()
	d.mu.RLock()
	age := now.Sub(d.synced)
	d.mu.RUnlock()
	if age >= deniedAge || age < 0 {
		if err := d.sync(ctx, now); err != nil {
			return false, err
		}
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, id := range ids {
		if _, ok := d.until[id]; ok && id != "" {
			return true, nil
		}
	}
	return false, nil
}

// sync reads the new rows of the table, unless another goroutine has read them after the time since.
func (d *denied) sync(ctx context.Context, since time.Time) error {
	d.syncing.Lock()
	defer d.syncing.Unlock()
	d.mu.RLock()
	fresh := !d.synced.Before(since)
	d.mu.RUnlock()
	if fresh {
		return nil
	}
	now := d.kernel.Now()
	type row struct {
		id             string
		created, until int64
	}
	var rows []row
	err := d.kernel.Read(ctx, func(c store.Conn) (err error) {
		rows, err = store.List(c, func(r store.Row) (found row, err error) {
			return found, r.Scan(&found.id, &found.created, &found.until)
		}, "SELECT id, at, expires_at FROM authserver_denied WHERE at > ?", d.last-deniedOverlap.Microseconds())
		return err
	})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range rows {
		d.until[r.id] = r.until
		d.last = max(d.last, min(r.created, now.UnixMicro())) // a clock that is ahead must not hide the rows of other nodes
	}
	d.synced = now
	return nil
}

// deny stores ids as denied until the given time. After the commit the caller must add them to this node's list with
// denyHere.
func (d *denied) deny(c store.Conn, until time.Time, ids ...string) error {
	now := d.kernel.Micros()
	for _, id := range ids {
		if _, err := c.Exec("INSERT INTO authserver_denied (id, at, expires_at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
			id, now, until.UnixMicro()); err != nil {
			return err
		}
		if err := c.Notify("authserver_"+deniedTopic, id+" "+strconv.FormatInt(until.UnixMicro(), 10)); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes expired ids from memory and from the table. It returns the number of removed rows.
func (d *denied) sweep(ctx context.Context) (int64, error) {
	now := d.kernel.Micros()
	d.mu.Lock()
	for id, until := range d.until {
		if until <= now {
			delete(d.until, id)
		}
	}
	d.mu.Unlock()
	return d.kernel.DB.Purge(ctx, sweepRows,
		"DELETE FROM authserver_denied WHERE id IN (SELECT id FROM authserver_denied WHERE expires_at <= ? LIMIT ?)", now)
}
