package gateway

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/modules/placeholder"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(new(Catalog))
}

// Catalog chooses the providers and models that the gateway knows. It is the option
// catalog of the app tollgate.
type Catalog struct {
	// File is a newer data file than the one built in. It is read again when it
	// changes; a file with a mistake is reported and not used.
	File string `json:"file,omitempty"`

	// Prices is a file of the operator's own prices and discounts in place of list prices. It is
	// read again when it changes; a file with a mistake is reported and not used.
	Prices string `json:"prices,omitempty"`

	// Enable lists providers that are shipped but not offered by default:
	// perplexity, nim, sambanova, hf, cf, azure, azure-dated, azure-claude, vertex, vertex-claude, bedrock, bedrock-claude.
	Enable []string `json:"enable,omitempty"`

	// Disable lists providers that are not to be offered.
	Disable []string `json:"disable,omitempty"`

	// ProviderKeys says where keys that serve every user come from: "env" takes the
	// variables that GET /providers names, such as OPENAI_API_KEY, where they are set. A
	// key that has a base URL beside it, such as OPENAI_BASE_URL, is used for that alone.
	// Default: from nowhere, users bring their own.
	ProviderKeys string `json:"provider_keys,omitempty"`

	// OwnKeys says whether users' own provider keys are used: "first" tries them before those of
	// their team, of the organisation and of the operator, "only" uses no others, "never" uses only
	// the others and lets users add none. Default: first.
	OwnKeys string `json:"own_keys,omitempty"`

	// Aliases are other names for models and tiers, for every user: what they lead to, by their names.
	// That is provider/model, the id of a model, or low, medium, high. Teams and users can lead a
	// name elsewhere.
	Aliases map[string]string `json:"aliases,omitempty"`

	// Providers changes how providers are reached, by their code.
	Providers map[string]*Provider `json:"providers,omitempty"`

	source *catalog.Source
}

// CaddyModule returns the Caddy module information.
func (*Catalog) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "tollgate.catalog",
		New: func() caddy.Module { return new(Catalog) },
	}
}

// Provision reads the data file.
func (c *Catalog) Provision(ctx caddy.Context) (err error) {
	if tollgate.ForCommand(ctx) {
		c.leaveUnset(ctx.Logger())
	}
	c.source, err = c.open(ctx.Logger())
	return err
}

// leaveUnset puts something harmless in the place of what the environment of a command
// lacks: only a server sends anything to providers.
func (c *Catalog) leaveUnset(logger *zap.Logger) {
	for _, code := range slices.Sorted(maps.Keys(c.Providers)) {
		p := c.Providers[code]
		leave := func(option string, value *string, harmless string) {
			if _, err := placeholder.Resolve(*value); err != nil {
				logger.Warn("an option of a provider is not set here; the server needs it",
					zap.String("provider", code), zap.String("option", option), zap.Error(err))
				*value = harmless
			}
		}
		leave("api_key", &p.APIKey, "")
		leave("base_url", &p.BaseURL, "http://unset.invalid")
		for _, name := range slices.Sorted(maps.Keys(p.Params)) {
			value := p.Params[name]
			leave("param "+name, &value, "unset")
			p.Params[name] = value
		}
	}
}

// Provider changes how one provider is reached: through a proxy, in a region,
// or a test server.
type Provider struct {
	// BaseURL replaces the base URL; "/chat/completions" is appended. May hold
	// the placeholders {env.*} and {file.*}.
	BaseURL string `json:"base_url,omitempty"`

	// Params fill the {name} parts of the data file's base URL, such as
	// account_id of cf.
	Params map[string]string `json:"params,omitempty"`

	// TokenURL replaces the address where keys are exchanged for tokens. {tenant} in it stands for
	// the tenant that the key names.
	TokenURL string `json:"token_url,omitempty"`

	// Models adds models under names of one's own, such as deployments: the provider/model of
	// the catalog that each of them is, by the name that the provider knows it by. They have its
	// tiers and limits, and no price unless prices has one.
	Models map[string]string `json:"models,omitempty"`

	// Headers are sent with each request.
	Headers map[string]string `json:"headers,omitempty"`

	// APIKey is a key that serves every user, behind keys of their own. May hold the
	// placeholders {env.*} and {file.*}, which keep it out of the admin API and are
	// read anew by each reload. Default: that of provider_keys, else none.
	APIKey string `json:"api_key,omitempty"`

	// Connect is the time to a usable connection. Default: 10s.
	Connect caddy.Duration `json:"connect,omitempty"`

	// FirstContent is the time to the first content of a stream, by tier (low,
	// medium, high). Default: those of the cascade.
	FirstContent map[string]caddy.Duration `json:"first_content,omitempty"`

	// Answer is the time to the end of an answer that is not streamed, by tier.
	// Default: those of the cascade.
	Answer map[string]caddy.Duration `json:"answer,omitempty"`

	// Idle is the longest silence of a stream. Default: that of the cascade.
	Idle caddy.Duration `json:"idle,omitempty"`
}

