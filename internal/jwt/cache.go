package jwt

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/dgraph-io/ristretto/v2"
)

const (
	// verifiedTTL is how long a signature is not checked again.
	verifiedTTL = time.Minute
	// verifiedBytes bounds what is remembered of verified tokens.
	verifiedBytes = 16 << 20
)

// Verify checks a token and tells what to remember of it, how much memory that
// takes, in bytes, and until when it may be remembered.
type Verify[T any] func(ctx context.Context, text string) (value T, size int64, until time.Time, err error)

// Cache remembers what was verified, for a minute at most and in at most 16 MB, by
// the start of a token's SHA-256. A request may outlive the cache, and the
// library's cache must not be used while it is closed or later: hence the lock.
type Cache[T any] struct {
	verify Verify[T]
	now    func() time.Time

	mu    sync.RWMutex
	cache *ristretto.Cache[uint64, *remembered[T]] // nil: closed
}

// remembered is a token that passed.
type remembered[T any] struct {
	sum   [sha256.Size]byte
	until time.Time
	value T
}

// NewCache makes a cache before verify.
func NewCache[T any](now func() time.Time, verify Verify[T]) (*Cache[T], error) {
	cache, err := ristretto.NewCache(&ristretto.Config[uint64, *remembered[T]]{
		NumCounters: 200_000, MaxCost: verifiedBytes, BufferItems: 64, IgnoreInternalCost: true,
	})
	if err != nil {
		return nil, fmt.Errorf("making the token cache: %w", err)
	}
	return &Cache[T]{verify: verify, now: now, cache: cache}, nil
}

// Verify checks a token, or remembers that it was good a moment ago.
func (c *Cache[T]) Verify(ctx context.Context, text string) (T, error) {
	var none T
	if len(text) > maxToken {
		return none, ErrLong
	}
	sum := sha256.Sum256([]byte(text))
	slot, now := binary.BigEndian.Uint64(sum[:]), c.now()
	if v, ok := c.get(slot); ok && v.sum == sum && now.Before(v.until) {
		return v.value, nil
	}
	value, size, until, err := c.verify(ctx, text)
	if err != nil {
		return none, err
	}
	if most := now.Add(verifiedTTL); most.Before(until) {
		until = most
	}
	if ttl := until.Sub(now); ttl > 0 { // else it lives in its leeway
		c.set(slot, &remembered[T]{sum, until, value}, size, ttl)
	}
	return value, nil
}

func (c *Cache[T]) get(slot uint64) (*remembered[T], bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.cache == nil {
		return nil, false
	}
	return c.cache.Get(slot)
}

func (c *Cache[T]) set(slot uint64, v *remembered[T], size int64, ttl time.Duration) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.cache != nil {
		c.cache.SetWithTTL(slot, v, size, ttl)
	}
}

// Close forgets everything. From then on each check is a real one.
func (c *Cache[T]) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cache != nil {
		c.cache.Close()
		c.cache = nil
	}
}
