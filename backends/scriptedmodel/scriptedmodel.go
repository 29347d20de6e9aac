package scriptedmodel

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// MaxDuration limits the duration of an answer. The write timeout of the http.Server must be longer, or not set.
const MaxDuration = time.Hour

// maxHold limits how long a hang or a stall lasts if the client stays.
const maxHold = 10 * time.Minute

// epoch is the default of Options.Created.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Options configures a Server. The zero value is valid.
type Options struct {
	// Created is the creation time of answers and models. The default is 2026-01-01T00:00:00Z, so that answers never
	// change.
	Created time.Time
	// BodyTimeout limits how long a request body may take to arrive. The read deadline is removed after the body,
	// because an http.Server with a ReadTimeout would mistake the deadline for a client that has left. Zero means
	// that no deadline is set.
	BodyTimeout time.Duration
	// Record is the number of recent requests that the method Requests returns. The requests contain credentials and
	// bodies, so Record is only for tests. Zero means none.
	Record int
}

// Server is the http.Handler of the scripted model. Use New to create one.
type Server struct {
	created     int64 // unix seconds
	bodyTimeout time.Duration
	models      modelList
	plans       planCache
	failures    failureCounts
	log         requestLog

	requests, inFlight, cancelled atomic.Int64
}

// New returns a Server, which is an http.Handler.
func New(o Options) *Server {
	if o.Created.IsZero() {
		o.Created = epoch
	}
	s := &Server{created: o.Created.Unix(), bodyTimeout: o.BodyTimeout}
	s.models = newModelList(s.created)
	s.log.limit = max(o.Record, 0)
	return s
}

// Stats counts the requests of a Server since its creation.
type Stats struct {
	Requests  int64 // begun, on all routes
	InFlight  int64 // in progress
	Cancelled int64 // ended because the client left before the answer was complete
}

// Stats returns the current counts.
func (s *Server) Stats() Stats {
	return Stats{Requests: s.requests.Load(), InFlight: s.inFlight.Load(), Cancelled: s.cancelled.Load()}
}

// Wait returns nil as soon as done returns true for the counts, or the error of ctx. Tests use it to wait until the
// cancellation of a request has reached this server.
func (s *Server) Wait(ctx context.Context, done func(Stats) bool) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !done(s.Stats()) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// ServeHTTP implements http.Handler. For faults that close the connection, it panics with http.ErrAbortHandler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := call{srv: s, w: w, r: r, rec: s.log.add(r)}
	s.requests.Add(1)
	s.inFlight.Add(1)
	defer c.finish()

	path := r.URL.Path
	if path == "/" || path == "" {
		c.probe()
		return
	}
	path = strings.TrimPrefix(path, "/v1")
	switch {
	case path == "/chat/completions":
		if c.allowMethod(http.MethodPost) {
			c.chat()
		}
	case path == "/embeddings":
		if c.allowMethod(http.MethodPost) {
			c.embeddings()
		}
	case path == "/models":
		if c.allowMethod(http.MethodGet, http.MethodHead) {
			c.json(http.StatusOK, s.models.list)
		}
	case strings.HasPrefix(path, "/models/"):
		if c.allowMethod(http.MethodGet, http.MethodHead) {
			c.modelByID(strings.TrimPrefix(path, "/models/"))
		}
	default:
		c.fail(notFound("there is no %s here; this is Tollgate's scripted model, it serves /v1/chat/completions, /v1/embeddings and /v1/models", shorten(r.URL.Path, 100)))
	}
}

// finish updates the counts of the server at the end of a request.
func (c *call) finish() {
	if !c.complete && (c.gone || c.r.Context().Err() != nil) {
		c.srv.cancelled.Add(1)
		c.srv.log.setDisconnected(c.rec)
	}
	c.srv.inFlight.Add(-1)
}
