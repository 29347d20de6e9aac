// Package kernel is the base of all other packages of the authorization server. It has the database, the clock, the
// errors of OAuth and the audit events.
package kernel

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/signed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Server holds the dependencies that all packages of the authorization server share.
type Server struct {
	DB *store.DB
	// Logger returns the logger. It is called for each message, since a reload may change the logger.
	Logger func() *zap.Logger
	Now    func() time.Time
	// Issuer is the value of server.issuer, unchanged.
	Issuer string
	// Counters records, for all nodes, the identifiers that may be used only once, such as the jti of an assertion.
	Counters counters.Store
	// Address returns the client's address, which the gateway has verified.
	Address func(*http.Request) string
	// Key signs cookies, form tokens and the values that a browser carries from one page to the next.
	Key []byte
	// Audit records an event. It never blocks and never fails a request.
	Audit func(ctx context.Context, e Event)
	// Meter receives the metrics. If it is nil, no metrics are recorded.
	Meter Meter
	// Tracer traces requests. If it is nil, no request is traced.
	Tracer Tracer
	// Trace returns the trace id of a request, or "" for a request without a trace. It may be nil.
	Trace func(ctx context.Context) string
	// Span returns the span id of a request, or "" for a request without a trace. It may be nil.
	Span func(ctx context.Context) string

	watching sync.Mutex                    // protects the following fields
	watches  map[string][]func(key string) // the functions passed to Watch, by topic
	stops    []func()                      // what Close calls
}

// Conn is a connection or transaction of the database.
type Conn = store.Conn

// Signer returns a signer for values that the server gives to browsers. Values signed under one label are invalid under
// any other label.
func (s *Server) Signer(label string) signed.Signer {
	return signed.Signer{Key: s.Key, Label: label, MACSize: 32}
}

// operation is the name of the metric for the duration of database operations.
const operation = "db_operation_duration_seconds"

// Allow calls each of the checks with a stored row and returns the first error. A function that changes or deletes a
// row passes the checks of its caller, such as the comparison with the header If-Match, in its transaction.
func Allow[T any](checks []func(row T) error, row T) error {
	for _, check := range checks {
		if err := check(row); err != nil {
			return err
		}
	}
	return nil
}

// IfNoRows returns replacement if err is sql.ErrNoRows, and otherwise err.
func IfNoRows(err, replacement error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return replacement
	}
	return err
}

// Flag returns the form in which the database stores a bool: 1 or 0.
func Flag(value bool) int {
	if value {
		return 1
	}
	return 0
}

// JSON returns the form in which the database stores a list or a struct: as JSON. A nil list becomes an empty list. The
// value must consist of texts, numbers and bools, which can always be encoded.
func JSON(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	if string(raw) == "null" {
		return "[]"
	}
	return string(raw)
}

// Read calls fn with a read connection of the database and returns the results of fn.
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

// ReadBriefly runs fn like Read. It is for a few statements that find few rows by an index. Within fn, Read must not be
// called; see store.DB.ReadBriefly.
func (s *Server) ReadBriefly(ctx context.Context, fn func(c store.Conn) error) error {
	return s.read(ctx, s.DB.ReadBriefly, fn)
}

// read runs fn with one of the functions of store.DB for reading, within a span if requests are traced.
func (s *Server) read(
	ctx context.Context, read func(ctx context.Context, fn func(c store.Conn) error) error, fn func(c store.Conn) error,
) error {
	defer s.Took(operation, "read", time.Now())
	if s.Tracer == nil {
		return read(ctx, fn)
	}
	return s.traced(ctx, "db read", func(ctx context.Context) error { return read(ctx, fn) })
}

// Write runs fn in a transaction. Once Write returns nil, the changes are durable.
func (s *Server) Write(ctx context.Context, fn func(c store.Conn) error) error {
	defer s.Took(operation, "write", time.Now())
	if s.Tracer == nil {
		return s.DB.Write(ctx, fn)
	}
	return s.traced(ctx, "db write", func(ctx context.Context) error { return s.DB.Write(ctx, fn) })
}

// TraceID returns the trace id of a request, or "" for a request without a trace.
func (s *Server) TraceID(ctx context.Context) string {
	if s.Trace == nil {
		return ""
	}
	return s.Trace(ctx)
}

// SpanID returns the span id of a request, or "" for a request without a trace.
func (s *Server) SpanID(ctx context.Context) string {
	if s.Span == nil {
		return ""
	}
	return s.Span(ctx)
}

// Micros returns the current time in the stored form: microseconds since 1970.
func (s *Server) Micros() int64 { return s.Now().UnixMicro() }
