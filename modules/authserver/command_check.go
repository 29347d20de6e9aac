package authserver

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// checkCommand returns the command that checks the settings.
func checkCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "check [--config <settings file>]", Args: cobra.NoArgs,
		Short: "Checks the settings and prints all errors, or the effective settings",
		Long: `
Reads the settings file and the environment variables as the server does, and
prints all errors: first those of the settings, each with its key and variable,
then those of the clients, resources and pages that the settings define. If there
is no error, it prints every key with its value, and warnings. Of a secret it
prints only whether it is set. Without a file it reads only the environment.
`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := &cli.Session{Ctx: cmd.Context(), JSON: o.JSON, Out: cmd.OutOrStdout(), Notes: cmd.ErrOrStderr()}
			keys, err := config.Load(o.Config)
			if err == nil {
				if err = authserver.Try(keys); err != nil {
					err = config.Errors(strings.Split(err.Error(), "\n"))
				}
			}
			if err != nil {
				return printFaults(s, err)
			}
			answer := checked{Keys: make(map[string]string), Warnings: cli.List(keys.Warnings())}
			for _, k := range config.Keys() {
				answer.Keys[k.Name] = k.Shown(keys)
			}
			return s.Answer(answer, func(w io.Writer) {
				_ = keys.Print(w) // a failure means that the output is closed
				for _, warning := range answer.Warnings {
					s.Note("warning: %s", warning)
				}
			})
		},
	}
}

// checked is the JSON output of the command.
type checked struct {
	Keys     map[string]string `json:"keys,omitempty"`
	Warnings []string          `json:"warnings,omitempty"`
	Faults   []string          `json:"faults,omitempty"`
}

// printFaults prints the faults in err, one per line, and returns an error with their number. If err lists no faults,
// printFaults returns err itself.
func printFaults(s *cli.Session, err error) error {
	var faults config.Errors
	if !errors.As(err, &faults) {
		return err
	}
	if err := s.Answer(checked{Faults: faults}, func(w io.Writer) {
		for _, fault := range faults {
			_, _ = fmt.Fprintln(w, fault)
		}
	}); err != nil {
		return err
	}
	return fmt.Errorf("faults: %d", len(faults))
}
