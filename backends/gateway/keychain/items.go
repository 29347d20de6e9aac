package keychain

import (
	"context"
	"errors"
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
	maxItem         = 1 << 20  // bytes of an item; longer ones are not kept
	maxItemID       = 200      // bytes
	maxOwnerItems   = 5_000    // items of an owner
	maxOwnerBytes   = 32 << 20 // bytes of all items of an owner
	maxItemsPending = 64 << 20 // bytes that wait to be written; beyond that, new items are not kept
	itemsBatch      = 200      // rows per transaction
)

// Delays between the nodes. Items are written within itemsGather. A node that does not find an item looks again for
// somewhat longer than that.
const (
	itemsGather = 20 * time.Millisecond
	itemsAgain  = 150 * time.Millisecond
	itemsLooks  = 6
	itemsRetry  = time.Second // after an error of the database
)

// Item is an item of the output of a response, such as a message or a reasoning item.
type Item struct {
	// ID is the id by which the client knows the item.
	ID string
	// Text is the item as JSON text.
	Text string
}

// Items stores the items of answers for a time, sealed, so that clients can refer to them in their next requests. Each
// item belongs to an owner, such as a gateway key, and is found only by its owner. Keep returns at once, and this node
// finds the item from then on. A goroutine writes the items to the database, from which the other nodes read them. A
// nil *Items stores nothing. The methods may be called by several goroutines, except Flush.
type Items struct {
	service *Service
	logger  *zap.Logger

	mu      sync.Mutex
	pending map[string]*pendingItem // by row id; not in the database yet
	order   []*pendingItem          // the oldest first
	bytes   int                     // of pending
	full    bool                    // items were refused, which is logged once

	wake, stop, stopped chan struct{}
	once                sync.Once
}

// pendingItem is a row that waits to be written.
type pendingItem struct {
	id, owner, text string
	expires         time.Time
}

