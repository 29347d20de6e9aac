package store

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// TestRounds checks that callers that arrive during a round share the next one and its error, and that none gets the
// result of a round that began before.
func TestRounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			r       = newRounds()
			waiters sync.WaitGroup
			calls   int
			failed  = errors.New("failed")
			first   = make(chan struct{})
			idlers  int
			idle    = func() { idlers++ }
		)
		waiters.Go(func() {
			if err := r.join(func() error { <-first; return nil }, idle); err != nil {
				t.Errorf("the first: %v", err)
			}
		})
		synctest.Wait()
		for range 5 {
			waiters.Go(func() {
				if err := r.join(func() error { calls++; return failed }, idle); !errors.Is(err, failed) {
					t.Errorf("of the second round: %v", err)
				}
			})
			synctest.Wait()
		}
		if calls != 0 {
			t.Error("two rounds go on at a time")
		}
		if idlers != 4 {
			t.Errorf("%d wait for another caller, want 4", idlers)
		}
		close(first)
		waiters.Wait()
		if calls != 1 {
			t.Errorf("5 who waited called %d times, want once", calls)
		}
		if err := r.join(func() error { return nil }, idle); err != nil {
			t.Errorf("after a round that failed: %v", err)
		}
	})
}
