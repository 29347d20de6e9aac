package memory

import (
	"context"
	"errors"
	"io"
	"time"
)

// Share is what one body or answer has of a budget. It is for one goroutine at a
// time; the zero value has no bound.
type Share struct {
	budget *Budget
	owner  string
	size   int64
	waited time.Duration
}

// Share makes an empty share of an owner, whose large shares are half of the budget
// together at most; empty: it is nobody's, and not bound so.
func (b *Budget) Share(owner string) Share { return Share{budget: b, owner: owner} }

// Grow makes the share at least size bytes, waiting for them where there are not
// enough. Its error is ErrFull, or the cause of ctx.
func (s *Share) Grow(ctx context.Context, size int64) error {
	if s.budget == nil || size <= s.size {
		return nil
	}
	if g := (growth{s.owner, s.size, size}); !s.budget.try(g) {
		began := time.Now()
		err := s.budget.wait(ctx, g, Patience-s.waited)
		s.waited += time.Since(began)
		if err != nil {
			return err
		}
	}
	s.size = size
	return nil
}

// Free gives all of it back. It may be called again.
func (s *Share) Free() {
	if s.size > 0 {
		s.budget.give(s.owner, s.size)
		s.size = 0
	}
}

// What is made first for something of which only the length is known, or not even
// that.
const (
	firstKnown   = 64 << 10
	firstUnknown = 4 << 10
)

// ErrTooLarge is the error of what is longer than it may be.
var ErrTooLarge = errors.New("too large")

// ReadAll reads r to its end into buffer and, where that is too small, into memory
// of the share, which is made as the bytes come: a length is only a promise. size is
// the length as far as it is known, -1: not at all. What ends before it is an
// io.ErrUnexpectedEOF, what is longer than most an ErrTooLarge; without a size one
// byte more than most may be read.
func (s *Share) ReadAll(ctx context.Context, r io.Reader, buffer []byte, size, most int64) ([]byte, error) {
	if size > most {
		return buffer, ErrTooLarge
	}
	room, first := most+1, int64(firstUnknown)
	if size >= 0 {
		room, first = size, firstKnown
	}
	body := buffer[:0]
	for ended := false; int64(len(body)) < room && !ended; {
		if len(body) == cap(body) {
			grown, err := s.enlarge(ctx, body, first, room)
			if err != nil {
				return body, err
			}
			body = grown
		}
		n, err := r.Read(body[len(body):min(int64(cap(body)), room)])
		body = body[:len(body)+n]
		if ended = errors.Is(err, io.EOF); err != nil && !ended {
			return body, err
		}
	}
	switch {
	case int64(len(body)) > most:
		return body, ErrTooLarge
	case int64(len(body)) < size:
		return body, io.ErrUnexpectedEOF
	}
	return body, nil
}

// enlarge makes twice the room, and never more than what may come. What has filled the
// first room of an unknown length gets that of a known one: most need no third.
func (s *Share) enlarge(ctx context.Context, body []byte, first, room int64) ([]byte, error) {
	if len(body) >= firstUnknown {
		first = firstKnown
	}
	grown := min(max(2*int64(cap(body)), first), room)
	if err := s.Grow(ctx, grown); err != nil {
		return nil, err
	}
	return append(make([]byte, 0, grown), body...), nil
}
