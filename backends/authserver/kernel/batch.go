package kernel

import (
	"context"
	"sync"
	"time"
)

const (
	// batchMost bounds what waits to be written.
	batchMost = 10_000
	// batchRows is how much is written in one transaction.
	batchRows = 500
	// batchPause is how long what comes is gathered.
	batchPause = 100 * time.Millisecond
)

// Batch gathers rows that nothing depends on, and writes many of them at once. A crash
// loses those of its last tenth of a second.
type Batch[T any] struct {
	write func(ctx context.Context, rows []T) error
	lost  func(rows []T, err error)
	wake  chan struct{} // holds one

	mu   sync.Mutex
	rows []T

	writing sync.Mutex // held while rows are written
}

// NewBatch makes a batch. write stores rows, all or none; lost is told of those that
// could not be stored, and why.
func NewBatch[T any](write func(ctx context.Context, rows []T) error, lost func(rows []T, err error)) *Batch[T] {
	return &Batch[T]{write: write, lost: lost, wake: make(chan struct{}, 1)}
}

// Add takes a row; false: too many wait. It does not block.
func (b *Batch[T]) Add(row T) bool {
	b.mu.Lock()
	full := len(b.rows) >= batchMost
	if !full {
		b.rows = append(b.rows, row)
	}
	first := len(b.rows) == 1
	b.mu.Unlock()
	if first || full {
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
	return !full
}

// Flush writes what waits, and waits for what is being written. It goes on where ctx
// ends: the rows are of others.
func (b *Batch[T]) Flush(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.Lock()
	rows := b.rows
	b.rows = nil
	b.mu.Unlock()
	var failed error
	for len(rows) > 0 {
		part := rows[:min(batchRows, len(rows))]
		rows = rows[len(part):]
		if err := b.write(ctx, part); err != nil {
			failed = err
			b.lost(part, err)
		}
	}
	return failed
}

// Run writes what comes until the context ends, and then the rest.
func (b *Batch[T]) Run(ctx context.Context) {
	for {
		select {
		case <-b.wake:
		case <-ctx.Done():
			_ = b.Flush(ctx) // lost is told
			return
		}
		select {
		case <-time.After(batchPause):
		case <-ctx.Done():
		}
		_ = b.Flush(ctx) // lost is told
	}
}
