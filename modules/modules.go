// Package modules is the list of plug-ins: it imports every Caddy module of Tollgate and sets the order of their
// directives.
package modules

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"

	_ "github.com/tollgate-gateway/tollgate/modules/adapters/authserver"
	_ "github.com/tollgate-gateway/tollgate/modules/answer"
	_ "github.com/tollgate-gateway/tollgate/modules/apiauth"
	_ "github.com/tollgate-gateway/tollgate/modules/apierrors"
	_ "github.com/tollgate-gateway/tollgate/modules/authserver"
	_ "github.com/tollgate-gateway/tollgate/modules/backup"
	_ "github.com/tollgate-gateway/tollgate/modules/board"
	_ "github.com/tollgate-gateway/tollgate/modules/budget"
	_ "github.com/tollgate-gateway/tollgate/modules/cascade"
	_ "github.com/tollgate-gateway/tollgate/modules/cms"
	_ "github.com/tollgate-gateway/tollgate/modules/counters/memory"
	_ "github.com/tollgate-gateway/tollgate/modules/counters/redis"
	_ "github.com/tollgate-gateway/tollgate/modules/gateway"
	_ "github.com/tollgate-gateway/tollgate/modules/health"
	_ "github.com/tollgate-gateway/tollgate/modules/home"
	_ "github.com/tollgate-gateway/tollgate/modules/keychain"
	_ "github.com/tollgate-gateway/tollgate/modules/keyring"
	_ "github.com/tollgate-gateway/tollgate/modules/keyring/aes"
	_ "github.com/tollgate-gateway/tollgate/modules/keyring/transit"
	_ "github.com/tollgate-gateway/tollgate/modules/otlp"
	_ "github.com/tollgate-gateway/tollgate/modules/runevents"
	_ "github.com/tollgate-gateway/tollgate/modules/scriptedmodel"
	_ "github.com/tollgate-gateway/tollgate/modules/storage/postgres"
	_ "github.com/tollgate-gateway/tollgate/modules/storage/sqlite"
	_ "github.com/tollgate-gateway/tollgate/modules/tollgate"
	_ "github.com/tollgate-gateway/tollgate/modules/translate"
)

// Caddy orders a directive only relative to a standard directive. Each call places a directive directly before the
// standard directive that it names, so the order among our directives is the order of these calls.
func init() {
	orderBefore := func(standard string, directives ...string) {
		for _, directive := range directives {
			httpcaddyfile.RegisterDirectiveOrder(directive, httpcaddyfile.Before, standard)
		}
	}
	orderBefore("request_body", "api_errors", "health")
	orderBefore("basic_auth", "api_auth", "budget", "translate")
	orderBefore("reverse_proxy", "answer", "authserver", "board", "cms", "home", "keychain", "cascade", "run_events", "scripted_model", "tollgate")
}
