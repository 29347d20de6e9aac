package keychain

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/tollgate-gateway/tollgate/backends/gateway/declared"
	"github.com/tollgate-gateway/tollgate/modules/cli"
	"github.com/tollgate-gateway/tollgate/modules/placeholder"
)

// applyCommand returns the command that applies a file with settings.
func applyCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply -f <file>",
		Short: "Applies limits, teams, members, provider keys, aliases and prices from a file",
		Long: `
Applies a YAML or JSON file with the limits, provider keys and aliases of the
organisation, the teams with their members, limits, provider keys and aliases, the
limits and suspensions of users, and prices. All changes are made together or none is.
What the file does not mention is kept unless --prune is given. Unknown users are
created without keys. For a provider key the file says where to read it: {env.NAME} or
{file.path}. Every change is recorded in the audit log.

--dry-run prints what would be added (+), changed (~) and removed (-), one per line.
'tollgate keychain export' writes the present state as such a file.
`,
		Args: cobra.NoArgs,
	}
	file := cmd.Flags().StringP("file", "f", "", "The file, or - for standard input (required)")
	dryRun := cmd.Flags().Bool("dry-run", false, "Print the changes without making them")
	prune := cmd.Flags().Bool("prune", false,
		"Remove teams, members and limits that are not in the file, and provider keys, aliases and prices if the "+
			"file lists any; users, their keys and their usage are kept")
	cli.Required(cmd, "file")
	cmd.RunE = o.Run(o.withKeychain(func(s *session, cmd *cobra.Command, _ []string) error {
		text, err := readFile(cmd, *file)
		if err != nil {
			return err
		}
		declaration, err := declared.Read(text)
		if err != nil {
			return fmt.Errorf("%s:\n%w", *file, err)
		}
		changes, err := declared.Apply(s.Ctx, s.Service, declaration, declared.Options{
			Catalog: s.catalog, Resolve: placeholder.Resolve, Prune: *prune, DryRun: *dryRun,
		})
		if err != nil {
			return fmt.Errorf("%s: %w; nothing was changed", *file, err)
		}
		return s.Answer(struct {
			DryRun  bool              `json:"dry_run"`
			Changes []declared.Change `json:"changes"`
		}{*dryRun, cli.List(changes)}, func(w io.Writer) {
			for _, c := range changes {
				_, _ = fmt.Fprintln(w, cli.Plain(c.String()))
			}
			switch {
			case len(changes) == 0:
				s.Note("Nothing to change: everything is as the file says.")
			case *dryRun:
				s.Note("%d changes would be made. Nothing was changed.", len(changes))
			default:
				s.Note("%d changes were made.", len(changes))
			}
		})
	}))
	return cmd
}

// readFile reads a file, or standard input if name is "-".
func readFile(cmd *cobra.Command, name string) ([]byte, error) {
	input := cmd.InOrStdin()
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // nothing was written
		input = f
	}
	text, err := io.ReadAll(io.LimitReader(input, declared.MaxFile+1))
	if err == nil && len(text) > declared.MaxFile {
		err = errors.New("the file is too large")
	}
	return text, err
}

// exportCommand returns the command that prints the current settings as a file.
func exportCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "export",
		Short: "Prints limits, teams, members, provider keys, aliases and prices as a file for apply",
		Long: `
Prints the present limits, teams with their members, provider keys, aliases, users with
limits or suspensions, and prices as a file for 'tollgate keychain apply': YAML, or JSON with
--json. The file contains no secrets. Add where each provider key is to be read from;
applied to an empty gateway, the file then recreates the same state.
`,
		Args: cobra.NoArgs,
		RunE: o.run(func(s *session, _ *cobra.Command, _ []string) error {
			current, err := declared.Export(s.Ctx, s.Service)
			if err != nil {
				return err
			}
			var yamlErr error
			err = s.Answer(current, func(w io.Writer) {
				e := yaml.NewEncoder(w)
				e.SetIndent(2)
				yamlErr = errors.Join(e.Encode(current), e.Close())
			})
			return errors.Join(err, yamlErr)
		}),
	}
}