func (c *Catalog) open(logger *zap.Logger) (*catalog.Source, error) {
	file, err := placeholder.Resolve(c.File)
	if err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	prices, err := placeholder.Resolve(c.Prices)
	if err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	var environment func(string) string
	switch c.ProviderKeys {
	case "":
	case "env":
		environment = os.Getenv
	default:
		return nil, fmt.Errorf("provider_keys: %q is no place for keys; there is: env", c.ProviderKeys)
	}
	options := catalog.Options{Environment: environment, OwnKeys: catalog.OwnKeys(c.OwnKeys), Aliases: c.Aliases, Enable: c.Enable, Disable: c.Disable, Overrides: make(map[string]catalog.Override)}
	for code, p := range c.Providers {
		override, err := p.override()
		if err != nil {
			return nil, fmt.Errorf("provider %s: %w", code, err)
		}
		options.Overrides[code] = override
	}
	source, err := catalog.NewSource(file, prices, options, logger)
	if err != nil || environment == nil {
		return source, err
	}
	for _, p := range source.Current().Providers() {
		if key, ok := p.EnvironmentKey(environment); ok && !key.BelongsTo(p.BaseURL) {
			logger.Warn("the key of a variable is not used for its provider, since it belongs to the base URL beside it; "+
				"`provider "+p.Code+" { base_url {env."+key.BaseVariable+"} }` of the catalog reaches that",
				zap.String("variable", key.Variable), zap.String("base_url_variable", key.BaseVariable), zap.String("provider", p.Code))
		}
	}
	return source, nil
}

func (p *Provider) override() (catalog.Override, error) {
	o := catalog.Override{Params: make(map[string]string), Headers: make(map[string]string)}
	var err error
	if o.BaseURL, err = placeholder.Resolve(p.BaseURL); err != nil {
		return o, fmt.Errorf("base_url: %w", err)
	}
	if o.APIKey, err = placeholder.Resolve(p.APIKey); err != nil {
		return o, fmt.Errorf("api_key: %w", err)
	}
	o.APIKey = strings.TrimSpace(o.APIKey) // files end in a line break
	if o.APIKey == "" && p.APIKey != "" {
		return o, errors.New("api_key: there is nothing but spaces")
	}
	o.TokenURL, o.Models = p.TokenURL, p.Models
	for name, value := range p.Params {
		if o.Params[name], err = placeholder.Resolve(value); err != nil {
			return o, fmt.Errorf("param %s: %w", name, err)
		}
	}
	for name, value := range p.Headers {
		if o.Headers[name], err = caddy.NewReplacer().ReplaceOrErr(value, false, true); err != nil {
			return o, fmt.Errorf("header %s: %w", name, err)
		}
	}
	o.Timeouts.Connect, o.Timeouts.Idle = time.Duration(p.Connect), time.Duration(p.Idle)
	if o.Timeouts.FirstContent, err = PerTier("first_content", p.FirstContent); err != nil {
		return o, err
	}
	o.Timeouts.Answer, err = PerTier("answer", p.Answer)
	return o, err
}

// PerTier reads an option's times by the names of tiers.
func PerTier(option string, times map[string]caddy.Duration) (catalog.PerTier, error) {
	var out catalog.PerTier
	for name, d := range times {
		tier, err := catalog.ParseTier(name)
		if err != nil {
			return out, fmt.Errorf("%s: %w", option, err)
		}
		switch tier {
		case catalog.Low:
			out.Low = time.Duration(d)
		case catalog.Medium:
			out.Medium = time.Duration(d)
		case catalog.High:
			out.High = time.Duration(d)
		}
	}
	return out, nil
}

// Interface guards
var _ caddy.Provisioner = (*Catalog)(nil)
