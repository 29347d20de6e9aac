package authserver

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/audit"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// command is the command of the service.
var command = caddycmd.Command{
	Name:  serviceName,
	Usage: "<command> [--config <file>] [--adapter <name>] [--json]",
	Short: "Manages the authorization server",
	Long: `
Checks the configuration of the OAuth authorization server, and manages its users and
clients.

The configuration is a Caddyfile, or the server's configuration file in YAML, whose
name ends in .yaml or .yml. The commands work whether or not the server is running.
Run them in the folder of the server, as the user of the server and with its
environment variables, because paths such as data/authserver.db are relative to the
working directory.
`,
	CobraFunc: commands,
}

// options are the flags of all subcommands.
type options struct{ cli.Flags }

// commands adds the subcommands and their common flags to root.
func commands(root *cobra.Command) {
	o := new(options)
	o.Add(root)
	cli.Group(root, checkCommand(o), userCommand(o), importCommand(o), exportCommand(o), reencryptCommand(o))
}

// session is one run of a subcommand. Its server has no listeners and works on the open database.
type session struct {
	*cli.Session
	*kernel.Server
}

// run returns the RunE function of a subcommand, which opens the database, calls work, and then writes the audit
// events.
func (o *options) run(
	work func(s *session, cmd *cobra.Command, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if ext := filepath.Ext(o.Config); o.Adapter == "" && (strings.EqualFold(ext, ".yaml") ||
			strings.EqualFold(ext, ".yml")) {
			o.Adapter = serviceName
		}
		return o.Run(func(s *cli.Session, cmd *cobra.Command, args []string) error {
			db, err := s.App.OpenDatabase(s.Ctx, serviceName, authserver.Schema())
			if err != nil {
				return err
			}
			k := authserver.Offline(db, time.Now)
			defer k.Close()
			feed := audit.New(k)
			k.Audit = feed.Add
			err = work(&session{s, k}, cmd, args)
			if flushErr := feed.Flush(s.Ctx); flushErr != nil {
				err = errors.Join(err, fmt.Errorf("the change was made, but could not be recorded in the audit feed: %w", flushErr))
			}
			return err
		})(cmd, args)
	}
}
