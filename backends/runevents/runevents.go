// Package runevents stores the reports of a configuration agent's runs and answers queries about them and their
// events. Reports are submitted by commands (submit.go); queries are answered by package query.
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

// Options configures a Service. DB is required.
type Options struct {
	DB *store.DB
	// Prefix is the path before "/query" and "/cmd". The default is "/store".
	Prefix string
	// Aliases are further paths at which the service is available.
	Aliases []string
	// EventTTL is the age from which on events are not accepted, and are deleted. The default is 14 days.
	EventTTL time.Duration
	// ReportTTL is the age from which on reports are deleted, with their remaining events; on PostgreSQL at the end
	// of their partition. The default is 14 days.
	ReportTTL time.Duration
	// NodeTTL is the time without reports after which a node expires. Zero means that nodes do not expire.
	NodeTTL time.Duration
	// UnreportedAfter is the age of its latest report from which on the dashboard marks a node as not reporting. The
	// default is 2 hours.
	UnreportedAfter time.Duration
	// NodePurgeTTL is how long a deactivated or expired node is kept. The default is 14 days.
	NodePurgeTTL time.Duration
	// MaxBody limits a command before and after decompression, in bytes. The default is 32 MiB.
	MaxBody int64
	// MaxQueued limits the memory of the commands that are processed at the same time, in bytes. It is raised to
	// what the largest command needs. A submission waits for some seconds and is then refused with 503. The default
	// is 256 MiB.
	MaxQueued int64
	// Memory is the budget for the bodies that are being received; it may be shared. The default is a fourth of
	// MaxQueued, but at least the size of two of the largest bodies.
	Memory *memory.Budget
	// CorrectiveChange shows corrective_change as it was sent. By default it is null, as in the open-source
	// reference.
	CorrectiveChange bool
	// Import is set by a program that stores reports beside the server and does not know the server's retention.
	Import bool
	// QueryTimeout, QueryMaxTime and WideQueries limit queries; see Timeout, MaxTime and Wide of query.Options.
	QueryTimeout, QueryMaxTime time.Duration
	WideQueries                int
	// Stored is called after each transaction with the number of reports and events that it has stored. It must
	// return quickly, and may be nil.
	Stored func(reports, events int)
	// Observe is called after each run of a background job; see jobs.Options.
	Observe func(job, outcome string, done int)
	Logger  *zap.Logger
	// Now is the clock. The default is time.Now.
	Now func() time.Time
	// Bar returns the bar at the top of the dashboard. It may be nil.
	Bar func(*http.Request) look.Bar
}

const day = 24 * time.Hour

// withDefaults returns the options with the default for each that is zero or nil.
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

// Service stores reports and answers queries. It is safe for concurrent use.
type Service struct {
	o       Options
	db      *store.DB
	logger  *zap.Logger
	queries *query.Service
	paths   rest.Paths[*Endpoint]
	room    room
	inbox   *inbox // nil on PostgreSQL, which writes only what has changed of a page
	queue   chan *job
	writer  chan *writer // holds the writer while it is not in use
	reading atomic.Int64 // reports that are about to be put into the queue
	swept   atomic.Bool  // rows have been deleted that the writer's caches may contain
	failing atomic.Int64 // when a command last could not be stored, in Unix nanoseconds; 0 if the last one could

	rejected atomic.Int64 // length of the list of rejected commands at the last count

	ctx    context.Context //nolint:containedctx // ends with Close, bounds the work in the background
	cancel context.CancelFunc
	work   sync.WaitGroup // background goroutines, and reports in the queue
	begun  sync.Once      // by Work

	submissions sync.WaitGroup // submissions in progress, even if their client no longer waits
	// held for reading while a submission begins, and while a report is put into the queue
	closing sync.RWMutex
	ending  bool // no submission may begin
	closed  bool // no report may be put into the queue
}

// New returns a service and starts its background goroutine. It uses the database only when reports are submitted
// or queries are asked. The caller must call Close.
func New(o Options) (*Service, error) {
	o = o.withDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	s := &Service{
		o: o, db: o.DB, logger: o.Logger, room: newRoom(o), queue: make(chan *job, queueLength),
		writer: make(chan *writer, 1), ctx: ctx, cancel: cancel,
	}
	queries, err := query.New(query.Options{
		DB: o.DB, Prefix: o.Prefix, NodePurge: o.NodePurgeTTL, CorrectiveChange: o.CorrectiveChange, Now: o.Now,
		Logger:  o.Logger,
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

// Queued returns how many accepted reports are not yet visible to queries: those that wait for the writer, and
// those in the inbox.
func (s *Service) Queued() int {
	n := len(s.queue)
	if s.inbox != nil {
		n += max(0, int(s.inbox.length.Load()))
	}
	return n
}

// Close completes the submissions in progress and ends the service. It refuses later submissions. A second call
// does nothing.
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
	s.settled(ctx) // otherwise the next process would do it
}

var (
	// ErrBusy means that too many commands are waiting. The client should try again later.
	ErrBusy = errors.New("too many commands are waiting")
	// errClosed is the error of a submission while the service is closing.
	errClosed = errors.New("the service ends")
	// errUnfinished is the error of a report whose writer has panicked.
	errUnfinished = errors.New("the report was not written")
)
