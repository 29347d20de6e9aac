package scriptedmodel

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// MaxDuration is the longest that one answer may take; a server in front of
// the handler needs a write timeout above it, or none.
const MaxDuration = time.Hour

// maxHold is how long a hang or a stall lasts for a client that stays.
const maxHold = 10 * time.Minute

// epoch is the created of every answer unless Options say otherwise.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Options configure a Server. The zero value is ready for use.
type Options struct {
	// Created is the created of answers and models.
	// Default: 2026-01-01T00:00:00Z, so that answers never change.
	Created time.Time
	// BodyTimeout is how long a request body may take to arrive. The read
	// deadline is removed after it: an http.Server with a ReadTimeout would
	// take its end for a client that left. Default: 0, none is set.
	BodyTimeout time.Duration
	// Record is how many of the last requests Requests returns. They hold
	// credentials and bodies: it is for tests only. Default: 0, none.
	Record int
}

// Server is the handler. Make it with New.
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

// Stats counts the requests of a Server since it was made.
type Stats struct {
	Requests  int64 // begun, of every route
	InFlight  int64 // not yet ended
	Cancelled int64 // ended because the client left before the answer was complete
}

// Stats returns the counts of now.
func (s *Server) Stats() Stats {
	return Stats{Requests: s.requests.Load(), InFlight: s.inFlight.Load(), Cancelled: s.cancelled.Load()}
}

// Wait returns nil as soon as done accepts the counts, or the error of ctx.
// It is for tests that wait until a cancelled request has reached this server.
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

// ServeHTTP implements http.Handler. Faults that cut the connection panic with
// http.ErrAbortHandler, as net/http wants it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := call{srv: s, w: w, r: r, rec: s.log.begin(r)}
	s.requests.Add(1)
	s.inFlight.Add(1)
	defer c.end()

	path := r.URL.Path
	if path == "/" || path == "" {
		c.probe()
		return
	}
	path = strings.TrimPrefix(path, "/v1")
	switch {
	case path == "/chat/completions":
		if c.method(http.MethodPost) {
			c.chat()
		}
	case path == "/embeddings":
		if c.method(http.MethodPost) {
			c.embeddings()
		}
	case path == "/models":
		if c.method(http.MethodGet, http.MethodHead) {
			c.json(http.StatusOK, s.models.list)
		}
	case strings.HasPrefix(path, "/models/"):
		if c.method(http.MethodGet, http.MethodHead) {
			c.oneModel(strings.TrimPrefix(path, "/models/"))
		}
	default:
		c.fail(notFound("there is no %s here; this is Tollgate's scripted model, it serves /v1/chat/completions, /v1/embeddings and /v1/models", shorten(r.URL.Path, 100)))
	}
}

// end closes the books on a request.
func (c *call) end() {
	if !c.complete && (c.gone || c.r.Context().Err() != nil) {
		c.srv.cancelled.Add(1)
		c.srv.log.left(c.rec)
	}
	c.srv.inFlight.Add(-1)
}
