// Package kernel provides what all packages of a CMS share: its database, clock and options, the acting user, and
// the errors that refuse a request.
package kernel

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/instant"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/origin"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/signed"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// Server holds the options and resources that all packages of a CMS share.
type Server struct {
	DB *store.DB
	// Logger returns the logger. It is called for each message, because a reload may replace the logger.
	Logger func() *zap.Logger
	Now    func() time.Time
	// Site is the folder of the site, with api, files and cache.
	Site string
	// Key returns a secret of at least 32 bytes, the same on all nodes, which signs cursors, forms and links.
	Key func() []byte
	// Keyring returns the keys that encrypt secrets in the database. A nil function means that there are none.
	Keyring func() (keyring.Keyring, error)
	// Address returns the client's address as the edge has verified it.
	Address func(*http.Request) string
	// BaseURL is the scheme and host at which clients reach the server. If it is empty, they are taken from each
	// request.
	BaseURL string
	// Passwords hashes the passwords of users. See password.Hasher for its zero value.
	Passwords password.Hasher
	// Endpoint returns the path of the API, such as /api. Pages at or below this path are not served. A nil function
	// means that there is no API.
	Endpoint func() string
	// Hooks notifies webhooks. It may be nil.
	Hooks *webhook.Hooks
}

// Moment is an instant in its stored form. In JSON it is RFC 3339 in UTC.
type Moment = instant.Moment

// Conn is the connection on which statements run.
type Conn = store.Conn

// Moment returns the current time in its stored form.
func (s *Server) Moment() Moment { return instant.Of(s.Now()) }

// At returns the scheme and host at which a client reaches the server.
func (s *Server) At(r *http.Request) string { return cmp.Or(s.BaseURL, origin.Of(r)) }

// Host returns the host of At.
func (s *Server) Host(r *http.Request) string {
	if _, host, ok := strings.Cut(s.BaseURL, "://"); ok {
		return host
	}
	return r.Host
}

// Signer returns a signer of tokens whose purpose is label.
func (s *Server) Signer(label string) signed.Signer {
	return signed.Signer{Key: s.Key(), Label: label}
}

// Read runs fn on a connection for reading.
func (s *Server) Read(ctx context.Context, fn func(c Conn) error) error {
	return Unavailable(s.DB.Read(ctx, fn))
}

// Write runs fn in a transaction.
func (s *Server) Write(ctx context.Context, fn func(c Conn) error) error {
	return Unavailable(s.DB.Write(ctx, fn))
}

// Emit queues an event for the webhooks in the transaction of c, so that it is only sent if the change is
// committed.
func (s *Server) Emit(c Conn, topic string, data any) error {
	if s.Hooks == nil {
		return nil
	}
	return s.Hooks.Emit(c, topic, data)
}
