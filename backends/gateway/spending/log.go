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

// Record is one request in the usage log.
type Record struct {
	ID         int64 // set by the database, grows with time
	At         time.Time
	RequestID  string
	UserID     string
	TeamID     string // the team that the request counts for; empty: none, or it is not known any more
	KeyID      string
	Surface    string // "chat_completions", …
	AskedModel string
	Tier       catalog.Tier // 0: the model was asked for by its entry
	// Provider and Model are of the candidate that answered; where none did, of the
	// last one whose tokens are counted here; empty: there is none.
	Provider, Model string
	// ProviderKey is the key they were asked through: its id, OperatorKey, or the id
	// of a custom entry; empty: nobody was, or the record is older than the field.
	ProviderKey string
	Stream      bool
	Status      int    // the HTTP status the client got; 499: it left before one
	Code        string // error code; empty: success; client_closed_request: the client left; key_expired: an expired key was sent
	Attempts    int
	// FailedAttempts end with the one that the client did not wait for, if it left.
	FailedAttempts []apierror.Attempt
	// InputTokens include CachedTokens, OutputTokens include ReasoningTokens.
	InputTokens, CachedTokens, OutputTokens, ReasoningTokens int64
	// WrittenTokens are those of InputTokens that the provider has put into its cache.
	WrittenTokens       int64
	UsageSource         string // "exact" or "estimated"
	CostMicroUSD        int64
	CostKnown           bool
	Latency, FirstToken time.Duration
	// ServedAs are the words of the answer for how it was served where that was not the
	// ordinary way ("flex"), ServerTools the calls of tools that providers ran.
	ServedAs    []string
	ServerTools map[string]int64
	// Tags and EndUser are what the client calls the request and whom it is for. Tags have no
	// commas. Empty: it said nothing.
	Tags    []string
	EndUser string
}

// FlushInterval is how long a record may wait in memory: what a kill -9 or a
// power loss can take. A graceful exit loses nothing.
const FlushInterval = time.Second

const (
	batchRows  = 500     // a full batch is written without waiting for the interval
	insertRows = 50      // rows of one statement
	maxPending = 200_000 // records kept while the database is down, about 60 MB
	mostSpare  = 10 * batchRows
)

// Log writes records in batches behind the requests' backs.
type Log struct {
	ledger  *Ledger
	uses    KeyUses
	logger  *zap.Logger
	mu      sync.Mutex
	pending []Record // that no batch has been made of
	taken   []Record // of which batches are being made; older than pending
	memory  []Record // taken as it was at first
	spare   []Record // memory for pending once it is taken
	written int64    // records that were in taken
	dropped int64
	wake    chan struct{}
	stop    chan struct{}
	stopped chan struct{}
	once    sync.Once
	started bool
	flushMu sync.Mutex // one batch at a time
	unsure  bool       // the last batch failed, and may be written all the same; guarded by flushMu
}

// KeyUses are the times when keys were last used, which are written with the records.
type KeyUses interface {
	// Take hands over the times since the last call, by the keys.
	Take(now time.Time) map[string]int64
	// GiveBack returns what Take handed over and could not be written.
	GiveBack(used map[string]int64)
	// Write stores what Take handed over.
	Write(c store.Conn, used map[string]int64) error
}

// NewLog makes a log that writes when Flush and Close are called, and by itself after Start.
func NewLog(s *Ledger, uses KeyUses, logger *zap.Logger) *Log {
	l := &Log{ledger: s, uses: uses, logger: logger, wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{})}
	s.log.Store(l)
	return l
}

// Start begins to write in the background, and returns the log. It is called once, and then Close.
func (l *Log) Start() *Log {
	l.started = true
	go l.run()
	return l
}

// Add takes a record; it never waits. While the database is down records wait
// in memory; beyond a bound the newest are dropped, which is logged.
func (l *Log) Add(r Record) {
	l.mu.Lock()
	waiting := len(l.taken) + len(l.pending)
	if waiting >= maxPending {
		l.dropped++
		l.mu.Unlock()
		return
	}
	l.pending = append(l.pending, r)
	waiting++
	l.ledger.purses.note(&r, l.written+int64(waiting))
	l.mu.Unlock()
	if waiting >= batchRows {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// unwritten returns the records that are not known to be in the database, by their numbers.
// The caller holds the mutex.
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

// Pending is the number of records not yet in the database.
func (l *Log) Pending() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.taken) + len(l.pending)
}

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
			select { // a full batch must not turn into a busy loop
			case <-l.stop:
				return
			case <-time.After(FlushInterval):
			}
		}
	}
}

// Flush writes all records added before it was called.
func (l *Log) Flush(ctx context.Context) error {
	l.flushMu.Lock()
	defer l.flushMu.Unlock()
	if err := l.settle(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	left, dropped := len(l.taken)+len(l.pending), l.dropped
	l.dropped = 0
	l.mu.Unlock()
	if dropped > 0 {
		l.logger.Error("usage records were dropped, too many waited for the database", zap.Int64("dropped", dropped))
	}
	used := l.uses.Take(l.ledger.now())
	for left > 0 || len(used) > 0 {
		batch, last := l.batch(min(left, batchRows))
		if err := l.write(ctx, batch, last, used); err != nil {
			l.unsure = true
			l.uses.GiveBack(used)
			return err
		}
		l.done(batch, last)
		left, used = left-len(batch), nil
	}
	return nil
}

// settle looks what is written of a batch that failed: a database that goes away in the
// commit does not say, and nobody is charged twice.
func (l *Log) settle(ctx context.Context) error {
	if !l.unsure {
		return nil
	}
	through, err := l.ledger.written(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	there := max(0, through-l.written)
	batch := l.taken[:there]
	l.mu.Unlock()
	if there > 0 {
		l.done(batch, through)
	}
	l.unsure = false
	return nil
}

// batch is the oldest records, at most n, and the number of the last one. They
// stay in taken until they are written.
func (l *Log) batch(n int) (batch []Record, last int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.taken) == 0 {
		l.taken, l.memory, l.pending, l.spare = l.pending, l.pending, l.spare, nil
	}
	batch = l.taken[:min(n, len(l.taken))]
	return batch, l.written + int64(len(batch))
}

// done takes note of a batch that is written.
func (l *Log) done(batch []Record, last int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(batch) // the texts may go
	l.written = last
	if l.taken = l.taken[len(batch):]; len(l.taken) > 0 {
		return
	}
	if cap(l.memory) <= mostSpare { // not what the outage of a database has made large
		l.spare = l.memory[:0]
	}
	l.taken, l.memory = nil, nil
}

// write writes a batch, whose last record has the number last, and its sums.
func (l *Log) write(ctx context.Context, batch []Record, last int64, used map[string]int64) error {
	sums := rollUp(batch)
	return l.ledger.db.Write(ctx, func(c store.Conn) error {
		if err := l.ledger.insertUsage(c, batch); err != nil {
			return err
		}
		for _, part := range []struct {
			to   *span
			rows []*sumsRow
		}{{hourly, sums.hours}, {daily, sums.days}, {teamHourly, sums.teamHours}, {teamDaily, sums.teamDays}} {
			if err := l.ledger.addSums(c, part.to, part.rows); err != nil {
				return err
			}
		}
		if err := l.ledger.addLabels(c, sums.labels); err != nil {
			return err
		}
		if err := l.ledger.addKeyDays(c, batch); err != nil {
			return err
		}
		if len(batch) > 0 {
			if err := l.ledger.markWritten(c, last-int64(len(batch)), last); err != nil {
				return err
			}
		}
		return l.uses.Write(c, used)
	})
}

// Close stops the writer and writes what is left.
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
