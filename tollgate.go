// Package tollgate links every module of Tollgate into a Caddy binary, so that
//
//	xcaddy build --with github.com/tollgate-gateway/tollgate
//
// builds the gateway. It also holds the version; see modules for the plug-in list.
package tollgate

import (
	_ "embed"
	"strings"

	"github.com/caddyserver/caddy/v2"

	_ "github.com/tollgate-gateway/tollgate/modules"
)

//go:embed VERSION
var version string

// Version is the number in the file VERSION, such as "0.1.0": the last release, or
// the one that is being made.
func Version() string { return strings.TrimSpace(version) }

// The command `version` says it, in front of Caddy's, also where the binary was not
// built by make, which adds the commit.
func init() {
	if caddy.CustomVersion == "" {
		caddy.CustomVersion = "tollgate-" + Version()
	}
}
