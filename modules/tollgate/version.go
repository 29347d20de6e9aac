package tollgate

import (
	"cmp"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// Version returns the version of this program, such as 0.1.0 or, if it was built from a commit, 0.1.0+3f2a91c0. It
// differs from caddy.Version, which returns that of Caddy.
func Version() string { return cmp.Or(strings.TrimPrefix(caddy.CustomVersion, "tollgate-"), "unknown") }
