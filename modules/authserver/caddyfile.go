package authserver

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/modules/directive"
)

func init() {
	directive.Register[Handler]("authserver")
}

var optionNames = []string{"config", "listener"}

// UnmarshalCaddyfile sets up the handler; see Handler for the syntax.
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // authserver
	if d.NextArg() {
		return d.ArgErr()
	}
	err := directive.Options(d, func(option string) error {
		place := map[string]*string{"config": &h.Config, "listener": &h.Listener}[option]
		if place == nil {
			return directive.NoOption(d, "authserver has no option %q; there are: %s", option, strings.Join(optionNames, ", "))
		}
		if !d.AllArgs(place) || *place == "" {
			return d.ArgErr()
		}
		if option == "config" {
			h.Config = directive.ResolvePath(d, h.Config) // here, where the token is of the file that names the other one
		}
		return nil
	})
	h.Revision = revision(h.Config)
	return err
}

// revision returns a digest of the current content of a file, or "" if the file cannot be read. Loading the file
// reports that error later.
func revision(file string) string {
	if file == "" {
		return ""
	}
	text, err := os.ReadFile(caddy.NewReplacer().ReplaceKnown(file, ""))
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Interface guard
var _ caddyfile.Unmarshaler = (*Handler)(nil)
