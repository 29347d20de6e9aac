package spending

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Record is the record of one request in the usage log.
type Record struct {
	ID         int64 // set by the database, increases with time
	At         time.Time
	RequestID  string
	UserID     string
	TeamID     string // the team that the request counts for; empty if it has none or is unknown
	KeyID      string
	Surface    string // "chat_completions", …
	AskedModel string
	Tier       catalog.Tier // 0 if the request named an entry
	// Provider and Model are those of the candidate that answered. If none answered they are those of the last
	// candidate whose tokens are counted here. Without such a candidate they are empty.
	Provider, Model string
	// ProviderKey is the key with which that candidate was asked: its id, OperatorKey, or the id of a custom entry. It
	// is empty if no candidate was asked, or if the record was written before this field existed.
	ProviderKey string
	Stream      bool
	// Status is the HTTP status that the client got, or 499 if the client left before it got a status.
	Status int
	// Code is the error code: empty for a success, client_closed_request if the client left, and key_expired for a
	// request with an expired key.
	Code     string
	Attempts int
	// FailedAttempts are the attempts at candidates that failed. If the client left, the attempt then under way is the
	// last element.
	FailedAttempts []apierror.Attempt
	// InputTokens include CachedTokens. OutputTokens include ReasoningTokens.
	InputTokens, CachedTokens, OutputTokens, ReasoningTokens int64
	// WrittenTokens is the part of InputTokens that the provider has put into its cache.
	WrittenTokens       int64
	UsageSource         string // "exact" or "estimated"
	CostMicroUSD        int64
	CostKnown           bool
	Latency, FirstToken time.Duration
	// ServedAs are the words in the answer that describe how the request was served, if it was served in a special way
	// such as "flex". ServerTools counts the calls of tools that providers ran.
	ServedAs    []string
	ServerTools map[string]int64
	// Tags are labels that the client gave the request. They contain no commas. EndUser is the client's name for the
	// person who caused the request. Both are empty if the client did not send them.
	Tags    []string
	EndUser string
}

// FlushInterval is how long a record may wait in memory. A kill -9 or a power loss can lose the records of that time; a
// graceful exit loses nothing.
const FlushInterval = time.Second

const (
	batchRows  = 500     // a full batch is written without waiting for the interval
	insertRows = 50      // rows per statement
	maxPending = 200_000 // records kept while the database is down, about 60 MB
	maxSpare   = 10 * batchRows
)

// Log writes records to the database in batches, so that requests do not wait for the database.
type Log struct {
	ledger     *Ledger
	uses       KeyUses
	logger     *zap.Logger
	mu         sync.Mutex    // guards the fields down to dropped; taken after flushMu
	pending    []Record      // not taken for a batch yet
	taken      []Record      // being written in batches; older than pending
	memory     []Record      // the slice of which taken is the end
	spare      []Record      // an empty slice that becomes pending when the pending records become taken
	written    int64         // number of records removed from taken
	dropped    int64         // number of records dropped since the last Flush
	wake       chan struct{} // Add sends a value to make run write a full batch; has room for one value
	stop       chan struct{} // closed by Close
	stopped    chan struct{} // closed by run when it returns
	once       sync.Once     // closes stop
	started    bool          // whether run was started
	flushMu    sync.Mutex    // held while batches are written, one after the other
	unresolved bool          // the last batch failed, but may have been written; guarded by flushMu
}

// KeyUses collects the times at which keys were last used. A Log writes them together with its records.
type KeyUses interface {
	// Take removes and returns the times since the last call, by key.
	Take(now time.Time) map[string]int64
	// GiveBack puts the result of Take back into the collection if it could not be written.
	GiveBack(lastUses map[string]int64)
	// Write stores the result of Take in the transaction c.
	Write(c store.Conn, lastUses map[string]int64) error
}

// NewLog returns a log that writes when Flush and Close are called, and in the background after Start.
func NewLog(s *Ledger, uses KeyUses, logger *zap.Logger) *Log {
	l := &Log{
		ledger: s, uses: uses, logger: logger, wake: make(chan struct{}, 1), stop: make(chan struct{}),
		stopped: make(chan struct{}),
	}
	s.log.Store(l)
	return l
}

// Start starts writing in the background and returns the log. Call it at most once, and call Close afterwards.
func (l *Log) Start() *Log {
	l.started = true
	go l.run()
	return l
}

// Add adds a record. It never blocks. While the database is down records wait in memory. Records beyond maxPending are
// dropped, and the loss is logged.
func (l *Log) Add(r Record) {
	l.mu.Lock()
	if len(l.taken)+len(l.pending) >= maxPending {
		l.dropped++
		l.mu.Unlock()
		return
	}
	l.pending = append(l.pending, r)
	waiting := len(l.taken) + len(l.pending)
	l.ledger.purses.addRecord(&r, l.written+int64(waiting)) // numbers follow the order in which records are written
	l.mu.Unlock()
	if waiting >= batchRows {
		select {
		case l.wake <- struct{}{}:
		default: // run was woken already
		}
	}
}

// unwritten iterates over the records that may not be in the database yet, with their numbers. The caller holds the
// mutex.
func (l *Log) unwritten() iter.Seq2[int64, *Record] {
	return func(yield func(int64, *Record) bool) {
		n := l.written
		for _, records := range [][]Record{l.taken, l.pending} {
			for i := range records {
				if n++; !yield(n, &records[i]) {
					return
				}
			}
		}
	}
}

