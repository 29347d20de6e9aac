package store

import (
	"errors"
	"sync"
)

var errRoundLost = errors.New("what others waited for was given up")

// rounds has those who wait for the same share it: what one of them does counts for
// all who came before it began.
type rounds struct {
	mu    sync.Mutex
	next  *round        // for those who come now; nil: nobody has
	going chan struct{} // one at a time
}

func newRounds() *rounds { return &rounds{going: make(chan struct{}, 1)} }

type round struct {
	over chan struct{}
	err  error
}

// join returns what do returned that was begun after the call: its own, or that of
// another caller. Who waits for another calls idle first.
func (r *rounds) join(do func() error, idle func()) error {
	r.mu.Lock()
	mine, leads := r.next, r.next == nil
	if leads {
		mine = &round{over: make(chan struct{}), err: errRoundLost}
		r.next = mine
	}
	r.mu.Unlock()
	if !leads {
		idle()
		<-mine.over
		return mine.err
	}
	r.going <- struct{}{}
	defer func() { <-r.going }()
	defer close(mine.over) // in a panic too
	r.mu.Lock()
	r.next = nil
	r.mu.Unlock()
	mine.err = do()
	return mine.err
}
