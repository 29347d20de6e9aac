package wire

import "sync/atomic"

// Lease counts who still needs the memory of a body, so that it can be used
// again once nobody does.
type Lease struct {
	holders atomic.Int32
	kept    atomic.Bool
	end     func(reuse bool)
}

// NewLease returns a lease with one holder; end runs when the last one gives
// it back. reuse tells whether the memory may be used again at once.
func NewLease(end func(reuse bool)) *Lease {
	l := &Lease{end: end}
	l.holders.Store(1)
	return l
}

// Take adds a holder. A nil lease counts nothing.
func (l *Lease) Take() {
	if l != nil {
		l.holders.Add(1)
	}
}

// Keep leaves the memory to the garbage collector: parts of it are in use that
// nobody holds a lease for.
func (l *Lease) Keep() {
	if l != nil {
		l.kept.Store(true)
	}
}

// Give ends the hold of one holder.
func (l *Lease) Give() {
	if l != nil && l.holders.Add(-1) == 0 {
		l.end(!l.kept.Load())
	}
}
