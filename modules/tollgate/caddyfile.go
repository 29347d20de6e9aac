package tollgate

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/dustin/go-humanize"

	"github.com/tollgate-gateway/tollgate/internal/memory"
	"github.com/tollgate-gateway/tollgate/modules/directive"
)

func init() {
	httpcaddyfile.RegisterGlobalOption("tollgate", parseGlobalOption)
}

// parseGlobalOption parses the global option tollgate. existing is the result for an earlier occurrence of the option,
// or nil.
func parseGlobalOption(d *caddyfile.Dispenser, existing any) (any, error) {
	if existing != nil {
		d.Next() // gives the error its line number
		return nil, d.Err("the option tollgate is given twice")
	}
	app := new(App)
	if err := app.UnmarshalCaddyfile(d); err != nil {
		return nil, err
	}
	return httpcaddyfile.App{Name: "tollgate", Value: caddyconfig.JSON(app, nil)}, nil
}

// UnmarshalCaddyfile parses the global option tollgate; see App for its syntax.
func (a *App) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // tollgate
	if d.NextArg() {
		return d.ArgErr()
	}
	return directive.Options(d, func(option string) (err error) {
		switch option {
		case "database":
			err = a.databaseOption(d)
		case "counters":
			err = oneGuest(d, "tollgate.counters.", "store", &a.CountersRaw)
		case "keyring":
			err = oneGuest(d, "tollgate.keyring.", "ring", &a.KeyringRaw)
		case "memory":
			err = a.memoryOption(d)
		case "catalog":
			err = serviceOption(d, &a.CatalogRaw)
		case "allow_networks":
			err = directive.Texts(d, &a.AllowNetworks)
		case "first_run":
			err = serviceOption(d, &a.FirstRunRaw)
		case "start_wait":
			err = directive.Duration(d, &a.StartWait, "10s")
		case "brand":
			err = a.brandOption(d)
		default:
			err = directive.NoOption(d,
				"unknown option %q; there are: database, counters, keyring, memory, catalog, allow_networks, "+
					"first_run, start_wait, brand", option)
		}
		return err
	}, "database", "allow_networks")
}

// memoryOption parses `memory <size>`.
func (a *App) memoryOption(d *caddyfile.Dispenser) error {
	var size string
	if !d.AllArgs(&size) {
		return d.ArgErr()
	}
	n, err := humanize.ParseBytes(size)
	if err != nil || n < memory.MinBudget || n > math.MaxInt64 {
		return d.Errf("memory: %q is not a size of at least 96MiB, such as 2GiB", size)
	}
	a.Memory = int64(n)
	return nil
}

// databaseOption parses `database [<service>] <engine> …`.
func (a *App) databaseOption(d *caddyfile.Dispenser) error {
	if !d.NextArg() {
		return d.ArgErr()
	}
	if _, err := caddy.GetModule("tollgate.storage." + d.Val()); err == nil {
		d.Prev()
		return oneGuest(d, "tollgate.storage.", "engine", &a.DatabaseRaw)
	}
	service := d.Val()
	if registered[service] == nil && !engineFollows(d) {
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

// engineFollows reports whether the next argument is the name of an engine. If so, the current argument is meant as the
// name of a service, even if it is misspelt.
func engineFollows(d *caddyfile.Dispenser) bool {
	if !d.NextArg() {
		return false
	}
	_, err := caddy.GetModule("tollgate.storage." + d.Val())
	d.Prev()
	return err == nil
}

// Guests returns the modules of a namespace that a Caddyfile can name, as a list for error messages.
func Guests(namespace string) string {
	var names []string
	for _, module := range caddy.GetModules(namespace) {
		if _, ok := module.New().(caddyfile.Unmarshaler); ok {
			names = append(names, module.ID.Name())
		}
	}
	return strings.Join(names, ", ")
}

// oneGuest parses the guest module that the next argument names, and stores the module's JSON in raw. key is the name
// of the JSON member that holds the module's name.
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
			return d.Errf("there is no %s %q; there are: %s",
				strings.TrimPrefix(namespace, "tollgate."), name, Guests(namespace))
		}
		return err
	}
	*raw = caddyconfig.JSONModuleObject(module, key, name, nil)
	return nil
}

// serviceOption parses an option that belongs to a service, with the parser of the module tollgate.<option>.
func serviceOption(d *caddyfile.Dispenser, raw *json.RawMessage) error {
	module, err := caddyfile.UnmarshalModule(d, "tollgate."+d.Val())
	if err != nil {
		return err
	}
	*raw = caddyconfig.JSON(module, nil)
	return nil
}

// Interface guards
var _ caddyfile.Unmarshaler = (*App)(nil)
