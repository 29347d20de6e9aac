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
	texts := map[string]*string{
		"file": &c.File, "prices": &c.Prices, "provider_keys": &c.ProviderKeys, "own_keys": &c.OwnKeys,
	}
	return directive.Options(d, func(option string) error {
		if text := texts[option]; text != nil {
			return directive.Text(d, text)
		}
		switch option {
		case "enable":
			return directive.Texts(d, &c.Enable)
		case "disable":
			return directive.Texts(d, &c.Disable)
		case "alias":
			return parsePair(d, &c.Aliases)
		case "provider":
			return c.unmarshalProvider(d)
		}
		return directive.NoOption(d,
			"unknown option %q; there are: file, prices, enable, disable, provider_keys, own_keys, alias, provider", option)
	}, "enable", "disable", "alias", "provider")
}

// parsePair parses `<option> <name> <value>` into a map from names to values. Each name may occur only once.
func parsePair(d *caddyfile.Dispenser, table *map[string]string) error {
	option := d.Val()
	var name, value string
	if !d.AllArgs(&name, &value) {
		return d.ArgErr()
	}
	if _, twice := (*table)[name]; twice {
		return d.Errf("%s %s is given twice", option, name)
	}
	if *table == nil {
		*table = make(map[string]string)
	}
	(*table)[name] = value
	return nil
}

// unmarshalProvider parses the option provider.
func (c *Catalog) unmarshalProvider(d *caddyfile.Dispenser) error {
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
	texts := map[string]*string{"base_url": &p.BaseURL, "token_url": &p.TokenURL, "api_key": &p.APIKey}
	tables := map[string]*map[string]string{"param": &p.Params, "header": &p.Headers, "model": &p.Models}
	return directive.Options(d, func(option string) (err error) {
		if text := texts[option]; text != nil {
			return directive.Text(d, text)
		}
		if table := tables[option]; table != nil {
			return parsePair(d, table)
		}
		switch option {
		case "workload_identity":
			err = directive.Flag(d, &p.WorkloadIdentity)
		case "connect":
			err = directive.Duration(d, &p.Connect, "20s")
		case "idle":
			err = directive.Duration(d, &p.Idle, "20s")
		case "first_content":
			err = Durations(d, &p.FirstContent)
		case "answer":
			err = Durations(d, &p.Answer)
		default:
			err = directive.NoOption(d,
				"unknown option %q; there are: base_url, api_key, workload_identity, param, header, model, token_url, connect, first_content, answer, idle", option)
		}
		return err
	}, "param", "header", "model", "first_content", "answer")
}

// Durations parses `<option> [low|medium|high] <duration>` into the map *byTier. If no tier is named, the duration
// applies to all three. Each tier may occur only once.
func Durations(d *caddyfile.Dispenser, byTier *map[string]caddy.Duration) error {
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
	if *byTier == nil {
		*byTier = make(map[string]caddy.Duration)
	}
	for _, tier := range tiers {
		if _, twice := (*byTier)[tier]; twice {
			return d.Errf("%s %s is given twice", option, tier)
		}
		(*byTier)[tier] = caddy.Duration(parsed)
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
	return directive.Options(d, func(option string) error {
		switch option {
		case "discover":
			return directive.Texts(d, &f.Discover)
		case "fallback":
			return directive.Text(d, &f.Fallback)
		}
		return directive.NoOption(d, "unknown option %q; there are: discover, fallback", option)
	}, "discover")
}

// Interface guards
var (
	_ caddyfile.Unmarshaler = (*Catalog)(nil)
	_ caddyfile.Unmarshaler = (*FirstRun)(nil)
)
