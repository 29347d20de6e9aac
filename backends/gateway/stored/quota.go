package stored

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// How long the total size of an owner's stored objects is cached: sizeTTL while the owner has room left, and fullTTL
// while there is none. Data that this process stores meanwhile is added to the cached size. Data that other nodes store
// is not.
const (
	sizeTTL  = time.Minute
	fullTTL  = time.Second
	maxSizes = 10_000 // number of cached sizes
)

// cachedSize is the cached total size of an owner's stored objects.
type cachedSize struct {
	bytes int64
	read  time.Time // when the size was read
}

// codeFull is the code of the error for an owner whose quota is used up.
const codeFull = "storage_full"

// storageFull returns the error for an owner whose quota is used up.
func storageFull(owner string, o *Options) *apierror.Error {
	kind, _, _ := strings.Cut(owner, " ")
	e := apierror.New(http.StatusBadRequest, codeFull,
		"the storage of this %s is full: it may store %s of responses and conversations; delete some "+
			`(DELETE /v1/responses/{id}, /v1/conversations/{id}), or send "store": false`,
		kind, humanize.IBytes(uint64(max(o.Quota, 0))))
	e.NoRetry = true
	return e
}

// checkRoom returns an error with status 400 if size more bytes would exceed an owner's quota, or an error of the
// database.
func (s *Service) checkRoom(ctx context.Context, owner string, size int64, o *Options) error {
	now := s.now()
	s.mu.Lock()
	stored, ok := s.sizes[owner]
	s.mu.Unlock()
	ttl := sizeTTL
	if stored.bytes+size > o.Quota {
		ttl = fullTTL
	}
	if !ok || now.Sub(stored.read) >= ttl {
		var err error
		if stored.bytes, err = s.readSize(ctx, owner); err != nil {
			return err
		}
		stored.read = now
		s.mu.Lock()
		if len(s.sizes) >= maxSizes {
			clear(s.sizes)
		}
		s.sizes[owner] = stored
		s.mu.Unlock()
	}
	if stored.bytes+size > o.Quota {
		return storageFull(owner, o)
	}
	return nil
}

// addSize adds size bytes to the cached size of an owner's stored objects.
func (s *Service) addSize(owner string, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stored, ok := s.sizes[owner]; ok {
		stored.bytes += size
		s.sizes[owner] = stored
	}
}

// forgetSize discards the cached size of an owner's stored objects, since some were deleted.
func (s *Service) forgetSize(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sizes, owner)
}

// readSize reads the total size of an owner's stored objects: responses, the events of streams that can be resumed, and
// items of conversations.
func (s *Service) readSize(ctx context.Context, owner string) (total int64, err error) {
	err = s.read(ctx, func(c store.Conn) error {
		for _, table := range [...]string{
			`gateway_responses WHERE owner = ?`, `gateway_response_events WHERE owner = ?`,
			`gateway_conversation_items WHERE conversation IN (SELECT id FROM gateway_conversations WHERE owner = ?)`,
		} {
			var size int64
			if err := c.Row(`SELECT CAST(coalesce(sum(size), 0) AS BIGINT) FROM `+table, owner).Scan(&size); err != nil {
				return err
			}
			total += size
		}
		return nil
	})
	return total, err
}
