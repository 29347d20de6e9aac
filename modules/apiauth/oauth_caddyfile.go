package apiauth

import (
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/modules/directive"
)

// UnmarshalCaddyfile sets up the provider from its Caddyfile form:
//
//	oauth {
//		issuer            <url>
//		audience          <uri>...
//		scope             <scope>...
//		acr               <class>...
//		max_age           <duration>
//		jwks_url          <url>
//		introspection {
//			url           <url>
//			client_id     <id>
//			client_secret <secret>
//			cache         <duration>
//		}
//		algorithms        <name>...
//		typ               <value>...
//		leeway            <duration>
//		resource_metadata <url>|off
//		resource_name     <name>
//	}
func (o *OAuth) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // oauth
	if d.NextArg() {
		return d.ArgErr()
	}
	texts := map[string]*string{
		"issuer": &o.Issuer, "jwks_url": &o.JWKSURL, "resource_metadata": &o.ResourceMetadata,
		"resource_name": &o.ResourceName,
	}
	lists := map[string]*[]string{
		"audience": &o.Audiences, "scope": &o.Scopes, "acr": &o.ACR, "algorithms": &o.Algorithms,
		"typ": &o.Types,
	}
	return directive.Options(d, func(option string) error {
		text, isText := texts[option]
		list, isList := lists[option]
		var err error
		switch {
		case isText:
			if !d.AllArgs(text) || *text == "" {
				err = d.ArgErr()
			}
		case isList:
			err = directive.Texts(d, list)
		case option == "leeway":
			o.Leeway, err = unmarshalTime(d, time.Second, maxLeeway)
		case option == "max_age":
			o.MaxAge, err = unmarshalTime(d, time.Second, 365*24*time.Hour)
		case option == "introspection":
			o.Introspection = new(Introspection)
			err = o.Introspection.unmarshal(d)
		default:
			err = directive.NoOption(d, "unknown option %q; there are: issuer, audience, scope, acr, max_age, jwks_url, introspection, algorithms, typ, leeway, resource_metadata, resource_name", option)
		}
		return err
	})
}

// unmarshal parses the block of the option introspection.
func (i *Introspection) unmarshal(d *caddyfile.Dispenser) error {
	if d.NextArg() {
		return d.ArgErr()
	}
	texts := map[string]*string{"url": &i.URL, "client_id": &i.ClientID, "client_secret": &i.ClientSecret}
	return directive.Options(d, func(option string) error {
		text, isText := texts[option]
		var err error
		switch {
		case isText:
			if !d.AllArgs(text) || *text == "" {
				return d.Errf("%s takes one argument", option) // the error does not quote the argument, which may be a secret
			}
		case option == "cache":
			i.Cache, err = unmarshalTime(d, 0, time.Minute)
		default:
			err = directive.NoOption(d, "unknown option %q; there are: url, client_id, client_secret, cache", option)
		}
		return err
	})
}

// unmarshalTime parses the argument of an option as a duration from minimum to maximum.
func unmarshalTime(d *caddyfile.Dispenser, minimum, maximum time.Duration) (caddy.Duration, error) {
	option, text := d.Val(), ""
	if !d.AllArgs(&text) {
		return 0, d.ArgErr()
	}
	length, err := caddy.ParseDuration(text)
	if err != nil || length < minimum || length > maximum {
		return 0, d.Errf("%s must be a duration from %s to %s, not %q", option, minimum, maximum, text)
	}
	return caddy.Duration(length), nil
}

// Interface guard
var _ caddyfile.Unmarshaler = (*OAuth)(nil)
