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
	// deniedAge is the maximum age of the list in memory: the time after which this node knows an id that another node
	// has denied, even if no notification arrives.
	deniedAge = kernel.CacheAge
	// deniedOverlap is how far before the latest known row the method sync begins to read. A row may become visible later
	// than its time suggests, if its node commits slowly or its clock is behind.
	deniedOverlap = time.Minute
)

// denied is the list of revoked tokens in memory: jtis of access tokens and ids of families, until they expire.
type denied struct {
	kernel *kernel.Server

	mu sync.RWMutex
	// expires holds, for each denied id, when the revoked token would have expired anyway, in microseconds since 1970.
	expires map[string]int64
	// synced is when the table was last read. It is zero if a notification may have been missed since.
	synced time.Time

	syncing   sync.Mutex // held while sync reads the table
	latestRow int64      // the time (column at) of the latest row that was read, in microseconds since 1970
}

func newDenied(s *kernel.Server) *denied {
	return &denied{kernel: s, expires: make(map[string]int64)}
}

// requireSync makes the next lookup read the table, since notifications of other nodes may have been missed.
func (d *denied) requireSync() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced = time.Time{}
}

// receive handles a notification of another node: an id and its expiry in microseconds since 1970, separated by a
// space. After any other text, the next lookup reads the table.
func (d *denied) receive(notification string) {
	id, number, found := strings.Cut(notification, " ")
	expiry, err := strconv.ParseInt(number, 10, 64)
	if !found || err != nil {
		d.requireSync()
		return
	}
	d.add(id, expiry)
}

// add denies an id on this node until its expiry, in microseconds since 1970.
func (d *denied) add(id string, expiry int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expires[id] = expiry
}

// has reports whether one of the ids is denied; empty ids are ignored. An error means that the database does not
// answer.
func (d *denied) has(ctx context.Context, ids ...string) (bool, error) {
	if err := d.kernel.DB.Ready(); err != nil {
		return false, err
	}
	now := d.kernel.Now()
	d.mu.RLock()
	age := now.Sub(d.synced)
	d.mu.RUnlock()
	if age >= deniedAge || age < 0 { // the age is negative after the clock was set back
		if err := d.sync(ctx, now); err != nil {
			return false, err
		}
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, id := range ids {
		if _, ok := d.expires[id]; ok && id != "" {
			return true, nil
		}
	}
	return false, nil
}

// sync reads the new rows of the table, unless another goroutine has read them at or after cutoff.
func (d *denied) sync(ctx context.Context, cutoff time.Time) error {
	d.syncing.Lock()
	defer d.syncing.Unlock()
	d.mu.RLock()
	fresh := !d.synced.Before(cutoff)
	d.mu.RUnlock()
	if fresh {
		return nil
	}
	now := d.kernel.Now()
	type row struct {
		id              string
		created, expiry int64
	}
	var rows []row
	err := d.kernel.Read(ctx, func(c store.Conn) (err error) {
		rows, err = store.List(c, func(r store.Row) (found row, err error) {
			return found, r.Scan(&found.id, &found.created, &found.expiry)
		}, "SELECT id, at, expires_at FROM authserver_denied WHERE at > ?", d.latestRow-deniedOverlap.Microseconds())
		return err
	})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range rows {
		d.expires[r.id] = r.expiry
		// The time of the row is limited to now: a node whose clock is ahead must not hide the rows of other nodes.
		d.latestRow = max(d.latestRow, min(r.created, now.UnixMicro()))
	}
	d.synced = now
	return nil
}

// deny stores ids as denied until the given time. After the commit the caller must add them to this node's list with
// denyHere.
func (d *denied) deny(c store.Conn, expiry time.Time, ids ...string) error {
	now := d.kernel.Micros()
	for _, id := range ids {
		if _, err := c.Exec("INSERT INTO authserver_denied (id, at, expires_at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
			id, now, expiry.UnixMicro()); err != nil {
			return err
		}
		if err := c.Notify("authserver_"+deniedTopic, id+" "+strconv.FormatInt(expiry.UnixMicro(), 10)); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes expired ids from memory and from the table. It returns the number of removed rows.
func (d *denied) sweep(ctx context.Context) (int64, error) {
	now := d.kernel.Micros()
	d.mu.Lock()
	for id, expiry := range d.expires {
		if expiry <= now {
			delete(d.expires, id)
		}
	}
	d.mu.Unlock()
	return d.kernel.DB.Purge(ctx, sweepRows,
		"DELETE FROM authserver_denied WHERE id IN (SELECT id FROM authserver_denied WHERE expires_at <= ? LIMIT ?)", now)
}
