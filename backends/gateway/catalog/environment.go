package catalog

import "strings"

// EnvironmentKey is a key that the environment has for a provider.
type EnvironmentKey struct {
	// Variable holds the key, and Secret is its text.
	Variable, Secret string
	// BaseVariable is the variable beside it that says where the key belongs, such as
	// OPENAI_BASE_URL beside OPENAI_API_KEY, and BaseURL what it says. An empty BaseURL
	// means that the key belongs to the provider itself.
	BaseVariable, BaseURL string
}

// EnvironmentKey returns the first key that the environment has for the provider, with the
// base URL that is given beside it. A nil environment has none.
func (p *Provider) EnvironmentKey(environment func(name string) string) (key EnvironmentKey, ok bool) {
	if environment == nil {
		return key, false
	}
	for _, name := range p.Env {
		if secret := strings.TrimSpace(environment(name)); secret != "" {
			variable, base := EnvironmentBase(name, environment)
			return EnvironmentKey{name, secret, variable, base}, true
		}
	}
	return key, false
}

// EnvironmentBase returns the variable that has the base URL for the key in another one, as
// the SDKs of the vendors read it, and the base URL; empty: it is not set. What is appended
// to the base URL is /chat/completions or /models.
func EnvironmentBase(key string, environment func(name string) string) (variable, base string) {
	for _, suffix := range []string{"_API_KEY", "_API_TOKEN", "_TOKEN"} {
		if prefix, ok := strings.CutSuffix(key, suffix); ok {
			variable = prefix + "_BASE_URL"
			break
		}
	}
	base = strings.TrimRight(strings.TrimSpace(environment(variable)), "/")
	if variable == "ANTHROPIC_BASE_URL" && base != "" && !strings.HasSuffix(base, "/v1") {
		base += "/v1" // which the vendor's SDK appends
	}
	return variable, base
}

// BelongsTo reports whether the key may be sent to a base URL: it must be the one that is
// given beside the key, where there is one.
func (k *EnvironmentKey) BelongsTo(base string) bool {
	return k.BaseURL == "" || k.BaseURL == strings.TrimRight(base, "/")
}
