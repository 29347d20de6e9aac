// Package kernel provides the common basis of the CMS packages: the database, the clock and other options, the acting
// user, and the errors that refuse a request.
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

// Server holds the options and resources that all CMS packages share.
type Server struct {
	DB *store.DB
	// Logger returns the logger. It is called for each message, because a reload may replace the logger.
	Logger func() *zap.Logger
	// Now returns the current time.
	Now func() time.Time
	// Site is the folder of the site, which contains the folders api, files and cache.
	Site string
	// Key returns a secret of at least 32 bytes for signing cursors, forms and links. The secret is the same on all
	// nodes.
	Key func() []byte
	// Keyring returns the keys that encrypt secrets in the database. A nil function means that there are no keys.
	Keyring func() (keyring.Keyring, error)
	// Address returns the client's address. The gateway has verified the address if the request came through proxies.
	Address func(*http.Request) string
	// BaseURL is the scheme and host at which clients reach the server. If it is empty, scheme and host are taken from
	// each request.
	BaseURL string
	// Passwords hashes the passwords of users. See password.Hasher for its zero value.
	Passwords password.Hasher
	// Endpoint returns the path of the API, such as /api. Pages at or below this path are not served. A nil function
	// means that there is no API.
	Endpoint func() string
	// Hooks sends events to webhooks. It may be nil.
	Hooks *webhook.Hooks
}

// Moment is a time in its stored form. In JSON it is an RFC 3339 time in UTC.
type Moment = instant.Moment

// Conn is a database connection. The Conn that Write passes to a function is in a transaction.
type Conn = store.Conn

// Moment returns the current time.
func (s *Server) Moment() Moment { return instant.Of(s.Now()) }

// Origin returns the scheme and host at which the client reaches the server, such as https://www.example.com.
func (s *Server) Origin(r *http.Request) string { return cmp.Or(s.BaseURL, origin.Of(r)) }

// Host returns the host in the result of Origin, with the port if there is one.
func (s *Server) Host(r *http.Request) string {
	if _, host, ok := strings.Cut(s.BaseURL, "://"); ok {
		return host
	}
	return r.Host
}

// Signer returns a signer of tokens. label is the purpose of the tokens. Tokens for one purpose are not valid for
// another.
func (s *Server) Signer(label string) signed.Signer {
	return signed.Signer{Key: s.Key(), Label: label}
}

// Read runs fn on a connection for reading. If the database is unavailable, the error is a 503 error.
func (s *Server) Read(ctx context.Context, fn func(c Conn) error) error {
	return Unavailable(s.DB.Read(ctx, fn))
}

// Write runs fn in a transaction, which is committed if fn returns nil. After a conflict with another transaction, it
// runs fn again. If the database is unavailable, the error is a 503 error.
func (s *Server) Write(ctx context.Context, fn func(c Conn) error) error {
	return Unavailable(s.DB.Write(ctx, fn))
}

// Emit queues an event for the webhooks in the transaction of c. The event is therefore only sent if the transaction is
// committed.
func (s *Server) Emit(c Conn, topic string, data any) error {
	if s.Hooks == nil {
		return nil
	}
	return s.Hooks.Emit(c, topic, data)
}
