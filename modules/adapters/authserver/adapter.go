// Package authserver provides the configuration adapter authserver. It makes a Caddy configuration from the settings
// file of the authorization server, without a Caddyfile.
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

// Adapter converts a settings file to a configuration by the template form.caddyfile: plain HTTP at server.address and,
// if admin is enabled, at admin.address. If admin.api_key is not set, an admin.address without a host listens on
// localhost only. TLS needs a Caddyfile or a proxy in front.
//
// The modules of the configuration read the settings file again. So the configuration contains no secret, and the
// settings cannot come from standard input. Listeners, time limits and logs depend on the environment of the process
// that adapts.
type Adapter struct{}

//go:embed form.caddyfile
var formText string

// form is the template of the Caddyfile.
var form = template.Must(template.New("form").Funcs(template.FuncMap{"quote": quote}).Parse(formText))

// site is a listener in the template. Listener is its name, public or admin.
type site struct{ Port, Host, Listener string }

// Adapt implements caddyconfig.Adapter. The option filename is the name of the settings file.
func (Adapter) Adapt(body []byte, options map[string]any) ([]byte, []caddyconfig.Warning, error) {
	file, _ := options["filename"].(string)
	if file == "" {
		return nil, nil, errors.New("the settings cannot be read from standard input: name their file with " +
			"--config <file> --adapter authserver")
	}
	keys, err := config.Parse(body, os.LookupEnv)
	if err != nil {
		return nil, nil, fmt.Errorf("the settings in %s:\n%w", file, err)
	}
	var sites []site
	add := func(address, listener string, localOnly bool) {
		host, port, _ := net.SplitHostPort(address) // config.Parse has checked the address
		if host == "" && localOnly {
			host = "localhost"
		}
		sites = append(sites, site{port, host, listener})
	}
	add(keys.Server.Address, "public", false)
	if keys.Admin.Enabled {
		add(keys.Admin.Address, "admin", keys.Admin.APIKey == "")
	}
	var text bytes.Buffer
	if err := form.Execute(&text, map[string]any{
		"file": filepath.Base(file), "keys": keys, "sites": sites,
		"level": strings.ToUpper(keys.Observability.Logging.Level),
	}); err != nil {
		return nil, nil, err
	}
	adapted, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt(caddyfile.Format(text.Bytes()),
		map[string]any{"filename": file})
	if err == nil && keys.Observability.Logging.AddSource { // a Caddyfile has no option for it
		adapted, err = sjson.SetBytes(adapted, "logging.logs.default.with_caller", true)
	}
	return adapted, warnings, err
}

// quote quotes a word for a Caddyfile.
func quote(word string) string {
	return `"` + strings.ReplaceAll(word, `"`, `\"`) + `"`
}

// Interface guard
var _ caddyconfig.Adapter = Adapter{}
