package tollgate

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/dustin/go-humanize"

	"github.com/tollgate-gateway/tollgate/internal/memory"
)

func init() {
	httpcaddyfile.RegisterGlobalOption("tollgate", parseGlobalOption)
}

func parseGlobalOption(d *caddyfile.Dispenser, existing any) (any, error) {
	if existing != nil {
		d.Next() // so that the error has its line
		return nil, d.Err("the option tollgate is given twice")
	}
	app := new(App)
	if err := app.UnmarshalCaddyfile(d); err != nil {
		return nil, err
	}
	return httpcaddyfile.App{Name: "tollgate", Value: caddyconfig.JSON(app, nil)}, nil
}

// UnmarshalCaddyfile sets up the app from its Caddyfile form; see App.
func (a *App) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // tollgate
	if d.NextArg() {
		return d.ArgErr()
	}
	for d.NextBlock(0) {
		var err error
		switch d.Val() {
		case "database":
			err = a.database(d)
		case "counters":
			err = oneGuest(d, "tollgate.counters.", "store", &a.CountersRaw)
		case "keyring":
			err = oneGuest(d, "tollgate.keyring.", "ring", &a.KeyringRaw)
		case "memory":
			err = a.memoryOption(d)
		case "catalog":
			err = a.catalog(d)
		case "allow_networks":
			args := d.RemainingArgs()
			if len(args) == 0 {
				return d.ArgErr()
			}
			a.AllowNetworks = append(a.AllowNetworks, args...)
		case "first_run":
			err = a.firstRunOption(d)
		default:
			return d.Errf("unknown option %q; there are: database, counters, keyring, memory, catalog, allow_networks, first_run", d.Val())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// memoryOption reads `memory <size>`.
func (a *App) memoryOption(d *caddyfile.Dispenser) error {
	if a.Memory != 0 {
		return d.Err("memory is given twice")
	}
	var size string
	if !d.AllArgs(&size) {
		return d.ArgErr()
	}
	n, err := humanize.ParseBytes(size)
	if err != nil || n < memory.Least || n > math.MaxInt64 {
		return d.Errf("memory: %q is not a size of at least 96MiB, such as 2GiB", size)
	}
	a.Memory = int64(n)
	return nil
}

// database reads `database [<service>] <engine> …`.
func (a *App) database(d *caddyfile.Dispenser) error {
	if !d.NextArg() {
		return d.ArgErr()
	}
	if _, err := caddy.GetModule("tollgate.storage." + d.Val()); err == nil {
		d.Prev()
		return oneGuest(d, "tollgate.storage.", "engine", &a.DatabaseRaw)
	}
	service := d.Val()
	if !slices.Contains(Services, service) && !engineFollows(d) {
		return d.Errf("there is no storage %q; there are: %s", service, Guests("tollgate.storage"))
	}
	if a.DatabasesRaw == nil {
		a.DatabasesRaw = make(map[string]json.RawMessage)
	}
	raw := a.DatabasesRaw[service]
	if err := oneGuest(d, "tollgate.storage.", "engine", &raw); err != nil {
		return err
	}
	a.DatabasesRaw[service] = raw
	return nil
}

// engineFollows tells whether the next argument is an engine, as it is behind
// the name of a service, be that misspelt.
func engineFollows(d *caddyfile.Dispenser) bool {
	if !d.NextArg() {
		return false
	}
	_, err := caddy.GetModule("tollgate.storage." + d.Val())
	d.Prev()
	return err == nil
}

// Guests lists the modules of a namespace that a Caddyfile can name, for errors.
func Guests(namespace string) string {
	var names []string
	for _, module := range caddy.GetModules(namespace) {
		if _, ok := module.New().(caddyfile.Unmarshaler); ok {
			names = append(names, module.ID.Name())
		}
	}
	return strings.Join(names, ", ")
}

// oneGuest reads the guest module named by the next argument.
func oneGuest(d *caddyfile.Dispenser, namespace, key string, raw *json.RawMessage) error {
	option := d.Val()
	if !d.NextArg() {
		return d.ArgErr()
	}
	if *raw != nil {
		return d.Errf("%s is given twice", option)
	}
	name := d.Val()
	module, err := caddyfile.UnmarshalModule(d, namespace+name)
	if err != nil {
		if strings.Contains(err.Error(), "module not registered") {
			namespace = strings.TrimSuffix(namespace, ".")
			return d.Errf("there is no %s %q; there are: %s", strings.TrimPrefix(namespace, "tollgate."), name, Guests(namespace))
		}
		return err
	}
	*raw = caddyconfig.JSONModuleObject(module, key, name, nil)
	return nil
}

func (a *App) catalog(d *caddyfile.Dispenser) error {
	if a.Catalog != nil {
		return d.Err("catalog is given twice")
	}
	if d.NextArg() {
		return d.ArgErr()
	}
	c := new(Catalog)
	a.Catalog = c
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		switch d.Val() {
		case "file":
			if c.File != "" {
				return d.Err("file is given twice")
			}
			if !d.AllArgs(&c.File) {
				return d.ArgErr()
			}
		case "provider_keys":
			if c.ProviderKeys != "" {
				return d.Err("provider_keys is given twice")
			}
			if !d.AllArgs(&c.ProviderKeys) {
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
		case "provider":
			if err := c.provider(d); err != nil {
				return err
			}
		default:
			return d.Errf("unknown option %q; there are: file, enable, disable, provider_keys, provider", d.Val())
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
		case "api_key":
			if p.APIKey != "" {
				return d.Err("api_key is given twice")
			}
			if !d.AllArgs(&p.APIKey) {
				return d.ArgErr()
			}
		case "param", "header":
			var name, value string
			if !d.AllArgs(&name, &value) {
				return d.ArgErr()
			}
			table := &p.Params
			if option == "header" {
				table = &p.Headers
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
			return d.Errf("unknown option %q; there are: base_url, api_key, param, header, connect, first_content, answer, idle", option)
		}
	}
	return nil
}

// Duration reads the one argument of an option as a positive duration.
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

// Durations reads `<option> [low|medium|high] <duration>`; without a tier it is
// for all three.
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

func (a *App) firstRunOption(d *caddyfile.Dispenser) error {
	if a.FirstRun != nil {
		return d.Err("first_run is given twice")
	}
	f := new(FirstRun)
	a.FirstRun = f
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
			return d.Errf("unknown option %q; there are: discover, fallback", d.Val())
		}
	}
	return nil
}

// Interface guards
var _ caddyfile.Unmarshaler = (*App)(nil)
