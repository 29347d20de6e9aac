// Package answeritems stores the items of answers of the Responses API for a time, encrypted, so that clients can refer
// to them in their next requests.
package answeritems

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Limits of the stored items. Beyond them an owner's oldest items are deleted.
const (
	maxItem       = 1 << 20  // bytes of an item; longer items are not stored
	maxID         = 200      // bytes
	maxOwnerItems = 5_000    // items of an owner
	maxOwnerBytes = 32 << 20 // bytes of all items of an owner
	maxPending    = 64 << 20 // bytes that wait to be written; beyond that, new items are not stored
	batchRows     = 200      // rows per transaction
)

// Delays between the nodes. Items are written within gatherTime. A node that does not find an item looks again for
// somewhat longer than that.
const (
	gatherTime = 20 * time.Millisecond
	lookPause  = 150 * time.Millisecond
	maxLooks   = 6           // reads of the database for a missing item
	retryPause = time.Second // after an error of the database
)

// Item is an item of the output of a response, such as a message or a reasoning item.
type Item struct {
	// ID is the id by which the client knows the item.
	ID string
	// Text is the item as JSON text.
	Text string
}

// Store stores items. Each item belongs to an owner, such as a gateway key, and is found only by its owner. Keep
// returns at once, and this node finds the item from then on. A goroutine writes the items to the database, from which
// the other nodes read them. A nil *Store stores nothing. The methods may be called by several goroutines, except
// Flush.
type Store struct {
	db     *store.DB
	ring   keyring.Keyring
	logger *zap.Logger
	now    func() time.Time

	mu      sync.Mutex              // guards the fields below up to full; never held during I/O
	pending map[string]*pendingItem // the items that are not in the database yet, by row id
	order   []*pendingItem          // items to be written, the oldest first; also those that Keep has replaced meanwhile
	bytes   int                     // total length of the texts in order
	full    bool                    // whether the last item was dropped; of drops in a row, only the first is logged

	wake          chan struct{} // has room for one value, with which Keep wakes run
	stop, stopped chan struct{} // closed by Close, and by run when it returns
	once          sync.Once     // closes stop
}

// pendingItem is a row that waits to be written.
type pendingItem struct {
	id, owner, text string
	expires         time.Time
}

