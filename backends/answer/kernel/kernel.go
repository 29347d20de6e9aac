// Package kernel is what all rooms of the answer API stand on: its database and clock,
// and the words that they share for what the corpus holds.
package kernel

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Server is what all rooms stand on.
type Server struct {
	DB *store.DB
	// Logger is asked each time there is something to tell: a reload may change it.
	Logger func() *zap.Logger
	Now    func() time.Time
}

// Conn is what the rooms run their statements on.
type Conn = store.Conn

// Read runs fn on the readers of the database.
func (s *Server) Read(ctx context.Context, fn func(c store.Conn) error) error {
	return s.DB.Read(ctx, fn)
}

// Write runs fn in a transaction, whose commit is durable.
func (s *Server) Write(ctx context.Context, fn func(c store.Conn) error) error {
	return s.DB.Write(ctx, fn)
}

// Micros is now as it is stored.
func (s *Server) Micros() int64 { return s.Now().UnixMicro() }

// ErrTexts is the error of a model of vectors that will not take these texts, whenever they
// are sent: they are too many at once, or one of them is too long.
var ErrTexts = errors.New("the texts are refused")
