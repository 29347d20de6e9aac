package wire

import "sync/atomic"

// Lease counts the users (holders) of a body's memory, so that the memory can be reused after the last of them.
type Lease struct {
	holders  atomic.Int32
	retained atomic.Bool // Keep was called
	end      func(reuse bool)
}

// NewLease returns a lease with one holder. end is called when the last holder calls Give. reuse is false if Keep was
// called, so that the memory must not be reused.
func NewLease(end func(reuse bool)) *Lease {
	l := &Lease{end: end}
	l.holders.Store(1)
	return l
}

// Take adds a holder. The caller must be a holder, so that the lease cannot end meanwhile. On a nil lease Take does
// nothing.
func (l *Lease) Take() {
	if l != nil {
		l.holders.Add(1)
	}
}

// Keep leaves the memory to the garbage collector in the end, because parts of it are in use without a lease. The
// caller must be a holder. On a nil lease Keep does nothing.
func (l *Lease) Keep() {
	if l != nil {
		l.retained.Store(true)
	}
}

// Give removes a holder, and ends the lease with the last one. On a nil lease it does nothing.
func (l *Lease) Give() {
	if l != nil && l.holders.Add(-1) == 0 {
		l.end(!l.retained.Load())
	}
}
