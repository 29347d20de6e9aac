package runevents

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/runevents"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// command is the command line of the service.
var command = caddycmd.Command{
	Name:  "events",
	Usage: "<command> [--config <file>] [--adapter <name>] [--json]",
	Short: "Looks after run events",
	Long: `
Loads reports of agents' runs from files, makes test data out of real ones, and
shows commands that could not be stored.

It works on the database that the configuration names, while the server runs
and while it does not. Run it in the folder of the server and as the user of the
server, since paths such as data/tollgate.db count from the working directory.
`,
	CobraFunc: commands,
}

// commands builds the tree of subcommands.
func commands(root *cobra.Command) {
	o := new(options)
	root.Args = cobra.NoArgs
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	flags := root.PersistentFlags()
	flags.StringVarP(&o.config, "config", "c", "", "Configuration file (default: ./Caddyfile, where there is one)")
	flags.StringVarP(&o.adapter, "adapter", "a", "", "Name of the adapter that reads the configuration (default: by the name of the file)")
	flags.BoolVar(&o.json, "json", false, "Answer in JSON, for programs")
	root.AddCommand(importCommand(o), generateCommand(o), rejectedCommands(o))
}

// options are the flags that every subcommand takes.
type options struct {
	config, adapter string
	json            bool
}

// keepAll is a retention that drops nothing: what is too old for the server goes
// with its next purge.
const keepAll = 200 * 365 * 24 * time.Hour

// session is the open service with what a subcommand needs to answer.
type session struct {
	*runevents.Service
	ctx  context.Context //nolint:containedctx // a session is one run of one command
	json bool
	// out gets the answer and nothing else; notes are for people.
	out, notes io.Writer
}

// run makes a subcommand of a function that works on the open service.
func (o *options) run(work func(s *session, args []string) error) func(*cobra.Command, []string) error {
	return o.on(func(*tollgate.App, string) error { return nil }, work)
}

// find is run for a subcommand that has no use for an empty database.
func (o *options) find(work func(s *session, args []string) error) func(*cobra.Command, []string) error {
	return o.on((*tollgate.App).Exists, work)
}

func (o *options) on(check func(app *tollgate.App, service string) error, work func(s *session, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		app, end, err := tollgate.Load(o.config, o.adapter)
		if err != nil {
			return err
		}
		defer end()
		if err := check(app, runevents.SchemaName); err != nil {
			return err
		}
		db, err := app.OpenDatabase(ctx, runevents.SchemaName, runevents.Schema())
		if err != nil {
			return err
		}
		service, err := runevents.New(runevents.Options{DB: db, EventTTL: keepAll, ReportTTL: keepAll, Import: true})
		if err != nil {
			return err
		}
		defer service.Close()
		return work(&session{service, ctx, o.json, cmd.OutOrStdout(), cmd.ErrOrStderr()}, args)
	}
}

// note tells a person something beside the answer.
func (s *session) note(format string, args ...any) {
	_, _ = fmt.Fprintf(s.notes, format+"\n", args...)
}

// answer writes value as JSON, or the line for people.
func (s *session) answer(value any, format string, args ...any) error {
	if !s.json {
		_, err := fmt.Fprintf(s.out, format, args...)
		return err
	}
	encoder := json.NewEncoder(s.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// cell keeps text from outside from steering the terminal.
func cell(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
