package keychain

import (
	"context"
	"errors"
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
	Code        string // error code; empty: success; client_closed_request: the client left; see CodeKeyExpired
	Attempts    int
	// FailedAttempts end with the one that the client did not wait for, if it left.
	FailedAttempts []apierror.Attempt
	// InputTokens include CachedTokens, OutputTokens include ReasoningTokens.
	InputTokens, CachedTokens, OutputTokens, ReasoningTokens int64
	UsageSource                                              string // "exact" or "estimated"
	CostMicroUSD                                             int64
	CostKnown                                                bool
	Latency, FirstToken                                      time.Duration
	// ServedAs are the words of the answer for how it was served where that was not the
	// ordinary way ("flex"), ServerTools the calls of tools that providers ran.
	ServedAs    []string
	ServerTools map[string]int64
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

// UsageLog writes records in batches behind the requests' backs.
type UsageLog struct {
	service *Service
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
	flushMu sync.Mutex // one batch at a time
	unsure  bool       // the last batch failed, and may be written all the same; guarded by flushMu
}

// NewUsageLog starts the writer. Close it.
func NewUsageLog(s *Service, logger *zap.Logger) *UsageLog {
	l := &UsageLog{
		service: s, logger: logger,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	s.log.Store(l)
	go l.run()
	return l
}

// Add takes a record; it never waits. While the database is down records wait
// in memory; beyond a bound the newest are dropped, which is logged.
func (l *UsageLog) Add(r Record) {
	l.mu.Lock()
	waiting := len(l.taken) + len(l.pending)
	if waiting >= maxPending {
		l.dropped++
		l.mu.Unlock()
		return
	}
	l.pending = append(l.pending, r)
	waiting++
	number := l.written + int64(waiting)
	l.mu.Unlock()
	l.service.spending.note(&r, number)
	if waiting >= batchRows {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// Pending is the number of records not yet in the database.
func (l *UsageLog) Pending() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.taken) + len(l.pending)
}

func (l *UsageLog) run() {
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
func (l *UsageLog) Flush(ctx context.Context) error {
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
	used := l.service.used.take(l.service.now())
	l.service.late.take(l.service.now()) // what it is told of is in the log already
	for left > 0 || len(used) > 0 {
		batch, last := l.batch(min(left, batchRows))
		if err := l.write(ctx, batch, last, used); err != nil {
			l.unsure = true
			l.service.used.giveBack(used)
			return err
		}
		l.done(batch, last)
		left, used = left-len(batch), nil
	}
	return nil
}

// settle looks what is written of a batch that failed: a database that goes away in the
// commit does not say, and nobody is charged twice.
func (l *UsageLog) settle(ctx context.Context) error {
	if !l.unsure {
		return nil
	}
	through, err := l.service.written(ctx)
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
func (l *UsageLog) batch(n int) (batch []Record, last int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.taken) == 0 {
		l.taken, l.memory, l.pending, l.spare = l.pending, l.pending, l.spare, nil
	}
	batch = l.taken[:min(n, len(l.taken))]
	return batch, l.written + int64(len(batch))
}

// done takes note of a batch that is written.
func (l *UsageLog) done(batch []Record, last int64) {
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
func (l *UsageLog) write(ctx context.Context, batch []Record, last int64, used map[string]int64) error {
	hours, days := rollUp(batch)
	return l.service.db.Write(ctx, func(c store.Conn) error {
		if err := l.service.insertUsage(c, batch); err != nil {
			return err
		}
		if err := l.service.addSums(c, hourly, hours); err != nil {
			return err
		}
		if err := l.service.addSums(c, daily, days); err != nil {
			return err
		}
		if len(batch) > 0 {
			if err := l.service.markWritten(c, last-int64(len(batch)), last); err != nil {
				return err
			}
		}
		return l.service.touchKeys(c, used)
	})
}

// Close stops the writer and writes what is left.
func (l *UsageLog) Close(ctx context.Context) error {
	l.once.Do(func() { close(l.stop) })
	<-l.stopped
	err := l.Flush(ctx)
	if n := l.Pending(); n > 0 {
		l.logger.Error("usage records are lost", zap.Int("records", n), zap.Error(err))
		err = errors.Join(err, errors.New("usage records are lost"))
	}
	return err
}
