// Package kernel is what all rooms of the authorization server stand on: its
// database and clock, how a request is refused, and what is written down of what
// happened.
package kernel

import (
	"context"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/signed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Server is what all rooms stand on.
type Server struct {
	DB *store.DB
	// Logger is asked each time there is something to tell: a reload may change it.
	Logger func() *zap.Logger
	Now    func() time.Time
	// Issuer is server.issuer, byte for byte.
	Issuer string
	// Counters hold what may be used once, such as the jti of an assertion, for all nodes.
	Counters counters.Store
	// Address is the client's address, as the edge has verified it.
	Address func(*http.Request) string
	// Key signs cookies, form tokens and what a browser carries between two pages.
	Key []byte
	// Audit writes down what happened; it never blocks and never fails a request.
	Audit func(ctx context.Context, e Event)
	// Meter counts what happens; nil: nobody does.
	Meter Meter
	// Tracer follows requests; nil: nobody does.
	Tracer Tracer
	// Trace is the id of the trace that a request is of, empty where it is of none; nil:
	// none is.
	Trace func(ctx context.Context) string
	// Span is the id of the part of that trace that a request is; nil: none is.
	Span func(ctx context.Context) string

	watching sync.Mutex
	watches  map[string][]func(key string)
	stops    []func()
}

// Conn is what the rooms run their statements on.
type Conn = store.Conn

// Signer signs what the server hands out under a label.
func (s *Server) Signer(label string) signed.Signer {
	return signed.Signer{Key: s.Key, Label: label, MACSize: 32}
}

// operation is the metric of the database's work.
const operation = "db_operation_duration_seconds"

// Read runs fn on the readers of the database.
func (s *Server) Read(ctx context.Context, fn func(c store.Conn) error) error {
	return s.read(ctx, s.DB.Read, fn)
}

// ReadBriefly is Read for a few statements that find few rows by an index, which fn runs without another Read between;
// see store.DB.ReadBriefly.
func (s *Server) ReadBriefly(ctx context.Context, fn func(c store.Conn) error) error {
	return s.read(ctx, s.DB.ReadBriefly, fn)
}

func (s *Server) read(ctx context.Context, read func(ctx context.Context, fn func(c store.Conn) error) error, fn func(c store.Conn) error) error {
	defer s.Took(operation, "read", time.Now())
	if s.Tracer == nil {
		return read(ctx, fn)
	}
	return s.followed(ctx, "db read", func(ctx context.Context) error { return read(ctx, fn) })
}

// Write runs fn in a transaction, whose commit is durable.
func (s *Server) Write(ctx context.Context, fn func(c store.Conn) error) error {
	defer s.Took(operation, "write", time.Now())
	if s.Tracer == nil {
		return s.DB.Write(ctx, fn)
	}
	return s.followed(ctx, "db write", func(ctx context.Context) error { return s.DB.Write(ctx, fn) })
}

// TraceID is the id of the trace that a request is of; empty: of none.
func (s *Server) TraceID(ctx context.Context) string {
	if s.Trace == nil {
		return ""
	}
	return s.Trace(ctx)
}

// SpanID is the id of the part of a trace that a request is; empty: of none.
func (s *Server) SpanID(ctx context.Context) string {
	if s.Span == nil {
		return ""
	}
	return s.Span(ctx)
}

// Micros is now as it is stored.
func (s *Server) Micros() int64 { return s.Now().UnixMicro() }
