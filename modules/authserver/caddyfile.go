package authserver

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
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
	for d.NextBlock(0) {
		var place *string
		switch option := d.Val(); option {
		case "config":
			place = &h.Config
		case "listener":
			place = &h.Listener
		default:
			return d.Errf("authserver has no option %q; there are: %s", option, strings.Join(optionNames, ", "))
		}
		if *place != "" {
			return d.Errf("%s is given twice", d.Val())
		}
		if !d.AllArgs(place) || *place == "" {
			return d.ArgErr()
		}
		if place == &h.Config {
			h.Config = beside(d, h.Config)
		}
	}
	h.Revision = revision(h.Config)
	return nil
}

// beside is the path of a file that a Caddyfile names: a relative one counts from the
// folder of that Caddyfile, as with import, since the two are written and moved together.
func beside(d *caddyfile.Dispenser, file string) string {
	if file == "" || filepath.IsAbs(file) || strings.HasPrefix(file, "{") { // or a placeholder
		return file
	}
	return filepath.Join(filepath.Dir(d.File()), file)
}

// revision is a digest of a file as it is now; empty: it cannot be read, which is told
// when it is needed.
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
