// Package tollgate links every module of Tollgate into a Caddy binary, so that
//
//	xcaddy build --with github.com/tollgate-gateway/tollgate
//
// builds the gateway. It also holds the version. The package modules has the list of plug-ins.
package tollgate

import (
	_ "embed"
	"strings"

	"github.com/caddyserver/caddy/v2"

	_ "github.com/tollgate-gateway/tollgate/modules"
)

//go:embed VERSION
var version string

// Version returns the version in the file VERSION, such as "0.1.0": the version of the last release, or of a release in
// preparation.
func Version() string { return strings.TrimSpace(version) }

// init puts the version in front of Caddy's in the output of the command `version`, unless make has set it together
// with the commit.
func init() {
	if caddy.CustomVersion == "" {
		caddy.CustomVersion = "tollgate-" + Version()
	}
}
