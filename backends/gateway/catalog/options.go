package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
)

// Options choose among the providers of a file and change how they are reached.
type Options struct {
	// Enable lists alternates to offer. Naming a provider that is no alternate
	// changes nothing.
	Enable []string
	// Disable lists providers not to offer.
	Disable []string
	// Overrides are by provider code. One for a provider that is not enabled
	// is checked but has no effect.
	Overrides map[string]Override
	// Environment gives the values of the variables of Provider.Env, for keys of
	// the operator's; nil: they are not looked at.
	Environment func(name string) string
	// Prices replace those of the file.
	Prices Prices
	// OwnKeys says whether users' own provider keys are used. Default: OwnKeysFirst.
	OwnKeys OwnKeys
	// Aliases are other names for models and tiers, by these names; see CheckAlias.
	Aliases map[string]string
}

// OwnKeys is a policy for users' own provider keys. Models of users' own servers have nothing
// to do with it.
type OwnKeys string

// The policies. The zero value is OwnKeysFirst.
const (
	// OwnKeysFirst tries users' own keys before those of their team, of the organisation and of
	// the operator.
	OwnKeysFirst OwnKeys = "first"
	// OwnKeysOnly uses no others.
	OwnKeysOnly OwnKeys = "only"
	// OwnKeysNever uses only the others.
	OwnKeysNever OwnKeys = "never"
)

// Override changes how one provider is reached.
type Override struct {
	// BaseURL replaces the base of the chat format: an absolute http or https
	// URL without query, for example of a proxy or of a test server. Wires that
	// the file places at a base of their own are then not used, so that nothing
	// goes around the proxy. Empty: unchanged.
	BaseURL string
	// Params fill the {name} parts of the base URL, for example account_id.
	// Values are 1 to 128 of A-Z, a-z, 0-9, _ and -.
	Params map[string]string
	// TokenURL replaces the address where keys are exchanged for tokens, for example by that
	// of another cloud of the same vendor. It is as BaseURL, and may have {tenant} in it.
	TokenURL string
	// Models are models that the file does not have for this provider, such as deployments under names of
	// one's own: the entry provider/model that each of them is, by the name that the provider
	// knows it by. What the entry can do and its tiers count for it too, its price does not.
	Models map[string]string
	// Headers are added to those of the file; an empty value removes one.
	Headers map[string]string
	// Timeouts replace those of the file where they are not zero.
	Timeouts Timeouts
	// APIKey is the operator's key, for every user; see Provider. Empty: that of
	// Options.Environment.
	APIKey string
}

// With returns a catalog of the same file with these options instead of any
// that were applied before. Codes that the file does not have are errors that
// name the known ones; so is a part of an enabled provider's base URL that
// nothing fills.
func (c *Catalog) With(opts Options) (*Catalog, error) { return build(c.all, opts) }

func build(d *data, opts Options) (*Catalog, error) {
	if err := opts.check(d.providers); err != nil {
		return nil, err
	}
	var enabled []*Provider
	for _, p := range d.providers {
		on := !slices.Contains(opts.Disable, p.Code) && (!p.Alternate || slices.Contains(opts.Enable, p.Code))
		o, changes := opts.Overrides[p.Code]
		if from, ok := p.EnvironmentKey(opts.Environment); ok && o.APIKey == "" && from.BelongsTo(cmp.Or(o.BaseURL, p.BaseURL)) {
			o.APIKey, changes = from.Secret, true
		}
		if changes {
			changed, err := o.apply(p)
			if err != nil {
				return nil, fmt.Errorf("provider %s: %w", p.Code, err)
			}
			p = changed
		}
		if !on {
			continue
		}
		if err := p.complete(); err != nil {
			return nil, fmt.Errorf("provider %s: %w", p.Code, err)
		}
		enabled = append(enabled, p)
	}
	known, err := opts.models(d)
	if err != nil {
		return nil, err
	}
	models, err := opts.Prices.apply(known)
	if err != nil {
		return nil, err
	}
	c := newCatalog(d, models, enabled)
	c.OwnKeys = opts.OwnKeys
	if err := c.alias(opts.Aliases); err != nil {
		return nil, err
	}
	return c, nil
}

// check refuses codes that are those of no provider.
func (o *Options) check(providers []*Provider) error {
	if all := []OwnKeys{"", OwnKeysFirst, OwnKeysOnly, OwnKeysNever}; !slices.Contains(all, o.OwnKeys) {
		return fmt.Errorf("own_keys: %q is none of first, only, never", clip(string(o.OwnKeys)))
	}
	known := make([]string, 0, len(providers))
	for _, p := range providers {
		known = append(known, p.Code)
	}
	check := func(what, code string) error {
		if slices.Contains(known, code) {
			return nil
		}
		return fmt.Errorf("%s: unknown provider %q, known are %s", what, clip(code), strings.Join(known, ", "))
	}
	for _, code := range o.Enable {
		if err := check("enable", code); err != nil {
			return err
		}
	}
	for _, code := range o.Disable {
		if err := check("disable", code); err != nil {
			return err
		}
		if slices.Contains(o.Enable, code) {
			return fmt.Errorf("provider %s: both enabled and disabled", code)
		}
	}
	// In order, so that the same mistakes give the same message each time.
	for _, code := range slices.Sorted(maps.Keys(o.Overrides)) {
		if err := check("override", code); err != nil {
			return err
		}
	}
	return nil
}

