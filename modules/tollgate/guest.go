package tollgate

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/caddyserver/caddy/v2"
)

// loadGuest loads the guest module configured in a field. If raw is nil, it loads the module that byDefault names,
// with the configuration in config.
func loadGuest[T any](
	ctx caddy.Context, app *App, field string, raw json.RawMessage, byDefault string, config json.RawMessage,
) (T, error) {
	var zero T
	var loaded any
	var err error
	if raw == nil {
		loaded, err = ctx.LoadModuleByID(byDefault, config)
	} else {
		loaded, err = ctx.LoadModule(app, field)
	}
	if err != nil {
		return zero, err
	}
	module, ok := loaded.(T)
	if !ok {
		return zero, fmt.Errorf("module %T cannot be used here", loaded)
	}
	return module, nil
}

// optionsRaw returns the configured options that belong to a single service. Each option is a module whose ID is
// tollgate.<name>.
func (a *App) optionsRaw() map[string]json.RawMessage {
	options := map[string]json.RawMessage{"catalog": a.CatalogRaw, "first_run": a.FirstRunRaw}
	maps.DeleteFunc(options, func(_ string, raw json.RawMessage) bool { return raw == nil })
	return options
}

// Option returns the option catalog or first_run, which belong to a service, as the loaded module tollgate.<name>. It
// returns nil if the option is not configured.
func (a *App) Option(name string) (any, error) {
	raw, isSet := a.optionsRaw()[name]
	if loaded, ok := a.options[name]; ok || !isSet { // loaded is nil if the option is not configured
		return loaded, nil
	}
	loaded, err := a.ctx.LoadModuleByID("tollgate."+name, raw)
	if err != nil {
		return nil, err
	}
	if a.options == nil {
		a.options = make(map[string]any)
	}
	a.options[name] = loaded
	return loaded, nil
}
