// Package kernel is what all rooms of a board stand on: its database, clock and
// options, what administrators set, how a request is refused, and how times and
// values are written.
package kernel

import (
	"context"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/signed"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// Options are the settings of a board.
type Options struct {
	// BaseURL is put before the paths of Location headers. Default: none.
	BaseURL string
	// Offline closes the board for all but those who may see it nevertheless.
	Offline bool
	// HoldFirst holds the first posts of a member, this many. Default: 0.
	HoldFirst int64
	// NoFlood switches the flood control off.
	NoFlood bool
	// Keyring encrypts secrets in the database. Default: none.
	Keyring func() (keyring.Keyring, error)
	// Attachments is the folder of attached files. Default: the database.
	Attachments string
	// Mails reports whether somebody sends mails. Default: nobody.
	Mails func() bool
	// Passwords hashes those of the members. Default: see password.Hasher.
	Passwords password.Hasher
	// Address is the client's address, by which attempts are counted. Default:
	// that of the connection.
	Address func(*http.Request) string
}

// Server is what all rooms of a board stand on.
type Server struct {
	DB      *store.DB
	Logger  *zap.Logger
	Now     func() time.Time
	Options Options
	// Hooks tell webhooks of what happens.
	Hooks *webhook.Hooks
	// Key signs cursors, forms and links. There is one once the board is ready.
	Key func() []byte
}

// New returns what the rooms of a board stand on. key is asked only once the board is ready.
func New(db *store.DB, options Options, logger *zap.Logger, now func() time.Time, key func() []byte) *Server {
	s := &Server{DB: db, Logger: logger, Now: now, Options: options, Key: key}
	s.Hooks = newHooks(s)
	return s
}

// Signer returns what signs that which the board hands out under a label.
func (s *Server) Signer(label string) signed.Signer {
	return signed.Signer{Key: s.Key(), Label: label}
}

// Read runs fn on the readers of the database.
func (s *Server) Read(ctx context.Context, fn func(c store.Conn) error) error {
	return Unavailable(s.DB.Read(ctx, fn))
}

// ReadBriefly runs fn like Read, for a few statements that find few rows by an index.
func (s *Server) ReadBriefly(ctx context.Context, fn func(c store.Conn) error) error {
	return Unavailable(s.DB.ReadBriefly(ctx, fn))
}

// Write runs fn in a transaction.
func (s *Server) Write(ctx context.Context, fn func(c store.Conn) error) error {
	return Unavailable(s.DB.Write(ctx, fn))
}

// Moment returns the time as it is stored.
func (s *Server) Moment() Moment { return MomentOf(s.Now()) }