// apply returns a changed copy of p.
func (o Override) apply(p *Provider) (*Provider, error) {
	p = p.clone()
	if o.BaseURL != "" {
		if err := trimBase("base_url", &o.BaseURL); err != nil {
			return nil, err
		}
		p.BaseURL = o.BaseURL
		p.Shape.PrefillBaseURL = ""
		p.Wires = slices.DeleteFunc(p.Wires, func(wire string) bool {
			_, apart := p.WireBaseURLs[wire]
			return apart
		})
		clear(p.WireBaseURLs)
		maps.DeleteFunc(p.Endpoints, func(_, address string) bool { return address != "" })
	}
	if o.TokenURL != "" {
		if p.TokenURL == "" {
			return nil, errors.New("token_url: keys of this provider are not exchanged for tokens")
		}
		if err := trimBase("token_url", &o.TokenURL); err != nil {
			return nil, err
		}
		p.TokenURL = o.TokenURL
	}
	for _, name := range slices.Sorted(maps.Keys(o.Params)) {
		if err := p.fill(name, o.Params[name]); err != nil {
			return nil, err
		}
	}
	if err := checkHeaders(o.Headers); err != nil {
		return nil, err
	}
	for name, value := range o.Headers {
		// Names are the same whatever their case.
		maps.DeleteFunc(p.Headers, func(old, _ string) bool { return strings.EqualFold(old, name) })
		if value != "" {
			p.Headers[name] = value
		}
	}
	if err := checkTimeouts(o.Timeouts); err != nil {
		return nil, err
	}
	p.Timeouts = o.Timeouts.Or(p.Timeouts)
	return p, p.setKey(o.APIKey)
}

// setKey gives a provider the operator's key; empty: none.
func (p *Provider) setKey(key string) error {
	if key == "" {
		return nil
	}
	key, err := CheckKey(key)
	if err != nil {
		return fmt.Errorf("api_key: %w", err)
	}
	p.APIKey = key
	p.KeyID = fmt.Sprintf("operator/%s/%x", p.Code, maphash.String(fingerprints, key))
	return nil
}

// fingerprints tell keys apart in this process, and nothing of them elsewhere.
var fingerprints = maphash.MakeSeed()

// fill puts value in place of {name} in every base URL of p.
func (p *Provider) fill(name, value string) error {
	if !valuePattern.MatchString(value) {
		return fmt.Errorf("params.%s: must be 1 to 128 of A-Z, a-z, 0-9, _ and -", clip(name))
	}
	part, found := "{"+name+"}", false
	replace := func(base string) string {
		found = found || strings.Contains(base, part)
		return strings.ReplaceAll(base, part, value)
	}
	p.BaseURL = replace(p.BaseURL)
	p.Shape.PrefillBaseURL = replace(p.Shape.PrefillBaseURL)
	p.SigningRegion = replace(p.SigningRegion)
	for wire, base := range p.WireBaseURLs {
		p.WireBaseURLs[wire] = replace(base)
	}
	for _, paths := range []map[string]string{p.Paths, p.StreamPaths} {
		for wire, path := range paths {
			paths[wire] = replace(path)
		}
	}
	if !found {
		return fmt.Errorf("params.%s: no base URL has a part %s", clip(name), clip(part))
	}
	return nil
}

// complete reports a part of a base URL that is still to be filled.
func (p *Provider) complete() error {
	if part := partPattern.FindString(p.BaseURL); part != "" {
		return fmt.Errorf("base_url: %s is not filled in, set a base URL of your own or the parameter %s", part, strings.Trim(part, "{}"))
	}
	if part := partPattern.FindString(p.SigningRegion); part != "" {
		return fmt.Errorf("signing_region: %s is not filled in, set the parameter %s", part, strings.Trim(part, "{}"))
	}
	for _, base := range append(slices.Collect(maps.Values(p.WireBaseURLs)), p.Shape.PrefillBaseURL) {
		if part := partPattern.FindString(base); part != "" {
			return fmt.Errorf("%s of a base URL is not filled in, set the parameter %s", part, strings.Trim(part, "{}"))
		}
	}
	for _, path := range slices.Concat(slices.Sorted(maps.Values(p.Paths)), slices.Sorted(maps.Values(p.StreamPaths))) {
		if part := partPattern.FindString(strings.ReplaceAll(path, modelPart, "")); part != "" {
			return fmt.Errorf("%s of a path is not filled in, set the parameter %s", part, strings.Trim(part, "{}"))
		}
	}
	return nil
}