// NewItems returns an Items and starts the goroutine that writes to the database. Close stops it.
func NewItems(s *Service, logger *zap.Logger) *Items {
	i := &Items{
		service: s, logger: logger, pending: make(map[string]*pendingItem),
		wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	go i.run()
	return i
}

// itemRow returns the primary key of an item's row.
func itemRow(owner, id string) string { return owner + "/" + id }

func storableItem(id string) bool { return id != "" && len(id) <= maxItemID && schema.StorableID(id) }

// Keep stores an item of an owner for the duration ttl. It never blocks. An item that exceeds the limits is dropped.
func (i *Items) Keep(owner string, item Item, ttl time.Duration) {
	if i == nil || ttl <= 0 || owner == "" || !schema.StorableID(owner) || !storableItem(item.ID) ||
		len(item.Text) > maxItem {
		return
	}
	p := &pendingItem{id: itemRow(owner, item.ID), owner: owner, text: item.Text, expires: i.service.now().Add(ttl)}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.bytes+len(p.text) > maxItemsPending {
		if !i.full {
			i.logger.Warn("items of answers are not kept, too many wait for the database")
		}
		i.full = true
		return
	}
	i.full = false
	i.pending[p.id] = p
	i.order = append(i.order, p)
	i.bytes += len(p.text)
	select {
	case i.wake <- struct{}{}:
	default:
	}
}

// Find returns the owner's stored items with the given ids, as a map from id to text. Another node may be about to
// write a missing item, so Find looks again for up to a second. Its errors wrap store.ErrUnavailable while the database
// cannot be reached.
func (i *Items) Find(ctx context.Context, owner string, ids []string) (map[string]string, error) {
	found := make(map[string]string, len(ids))
	if i == nil || owner == "" || !schema.StorableID(owner) {
		return found, nil
	}
	var missing []string
	i.mu.Lock()
	for _, id := range ids {
		if p := i.pending[itemRow(owner, id)]; p != nil {
			found[id] = p.text
		} else if storableItem(id) {
			missing = append(missing, id)
		}
	}
	i.mu.Unlock()
	for look := 1; len(missing) > 0; look++ {
		if err := i.read(ctx, owner, missing, found); err != nil {
			return nil, err
		}
		missing = notIn(found, missing)
		if len(missing) == 0 || look == itemsLooks {
			break
		}
		select {
		case <-time.After(itemsAgain):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return found, nil
}

func notIn(found map[string]string, ids []string) (missing []string) {
	for _, id := range ids {
		if _, ok := found[id]; !ok {
			missing = append(missing, id)
		}
	}
	return missing
}

// read looks up ids of an owner in the database and adds the items to found.
func (i *Items) read(ctx context.Context, owner string, ids []string, found map[string]string) error {
	return store.InTime(ctx, func(ctx context.Context) error { return i.readAll(ctx, owner, ids, found) })
}

func (i *Items) readAll(ctx context.Context, owner string, ids []string, found map[string]string) error {
	type row struct{ id, sealed string }
	now := schema.Micros(i.service.now())
	for len(ids) > 0 {
		part := ids[:min(len(ids), itemsBatch)]
		ids = ids[len(part):]
		args := make([]any, 0, len(part)+1)
		for _, id := range part {
			args = append(args, itemRow(owner, id))
		}
		rows, err := read(ctx, i.service, func(cells store.Row) (r row, err error) { return r, cells.Scan(&r.id, &r.sealed) },
			`SELECT id, sealed FROM gateway_answer_items WHERE id IN (?`+strings.Repeat(",?", len(part)-1)+
				`) AND expires_at > ?`, append(args, now)...)
		if err != nil {
			return err
		}
		for _, r := range rows {
			text, err := i.service.ring.Open(ctx, r.sealed, itemAssociated(r.id))
			if errors.Is(err, keyring.ErrOpen) {
				i.logger.Error("item of an answer cannot be opened, it is left out; check the keyring")
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

func itemAssociated(row string) []byte { return []byte("gateway_answer_items/" + row) }

func (i *Items) run() {
	defer close(i.stopped)
	for {
		pause := itemsGather
		select {
		case <-i.stop:
			return
		case <-i.wake:
		}
		for {
			select { // what arrives in the meantime is written in the same batch
			case <-i.stop:
				return
			case <-time.After(pause):
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			err := i.Flush(ctx)
			cancel()
			if err == nil {
				break
			}
			i.logger.Warn("items of answers wait for the database", zap.Error(err))
			pause = itemsRetry
		}
	}
}

// Flush writes all pending items. It must not be called by two goroutines at the same time.
func (i *Items) Flush(ctx context.Context) error {
	for {
		i.mu.Lock()
		batch := i.order[:min(len(i.order), itemsBatch)]
		i.mu.Unlock()
		if len(batch) == 0 {
			return nil
		}
		if err := i.write(ctx, batch); err != nil {
			return err
		}
		i.mu.Lock()
		for _, p := range batch {
			i.bytes -= len(p.text)
			if i.pending[p.id] == p {
				delete(i.pending, p.id)
			}
		}
		if i.order = i.order[len(batch):]; len(i.order) == 0 {
			i.order = nil
		}
		i.mu.Unlock()
	}
}

// write writes a batch, and deletes the oldest items of each owner that has too many.
func (i *Items) write(ctx context.Context, batch []*pendingItem) error {
	sealed := make([]string, len(batch))
	owners := make(map[string]struct{}, 1)
	for n, p := range batch {
		var err error
		if sealed[n], err = i.service.ring.Seal(ctx, []byte(p.text), itemAssociated(p.id)); err != nil {
			return err
		}
		owners[p.owner] = struct{}{}
	}
	return i.service.db.Write(ctx, func(c store.Conn) error {
		for n, p := range batch {
			_, err := c.Exec(`INSERT INTO gateway_answer_items (id, owner, sealed, size, expires_at) VALUES (?,?,?,?,?)
				ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed, size = excluded.size, expires_at = excluded.expires_at`,
				p.id, p.owner, sealed[n], len(p.text), schema.Micros(p.expires))
			if err != nil {
				return err
			}
		}
		for owner := range owners {
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
func (i *Items) Close(ctx context.Context) error {
	i.once.Do(func() { close(i.stop) })
	<-i.stopped
	return i.Flush(ctx)
}

// ExpiredItems returns a statement that deletes the items of answers that have expired; see spending.Expiry.
func ExpiredItems(now time.Time, limit int) (statement string, args []any) {
	return `DELETE FROM gateway_answer_items WHERE id IN (
		SELECT id FROM gateway_answer_items WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
		[]any{schema.Micros(now), limit}
}
