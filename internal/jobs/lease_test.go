package jobs

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

var databases = storetest.Fixture{Schemas: []store.Schema{Schema("test")}}

// TestLease checks that one process works at a time, and that another takes over when the first does not renew its
// lease.
func TestLease(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		now := time.Now()
		lease := func(holder string) *Lease {
			return &Lease{DB: db, Table: "test_leases", Name: "work", Holder: holder, Every: time.Hour, Lasts: 10 * time.Minute, Now: func() time.Time { return now }}
		}
		first, other := lease("one"), lease("other")
		failing := errors.New("broken")
		ran := 0
		attempt := func(l *Lease, retake bool, fails, want error) {
			t.Helper()
			before := ran
			err := l.Do(t.Context(), retake, func(context.Context) error { ran++; return fails })
			if !errors.Is(err, want) || (ran > before) != !errors.Is(want, ErrHeld) {
				t.Errorf("error %v, want %v; %d runs", err, want, ran-before)
			}
		}
		hold := func(l *Lease, want error) {
			t.Helper()
			if err := db.Write(t.Context(), l.Hold); !errors.Is(err, want) {
				t.Errorf("holding: error %v, want %v", err, want)
			}
		}
		attempt(first, false, nil, nil)
		attempt(first, false, nil, ErrHeld) // the job is not due yet
		attempt(first, true, nil, nil)
		attempt(other, true, nil, ErrHeld)
		now = now.Add(time.Hour)
		attempt(other, false, failing, failing)
		hold(first, ErrHeld)
		attempt(first, true, nil, ErrHeld)
		now = now.Add(9 * time.Minute)
		hold(other, nil)
		now = now.Add(9 * time.Minute)
		attempt(first, false, nil, ErrHeld)
		now = now.Add(time.Minute)
		attempt(first, false, nil, nil)
		now = now.Add(-1000 * time.Hour) // the clock was wrong
		attempt(other, false, nil, nil)
		// A process that lost its lease during the run does not record that the job is done.
		err := other.Do(t.Context(), true, func(ctx context.Context) error {
			now = now.Add(24 * time.Hour)
			return first.Do(ctx, false, func(context.Context) error { return nil })
		})
		if !errors.Is(err, ErrHeld) {
			t.Errorf("got the error %v, want %v", err, ErrHeld)
		}
	})
}

// TestLeaseUnavailable checks that a run that was woken or had begun while the database was unavailable is repeated as
// soon as the database is available, since this process holds the lease.
func TestLeaseUnavailable(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		lease := &Lease{DB: db, Table: "test_leases", Name: "work", Holder: "one", Every: time.Hour, Lasts: time.Hour}
		if err := lease.Do(t.Context(), false, func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
		wake := make(chan struct{}, 1)
		wake <- struct{}{}
		runs(t, lease, wake, store.ErrOpening, ErrNotNow, store.ErrUnavailable, nil)
	})
}

// TestLeaseAfterFailedRun checks that after a failed run the process tries again when the job is due, and does not wait
// until its lease ends.
func TestLeaseAfterFailedRun(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		lease := &Lease{DB: db, Table: "test_leases", Name: "work", Holder: "one", Every: time.Hour, Lasts: time.Hour}
		runs(t, lease, nil, errors.New("broken"), errors.New("still"), nil)
	})
}

// runs executes a job under a lease until the job has returned each of the results, one per run. It fails the test if
// the runs do not follow each other long before the lease ends.
func runs(t *testing.T, lease *Lease, wake <-chan struct{}, results ...error) {
	t.Helper()
	ended := make(chan struct{})
	end := New(Options{
		Jobs: []Job{{Every: time.Millisecond, Wake: wake, Lease: lease, Run: func(context.Context) (int, error) {
			err := results[0]
			if results = results[1:]; len(results) == 0 {
				close(ended)
			}
			return 0, err
		}}},
		Logger: zap.NewNop,
	}).Start()
	defer end()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("the runs wait for the end of the lease")
	}
}
