package wire

import "sync/atomic"

// Lease counts who still needs the memory of a body, so that it can be used
// again once nobody does.
type Lease struct {
	holders atomic.Int32
	end     func()
}

// NewLease returns a lease with one holder; end runs when the last one gives
// it back.
func NewLease(end func()) *Lease {
	l := &Lease{end: end}
	l.holders.Store(1)
	return l
}

// take adds a holder. A nil lease counts nothing.
func (l *Lease) take() {
	if l != nil {
		l.holders.Add(1)
	}
}

// Give ends the hold of one holder.
func (l *Lease) Give() {
	if l != nil && l.holders.Add(-1) == 0 {
		l.end()
	}
}
