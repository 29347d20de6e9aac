// Package kernel is the base of all packages of the authorization server: its database and clock, how a request is
// refused, and the audit events.
package kernel

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/signed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Server is what all packages of the authorization server share.
type Server struct {
	DB *store.DB
	// Logger returns the logger. It is called for each message, since a reload may change the logger.
	Logger func() *zap.Logger
	Now    func() time.Time
	// Issuer is server.issuer, byte for byte.
	Issuer string
	// Counters holds what may be used only once, such as the jti of an assertion, for all nodes.
	Counters counters.Store
	// Address returns the client's address, as the edge has verified it.
	Address func(*http.Request) string
	// Key signs cookies, form tokens and what a browser carries from one page to the next.
	Key []byte
	// Audit records an event. It never blocks and never fails a request.
	Audit func(ctx context.Context, e Event)
	// Meter receives the metrics. None are recorded if it is nil.
	Meter Meter
	// Tracer traces requests. They are not traced if it is nil.
	Tracer Tracer
	// Trace returns the trace id of a request, or "" if it is not traced. May be nil.
	Trace func(ctx context.Context) string
	// Span returns the span id of a request. May be nil.
	Span func(ctx context.Context) string

	watching sync.Mutex
	watches  map[string][]func(key string)
	stops    []func()
}

// Conn is a connection or transaction of the database.
type Conn = store.Conn

// Signer returns a signer for values that the server hands out under a label.
func (s *Server) Signer(label string) signed.Signer {
	return signed.Signer{Key: s.Key, Label: label, MACSize: 32}
}

// operation is the metric of the database operations.
const operation = "db_operation_duration_seconds"

// Allow calls each function of may with the stored row that read returns, and returns the first error.
func Allow[T any](may []func(one T) error, read func() (T, error)) error {
	for _, allow := range may {
		one, err := read()
		if err == nil {
			err = allow(one)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// None returns instead in place of sql.ErrNoRows, and any other error as it is.
func None(err, instead error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return instead
	}
	return err
}

// Flag returns a bool as it is stored: 1 or 0.
func Flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

// Read returns what fn reads on a read connection of the database.
func Read[T any](ctx context.Context, s *Server, fn func(c Conn) (T, error)) (found T, err error) {
	err = s.Read(ctx, func(c Conn) (err error) {
		found, err = fn(c)
		return err
	})
	return found, err
}

// Read runs fn on a read connection of the database.
func (s *Server) Read(ctx context.Context, fn func(c store.Conn) error) error {
	return s.read(ctx, s.DB.Read, fn)
}

// ReadBriefly runs fn like Read, for a few statements that find few rows by an index. fn must not call Read; see
// store.DB.ReadBriefly.
func (s *Server) ReadBriefly(ctx context.Context, fn func(c store.Conn) error) error {
	return s.read(ctx, s.DB.ReadBriefly, fn)
}

func (s *Server) read(
	ctx context.Context, read func(ctx context.Context, fn func(c store.Conn) error) error, fn func(c store.Conn) error,
) error {
	defer s.Took(operation, "read", time.Now())
	if s.Tracer == nil {
		return read(ctx, fn)
	}
	return s.followed(ctx, "db read", func(ctx context.Context) error { return read(ctx, fn) })
}

// Write runs fn in a transaction, which is durable once committed.
func (s *Server) Write(ctx context.Context, fn func(c store.Conn) error) error {
	defer s.Took(operation, "write", time.Now())
	if s.Tracer == nil {
		return s.DB.Write(ctx, fn)
	}
	return s.followed(ctx, "db write", func(ctx context.Context) error { return s.DB.Write(ctx, fn) })
}

// TraceID returns the trace id of a request, or "" if it is not traced.
func (s *Server) TraceID(ctx context.Context) string {
	if s.Trace == nil {
		return ""
	}
	return s.Trace(ctx)
}

// SpanID returns the span id of a request, or "" if it is not traced.
func (s *Server) SpanID(ctx context.Context) string {
	if s.Span == nil {
		return ""
	}
	return s.Span(ctx)
}

// Micros returns the current time as it is stored, in microseconds since 1970.
func (s *Server) Micros() int64 { return s.Now().UnixMicro() }