// New returns a store in a database with schema.Gateway registered, and starts the goroutine that writes to the
// database. Close stops it.
func New(db *store.DB, ring keyring.Keyring, logger *zap.Logger, now func() time.Time) *Store {
	s := &Store{
		db: db, ring: ring, logger: logger, now: now, pending: make(map[string]*pendingItem),
		wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	go s.run()
	return s
}

// rowID returns the primary key of an item's row.
func rowID(owner, id string) string { return owner + "/" + id }

// storable reports whether an item with this id can be stored.
func storable(id string) bool { return id != "" && len(id) <= maxID && schema.StorableID(id) }

// Keep stores an item of an owner for the duration ttl. It never blocks. An item that exceeds the limits is dropped.
func (s *Store) Keep(owner string, item Item, ttl time.Duration) {
	if s == nil || ttl <= 0 || owner == "" || !schema.StorableID(owner) || !storable(item.ID) ||
		len(item.Text) > maxItem {
		return
	}
	p := &pendingItem{id: rowID(owner, item.ID), owner: owner, text: item.Text, expires: s.now().Add(ttl)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes+len(p.text) > maxPending {
		if !s.full {
			s.logger.Warn("items of answers are dropped: too many wait for the database")
		}
		s.full = true
		return
	}
	s.full = false
	s.pending[p.id] = p
	s.order = append(s.order, p)
	s.bytes += len(p.text)
	select {
	case s.wake <- struct{}{}:
	default: // run was woken already
	}
}

// Find returns the owner's stored items with the given ids, as a map from id to text. Another node may be about to
// write a missing item, so Find looks again for up to a second. Its errors wrap store.ErrUnavailable while the database
// cannot be reached.
func (s *Store) Find(ctx context.Context, owner string, ids []string) (map[string]string, error) {
	found := make(map[string]string, len(ids))
	if s == nil || owner == "" || !schema.StorableID(owner) {
		return found, nil
	}
	var missing []string
	s.mu.Lock()
	for _, id := range ids {
		if p := s.pending[rowID(owner, id)]; p != nil {
			found[id] = p.text
		} else if storable(id) {
			missing = append(missing, id)
		}
	}
	s.mu.Unlock()
	for look := 1; len(missing) > 0; look++ {
		if err := s.read(ctx, owner, missing, found); err != nil {
			return nil, err
		}
		missing = slices.DeleteFunc(missing, func(id string) bool { _, ok := found[id]; return ok })
		if len(missing) == 0 || look == maxLooks {
			break
		}
		select {
		case <-time.After(lookPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return found, nil
}

// read looks up ids of an owner in the database, within the time for which a request waits, and adds the items to
// found.
func (s *Store) read(ctx context.Context, owner string, ids []string, found map[string]string) error {
	return store.InTime(ctx, func(ctx context.Context) error { return s.readAll(ctx, owner, ids, found) })
}

// readAll looks up ids of an owner in the database, in batches, and adds the items to found.
func (s *Store) readAll(ctx context.Context, owner string, ids []string, found map[string]string) error {
	type row struct{ id, sealed string }
	now := schema.Micros(s.now())
	for part := range slices.Chunk(ids, batchRows) {
		args := make([]any, 0, len(part)+1)
		for _, id := range part {
			args = append(args, rowID(owner, id))
		}
		var rows []row
		err := s.db.Read(ctx, func(c store.Conn) (err error) {
			rows, err = store.List(c, func(cells store.Row) (r row, err error) { return r, cells.Scan(&r.id, &r.sealed) },
				`SELECT id, sealed FROM gateway_answer_items WHERE id IN (?`+strings.Repeat(",?", len(part)-1)+
					`) AND expires_at > ?`, append(args, now)...)
			return err
		})
		if err != nil {
			return err
		}
		for _, r := range rows {
			text, err := s.ring.Open(ctx, r.sealed, associatedData(r.id))
			if errors.Is(err, keyring.ErrOpen) {
				s.logger.Error("an item of an answer cannot be decrypted and is left out: check the keyring")
				continue
			}
			if err != nil {
				return err
			}
			found[strings.TrimPrefix(r.id, owner+"/")] = string(text)
		}
	}
	return nil
}

// associatedData returns the associated data with which the text of a row is encrypted.
func associatedData(row string) []byte { return []byte("gateway_answer_items/" + row) }

// run writes items to the database until Close is called. After an error it tries again after retryPause.
func (s *Store) run() {
	defer close(s.stopped)
	for {
		select {
		case <-s.stop:
			return
		case <-s.wake:
		}
		for pause := gatherTime; ; pause = retryPause {
			select { // items that arrive meanwhile are in the same batch
			case <-s.stop:
				return
			case <-time.After(pause):
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			err := s.Flush(ctx)
			cancel()
			if err == nil {
				break
			}
			s.logger.Warn("items of answers wait for the database", zap.Error(err))
		}
	}
}

// Flush writes all pending items. It must not be called by two goroutines at the same time.
func (s *Store) Flush(ctx context.Context) error {
	for {
		s.mu.Lock()
		batch := s.order[:min(len(s.order), batchRows)] // Keep only appends behind these
		s.mu.Unlock()
		if len(batch) == 0 {
			return nil
		}
		if err := s.write(ctx, batch); err != nil {
			return err
		}
		s.mu.Lock()
		for _, p := range batch {
			s.bytes -= len(p.text)
			if s.pending[p.id] == p { // else Keep has replaced it meanwhile
				delete(s.pending, p.id)
			}
		}
		if s.order = s.order[len(batch):]; len(s.order) == 0 {
			s.order = nil
		}
		s.mu.Unlock()
	}
}

// write writes a batch, and deletes the oldest items of each owner that has too many.
func (s *Store) write(ctx context.Context, batch []*pendingItem) error {
	sealed := make([]string, len(batch))
	owners := make(map[string]struct{}, 1)
	for n, p := range batch {
		var err error
		if sealed[n], err = s.ring.Seal(ctx, []byte(p.text), associatedData(p.id)); err != nil {
			return err
		}
		owners[p.owner] = struct{}{}
	}
	return s.db.Write(ctx, func(c store.Conn) error {
		for n, p := range batch {
			_, err := c.Exec(`INSERT INTO gateway_answer_items (id, owner, sealed, size, expires_at) VALUES (?,?,?,?,?)
				ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed, size = excluded.size, expires_at = excluded.expires_at`,
				p.id, p.owner, sealed[n], len(p.text), schema.Micros(p.expires))
			if err != nil {
				return err
			}
		}
		for _, owner := range slices.Sorted(maps.Keys(owners)) { // in order, so that two nodes do not deadlock
			_, err := c.Exec(`DELETE FROM gateway_answer_items WHERE id IN (SELECT id FROM (
				SELECT id, row_number() OVER newest AS place, sum(size) OVER newest AS bytes FROM gateway_answer_items WHERE owner = ?
				WINDOW newest AS (ORDER BY expires_at DESC, id DESC)) AS items WHERE place > ? OR bytes > ?)`, owner, maxOwnerItems,
				maxOwnerBytes)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Close stops the goroutine and writes the pending items.
func (s *Store) Close(ctx context.Context) error {
	s.once.Do(func() { close(s.stop) })
	<-s.stopped
	return s.Flush(ctx)
}

// Expired returns a statement that deletes the items of answers that have expired; see spending.Expiry.
func Expired(now time.Time, limit int) (statement string, args []any) {
	return `DELETE FROM gateway_answer_items WHERE id IN (
		SELECT id FROM gateway_answer_items WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
		[]any{schema.Micros(now), limit}
}
