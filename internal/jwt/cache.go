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
	// verifiedTTL is how long the result of a verification is used.
	verifiedTTL = time.Minute
	// verifiedBytes limits the memory for the results of verifications, in bytes.
	verifiedBytes = 16 << 20
)

// Verify checks the text of a token. It returns the value to cache, its size in bytes, and the time at which
// the value expires.
type Verify[T any] func(ctx context.Context, text string) (value T, size int64, expiry time.Time, err error)

// Cache caches the results of a Verify function. The key is the first bytes of the token's SHA-256. Each result is
// cached for at most a minute, and all together take at most 16 MB. The lock is needed because a request may outlive
// the cache, and the library's cache must not be used during or after its Close.
type Cache[T any] struct {
	verify Verify[T]
	now    func() time.Time

	mu    sync.RWMutex
	cache *ristretto.Cache[uint64, *remembered[T]] // nil once closed
}

// remembered is the result of verifying a token.
type remembered[T any] struct {
	sum    [sha256.Size]byte // of the token
	expiry time.Time         // when the result stops to be valid
	value  T
}

// NewCache makes a cache in front of verify. now returns the time.
func NewCache[T any](now func() time.Time, verify Verify[T]) (*Cache[T], error) {
	cache, err := ristretto.NewCache(&ristretto.Config[uint64, *remembered[T]]{
		NumCounters: 200_000, MaxCost: verifiedBytes, BufferItems: 64, IgnoreInternalCost: true,
	})
	if err != nil {
		return nil, fmt.Errorf("creating the token cache: %w", err)
	}
	return &Cache[T]{verify: verify, now: now, cache: cache}, nil
}

// Verify checks a token, or returns the cached value if it was verified before.
func (c *Cache[T]) Verify(ctx context.Context, text string) (T, error) {
	var zero T
	if len(text) > maxToken {
		return zero, ErrLong
	}
	sum := sha256.Sum256([]byte(text))
	slot, now := binary.BigEndian.Uint64(sum[:]), c.now()
	if v, ok := c.get(slot); ok && v.sum == sum && now.Before(v.expiry) {
		return v.value, nil
	}
	value, size, expiry, err := c.verify(ctx, text)
	if err != nil {
		return zero, err
	}
	if latest := now.Add(verifiedTTL); latest.Before(expiry) {
		expiry = latest
	}
	if ttl := expiry.Sub(now); ttl > 0 { // otherwise the token has expired, but is still accepted within the leeway
		c.set(slot, &remembered[T]{sum, expiry, value}, size, ttl)
	}
	return value, nil
}

// get returns the cached result with a key.
func (c *Cache[T]) get(slot uint64) (*remembered[T], bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.cache == nil {
		return nil, false
	}
	return c.cache.Get(slot)
}

// set caches a result. It does nothing once the cache is closed.
func (c *Cache[T]) set(slot uint64, v *remembered[T], size int64, ttl time.Duration) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.cache != nil {
		c.cache.SetWithTTL(slot, v, size, ttl)
	}
}

// Close empties the cache. From then on every token is verified anew. Close may be called more than once.
func (c *Cache[T]) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cache != nil {
		c.cache.Close()
		c.cache = nil
	}
}
