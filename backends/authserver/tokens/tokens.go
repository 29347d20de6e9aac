// Package tokens issues what clients come for, and takes it back: authorization codes,
// access tokens (RFC 9068), families of refresh tokens (RFC 9700 section 4.14), and the
// list of what was denied before its time.
package tokens

import (
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
)

// Options of the room.
type Options struct {
	// CodeLife is how long an authorization code is good. Default: 60 s. At most 10 min.
	CodeLife time.Duration
}

// Tokens issues tokens.
type Tokens struct {
	*kernel.Server
	options Options
}

// New makes the room.
func New(s *kernel.Server, o Options) *Tokens {
	if o.CodeLife == 0 {
		o.CodeLife = time.Minute
	}
	return &Tokens{Server: s, options: o}
}
