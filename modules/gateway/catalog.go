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

// Catalog determines the providers and models of the gateway. It is the option catalog of the app tollgate.
type Catalog struct {
	// File is a data file that replaces the built-in data file, usually with a newer version. It is read again when it
	// changes. A file with an error is reported and not used.
	File string `json:"file,omitempty"`

	// Prices is a file with the operator's own prices and discounts, which replace list prices. It is read again when it
	// changes. A file with an error is reported and not used.
	Prices string `json:"prices,omitempty"`

	// Enable lists providers that are known but not offered by default: perplexity, nim, sambanova, hf, cf, azure,
	// azure-dated, azure-claude, vertex, vertex-claude, bedrock, bedrock-claude.
	Enable []string `json:"enable,omitempty"`

	// Disable lists providers that are not offered.
	Disable []string `json:"disable,omitempty"`

	// ProviderKeys is the source of provider keys that serve every user. "env" takes them from the environment variables
	// that GET /providers lists, such as OPENAI_API_KEY. If a variable with a base URL is set too, for example
	// OPENAI_BASE_URL, the key is used only for that base URL. Default: no source, users add their own keys.
	ProviderKeys string `json:"provider_keys,omitempty"`

	// OwnKeys determines the use of provider keys that users have added. "first" tries a user's keys before the keys of
	// the team, of the organisation and of the operator. "only" uses no other keys. "never" does not let users add keys.
	// Default: first.
	OwnKeys string `json:"own_keys,omitempty"`

	// Aliases are additional names for models and tiers, for every user. The value of a name is its target:
	// provider/model, the id of a model, or low, medium or high. Teams and users can give an alias a different target.
	Aliases map[string]string `json:"aliases,omitempty"`

	// Providers are changes to how providers are reached, keyed by the provider's code.
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

// Provision reads the data files.
func (c *Catalog) Provision(ctx caddy.Context) (err error) {
	if tollgate.ForCommand(ctx) {
		c.fillUnset(ctx.Logger())
	}
	c.source, err = c.open(ctx.Logger())
	return err
}

// fillUnset replaces values that refer to unset environment variables with harmless values, for a command. A command
// never sends anything to providers, so it can run without these variables.
func (c *Catalog) fillUnset(logger *zap.Logger) {
	for _, code := range slices.Sorted(maps.Keys(c.Providers)) {
		p := c.Providers[code]
		fill := func(option string, value *string, substitute string) {
			if _, err := placeholder.Resolve(*value); err != nil {
				logger.Warn("an option of a provider uses a variable that is not set for this command; the server needs it",
					zap.String("provider", code), zap.String("option", option), zap.Error(err))
				*value = substitute
			}
		}
		fill("api_key", &p.APIKey, "")
		fill("base_url", &p.BaseURL, "http://unset.invalid")
		for _, name := range slices.Sorted(maps.Keys(p.Params)) {
			value := p.Params[name]
			fill("param "+name, &value, "unset")
			p.Params[name] = value
		}
	}
}

// Provider changes how one provider is reached, for example through a proxy, in another region or at a test server.
type Provider struct {
	// BaseURL replaces the provider's base URL, to which paths such as "/chat/completions" are appended. It may contain
	// the placeholders {env.*} and {file.*}.
	BaseURL string `json:"base_url,omitempty"`

	// Params are values for the {name} parts of base URLs in the data file, such as account_id of cf.
	Params map[string]string `json:"params,omitempty"`

	// TokenURL replaces the address at which keys are exchanged for tokens. {tenant} in it is replaced with the tenant
	// that the key names.
	TokenURL string `json:"token_url,omitempty"`

	// Models adds models that the provider knows by other names, such as deployments. Each key is the name that the
	// provider uses; its value is the same model in the catalog, as provider/model. An added model has the tier and limits
	// of the model in the catalog. It has no price unless the option prices sets one.
	Models map[string]string `json:"models,omitempty"`

	// Headers are sent with each request.
	Headers map[string]string `json:"headers,omitempty"`

	// APIKey is a key that serves every user. It is used after keys that users have added. It may be a placeholder {env.*}
	// or {file.*}; then the admin API does not show the key, and the placeholder is read again at each reload. Default:
	// the key from provider_keys, if any.
	APIKey string `json:"api_key,omitempty"`

	// WorkloadIdentity uses the cloud identity of the machine or pod instead of APIKey: a Google Cloud service account, an
	// AWS role, or an Azure managed identity or workload identity. It works for vertex, vertex-claude, bedrock,
	// bedrock-converse, azure, azure-dated and azure-claude. Default: off.
	WorkloadIdentity bool `json:"workload_identity,omitempty"`

	// Connect is the time limit for establishing a connection. Default: 10s.
	Connect caddy.Duration `json:"connect,omitempty"`

	// FirstContent is the time limit for the first content of a stream, by tier (low, medium, high). Default: the limits
	// of the cascade.
	FirstContent map[string]caddy.Duration `json:"first_content,omitempty"`

	// Answer is the time limit for a response that is not streamed, by tier. Default: the limits of the cascade.
	Answer map[string]caddy.Duration `json:"answer,omitempty"`

	// Idle is the longest allowed silence of a stream. Default: the limit of the cascade.
	Idle caddy.Duration `json:"idle,omitempty"`
}

// open resolves the placeholders of the options and reads the data files. It logs a warning for each key of the
// environment that is not used, because another variable of the environment says that it is for another base URL.
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
	case "": // users add their own keys
	case "env":
		environment = os.Getenv
	default:
		return nil, fmt.Errorf("provider_keys: %q must be env", c.ProviderKeys)
	}
	options := catalog.Options{
		Environment: environment, OwnKeys: catalog.OwnKeys(c.OwnKeys), Aliases: c.Aliases, Enable: c.Enable,
		Disable: c.Disable, Overrides: make(map[string]catalog.Override),
	}
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
			logger.Warn("a key of the environment is not used for its provider, because it belongs to the base URL in another "+
				"variable; to use that URL, set `provider "+p.Code+" { base_url {env."+key.BaseVariable+"} }` in the catalog",
				zap.String("variable", key.Variable), zap.String("base_url_variable", key.BaseVariable),
				zap.String("provider", p.Code))
		}
	}
	return source, nil
}

// override resolves the placeholders of the options and converts the options for the catalog.
func (p *Provider) override() (catalog.Override, error) {
	o := catalog.Override{Params: make(map[string]string), Headers: make(map[string]string)}
	var err error
	if o.BaseURL, err = placeholder.Resolve(p.BaseURL); err != nil {
		return o, fmt.Errorf("base_url: %w", err)
	}
	if o.APIKey, err = placeholder.Resolve(p.APIKey); err != nil {
		return o, fmt.Errorf("api_key: %w", err)
	}
	o.APIKey = strings.TrimSpace(o.APIKey) // a file usually ends in a line break
	if o.APIKey == "" && p.APIKey != "" {
		return o, errors.New("api_key: the value is blank")
	}
	o.TokenURL, o.Models, o.WorkloadIdentity = p.TokenURL, p.Models, p.WorkloadIdentity
	for name, value := range p.Params {
		if o.Params[name], err = placeholder.Resolve(value); err != nil {
			return o, fmt.Errorf("param %s: %w", name, err)
		}
	}
	for name, value := range p.Headers {
		// A placeholder may be empty, but must be known.
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

// PerTier returns the durations in times, a map whose keys are the names of tiers, as a catalog.PerTier. option is
// the option's name for errors.
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
