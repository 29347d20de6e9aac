package kernel

import (
	"context"
	"errors"
	"testing"
)

func TestBatch(t *testing.T) {
	t.Parallel()
	var wrote, lost int
	failing := errors.New("no")
	var fail error
	b := NewBatch(func(ctx context.Context, rows []int) error {
		if err := ctx.Err(); err != nil {
			t.Errorf("a cancelled request ends the rows of other requests: %v", err)
		}
		if len(rows) > batchRows {
			t.Errorf("%d rows at once", len(rows))
		}
		if fail == nil {
			wrote += len(rows)
		}
		return fail
	}, func(rows []int, err error) {
		if !errors.Is(err, failing) {
			t.Error(err)
		}
		lost += len(rows)
	})
	for i := range maxBatch + 10 {
		if b.Add(i) != (i < maxBatch) {
			t.Fatalf("row %d", i)
		}
	}
	if err := b.Flush(t.Context()); err != nil || wrote != maxBatch {
		t.Errorf("%d written, error %v", wrote, err)
	}
	fail = failing
	b.Add(1)
	if err := b.Flush(t.Context()); !errors.Is(err, failing) || lost != 1 {
		t.Errorf("%d lost, error %v", lost, err)
	}
	fail = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.Add(1)
	b.Run(ctx) // writes the remaining rows
	if wrote != maxBatch+1 {
		t.Errorf("%d written", wrote)
	}
}
