// Package runevents keeps the reports of a configuration agent's runs and
// answers queries about them and their events. Reports come in by commands
// (submit.go), queries are answered by the package query.
package runevents

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/memory"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Options are the settings of a Service.
type Options struct {
	DB *store.DB
	// Prefix is the path before "/query" and "/cmd". Default: "/store".
	Prefix string
	// Aliases are further paths at which the same is served.
	Aliases []string
	// EventTTL is the age at which events are dropped, at submission and later.
	// Default: 14 days.
	EventTTL time.Duration
	// ReportTTL is the age at which reports are deleted, with what is left of
	// their events; on PostgreSQL when their day is over. Default: 14 days.
	ReportTTL time.Duration
	// NodeTTL is how long a node may be silent before it is expired; zero: for
	// ever.
	NodeTTL time.Duration
	// UnreportedAfter is the age of its latest report at which the page for people
	// says that a node does not report. Default: 2 hours.
	UnreportedAfter time.Duration
	// NodePurgeTTL is how long a deactivated or expired node is kept. Default:
	// 14 days.
	NodePurgeTTL time.Duration
	// MaxBody bounds a command, before and after it is decompressed, in bytes.
	// Default: 32 MiB.
	MaxBody int64
	// MaxQueued bounds the memory, in bytes, that the commands take that are
	// worked on at a time; what the largest command needs is always had. A
	// submission waits for some seconds, and is refused with 503 then. Default:
	// 256 MiB.
	MaxQueued int64
	// Memory is what the bodies take that are received, and from which others may
	// take too. Default: a fourth of MaxQueued, and at least two of the largest.
	Memory *memory.Budget
	// CorrectiveChange shows corrective_change as sent. Default: null, as the
	// open-source reference does.
	CorrectiveChange bool
	// Import is set by a program that stores reports beside the server, with
	// times to live that are not the server's.
	Import bool
	// QueryTimeout, QueryMaxTime and WideQueries bound queries; see Timeout,
	// MaxTime and Wide of query.Options.
	QueryTimeout, QueryMaxTime time.Duration
	WideQueries                int
	// Stored is told what a transaction has stored, and that quickly. Default:
	// nobody is.
	Stored func(reports, events int)
	// Observe is told of runs of the work in the background; see jobs.Options.
	Observe func(job, outcome string, done int)
	Logger  *zap.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Bar returns what the bar at the top of the pages shows to who asks. Default: nothing more.
	Bar func(*http.Request) look.Bar
}

const day = 24 * time.Hour

func (o Options) withDefaults() Options {
	o.Bar = look.Always(o.Bar)
	if o.Prefix == "" {
		o.Prefix = "/store"
	}
	if o.EventTTL == 0 {
		o.EventTTL = 14 * day
	}
	if o.ReportTTL == 0 {
		o.ReportTTL = 14 * day
	}
	if o.UnreportedAfter == 0 {
		o.UnreportedAfter = 2 * time.Hour
	}
	if o.NodePurgeTTL == 0 {
		o.NodePurgeTTL = 14 * day
	}
	if o.MaxBody == 0 {
		o.MaxBody = 32 << 20
	}
	if o.MaxQueued == 0 {
		o.MaxQueued = 256 << 20
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.Stored == nil {
		o.Stored = func(int, int) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Service keeps run events.
type Service struct {
	o       Options
	db      *store.DB
	logger  *zap.Logger
	queries *query.Service
	paths   rest.Paths[*Endpoint]
	room    room
	inbox   *inbox // nil on PostgreSQL, which writes what has changed of a page
	queue   chan *job
	writer  chan *writer // holds the writer while nobody writes
	reading atomic.Int64 // reports that are about to come into the queue
	swept   atomic.Bool  // rows are gone that the writer may remember
	failing atomic.Int64 // when a command could not be stored, in Unix nanoseconds; 0: the last one was

	rejected atomic.Int64 // length of the list of rejected commands, as of the last look

	ctx    context.Context //nolint:containedctx // ends with Close, bounds the work in the background
	cancel context.CancelFunc
	work   sync.WaitGroup // what goes on in the background, and reports in the queue
	begun  sync.Once      // by Work

	submissions sync.WaitGroup // those under way, whether or not their client waits
	closing     sync.RWMutex   // held for reading while a submission begins, and while one is put into the queue
	ending      bool           // no submission begins any more
	closed      bool           // nothing is put into the queue any more
}

// New returns a service that writes what is submitted. It does no I/O itself;
// Close ends it.
func New(o Options) (*Service, error) {
	o = o.withDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	s := &Service{o: o, db: o.DB, logger: o.Logger, room: newRoom(o), queue: make(chan *job, queueLength), writer: make(chan *writer, 1), ctx: ctx, cancel: cancel}
	queries, err := query.New(query.Options{
		DB: o.DB, Prefix: o.Prefix, NodePurge: o.NodePurgeTTL, CorrectiveChange: o.CorrectiveChange, Now: o.Now, Logger: o.Logger,
		Timeout: o.QueryTimeout, MaxTime: o.QueryMaxTime, Wide: o.WideQueries, Before: s.beforeQuery,
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("preparing queries: %w", err)
	}
	s.queries = queries
	s.addRoutes()
	if o.DB.Dialect() == store.SQLite {
		s.inbox = newInbox(s)
		s.work.Go(s.tend)
	}
	s.writer <- &writer{Service: s, partitions: s.newPartitions()}
	return s, nil
}

// Queued is how many reports were taken in and are not where queries find them: those
// that wait for the writer, and the acknowledged ones in the inbox.
func (s *Service) Queued() int {
	n := len(s.queue)
	if s.inbox != nil {
		n += max(0, int(s.inbox.length.Load()))
	}
	return n
}

// Close finishes what was submitted and ends the service. Later submissions are
// refused.
func (s *Service) Close() {
	s.closing.Lock()
	if s.ending {
		s.closing.Unlock()
		return
	}
	s.ending = true
	s.closing.Unlock()
	s.submissions.Wait()
	s.closing.Lock()
	s.closed = true
	s.closing.Unlock()
	s.cancel()
	s.work.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	s.settled(ctx) // the next process would do it
}

var (
	// ErrBusy means that too much is being written; the client is to try again.
	ErrBusy = errors.New("too many commands are waiting")
	// errClosed is what a submission meets at the end.
	errClosed = errors.New("the service ends")
	// errUnfinished is what is left to those whose reports another was to write.
	errUnfinished = errors.New("the report was not written")
)
