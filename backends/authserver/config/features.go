package config

import "slices"

// Feature is something that keys belong to and that can be off.
type Feature struct {
	// Name is what people call it.
	Name string
	// Built: this version has it. What is not built is not advertised, and a key that
	// asks for it is a fault.
	Built bool

	// on reports whether its keys count; nil: always. Where a key outside of them turns
	// it on, that key alone is the fault while it is not built.
	on func(c *Config) bool
}

var (
	cimd     = &Feature{Name: "client ID metadata documents", Built: true, on: func(c *Config) bool { return c.CIMD.Enabled }}
	dpop     = &Feature{Name: "DPoP", Built: true, on: func(c *Config) bool { return c.DPoP.Enabled }}
	exchange = &Feature{Name: "token exchange", Built: true, on: func(c *Config) bool { return c.TokenExchange.Enabled }}
	xaa      = &Feature{Name: "enterprise-managed authorization", Built: true, on: func(c *Config) bool { return c.XAA.Enabled }}
	agents   = &Feature{Name: "the list of agents in the JWKS", Built: true}
	connect  = &Feature{Name: "upstream connections", Built: true}

	oidc = &Feature{Name: "login by an upstream provider", on: bySwitch}
	kms  = &Feature{Name: "key management servers", Built: true}
	otlp = &Feature{Name: "export by OTLP", Built: true}
)

// bySwitch is of a feature that is off by default: the key that turns it on has needs in
// its row, so that no other key has to tell.
func bySwitch(*Config) bool { return false }

// missing is the fault of what is not built.
func (f *Feature) missing() string { return f.Name + ": not built into this version yet" }

// needs refuses values that turn on a feature that is not built; of a bool, true.
func needs(f *Feature, values ...string) check {
	return func(_ *Config, value any) string {
		if f.Built {
			return ""
		}
		switch v := value.(type) {
		case *bool:
			if *v {
				return f.missing()
			}
		case *string:
			if slices.Contains(values, *v) {
				return f.missing()
			}
		}
		return ""
	}
}

// untouched refuses a key of a feature that is not built where it has not its default.
func (k *Key) untouched(c *Config) string {
	if k.Feature == nil || k.Feature.Built || k.Feature.on != nil && !k.Feature.on(c) || k.Text(c) == k.Text(defaults) {
		return ""
	}
	return k.Feature.missing()
}
