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

// Options select the providers of a file and change how requests reach them.
type Options struct {
	// Enable lists alternate providers to offer. Naming a provider that is not an alternate changes nothing.
	Enable []string
	// Disable lists providers not to offer.
	Disable []string
	// Overrides are by provider code. An override for a provider that is not enabled is checked but has no effect.
	Overrides map[string]Override
	// Environment returns the values of the variables in Provider.Env, for keys of the operator. Nil means that the
	// environment is not used.
	Environment func(name string) string
	// Prices replace the prices of the file. A name without a star that matches no model is an error.
	Prices Prices
	// StoredPrices take precedence over Prices with the same names. A name that matches no model is ignored, since the
	// catalog may have changed since the price was checked.
	StoredPrices Prices
	// OwnKeys is the policy for users' own provider keys. Default: OwnKeysFirst.
	OwnKeys OwnKeys
	// Aliases map further names to models and tiers; see CheckAlias.
	Aliases map[string]string
}

// OwnKeys is a policy for users' own provider keys. It does not apply to models on users' own servers.
type OwnKeys string

// The policies. The zero value is OwnKeysFirst.
const (
	// OwnKeysFirst tries users' own keys before those of their team, of the organisation and of the operator.
	OwnKeysFirst OwnKeys = "first"
	// OwnKeysOnly uses users' own keys only.
	OwnKeysOnly OwnKeys = "only"
	// OwnKeysNever uses only the keys of teams, of the organisation and of the operator.
	OwnKeysNever OwnKeys = "never"
)

// Override changes how requests reach one provider.
type Override struct {
	// BaseURL replaces the base of the chat format by an absolute http or https URL without a query, for example that
	// of a proxy or of a test server. Wires for which the file has another base are then not used, because their
	// requests would bypass the proxy. Empty means unchanged.
	BaseURL string
	// Params fill the {name} parts of the base URLs and paths, for example account_id. A value has 1 to 128 characters
	// of A-Z, a-z, 0-9, _ and -.
	Params map[string]string
	// TokenURL replaces the address at which keys are exchanged for tokens, for example by the address in another cloud
	// of the vendor. It has the form of BaseURL, and may contain {tenant}.
	TokenURL string
	// Models adds models that the file does not have for this provider, such as deployments with their own names. It
	// maps the name at the provider to the entry provider/model of the deployed model. The new model has the abilities
	// and the tiers of that entry, but not its price.
	Models map[string]string
	// Headers are added to those of the file. An empty value removes a header.
	Headers map[string]string
	// Timeouts replace those of the file where they are not zero.
	Timeouts Timeouts
	// APIKey is the operator's key, which serves every user; see Provider. If it is empty the key of
	// Options.Environment is used.
	APIKey string
	// WorkloadIdentity replaces APIKey by the identity that the cloud gives to the machine or pod of the gateway. It is
	// for providers with AuthAWS, AuthEntra and AuthGoogle.
	WorkloadIdentity bool
}

// With returns a catalog of the same file, with opts applied instead of any earlier options. It returns an error if the
// options are invalid or a {name} part of an enabled provider is not filled. The error for an unknown provider code
// lists the known codes.
func (c *Catalog) With(opts Options) (*Catalog, error) { return build(c.all, opts) }

// build returns a catalog of the file d with opts applied.
func build(d *data, opts Options) (*Catalog, error) {
	if err := opts.check(d.providers); err != nil {
		return nil, err
	}
	var enabled []*Provider
	for _, p := range d.providers {
		override, overridden := opts.Overrides[p.Code]
		if override.APIKey == "" && !override.WorkloadIdentity { // an explicit key replaces that of the environment
			key, ok := p.EnvironmentKey(opts.Environment)
			if ok && key.BelongsTo(cmp.Or(override.BaseURL, p.BaseURL)) {
				override.APIKey, overridden = key.Secret, true
			}
		}
		if overridden {
			changed, err := override.apply(p) // also for a disabled provider, to check the override
			if err != nil {
				return nil, fmt.Errorf("provider %s: %w", p.Code, err)
			}
			p = changed
		}
		if slices.Contains(opts.Disable, p.Code) || p.Alternate && !slices.Contains(opts.Enable, p.Code) {
			continue
		}
		if err := p.complete(); err != nil {
			return nil, fmt.Errorf("provider %s: %w", p.Code, err)
		}
		enabled = append(enabled, p)
	}
	allModels, err := opts.models(d)
	if err != nil {
		return nil, err
	}
	pricedModels, err := opts.Prices.apply(allModels, opts.StoredPrices)
	if err != nil {
		return nil, err
	}
	c := newCatalog(d, pricedModels, enabled)
	c.OwnKeys = opts.OwnKeys
	if err := c.setAliases(opts.Aliases); err != nil {
		return nil, err
	}
	return c, nil
}

