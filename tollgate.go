// Package tollgate links every module of Tollgate into a Caddy binary, so that
//
//	xcaddy build --with github.com/tollgate-gateway/tollgate
//
// builds the gateway. It holds nothing else; see modules for the plug-in list.
package tollgate

import _ "github.com/tollgate-gateway/tollgate/modules"