// Pending returns the number of records that are not in the database yet.
func (l *Log) Pending() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.taken) + len(l.pending)
}

// run writes the log every FlushInterval, and when Add wakes it, until Close is called.
func (l *Log) run() {
	defer close(l.stopped)
	tick := time.NewTicker(FlushInterval)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
		case <-l.wake:
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		err := l.Flush(ctx)
		cancel()
		if err != nil {
			l.logger.Warn("usage records wait for the database", zap.Int("pending", l.Pending()), zap.Error(err))
			select { // without this pause, Add would wake run at once, again and again
			case <-l.stop:
				return
			case <-time.After(FlushInterval):
			}
		}
	}
}

// Flush writes all records that were added before the call.
func (l *Log) Flush(ctx context.Context) error {
	l.flushMu.Lock()
	defer l.flushMu.Unlock()
	if err := l.resolveFailedBatch(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	remaining, dropped := len(l.taken)+len(l.pending), l.dropped
	l.dropped = 0
	l.mu.Unlock()
	if dropped > 0 {
		l.logger.Error("usage records were dropped, too many waited for the database", zap.Int64("dropped", dropped))
	}
	used := l.uses.Take(l.ledger.now())
	for remaining > 0 || len(used) > 0 {
		batch, last := l.nextBatch(min(remaining, batchRows))
		if err := l.write(ctx, batch, last, used); err != nil {
			l.unresolved = true
			l.uses.GiveBack(used)
			return err
		}
		l.removeWritten(batch, last)
		remaining -= len(batch)
		used = nil // written with the first batch
	}
	return nil
}

// resolveFailedBatch removes from l.taken those records of a failed batch that are in the database nevertheless.
// After an error during a commit it is unknown whether the transaction was committed. Without resolveFailedBatch,
// records could be written twice and users charged twice.
func (l *Log) resolveFailedBatch(ctx context.Context) error {
	if !l.unresolved {
		return nil
	}
	lastWritten, err := l.ledger.written(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	committed := l.taken[:max(0, lastWritten-l.written)]
	l.mu.Unlock()
	if len(committed) > 0 {
		l.removeWritten(committed, lastWritten)
	}
	l.unresolved = false
	return nil
}

// nextBatch returns the oldest records, at most n, and the number of the last one. The records stay in l.taken until
// removeWritten is called.
func (l *Log) nextBatch(n int) (batch []Record, last int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.taken) == 0 { // take all pending records; new ones are collected in the spare slice meanwhile
		l.taken, l.memory, l.pending, l.spare = l.pending, l.pending, l.spare, nil
	}
	batch = l.taken[:min(n, len(l.taken))]
	return batch, l.written + int64(len(batch))
}

// removeWritten removes a written batch, whose last record has the number last, from the beginning of l.taken.
func (l *Log) removeWritten(batch []Record, last int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(batch) // frees the texts
	l.written = last
	if l.taken = l.taken[len(batch):]; len(l.taken) > 0 {
		return
	}
	if cap(l.memory) <= maxSpare { // memory that grew during an outage of the database is not kept
		l.spare = l.memory[:0]
	}
	l.taken, l.memory = nil, nil
}

// write writes a batch, its sums and the keys' last uses, in one transaction. lastRecord is the number of the last
// record.
func (l *Log) write(ctx context.Context, batch []Record, lastRecord int64, lastUses map[string]int64) error {
	sums, times := rollUp(batch), timingsOf(batch)
	return l.ledger.db.Write(ctx, func(c store.Conn) error {
		if err := l.ledger.insertUsage(c, batch); err != nil {
			return err
		}
		for _, part := range []struct {
			table *tableSpec
			rows  []*sumsRow
		}{
			{hourly, sums.hours},
			{daily, sums.days},
			{teamHourly, sums.teamHours},
			{teamDaily, sums.teamDays},
			{modelHourly, sums.modelHours},
			{modelDaily, sums.modelDays},
			{memberDaily, sums.memberDays},
			{userTotals.tableSpec, sums.userTotals},
			{keyTotals.tableSpec, sums.keyTotals},
			{teamTotals.tableSpec, sums.teamTotals},
		} {
			if err := l.ledger.addSums(c, part.table, part.rows); err != nil {
				return err
			}
		}
		if err := l.ledger.addLabels(c, sums.labels); err != nil {
			return err
		}
		if err := l.ledger.addKeyDays(c, batch); err != nil {
			return err
		}
		if err := times.Write(c); err != nil {
			return err
		}
		if len(batch) > 0 {
			// The first number is that of the last record before the batch.
			if err := l.ledger.markWritten(c, lastRecord-int64(len(batch)), lastRecord); err != nil {
				return err
			}
		}
		return l.uses.Write(c, lastUses)
	})
}

// Close stops writing in the background and writes the records that wait. It returns an error if records are lost. It
// may be called more than once.
func (l *Log) Close(ctx context.Context) error {
	l.once.Do(func() { close(l.stop) })
	if l.started {
		<-l.stopped
	}
	err := l.Flush(ctx)
	if n := l.Pending(); n > 0 {
		l.logger.Error("usage records are lost", zap.Int("records", n), zap.Error(err))
		err = errors.Join(err, errors.New("usage records are lost"))
	}
	return err
}