// check returns an error for codes of unknown providers and for an unknown policy.
func (o *Options) check(providers []*Provider) error {
	if policies := []OwnKeys{"", OwnKeysFirst, OwnKeysOnly, OwnKeysNever}; !slices.Contains(policies, o.OwnKeys) {
		return fmt.Errorf("own_keys: %q is not one of first, only, never", clip(string(o.OwnKeys)))
	}
	known := make([]string, 0, len(providers))
	for _, p := range providers {
		known = append(known, p.Code)
	}
	checkCode := func(option, code string) error {
		if slices.Contains(known, code) {
			return nil
		}
		return fmt.Errorf("%s: unknown provider %q, known are %s", option, clip(code), strings.Join(known, ", "))
	}
	for _, code := range o.Enable {
		if err := checkCode("enable", code); err != nil {
			return err
		}
	}
	for _, code := range o.Disable {
		if err := checkCode("disable", code); err != nil {
			return err
		}
		if slices.Contains(o.Enable, code) {
			return fmt.Errorf("provider %s: both enabled and disabled", code)
		}
	}
	// In sorted order, so that the same mistakes always give the same message.
	for _, code := range slices.Sorted(maps.Keys(o.Overrides)) {
		if err := checkCode("override", code); err != nil {
			return err
		}
	}
	return nil
}

// apply returns a copy of p with the override applied. The error names the first invalid field.
func (o Override) apply(p *Provider) (*Provider, error) {
	p = p.clone()
	if o.BaseURL != "" {
		if err := trimBase("base_url", &o.BaseURL); err != nil {
			return nil, err
		}
		p.BaseURL = o.BaseURL
		// Requests to the other base URLs of the file would bypass the new one.
		p.Shape.PrefillBaseURL = ""
		p.Wires = slices.DeleteFunc(p.Wires, func(wire string) bool {
			_, hasOwnBase := p.WireBaseURLs[wire]
			return hasOwnBase
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
		// Header names are case-insensitive.
		maps.DeleteFunc(p.Headers, func(old, _ string) bool { return strings.EqualFold(old, name) })
		if value != "" { // an empty value removes the header
			p.Headers[name] = value
		}
	}
	if err := checkTimeouts(o.Timeouts); err != nil {
		return nil, err
	}
	p.Timeouts = o.Timeouts.Or(p.Timeouts)
	if o.WorkloadIdentity {
		return p, p.setWorkloadIdentity(o.APIKey)
	}
	return p, p.setKey(o.APIKey)
}

// WorkloadIdentity is the APIKey of a provider whose tokens come from the cloud that the gateway runs in. No user's key
// can have this text, since CheckKey refuses it.
const WorkloadIdentity = "\x00workload identity"

// setWorkloadIdentity makes the identity of the machine authorize the operator's requests. key is the operator's key.
// It returns an error if key is not empty, or if the provider belongs to no cloud with such identities.
func (p *Provider) setWorkloadIdentity(key string) error {
	switch {
	case p.Auth != AuthAWS && p.Auth != AuthEntra && p.Auth != AuthGoogle:
		return fmt.Errorf("workload_identity: only providers with the auth %s, %s or %s have it", AuthAWS, AuthEntra, AuthGoogle)
	case key != "":
		return errors.New("workload_identity: cannot be combined with api_key")
	}
	p.APIKey, p.KeyID = WorkloadIdentity, "operator/"+p.Code+"/workload-identity"
	return nil
}

// setKey sets the operator's key of a provider. An empty key changes nothing.
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

// fingerprints is the seed of the hashes in Provider.KeyID. The seed is random, so a hash identifies a key within this
// process only and reveals nothing about the key.
var fingerprints = maphash.MakeSeed()

// fill replaces {name} by value in every base URL and path of p. It returns an error if the value has invalid
// characters or p has no such part.
func (p *Provider) fill(name, value string) error {
	if !valuePattern.MatchString(value) {
		return fmt.Errorf("params.%s: must be 1 to 128 of A-Z, a-z, 0-9, _ and -", clip(name))
	}
	part, found := "{"+name+"}", false
	replace := func(base string) string { // also sets found
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
		return fmt.Errorf("params.%s: no base URL or path has the part %s", clip(name), clip(part))
	}
	return nil
}

// complete returns an error if a base URL, a path or the signing region still has a {name} part.
func (p *Provider) complete() error {
	if part := partPattern.FindString(p.BaseURL); part != "" {
		return fmt.Errorf("base_url: %s is not filled in, set a base URL of your own or the parameter %s", part,
			strings.Trim(part, "{}"))
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
