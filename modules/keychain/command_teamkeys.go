package keychain

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// teamKeys returns the commands that list, create and revoke the gateway keys of a team.
func teamKeys(o *options) []*cobra.Command {
	list := &cobra.Command{
		Use: "keys <team>", Short: "Lists the gateway keys that belong to a team rather than a person", Args: cobra.ExactArgs(1),
		RunE: o.run(func(s *session, _ *cobra.Command, args []string) error {
			team, err := s.Team(s.Ctx, args[0])
			if err != nil {
				return err
			}
			keys, err := s.Keys(s.Ctx, team.ID) // a team's id is also the user id of its account
			if err != nil {
				return err
			}
			return s.Table(cli.List(keys), func(w io.Writer) { showKeys(w, keys...) })
		}),
	}
	create := &cobra.Command{
		Use:   "create-key <team> [--label <text>] [--rate-limit <n>] [--expires <when>] [--allow <model>,…] [--usd-per-day <amount>] …",
		Short: "Creates a gateway key that belongs to a team and prints it, which is shown only once",
		Long: `
Creates a gateway key for the services of a team and prints it, which is shown only
once. It belongs to the team and not to a person: its requests count for the team, and
it keeps working when people leave. It ends with the team.
`,
		Args: cobra.ExactArgs(1),
	}
	flags := newLimitFlags(create.Flags())
	create.Flags().StringVar(&flags.label, "label", "", "What the key is for")
	create.RunE = o.Run(o.withKeychain(func(s *session, _ *cobra.Command, args []string) error {
		options, err := flags.options()
		if err != nil {
			return err
		}
		team, err := s.Team(s.Ctx, args[0])
		if err != nil {
			return err
		}
		options.Catalog = s.catalog
		key, err := s.CreateTeamKey(s.Ctx, team.ID, options)
		if err != nil {
			return err
		}
		return s.Table(key, func(w io.Writer) { showNewKey(w, key) })
	}))
	revoke := o.teamCommand("revoke-key <team> <key id>", "Revokes a gateway key of a team permanently", 2,
		func(s *session, team keychain.Team, args []string) (done string, err error) {
			return fmt.Sprintf("%s was revoked. A running server refuses it within five seconds.", args[1]),
				s.RevokeKey(s.Ctx, team.ID, args[1])
		})
	return []*cobra.Command{list, create, revoke}
}
