package catalog

import "strings"

// EnvironmentKey is a provider key from the environment.
type EnvironmentKey struct {
	// Variable is the name of the variable that holds the key. Secret is the key.
	Variable, Secret string
	// BaseVariable is the variable for the base URL at which the key is valid, such as OPENAI_BASE_URL for
	// OPENAI_API_KEY. BaseURL is its value. If BaseURL is empty the key is valid at the provider itself.
	BaseVariable, BaseURL string
}

// EnvironmentKey returns the first of the provider's keys that is set in the environment, with the base URL set in the
// corresponding variable. ok is false if no key is set. A nil environment has no keys.
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

// EnvironmentBase returns the name and the value of the variable from which the vendors' SDKs read the base URL.
// keyVariable is the name of the variable for the key. The returned value is empty if its variable is not set.
// /chat/completions or /models is appended to the base URL.
func EnvironmentBase(keyVariable string, environment func(name string) string) (variable, base string) {
	for _, suffix := range []string{"_API_KEY", "_API_TOKEN", "_TOKEN"} {
		if prefix, ok := strings.CutSuffix(keyVariable, suffix); ok {
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

// BelongsTo reports whether the key may be sent to the base URL base. If BaseURL is set, base must be equal to it
// except for slashes at the end. Otherwise the key may be sent to every base URL.
func (k *EnvironmentKey) BelongsTo(base string) bool {
	return k.BaseURL == "" || k.BaseURL == strings.TrimRight(base, "/")
}
