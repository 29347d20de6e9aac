package wire

import "sync/atomic"

// Lease counts the users of the memory of a body, so that the memory can be reused once nobody needs it.
type Lease struct {
	holders atomic.Int32
	kept    atomic.Bool
	end     func(reuse bool)
}

// NewLease returns a lease with one holder. When the last holder gives it back, end is called. reuse reports whether
// the memory may be reused at once.
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

// Keep leaves the memory to the garbage collector, because parts of it are in use without a lease.
func (l *Lease) Keep() {
	if l != nil {
		l.kept.Store(true)
	}
}

// Give ends the hold of one holder. A nil lease counts nothing.
func (l *Lease) Give() {
	if l != nil && l.holders.Add(-1) == 0 {
		l.end(!l.kept.Load())
	}
}
