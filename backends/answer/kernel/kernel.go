package kernel

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Server holds the database, the logger and the clock that the packages of the answer API share.
type Server struct {
	DB *store.DB
	// Logger returns the current logger. It is called for each message, because a reload may change it.
	Logger func() *zap.Logger
	Now    func() time.Time
}

// Conn is the connection on which statements run.
type Conn = store.Conn

// Read calls fn with a read connection of the database.
func (s *Server) Read(ctx context.Context, fn func(c store.Conn) error) error {
	return s.DB.Read(ctx, fn)
}

// Write calls fn in a transaction. It returns after the commit is durable.
func (s *Server) Write(ctx context.Context, fn func(c store.Conn) error) error {
	return s.DB.Write(ctx, fn)
}

// Micros returns the current time in microseconds, the form in which times are stored.
func (s *Server) Micros() int64 { return s.Now().UnixMicro() }

// MicrosOf returns a time in microseconds, the form in which times are stored. The zero time, which stands for an
// unknown time or for never, is stored as 0.
func MicrosOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// TimeOf returns the time for a result of MicrosOf.
func TimeOf(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// ErrTexts is returned by an embedder that will never accept the given texts, because there are too many at once or
// because one of them is too long. Callers may try again with fewer texts, but not with the same ones.
var ErrTexts = errors.New("the embedding model does not accept the texts: too many at once, or one is too long")
