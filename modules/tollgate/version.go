package tollgate

import (
	"cmp"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// Version returns the version of this program, such as 0.1.0. A program that was built from a commit has a version such
// as 0.1.0+3f2a91c0. Unlike caddy.Version, it is not the version of Caddy.
func Version() string { return cmp.Or(strings.TrimPrefix(caddy.CustomVersion, "tollgate-"), "unknown") }
