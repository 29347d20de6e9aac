package config

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Text returns the value of a key in the syntax of environment variables. The value of a secret is included; use Shown
// for display.
func (k *Key) Text(c *Config) string {
	switch v := k.pointer(c).(type) {
	case *string:
		return *v
	case *Ref:
		return v.Name
	case *bool:
		return strconv.FormatBool(*v)
	case *int:
		return strconv.Itoa(*v)
	case *float64:
		return strconv.FormatFloat(*v, 'g', -1, 64)
	case *time.Duration:
		return spell(*v)
	case *[]string:
		return strings.Join(*v, ", ")
	}
	return ""
}

// Shown returns Text, or for a secret only "(set)" or "(not set)".
func (k *Key) Shown(c *Config) string {
	text := k.Text(c)
	switch {
	case !k.Secret:
		return text
	case text == "":
		return "(not set)"
	}
	return "(set)"
}

// spell formats a duration without zero minutes and seconds: 1h instead of 1h0m0s.
func spell(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Digest returns a digest of the whole configuration, including secrets. Equal digests mean equal configurations.
func (c *Config) Digest() [sha256.Size]byte {
	h := sha256.New()
	encoder := json.NewEncoder(h) // never fails, since all values are strings or were decoded from JSON
	for i := range keys {
		_ = encoder.Encode([]string{keys[i].Name, keys[i].Text(c)})
		if ref, ok := keys[i].pointer(c).(*Ref); ok {
			_ = encoder.Encode(ref.Secret)
		}
	}
	_ = encoder.Encode(c.Clients)
	_ = encoder.Encode(c.Resources)
	_ = encoder.Encode(c.BrokerProviders)
	for i := range c.Upstreams {
		_ = encoder.Encode(c.Upstreams[i])
		_ = encoder.Encode(c.Upstreams[i].secret)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Print writes the configuration in effect, one key per line, without secrets. It then writes a line for each entry of
// the lists, except for clients.
func (c *Config) Print(w io.Writer) error {
	for i := range keys {
		k := &keys[i]
		source := ""
		if !c.isSet[k.Name] {
			source = "  # default"
		}
		if _, err := fmt.Fprintf(w, "%s: %s%s\n", k.Name, k.Shown(c), source); err != nil {
			return err
		}
	}
	for _, r := range c.Resources {
		if _, err := fmt.Fprintf(w, "resources: %s (%s)\n", r.Slug, r.URI); err != nil {
			return err
		}
	}
	for i := range c.Upstreams {
		u := &c.Upstreams[i]
		_, err := fmt.Fprintf(w, "upstreams: %s (%s), redirect URI %s\n", u.Slug, u.Issuer, c.UpstreamRedirect(u.Slug))
		if err != nil {
			return err
		}
	}
	for _, p := range c.BrokerProviders {
		if _, err := fmt.Fprintf(w, "broker_providers: %s (%s)\n", p.Slug, p.Protocol); err != nil {
			return err
		}
	}
	return nil
}
