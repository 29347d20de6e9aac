package keychain

import (
	_ "embed"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/dustin/go-humanize"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/body"
	gatewayapp "github.com/tollgate-gateway/tollgate/modules/gateway"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// form is what the short form of the service expands to; see tollgate.Service.Form.
//
//go:embed service.caddyfile
var form string

// init registers the service. Its short form has these options, beside those of the directive:
//
//	tollgate [<matcher>] gateway {
//		max_body <size>           # default and maximum: 32MB
//		user_jwt { … }            # tokens of users who manage keys: the options of api_auth user_jwt
//		oauth { … }               # the same by access tokens: the options of api_auth oauth
//		cascade { … }             # the options of cascade
//	}
func init() {
	tollgate.Register(tollgate.Service{
		Name: gatewayapp.Name, Form: form, Block: optionNames, Command: command,
		Schemas: []store.Schema{schema.Gateway()}, Sealed: keychain.Sealed, Handlers: []string{"keychain", "cascade"},
		Options: []tollgate.Option{
			{Name: "max_body", Read: readSize}, {Name: "user_jwt"}, {Name: "oauth", Excludes: "user_jwt"}, {Name: "cascade"},
		},
	})
}

// readSize returns the argument of the option max_body unchanged if it is a valid size.
func readSize(d *caddyfile.Dispenser) ([]caddyfile.Token, error) {
	option := d.Val()
	words, err := tollgate.ReadWord(d)
	if err != nil {
		return nil, err
	}
	n, err := humanize.ParseBytes(words[0].Text)
	switch {
	case err != nil || n == 0:
		return nil, d.Errf("%s: %q is not a size such as 16MB", option, words[0].Text)
	case n > body.Max:
		return nil, d.Errf("%s: %s is more than the maximum of 32MB for requests to models", option, words[0].Text)
	}
	return words, nil
}
