package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurns checks that callers run in the order in which they came, but never together with a caller of the same name,
// and never more than the limit at once.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(2)
		var (
			callers sync.WaitGroup
			begun   []string
			ends    = make(map[string]chan struct{})
		)
		for _, id := range []string{"a1", "a2", "a3", "b1", "c1", "a4"} {
			end := make(chan struct{})
			ends[id] = end
			callers.Go(func() {
				mine, err := turns.take(t.Context(), id[:1])
				if err != nil {
					t.Errorf("%s got no turn: %v", id, err)
					return
				}
				begun = append(begun, id)
				<-end
				mine.end()
				mine.end() // has no effect
			})
			synctest.Wait()
		}
		for _, step := range []struct {
			end  string
			want []string
		}{
			{"", []string{"a1", "b1"}},
			{"b1", []string{"a1", "b1", "c1"}}, // a2 and a3 let b1 pass
			{"a1", []string{"a1", "b1", "c1", "a2"}},
			{"c1", []string{"a1", "b1", "c1", "a2"}},
			{"a2", []string{"a1", "b1", "c1", "a2", "a3"}},
			{"a3", []string{"a1", "b1", "c1", "a2", "a3", "a4"}},
		} {
			if step.end != "" {
				close(ends[step.end])
			}
			synctest.Wait()
			if !slices.Equal(begun, step.want) {
				t.Errorf("after the end of %q: begun are %v, want %v", step.end, begun, step.want)
			}
		}
		close(ends["a4"])
		callers.Wait()
		if turns.free != 2 || len(turns.running) != 0 || turns.waiting.Len() != 0 {
			t.Errorf("left are: %d free, %v, %d waiting", turns.free, turns.running, turns.waiting.Len())
		}
	})
}

// TestTurnsThatTakeLong checks that a turn that takes long no longer counts against the limit, but still keeps its
// name.
func TestTurnsThatTakeLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1)
		take := func(name string) *activeTurn {
			mine, err := turns.take(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			return mine
		}
		began := time.Now()
		long := take("a")
		other := take("b")
		if waited := time.Since(began); waited != countedTime {
			t.Errorf("the second waited %v, want %v", waited, countedTime)
		}
		var next *activeTurn
		go func() { next = take("a") }()
		other.end()
		synctest.Wait()
		if next != nil {
			t.Error("two of the same name run at once")
		}
		take("c").end()
		long.end()
		synctest.Wait()
		if next == nil {
			t.Fatal("the next of the name has no turn")
		}
		next.end()
		time.Sleep(2 * countedTime)
		if turns.free != 1 || len(turns.running) != 0 {
			t.Errorf("left are: %d free, %v", turns.free, turns.running)
		}
	})
}

// TestTurnsWaiterLeaves checks that a caller that leaves while it waits delays nobody.
func TestTurnsWaiterLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1)
		first, err := turns.take(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error)
		go func() {
			_, err := turns.take(ctx, "b")
			result <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		first.end()
		last, err := turns.take(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		last.end()
	})
}
