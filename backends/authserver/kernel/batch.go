package kernel

import (
	"context"
	"strings"
	"sync"
	"time"
)

const (
	// maxBatch bounds how many rows wait to be written.
	maxBatch = 10_000
	// batchRows is the number of rows written in one transaction.
	batchRows = 500
	// batchPause is how long a Batch collects rows before it writes them.
	batchPause = 100 * time.Millisecond
)

// Batch queues rows that no other row refers to, and writes many of them in one transaction. A crash loses the rows of
// the last tenth of a second.
type Batch[T any] struct {
	write  func(ctx context.Context, rows []T) error
	onLost func(rows []T, err error)
	wake   chan struct{} // tells Run that rows are queued; buffers one signal

	mu   sync.Mutex
	rows []T // the queue; protected by mu

	// writing is held by Flush while it stores rows. A concurrent call of Flush therefore returns only after these rows
	// are stored.
	writing sync.Mutex
}

// NewBatch returns a batch. A call of write either stores all rows, or returns an error and stores no row. The batch
// calls onLost with the rows that could not be stored and the error of write.
func NewBatch[T any](write func(ctx context.Context, rows []T) error, onLost func(rows []T, err error)) *Batch[T] {
	return &Batch[T]{write: write, onLost: onLost, wake: make(chan struct{}, 1)}
}

// Add queues a row and reports whether it did so. It returns false if too many rows are waiting; it never blocks.
func (b *Batch[T]) Add(row T) bool {
	b.mu.Lock()
	full := len(b.rows) >= maxBatch
	if !full {
		b.rows = append(b.rows, row)
	}
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default: // Run has not received the previous signal yet, and will find this row too
	}
	return !full
}

// insertRows is the number of rows that Insert writes with one statement.
const insertRows = 50

// Insert inserts rows into a table. The function appendValues appends the values of a row, one for each of the columns.
// The names of the table and the columns must be constants, never text from a request.
func Insert[T any](
	c Conn, table, columns string, rows []T, appendValues func(args []any, row *T) []any,
) error {
	width := 1 + strings.Count(columns, ",")
	placeholders := "(?" + strings.Repeat(", ?", width-1) + ")"
	for len(rows) > 0 {
		n := insertRows
		if len(rows) < n {
			n = 1 // one row at a time, so that there are only two different statements to prepare
		}
		args := make([]any, 0, n*width)
		for i := range n {
			args = appendValues(args, &rows[i])
		}
		_, err := c.Exec("INSERT INTO "+table+" ("+columns+") VALUES "+placeholders+strings.Repeat(", "+placeholders, n-1),
			args...)
		if err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// Flush writes all queued rows, and waits for rows that another goroutine is writing. It goes on when ctx is done,
// since the rows belong to other requests. It returns the last error of write.
func (b *Batch[T]) Flush(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.Lock()
	rows := b.rows
	b.rows = nil
	b.mu.Unlock()
	var lastErr error
	for len(rows) > 0 {
		chunk := rows[:min(batchRows, len(rows))]
		rows = rows[len(chunk):]
		if err := b.write(ctx, chunk); err != nil {
			lastErr = err
			b.onLost(chunk, err)
		}
	}
	return lastErr
}

// Run writes queued rows until the context is done, and then the rows still in the queue.
func (b *Batch[T]) Run(ctx context.Context) {
	for {
		select {
		case <-b.wake:
		case <-ctx.Done():
			_ = b.Flush(ctx) // Flush reports its errors to onLost
			return
		}
		select {
		case <-time.After(batchPause):
		case <-ctx.Done():
		}
		_ = b.Flush(ctx)
	}
}
