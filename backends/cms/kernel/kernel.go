// Package kernel is what all rooms of a CMS stand on: its database, clock and
// options, who acts, and how a request is refused.
package kernel

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/instant"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/origin"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/signed"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// Server is what all rooms of a CMS stand on.
type Server struct {
	DB *store.DB
	// Logger is asked each time there is something to tell: a reload may change it.
	Logger func() *zap.Logger
	Now    func() time.Time
	// Site is the folder of the site, with api, files and cache.
	Site string
	// Key is a secret of at least 32 bytes, the same on all nodes, which signs cursors,
	// forms and links.
	Key func() []byte
	// Keyring encrypts secrets in the database; nil: there is none.
	Keyring func() (keyring.Keyring, error)
	// Counters hold what is counted or may be used once, for all nodes.
	Counters counters.Store
	// Address is the client's address, as the edge has verified it.
	Address func(*http.Request) string
	// BaseURL is scheme and host that clients reach the server at; empty: as they ask.
	BaseURL string
	// Passwords hashes those of the users. Default: see password.Hasher.
	Passwords password.Hasher
	// Endpoint is the path of the API, such as /api: no page is served there, nor below it. Default: there is none.
	Endpoint func() string
	// Hooks tell webhooks of what happens; nil: nobody is told.
	Hooks *webhook.Hooks
}

// Moment is an instant as it is stored; in JSON it is RFC 3339 in UTC.
type Moment = instant.Moment

// Conn is what the rooms run their statements on.
type Conn = store.Conn

// Moment is now, as it is stored.
func (s *Server) Moment() Moment { return instant.Of(s.Now()) }

// At is scheme and host that a client reaches the server at.
func (s *Server) At(r *http.Request) string { return cmp.Or(s.BaseURL, origin.Of(r)) }

// Host is that of At.
func (s *Server) Host(r *http.Request) string {
	if _, host, ok := strings.Cut(s.BaseURL, "://"); ok {
		return host
	}
	return r.Host
}

// Signer signs what the server hands out under a label.
func (s *Server) Signer(label string) signed.Signer {
	return signed.Signer{Key: s.Key(), Label: label}
}

// Read runs fn on the readers of the database.
func (s *Server) Read(ctx context.Context, fn func(c Conn) error) error {
	return Unavailable(s.DB.Read(ctx, fn))
}

// Write runs fn in a transaction.
func (s *Server) Write(ctx context.Context, fn func(c Conn) error) error {
	return Unavailable(s.DB.Write(ctx, fn))
}

// Emit writes down what webhooks are to be told of, with the change itself.
func (s *Server) Emit(c Conn, topic string, data any) error {
	if s.Hooks == nil {
		return nil
	}
	return s.Hooks.Emit(c, topic, data)
}
