// Package kernel is the base of all packages of a board. It holds the database, the clock, the options and the settings
// that administrators can change. It also defines the errors that refuse requests, and the stored form of times and
// values.
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

// Options are the options of a board that come from the configuration. All of them are optional.
type Options struct {
	// BaseURL is put before the paths of Location headers. Default: empty.
	BaseURL string
	// Offline closes the board to everybody except those with the right to see an offline board.
	Offline bool
	// HoldFirst is the number of each member's first posts that are held for approval, unless administrators have changed
	// that setting. Default: 0.
	HoldFirst int64
	// NoFlood switches the flood control off, unless administrators have changed that setting.
	NoFlood bool
	// Keyring returns the keyring that encrypts secrets in the database. Default: secrets are not encrypted.
	Keyring func() (keyring.Keyring, error)
	// Attachments is the folder of attached files. Default: files are stored in the database.
	Attachments string
	// Mails reports whether mails are sent, so that members can be asked to confirm an address. If Mails is nil, no
	// mails are sent.
	Mails func() bool
	// Passwords hashes the passwords of members. Default: see password.Hasher.
	Passwords password.Hasher
	// Address returns the client address of a request, by which attempts are counted. Default: the remote address of
	// the connection.
	Address func(*http.Request) string
}

// Server holds what all packages of a board share. Each package's Service embeds a *Server.
type Server struct {
	DB      *store.DB
	Logger  *zap.Logger
	Now     func() time.Time
	Options Options
	// Hooks notifies webhooks of events.
	Hooks *webhook.Hooks
	// Key returns the secret that signs cursors, forms and links. Do not call Key before the board is ready.
	Key func() []byte
}

// New returns the base of the board's packages. key returns the board's secret. It is not called before the board is
// ready.
func New(db *store.DB, options Options, logger *zap.Logger, now func() time.Time, key func() []byte) *Server {
	s := &Server{DB: db, Logger: logger, Now: now, Options: options, Key: key}
	s.Hooks = newHooks(s)
	return s
}

// Signer returns a signer with the board's secret. A signature made under one label is not valid under another label.
func (s *Server) Signer(label string) signed.Signer {
	return signed.Signer{Key: s.Key(), Label: label}
}

// Read runs fn on a read connection of the database; see store.DB.Read. If the database is unreachable, Read,
// ReadBriefly and Write return an error with status 503.
func (s *Server) Read(ctx context.Context, fn func(c store.Conn) error) error {
	return Unavailable(s.DB.Read(ctx, fn))
}

// ReadBriefly works like Read, for a few statements that each find few rows by an index. See store.DB.ReadBriefly.
func (s *Server) ReadBriefly(ctx context.Context, fn func(c store.Conn) error) error {
	return Unavailable(s.DB.ReadBriefly(ctx, fn))
}

// Write runs fn in a transaction, which is rolled back if fn returns an error; fn may run more than once. See
// store.DB.Write.
func (s *Server) Write(ctx context.Context, fn func(c store.Conn) error) error {
	return Unavailable(s.DB.Write(ctx, fn))
}

// Exec runs one statement in a separate transaction.
func (s *Server) Exec(ctx context.Context, query string, args ...any) error {
	return s.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec(query, args...)
		return err
	})
}

// Value runs fn and returns its value. run is the method that runs it, such as Read, ReadBriefly or Write of a Server.
func Value[T any](
	ctx context.Context,
	run func(ctx context.Context, fn func(c store.Conn) error) error,
	fn func(c store.Conn) (T, error),
) (value T, err error) {
	err = run(ctx, func(c store.Conn) (err error) {
		value, err = fn(c)
		return err
	})
	return value, err
}

// Moment returns the current time in the form that the database stores.
func (s *Server) Moment() Moment { return MomentOf(s.Now()) }
