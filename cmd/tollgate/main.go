// Command tollgate is Caddy with Tollgate's modules. It has the commands of caddy (run, reload, validate, adapt, fmt …)
// and the commands of the modules (keychain, board, cms, answer, events, authserver, keyring, backup …).
package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/tollgate-gateway/tollgate"
)

func main() {
	caddycmd.Main()
}
