package answer

import (
	"time"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// command is the command line of the service.
var command = caddycmd.Command{
	Name:  answer.SchemaName,
	Usage: "<command> [--config <file>] [--adapter <name>] [--json]",
	Short: "Manages the corpus and the keys of the answer API",
	Long: `
Ingests documents into the corpus that questions are answered from, shows the corpus,
and manages the keys of clients.

It uses the database of the configuration and works whether or not the server is
running. Run it in the folder of the server and as the user of the server, because
paths such as data/tollgate.db are relative to the working directory.
`,
	CobraFunc: commands,
}

// commands adds the subcommands and their common flags to root.
func commands(root *cobra.Command) {
	o := new(options)
	o.Add(root)
	cli.Group(root, ingestCommand(o), corpusCommands(o), keyCommands(o), sampleCommand(), evalCommand(o))
}

// options are the flags that every subcommand takes.
type options struct{ cli.Flags }

// session is one run of a subcommand. The Server is the answer service on the database of the configuration.
type session struct {
	*cli.Session
	*answer.Server
}

// run returns the RunE function of a subcommand, which opens the database of the configuration and calls work.
func (o *options) run(
	work func(s *session, cmd *cobra.Command, args []string) error,
) func(*cobra.Command, []string) error {
	return o.Run(func(s *cli.Session, cmd *cobra.Command, args []string) error {
		db, err := s.App.OpenDatabase(s.Ctx, answer.SchemaName, answer.Schema())
		if err != nil {
			return err
		}
		server := answer.New(answer.Options{DB: db, Logger: zap.NewNop, Now: time.Now})
		defer server.Close()
		return work(&session{s, server}, cmd, args)
	})
}
