package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// The functions in this file find conditions that keep a server from starting, and report each in one sentence, before
// anything is started, created or logged. Without them, two servers could share a port unnoticed, and each would get
// some of the requests.

// dialLimit is the time limit for an answer on a socket.
const dialLimit = time.Second

// lookAhead returns an error if another process already serves the configuration, or if something that the server needs
// is not available. For the command run it then waits for the databases.
func lookAhead(cmd *cobra.Command) error {
	if err := loadEnvironment(cmd); err != nil {
		return err
	}
	if resume, _ := cmd.Flags().GetBool("resume"); resume {
		return nil // Caddy loads the configuration that it has saved
	}
	config, _ := cmd.Flags().GetString("config")
	adapter, _ := cmd.Flags().GetString("adapter")
	if config == "-" {
		return nil // standard input can be read only once
	}
	if _, err := os.Stat("Caddyfile"); config == "" && err != nil {
		cmd.PrintErrln("There is no Caddyfile in this folder, so the server has nothing to serve: name a file with --config.")
	}
	ctx := cmd.Context()
	app, end, err := tollgate.Load(config, adapter)
	if err != nil {
		return nil // the command loads it next and reports more
	}
	defer end()
	var l listeners
	if err := json.Unmarshal(app.ConfigJSON(), &l); err != nil {
		return nil
	}
	if err := l.checkAdmin(ctx, stopLine(config)); err != nil {
		return err
	}
	if err := l.checkPorts(ctx); err != nil {
		return err
	}
	if err := app.LookAhead(ctx); err != nil || cmd.Name() != "run" {
		return err // start runs the command run in another process
	}
	return app.AwaitDatabases(ctx)
}

// stopLine returns the command that stops the server of a configuration.
func stopLine(config string) string {
	line := os.Args[0] + " stop"
	if config != "" {
		line += " --config " + config
	}
	return line
}

// listeners has the parts of a configuration that determine the addresses on which it listens.
type listeners struct {
	Admin struct {
		Disabled bool   `json:"disabled"`
		Listen   string `json:"listen"`
	} `json:"admin"`
	Apps struct {
		HTTP struct {
			HTTPPort  int `json:"http_port"`
			HTTPSPort int `json:"https_port"`
			Servers   map[string]struct {
				Listen    []string `json:"listen"`
				AutoHTTPS struct {
					Disabled    bool `json:"disable"`
					NoRedirects bool `json:"disable_redirects"`
				} `json:"automatic_https"`
			} `json:"servers"`
		} `json:"http"`
	} `json:"apps"`
}

// checkAdmin creates the folder of the admin socket. It returns an error if another process uses the admin endpoint.
// stop is the command that would stop that process, for the error.
func (l *listeners) checkAdmin(ctx context.Context, stop string) error {
	if l.Admin.Disabled {
		return nil
	}
	if l.Admin.Listen == "" {
		l.Admin.Listen = caddy.DefaultAdminListen
	}
	address, err := caddy.ParseNetworkAddress(caddy.NewReplacer().ReplaceKnown(l.Admin.Listen, ""))
	if err != nil {
		return nil // loading the configuration reports it
	}
	if !address.IsUnixNetwork() {
		return checkFree(ctx, "the admin endpoint", address)
	}
	socket, _, _ := strings.Cut(address.Host, "|") // the mode of the socket follows
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		return fmt.Errorf("the folder of the admin socket cannot be created: %w", err)
	}
	dialer := net.Dialer{Timeout: dialLimit}
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil // nobody listens
	}
	defer func() { _ = conn.Close() }()
	if id := peer(conn); id > 0 {
		return fmt.Errorf("the admin socket %s is in use by process %d: a server is already running here; stop it with: %s",
			socket, id, stop)
	}
	return fmt.Errorf("the admin socket %s is in use: a server is already running here; stop it with: %s", socket, stop)
}

// checkPorts returns an error if another process listens on a port of the configuration. If a server redirects HTTP to
// HTTPS, it checks the HTTP port too.
func (l *listeners) checkPorts(ctx context.Context) error {
	httpPort := cmp.Or(max(l.Apps.HTTP.HTTPPort, 0), caddyhttp.DefaultHTTPPort)
	httpsPort := cmp.Or(l.Apps.HTTP.HTTPSPort, caddyhttp.DefaultHTTPSPort)
	redirectAddress := "" // where Caddy listens to redirect HTTP requests to HTTPS
	for _, server := range l.Apps.HTTP.Servers {
		for _, listen := range server.Listen {
			address, err := caddy.ParseNetworkAddress(caddy.NewReplacer().ReplaceKnown(listen, ""))
			if err != nil {
				return nil // loading the configuration reports it
			}
			if err := checkFree(ctx, "", address); err != nil {
				return err
			}
			if address.StartPort == uint(httpsPort) && !server.AutoHTTPS.Disabled && !server.AutoHTTPS.NoRedirects {
				redirectAddress = net.JoinHostPort(address.Host, strconv.Itoa(httpPort))
			}
		}
	}
	if redirectAddress == "" {
		return nil
	}
	address, err := caddy.ParseNetworkAddress(redirectAddress)
	if err != nil {
		return nil
	}
	return checkFree(ctx, "", address)
}

// maxPorts limits how many ports of a range are checked.
const maxPorts = 100

// checkFree returns an error if another process listens on an address. Caddy sets a socket option that permits
// several listeners on an address. checkFree does not set this option, so it detects other listeners. owner names the
// part of the configuration that uses the address, for the error; it may be empty.
func checkFree(ctx context.Context, owner string, address caddy.NetworkAddress) error {
	if address.Network != "" && !strings.HasPrefix(address.Network, "tcp") {
		return nil
	}
	for offset := range min(address.PortRangeSize(), maxPorts) {
		text := address.JoinHostPort(offset)
		if strings.HasSuffix(text, ":0") { // the system chooses a free port
			continue
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", text)
		if err == nil {
			err = listener.Close()
		}
		if owner != "" {
			text = text + " of " + owner
		}
		switch {
		case errors.Is(err, errInUse):
			return fmt.Errorf("the address %s is in use by another process: stop that process, or change the configuration", text)
		case errors.Is(err, errElsewhere):
			return fmt.Errorf("the address %s does not belong to this machine: change the configuration", text)
		case errors.Is(err, errForbidden):
			return fmt.Errorf("this user is not permitted to listen on the address %s: %s", text, permission())
		}
	}
	return nil
}
