package store

import (
	"errors"
	"sync"
)

var errRoundLost = errors.New("what others waited for was given up")

// rounds lets callers that wait for the same work share it: one run counts for all callers that came before it began.
type rounds struct {
	mu    sync.Mutex
	next  *round        // the round that new callers join; nil if there is none
	going chan struct{} // a semaphore: one round runs at a time
}

func newRounds() *rounds { return &rounds{going: make(chan struct{}, 1)} }

type round struct {
	over chan struct{}
	err  error
}

// join returns the result of a run of do that began after the call, by this caller or another. A caller that waits for
// another's run calls idle first.
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
	defer close(mine.over) // also in a panic
	r.mu.Lock()
	r.next = nil
	r.mu.Unlock()
	mine.err = do()
	return mine.err
}
