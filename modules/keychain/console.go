package keychain

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/management"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/modules/placeholder"
)

// Console has the options of the console, which serves the pages at /console/.
type Console struct {
	// Off disables the console.
	Off bool `json:"off,omitempty"`

	management.ConsoleOptions
}

// create creates the console. It returns nil if the console is disabled. A nil receiver stands for the defaults. bar
// describes the bar at the top of the pages.
func (c *Console) create(bar func(*http.Request) look.Bar) (*management.Console, error) {
	if c == nil {
		return management.NewConsole(management.ConsoleOptions{Bar: bar})
	}
	if c.Off {
		return nil, nil
	}
	o := c.ConsoleOptions
	o.Bar = bar
	var err error
	resolve := func(text *string) { // replaces placeholders; does nothing after an error
		if err == nil {
			*text, err = placeholder.Resolve(*text)
		}
	}
	if o.OIDC != nil {
		provider := *o.OIDC
		resolve(&provider.Issuer)
		resolve(&provider.ClientID)
		resolve(&provider.Resource)
		o.OIDC = &provider
	}
	o.Origins = slices.Clone(o.Origins)
	for i := range o.Origins {
		resolve(&o.Origins[i])
	}
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	console, err := management.NewConsole(o)
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	return console, nil
}
