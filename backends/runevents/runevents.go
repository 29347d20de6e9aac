// Package runevents stores the reports that a configuration agent sends after its runs, and answers queries about the
// reports and their events. Reports are submitted as commands (submit.go). Package query answers the queries.
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
	// Aliases are further prefixes at which the service is available.
	Aliases []string
	// EventTTL is the age above which events are deleted, and are not accepted any more. The default is 14 days.
	EventTTL time.Duration
	// ReportTTL is the age above which reports are deleted with their remaining events; on PostgreSQL this happens when
	// their partition ends. The default is 14 days.
	ReportTTL time.Duration
	// NodeTTL is the time after which a node without reports expires. Zero means that nodes do not expire.
	NodeTTL time.Duration
	// UnreportedAfter is the age of a node's latest report above which the dashboard marks the node as not reporting.
	// The default is 2 hours.
	UnreportedAfter time.Duration
	// NodePurgeTTL is the time for which a deactivated or expired node is kept. The default is 14 days.
	NodePurgeTTL time.Duration
	// MaxBody limits the size of a command before and after decompression, in bytes. The default is 32 MiB.
	MaxBody int64
	// MaxQueued limits the memory of all commands that are being processed, in bytes. If it is lower than the largest
	// command needs, it is raised to this size. A command that gets no memory for some seconds is refused with 503. The
	// default is 256 MiB.
	MaxQueued int64
	// Memory is the memory budget for bodies that are being received. Other services may share it. The default is a
	// fourth of MaxQueued, but at least twice MaxBody.
	Memory *memory.Budget
	// CorrectiveChange means that answers contain corrective_change unchanged. By default corrective_change is null, as in
	// the open-source reference implementation.
	CorrectiveChange bool
	// Import must be set by a program that stores reports while the server is running and that does not know the
	// server's retention (EventTTL and ReportTTL). On PostgreSQL, the age of a report then determines the length of a
	// new partition.
	Import bool
	// QueryTimeout, QueryMaxTime and WideQueries limit queries; see Timeout, MaxTime and Wide in query.Options.
	QueryTimeout, QueryMaxTime time.Duration
	WideQueries                int
	// Stored is called after each transaction with the numbers of reports and events that the transaction has stored.
	// Stored must return quickly. It may be nil.
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

// withDefaults returns a copy of the options in which zero and nil values are replaced by their defaults.
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

// Service stores reports and answers queries. A Service is safe for concurrent use.
type Service struct {
	o           Options
	db          *store.DB
	logger      *zap.Logger
	queries     *query.Service
	paths       rest.Paths[*Endpoint]
	limits      bodyLimits
	inbox       *inbox // nil on PostgreSQL, which needs none because it writes only the changed parts of a page
	queue       chan *job
	writer      chan *writer // contains the writer while nobody uses it
	parsing     atomic.Int64 // number of reports that are being parsed and will be put into the queue
	cachesStale atomic.Bool  // rows that the writers' caches may contain have been deleted
	failedAt    atomic.Int64 // when storing a command failed, in Unix nanoseconds; 0 if the last one was stored

	rejected atomic.Int64 // length of the list of rejected commands at the last count

	ctx        context.Context // the context of work in the background; Close cancels it
	cancel     context.CancelFunc
	background sync.WaitGroup // background goroutines, and reports in the queue
	workOnce   sync.Once      // starts the background jobs

	submissions sync.WaitGroup // submissions in progress, even if their client no longer waits
	// closing is locked for reading while a submission begins, and while a report is put into the queue.
	closing sync.RWMutex
	ending  bool // Close has been called: no submission may begin
	closed  bool // no report may be put into the queue
}

// New returns a service and starts its background goroutine. The service uses the database only for submissions and
// queries. The caller must call Close.
func New(o Options) (*Service, error) {
	o = o.withDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	s := &Service{
		o: o, db: o.DB, logger: o.Logger, limits: newBodyLimits(o), queue: make(chan *job, queueLength),
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
		s.background.Go(s.fileInBackground)
	}
	s.writer <- &writer{Service: s, partitions: s.newPartitions()}
	return s, nil
}

// Queued returns the number of accepted reports that queries cannot read yet: those in the queue of the writer, and
// those in the inbox.
func (s *Service) Queued() int {
	n := len(s.queue)
	if s.inbox != nil {
		n += max(0, int(s.inbox.length.Load()))
	}
	return n
}

// Close completes the submissions in progress and closes the service. Later submissions are refused. Only the first
// call has an effect.
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
	s.background.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	s.settleAndLog(ctx) // otherwise the next process would have to file the reports in the inbox
}

var (
	// ErrBusy means that too many commands are waiting, and that the client should try again later.
	ErrBusy = errors.New("too many commands are waiting")
	// errClosed is the error of a submission while the service is closing.
	errClosed = errors.New("the service is closing")
	// errUnfinished is the error for a report that was not stored because the writer panicked.
	errUnfinished = errors.New("the report was not written")
)
