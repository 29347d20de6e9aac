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

func applyCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply -f <file>",
		Short: "Makes limits, teams, members, provider keys and prices what a file says",
		Long: `
Makes the limits and provider keys of the organisation, teams with their members,
limits and provider keys, users' limits and suspensions, and prices what a file of YAML
or JSON says, all of it or nothing. What the file does not say stays, unless --prune is given;
what is so already is not touched. Users that are not known are made, without keys.
The file says of a provider key where its text is: {env.NAME} or {file.path}. Every
change is in the audit log.

--dry-run tells line by line what would be added (+), changed (~) and removed (-).
'tollgate keychain export' writes such a file of what there is.
`,
		Args: cobra.NoArgs,
	}
	file := cmd.Flags().StringP("file", "f", "", "The file, or - for standard input (required)")
	dry := cmd.Flags().Bool("dry-run", false, "Change nothing, and tell what would be changed")
	prune := cmd.Flags().Bool("prune", false,
		"Remove teams, members of teams and limits that the file does not have, and provider keys and prices where it "+
			"lists some; users, their keys and what they spent stay")
	cli.Required(cmd, "file")
	cmd.RunE = o.Run(o.begin(func(s *session, cmd *cobra.Command, _ []string) error {
		text, err := readFile(cmd, *file)
		if err != nil {
			return err
		}
		wanted, err := declared.Read(text)
		if err != nil {
			return fmt.Errorf("%s:\n%w", *file, err)
		}
		changes, err := declared.Apply(s.Ctx, s.Service, wanted, declared.Options{
			Catalog: s.catalog, Resolve: placeholder.Resolve, Prune: *prune, DryRun: *dry,
		})
		if err != nil {
			return fmt.Errorf("%s: %w; nothing was changed", *file, err)
		}
		return s.Answer(struct {
			DryRun  bool              `json:"dry_run"`
			Changes []declared.Change `json:"changes"`
		}{*dry, cli.List(changes)}, func(w io.Writer) {
			for _, c := range changes {
				_, _ = fmt.Fprintln(w, cli.Plain(c.String()))
			}
			switch {
			case len(changes) == 0:
				s.Note("Nothing changes: all is as the file says.")
			case *dry:
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
	in := cmd.InOrStdin()
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // nothing was written
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, declared.MaxFile+1))
	if err == nil && len(text) > declared.MaxFile {
		err = errors.New("the file is too large")
	}
	return text, err
}

func exportCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "export",
		Short: "Writes limits, teams, members, provider keys and prices as a file for apply",
		Long: `
Writes the limits and provider keys of the organisation, teams with their members, limits
and provider keys, users with limits or suspensions, and prices to standard output, for
'tollgate keychain apply': YAML, or JSON with --json. There is no secret in it: say of
provider keys where their texts are, and applied to an empty gateway it makes the same.
`,
		Args: cobra.NoArgs,
		RunE: o.run(func(s *session, _ *cobra.Command, _ []string) error {
			there, err := declared.Export(s.Ctx, s.Service)
			if err != nil {
				return err
			}
			var failed error
			err = s.Answer(there, func(w io.Writer) {
				e := yaml.NewEncoder(w)
				e.SetIndent(2)
				failed = errors.Join(e.Encode(there), e.Close())
			})
			return errors.Join(err, failed)
		}),
	}
}
