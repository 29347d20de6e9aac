package memory

import (
	"context"
	"errors"
	"io"
	"time"
)

// Share is the part of a budget that one body or answer takes. It must be used by one goroutine at a time. The zero
// value has no limit.
type Share struct {
	budget *Budget
	owner  string
	size   int64
	waited time.Duration // in all calls of Grow
}

// Share returns an empty share of an owner, whose large shares together may take at most half of the budget. An empty
// owner has no such limit.
func (b *Budget) Share(owner string) Share { return Share{budget: b, owner: owner} }

// Grow grows the share to at least size bytes, and waits if they are not free. The error is ErrFull, or the cause of
// ctx.
func (s *Share) Grow(ctx context.Context, size int64) error {
	if s.budget == nil || size <= s.size {
		return nil
	}
	if g := (growth{s.owner, s.size, size}); !s.budget.tryGrow(g) {
		start := time.Now()
		err := s.budget.wait(ctx, g, Patience-s.waited)
		s.waited += time.Since(start)
		if err != nil {
			return err
		}
	}
	s.size = size
	return nil
}

// Free returns all bytes of the share to the budget. It may be called repeatedly.
func (s *Share) Free() {
	if s.size > 0 {
		s.budget.release(s.owner, s.size)
		s.size = 0
	}
}

// Sizes of the first allocation, with and without a known length.
const (
	firstKnown   = 64 << 10
	firstUnknown = 4 << 10
)

// ErrTooLarge means that a text is longer than its limit.
var ErrTooLarge = errors.New("too large")

// ReadAll reads r to its end into buffer and, if that is too small, into memory of the share. It allocates as the bytes
// arrive, because a stated length may be false. size is the length if it is known, or -1. With a size, ReadAll reads no
// further, as the body of an HTTP message ends there. ReadAll returns io.ErrUnexpectedEOF if r ends before size, and
// ErrTooLarge if size, or the length of r without a size, is more than limit. Without a size it may read one byte more
// than limit.
func (s *Share) ReadAll(ctx context.Context, r io.Reader, buffer []byte, size, limit int64) ([]byte, error) {
	if size > limit {
		return buffer, ErrTooLarge
	}
	maxSize := limit + 1 // one byte more shows that the text is too large
	firstAllocation := int64(firstUnknown)
	if size >= 0 {
		maxSize, firstAllocation = size, firstKnown
	}
	body := buffer[:0]
	for ended := false; int64(len(body)) < maxSize && !ended; {
		if len(body) == cap(body) {
			grown, err := s.enlarge(ctx, body, firstAllocation, maxSize)
			if err != nil {
				return body, err
			}
			body = grown
		}
		n, err := r.Read(body[len(body):min(int64(cap(body)), maxSize)])
		body = body[:len(body)+n]
		ended = errors.Is(err, io.EOF)
		if err != nil && !ended {
			return body, err
		}
	}
	switch {
	case int64(len(body)) > limit:
		return body, ErrTooLarge
	case int64(len(body)) < size:
		return body, io.ErrUnexpectedEOF
	}
	return body, nil
}

// enlarge copies body to a slice with twice its capacity, but at least minSize and at most maxSize bytes. A body of
// unknown length that has filled its first allocation then gets firstKnown bytes, so that most bodies need no third
// allocation.
func (s *Share) enlarge(ctx context.Context, body []byte, minSize, maxSize int64) ([]byte, error) {
	if len(body) >= firstUnknown {
		minSize = firstKnown
	}
	newSize := min(max(2*int64(cap(body)), minSize), maxSize)
	if err := s.Grow(ctx, newSize); err != nil {
		return nil, err
	}
	return append(make([]byte, 0, newSize), body...), nil
}
