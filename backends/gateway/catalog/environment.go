package catalog

import "strings"

// EnvironmentKey is a provider key from the environment.
type EnvironmentKey struct {
	// Variable is the name of the variable that holds the key. Secret is the key.
	Variable, Secret string
	// BaseVariable is the variable for the base URL that the key belongs to, such as OPENAI_BASE_URL for
	// OPENAI_API_KEY. BaseURL is its value. An empty BaseURL means that the key belongs to the provider itself.
	BaseVariable, BaseURL string
}

// EnvironmentKey returns the first key that the environment has for the provider, with the base URL that is given
// beside it. A nil environment has no keys.
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

// EnvironmentBase returns the variable that has the base URL for the key in another variable, as the vendors' SDKs read
// it, and its value, which is empty if it is not set. /chat/completions or /models is appended to the base URL.
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

// BelongsTo reports whether the key may be sent to the base URL base. A key whose BaseURL is set may be sent to that
// one alone, and any other key to every base URL. Slashes at the end of base are ignored.
func (k *EnvironmentKey) BelongsTo(base string) bool {
	return k.BaseURL == "" || k.BaseURL == strings.TrimRight(base, "/")
}
