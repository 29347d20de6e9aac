package runevents

import (
	"time"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/runevents"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// command is the command line of the service.
var command = caddycmd.Command{
	Name:  "events",
	Usage: "<command> [--config <file>] [--adapter <name>] [--json]",
	Short: "Imports and generates reports of run events, and manages rejected commands",
	Long: `
Imports reports of agents' runs from files, generates test data from real reports, and
shows commands that could not be stored.

It uses the database of the configuration and works whether or not the server is
running. Run it in the folder of the server and as the user of the server, because
paths such as data/tollgate.db are relative to the working directory.
`,
	CobraFunc: commands,
}

// commands builds the tree of subcommands.
func commands(root *cobra.Command) {
	o := new(options)
	o.Add(root)
	cli.Group(root, importCommand(o), generateCommand(o), rejectedCommands(o))
}

// options are the flags of every subcommand.
type options struct{ cli.Flags }

// keepAll is a retention that deletes nothing. A running server later deletes the data that is too old according to its
// configuration.
const keepAll = 200 * 365 * 24 * time.Hour

// session is one run of a subcommand with the service on the open database.
type session struct {
	*cli.Session
	*runevents.Service
}

// run returns the RunE function of a subcommand, which calls work with the service on the open database.
func (o *options) run(work func(s *session, args []string) error) func(*cobra.Command, []string) error {
	return o.Run(func(s *cli.Session, _ *cobra.Command, args []string) error { return open(s, args, work) })
}

// runExisting works like run, but the RunE function returns an error if the database does not exist yet.
func (o *options) runExisting(work func(s *session, args []string) error) func(*cobra.Command, []string) error {
	return o.Run(func(s *cli.Session, _ *cobra.Command, args []string) error {
		if err := s.App.Exists(runevents.SchemaName); err != nil {
			return err
		}
		return open(s, args, work)
	})
}

// open opens the database, and calls work with a service on it.
func open(s *cli.Session, args []string, work func(s *session, args []string) error) error {
	db, err := s.App.OpenDatabase(s.Ctx, runevents.SchemaName, runevents.Schema())
	if err != nil {
		return err
	}
	service, err := runevents.New(runevents.Options{DB: db, EventTTL: keepAll, ReportTTL: keepAll, Import: true})
	if err != nil {
		return err
	}
	defer service.Close()
	return work(&session{s, service}, args)
}
