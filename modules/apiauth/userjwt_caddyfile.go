package apiauth

import (
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/modules/directive"
)

// UnmarshalCaddyfile sets up the provider from its Caddyfile form:
//
//	user_jwt {
//		issuer         <url>
//		audience       <value>...
//		jwks_url       <url>
//		public_key     <file.pem>...
//		hs256          <secret>
//		algorithms     <name>...
//		leeway         <duration>
//		user_claim     <name>
//		required_claim <name> <value>...
//		typ            <value>...
//		local          on|off
//	}
func (u *UserJWT) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // user_jwt
	if d.NextArg() {
		return d.ArgErr()
	}
	texts := map[string]*string{"issuer": &u.Issuer, "jwks_url": &u.JWKSURL, "hs256": &u.HS256, "user_claim": &u.UserClaim}
	lists := map[string]*[]string{
		"audience": &u.Audiences, "public_key": &u.PublicKeys, "algorithms": &u.Algorithms,
		"typ": &u.Types,
	}
	return directive.Options(d, func(option string) error {
		if text, ok := texts[option]; ok {
			if !d.AllArgs(text) || *text == "" {
				return d.ArgErr()
			}
			return nil
		}
		if list, ok := lists[option]; ok {
			return directive.Texts(d, list)
		}
		return u.unmarshalOption(d, option)
	}, "required_claim")
}

// unmarshalOption parses an option that is neither a single text nor a list of texts.
func (u *UserJWT) unmarshalOption(d *caddyfile.Dispenser, option string) error {
	switch option {
	case "leeway":
		var text string
		if !d.AllArgs(&text) {
			return d.ArgErr()
		}
		leeway, err := caddy.ParseDuration(text)
		if err != nil || leeway < time.Second || leeway > maxLeeway {
			return d.Errf("leeway must be a duration from 1s to %s, not %q", maxLeeway, text)
		}
		u.Leeway = caddy.Duration(leeway)
	case "required_claim":
		args := d.RemainingArgs()
		if len(args) < 2 {
			return d.ArgErr()
		}
		name, values := args[0], slices.Clip(args[1:])
		if u.RequiredClaims[name] != nil {
			return d.Errf("required_claim %s is given twice", name)
		}
		if u.RequiredClaims == nil {
			u.RequiredClaims = make(map[string][]string)
		}
		u.RequiredClaims[name] = values
	case "local":
		var word string
		if !d.AllArgs(&word) {
			return d.ArgErr()
		}
		if word != "on" && word != "off" {
			return d.Errf("local must be on or off, not %q", word)
		}
		u.DisableLocal = word == "off"
	default:
		return directive.NoOption(d, "unknown option %q; there are: issuer, audience, jwks_url, public_key, hs256, algorithms, leeway, user_claim, required_claim, typ, local", option)
	}
	return nil
}

// Interface guards
var _ caddyfile.Unmarshaler = (*UserJWT)(nil)
