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

// Catalog chooses the providers and models that the gateway knows. It is the option catalog of the app tollgate.
type Catalog struct {
	// File is a data file that replaces the built-in one, usually a newer version of it. It is read again when it
	// changes; a file with an error is reported and not used.
	File string `json:"file,omitempty"`

	// Prices is a file with the operator's own prices and discounts, which replace list prices. It is read again when
	// it changes; a file with an error is reported and not used.
	Prices string `json:"prices,omitempty"`

	// Enable lists providers that are known but not offered by default: perplexity, nim, sambanova, hf, cf, azure,
	// azure-dated, azure-claude, vertex, vertex-claude, bedrock, bedrock-claude.
	Enable []string `json:"enable,omitempty"`

	// Disable lists providers that are not offered.
	Disable []string `json:"disable,omitempty"`

	// ProviderKeys says where keys that serve every user are taken from. "env" takes them from the environment
	// variables that GET /providers lists, such as OPENAI_API_KEY, if they are set. A key whose base URL is also set,
	// for example in OPENAI_BASE_URL, is used only for that base URL. Default: none are taken, users bring their own.
	ProviderKeys string `json:"provider_keys,omitempty"`

	// OwnKeys says whether users' own provider keys are used. "first" tries them before those of their team, of the
	// organisation and of the operator. "only" uses no other keys. "never" uses only the other keys and lets users add
	// none. Default: first.
	OwnKeys string `json:"own_keys,omitempty"`

	// Aliases are additional names for models and tiers, valid for every user. The value of a name is its target:
	// provider/model, the id of a model, or low, medium or high. Teams and users can give a name another target.
	Aliases map[string]string `json:"aliases,omitempty"`

	// Providers changes how providers are reached, by their codes.
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

// leaveUnset replaces values that the environment of a command does not have by harmless ones. A command never sends
// anything to providers, so it can run without them.
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

// Provider changes how one provider is reached, for example through a proxy, in another region or at a test server.
type Provider struct {
	// BaseURL replaces the base URL, to which "/chat/completions" is appended. It may contain the placeholders {env.*}
	// and {file.*}.
	BaseURL string `json:"base_url,omitempty"`

	// Params are the values of the {name} parts of the data file's base URL, such as account_id of cf.
	Params map[string]string `json:"params,omitempty"`

	// TokenURL replaces the address at which keys are exchanged for tokens. {tenant} in it stands for the tenant that
	// the key names.
	TokenURL string `json:"token_url,omitempty"`

	// Models adds models under the operator's own names, such as deployments. Each name is the one that the provider
	// uses; its value is the provider/model of the catalog that it is. They have the tier and limits of that model, and
	// no price unless prices has one.
	Models map[string]string `json:"models,omitempty"`

	// Headers are sent with each request.
	Headers map[string]string `json:"headers,omitempty"`

	// APIKey is a key that serves every user, used after users' own keys. It may contain the placeholders {env.*} and
	// {file.*}, which keep it out of the admin API and are read again at each reload. Default: that of provider_keys,
	// else none.
	APIKey string `json:"api_key,omitempty"`

	// WorkloadIdentity uses the identity that the cloud gives to the machine or the pod, in place of APIKey: the service
	// account of Google Cloud, the role of AWS, the managed identity or the workload identity of Azure. It is for
	// vertex, vertex-claude, bedrock, bedrock-converse, azure, azure-dated and azure-claude. Default: off.
	WorkloadIdentity bool `json:"workload_identity,omitempty"`

	// Connect is the time allowed to establish a connection. Default: 10s.
	Connect caddy.Duration `json:"connect,omitempty"`

	// FirstContent is the time allowed until the first content of a stream, by tier (low, medium, high). Default: those
	// of the cascade.
	FirstContent map[string]caddy.Duration `json:"first_content,omitempty"`

	// Answer is the time allowed until the end of a response that is not streamed, by tier. Default: those of the
	// cascade.
	Answer map[string]caddy.Duration `json:"answer,omitempty"`

	// Idle is the longest allowed silence of a stream. Default: that of the cascade.
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
		return nil, fmt.Errorf("provider_keys: %q is not a place for keys; there is: env", c.ProviderKeys)
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
			logger.Warn("the key of a variable is not used for its provider, since it belongs to the base URL beside it; "+
				"`provider "+p.Code+" { base_url {env."+key.BaseVariable+"} }` of the catalog reaches that",
				zap.String("variable", key.Variable), zap.String("base_url_variable", key.BaseVariable),
				zap.String("provider", p.Code))
		}
	}
	return source, nil
}

// override resolves the placeholders of the options.
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
		return o, errors.New("api_key: there is nothing but spaces")
	}
	o.TokenURL, o.Models, o.WorkloadIdentity = p.TokenURL, p.Models, p.WorkloadIdentity
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

// PerTier converts durations by the names of tiers.
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
