// Package authserver is the configuration adapter authserver: it makes a server of the
// file of keys of the authorization server alone, without a Caddyfile.
package authserver

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/tidwall/sjson"

	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
)

func init() {
	caddyconfig.RegisterAdapter("authserver", Adapter{})
}

// Adapter makes of a file of keys the configuration that the Caddyfile in form stands
// for: plain HTTP at server.address and, where admin is enabled, at admin.address.
// Without admin.api_key an admin.address without a host is that of localhost. TLS is a
// matter of a Caddyfile, or of what is in front.
//
// The modules of that configuration read the file again, so it holds no secret; the file
// must have a name. The environment that counts for listeners, time limits and logs is
// that of the process that adapts.
type Adapter struct{}

//go:embed form.caddyfile
var text string

var form = template.Must(template.New("form").Funcs(template.FuncMap{"quote": quote}).Parse(text))

// site is a listener as a Caddyfile has it.
type site struct{ Port, Host, Listener string }

// Adapt implements caddyconfig.Adapter. The option filename is the name of the file.
func (Adapter) Adapt(body []byte, options map[string]any) ([]byte, []caddyconfig.Warning, error) {
	file, _ := options["filename"].(string)
	if file == "" {
		return nil, nil, errors.New("the file of keys must have a name: load it with --config <file> --adapter authserver")
	}
	keys, err := config.Parse(body, os.LookupEnv)
	if err != nil {
		return nil, nil, fmt.Errorf("the keys in %s:\n%w", file, err)
	}
	var sites []site
	add := func(address, listener string, alone bool) {
		host, port, _ := net.SplitHostPort(address) // config has looked
		if host == "" && alone {
			host = "localhost"
		}
		sites = append(sites, site{port, host, listener})
	}
	add(keys.Server.Address, "public", false)
	if keys.Admin.Enabled {
		add(keys.Admin.Address, "admin", keys.Admin.APIKey == "")
	}
	var filled bytes.Buffer
	if err := form.Execute(&filled, map[string]any{"file": filepath.Base(file), "keys": keys, "sites": sites, "level": strings.ToUpper(keys.Observability.Logging.Level)}); err != nil {
		return nil, nil, err
	}
	adapted, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt(caddyfile.Format(filled.Bytes()), map[string]any{"filename": file})
	if err == nil && keys.Observability.Logging.AddSource { // a Caddyfile has no word for it
		adapted, err = sjson.SetBytes(adapted, "logging.logs.default.with_caller", true)
	}
	return adapted, warnings, err
}

// quote is a word of a Caddyfile.
func quote(word string) string {
	return `"` + strings.ReplaceAll(word, `"`, `\"`) + `"`
}

// Interface guard
var _ caddyconfig.Adapter = Adapter{}
