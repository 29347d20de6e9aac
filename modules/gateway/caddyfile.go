package gateway

import (
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/modules/directive"
)

// UnmarshalCaddyfile sets up the option from its Caddyfile form:
//
//	catalog {
//		file    <path>
//		prices  <path>
//		enable  <code>...
//		disable <code>...
//		provider_keys env
//		own_keys first|only|never
//		alias <name> <target>
//		provider <code> {
//			base_url      <url>
//			api_key       <key>
//			workload_identity
//			param         <name> <value>
//			header        <name> <value>
//			model         <name> <provider/model>
//			token_url     <url>
//			connect       <duration>
//			first_content [low|medium|high] <duration>
//			answer        [low|medium|high] <duration>
//			idle          <duration>
//		}
//	}
func (c *Catalog) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // catalog
	if d.NextArg() {
		return d.ArgErr()
	}
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		switch d.Val() {
		case "file", "prices":
			option, into := d.Val(), &c.File
			if option == "prices" {
				into = &c.Prices
			}
			if *into != "" {
				return d.Errf("%s is given twice", option)
			}
			if !d.AllArgs(into) {
				return d.ArgErr()
			}
		case "provider_keys":
			if c.ProviderKeys != "" {
				return d.Err("provider_keys is given twice")
			}
			if !d.AllArgs(&c.ProviderKeys) {
				return d.ArgErr()
			}
		case "own_keys":
			if c.OwnKeys != "" {
				return d.Err("own_keys is given twice")
			}
			if !d.AllArgs(&c.OwnKeys) {
				return d.ArgErr()
			}
		case "enable", "disable":
			list := &c.Enable
			if d.Val() == "disable" {
				list = &c.Disable
			}
			args := d.RemainingArgs()
			if len(args) == 0 {
				return d.ArgErr()
			}
			*list = append(*list, args...)
		case "alias":
			var name, target string
			if !d.AllArgs(&name, &target) {
				return d.ArgErr()
			}
			if _, twice := c.Aliases[name]; twice {
				return d.Errf("alias %s is given twice", name)
			}
			if c.Aliases == nil {
				c.Aliases = make(map[string]string)
			}
			c.Aliases[name] = target
		case "provider":
			if err := c.provider(d); err != nil {
				return err
			}
		default:
			return directive.NoOption(d,
				"unknown option %q; there are: file, prices, enable, disable, provider_keys, own_keys, alias, provider", d.Val())
		}
	}
	return nil
}

func (c *Catalog) provider(d *caddyfile.Dispenser) error {
	var code string
	if !d.AllArgs(&code) {
		return d.ArgErr()
	}
	if c.Providers[code] != nil {
		return d.Errf("provider %s is given twice", code)
	}
	if c.Providers == nil {
		c.Providers = make(map[string]*Provider)
	}
	p := new(Provider)
	c.Providers[code] = p
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		option := d.Val()
		switch option {
		case "base_url":
			if p.BaseURL != "" {
				return d.Err("base_url is given twice")
			}
			if !d.AllArgs(&p.BaseURL) {
				return d.ArgErr()
			}
		case "token_url":
			if p.TokenURL != "" {
				return d.Err("token_url is given twice")
			}
			if !d.AllArgs(&p.TokenURL) {
				return d.ArgErr()
			}
		case "workload_identity":
			if p.WorkloadIdentity {
				return d.Err("workload_identity is given twice")
			}
			if d.NextArg() {
				return d.ArgErr()
			}
			p.WorkloadIdentity = true
		case "api_key":
			if p.APIKey != "" {
				return d.Err("api_key is given twice")
			}
			if !d.AllArgs(&p.APIKey) {
				return d.ArgErr()
			}
		case "param", "header", "model":
			var name, value string
			if !d.AllArgs(&name, &value) {
				return d.ArgErr()
			}
			table := &p.Params
			switch option {
			case "header":
				table = &p.Headers
			case "model":
				table = &p.Models
			}
			if *table == nil {
				*table = make(map[string]string)
			}
			if _, twice := (*table)[name]; twice {
				return d.Errf("%s %s is given twice", option, name)
			}
			(*table)[name] = value
		case "connect", "idle":
			into := &p.Connect
			if option == "idle" {
				into = &p.Idle
			}
			if *into != 0 {
				return d.Errf("%s is given twice", option)
			}
			var err error
			if *into, err = Duration(d); err != nil {
				return err
			}
		case "first_content":
			if err := Durations(d, &p.FirstContent); err != nil {
				return err
			}
		case "answer":
			if err := Durations(d, &p.Answer); err != nil {
				return err
			}
		default:
			return directive.NoOption(d,
				"unknown option %q; there are: base_url, api_key, workload_identity, param, header, model, token_url, connect, first_content, answer, idle", option)
		}
	}
	return nil
}

// Duration parses the single argument of an option as a positive duration.
func Duration(d *caddyfile.Dispenser) (caddy.Duration, error) {
	option := d.Val()
	var text string
	if !d.AllArgs(&text) {
		return 0, d.ArgErr()
	}
	parsed, err := caddy.ParseDuration(text)
	if err != nil || parsed <= 0 {
		return 0, d.Errf("%s: %q is not a positive duration such as 20s", option, text)
	}
	return caddy.Duration(parsed), nil
}

// Durations parses `<option> [low|medium|high] <duration>` into a map by tier. Without a tier, the duration applies to
// all three.
func Durations(d *caddyfile.Dispenser, into *map[string]caddy.Duration) error {
	option := d.Val()
	args := d.RemainingArgs()
	if len(args) == 0 || len(args) > 2 {
		return d.ArgErr()
	}
	tiers := []string{"low", "medium", "high"}
	if len(args) == 2 {
		tiers = args[:1]
	}
	text := args[len(args)-1]
	parsed, err := caddy.ParseDuration(text)
	if err != nil || parsed <= 0 {
		return d.Errf("%s: %q is not a positive duration such as 20s", option, text)
	}
	if *into == nil {
		*into = make(map[string]caddy.Duration)
	}
	for _, tier := range tiers {
		if _, twice := (*into)[tier]; twice {
			return d.Errf("%s %s is given twice", option, tier)
		}
		(*into)[tier] = caddy.Duration(parsed)
	}
	return nil
}

// UnmarshalCaddyfile sets up the option from its Caddyfile form:
//
//	first_run <url> {
//		discover <base url>...
//		fallback <base url>
//	}
func (f *FirstRun) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // first_run
	if !d.AllArgs(&f.URL) {
		return d.ArgErr()
	}
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		switch d.Val() {
		case "discover":
			args := d.RemainingArgs()
			if len(args) == 0 {
				return d.ArgErr()
			}
			f.Discover = append(f.Discover, args...)
		case "fallback":
			if f.Fallback != "" {
				return d.Err("fallback is given twice")
			}
			if !d.AllArgs(&f.Fallback) {
				return d.ArgErr()
			}
		default:
			return directive.NoOption(d, "unknown option %q; there are: discover, fallback", d.Val())
		}
	}
	return nil
}

// Interface guards
var (
	_ caddyfile.Unmarshaler = (*Catalog)(nil)
	_ caddyfile.Unmarshaler = (*FirstRun)(nil)
)
