package jobs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestRunner checks that a job continues after errors and while the database is down, with growing pauses, and ends on
// request.
func TestRunner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.DebugLevel)
		begun := time.Now()
		var times []time.Duration
		var outcomes []string
		results := []error{ErrNotNow, store.ErrOpening, nil, errors.New("broken"), store.ErrUnavailable, store.ErrUnavailable, store.ErrUnavailable, store.ErrUnavailable, nil, store.ErrUnavailable, nil}
		ended := make(chan struct{})
		r := New(Options{
			Jobs: []Job{{Name: "test", Every: 5 * time.Second, Run: func(context.Context) (int, error) {
				err := results[0]
				if results = results[1:]; len(results) == 0 {
					close(ended)
				}
				times = append(times, time.Since(begun))
				return 2, err
			}}},
			Observe: func(job, outcome string, done int) {
				if job != "test" || done != 2 {
					t.Errorf("%s did %d", job, done)
				}
				outcomes = append(outcomes, outcome)
			},
			Logger: func() *zap.Logger { return zap.New(core) },
		})
		end := r.Start()
		<-ended
		synctest.Wait()
		end()
		pauses := make([]string, 0, len(times))
		for i := range len(times) - 1 {
			pauses = append(pauses, (times[i+1] - times[i]).String())
		}
		// The ticker continues meanwhile, so a missed tick arrives at once.
		if got, want := strings.Join(pauses, " "), "1s 1s 3s 5s 1s 2s 4s 5s 0s 1s"; got != want {
			t.Errorf("pauses %s, want %s", got, want)
		}
		if got, want := strings.Join(outcomes, " "), "ok error unavailable unavailable unavailable unavailable ok unavailable ok"; got != want {
			t.Errorf("outcomes %s, want %s", got, want)
		}
		for message, n := range map[string]int{"job failed": 1, "background jobs wait for the database": 2, "background jobs continue": 2, "job done": 3} {
			if got := logs.FilterMessage(message).Len(); got != n {
				t.Errorf("%q is logged %d times, want %d", message, got, n)
			}
		}
	})
}

// TestWake checks that a job that is woken runs before its time, and only once for all wake-ups before it begins.
func TestWake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{}, 1)
		runs := 0
		wake <- struct{}{}
		end := New(Options{Jobs: []Job{{Every: time.Hour, Wake: wake, Run: func(context.Context) (int, error) { runs++; return 0, nil }}}}).Start()
		for want := 1; want < 4; want++ {
			synctest.Wait()
			if runs != want {
				t.Errorf("%d runs, want %d", runs, want)
			}
			wake <- struct{}{}
		}
		end()
	})
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	got := make([]string, 0, 10)
	for n := range int64(10) {
		got = append(got, Backoff(n).String())
	}
	if want := "30s 30s 1m0s 2m0s 4m0s 8m0s 16m0s 32m0s 1h0m0s 1h0m0s"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	if Backoff(1<<40) != Backoff(9) {
		t.Error("the pause is not bounded")
	}
}
