package keychain

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// aliasCommands returns the commands that manage aliases of models and tiers.
func aliasCommands(o *options) *cobra.Command {
	list := &cobra.Command{
		Use: "list " + ownerUsage, Short: "Lists the aliases of a user, a team or the organisation", Args: cobra.NoArgs,
	}
	o.forOwner(list, func(s *session, _ *cobra.Command, _ []string, owner keychain.Owner) error {
		aliases, err := s.Aliases(s.Ctx, owner)
		if err != nil {
			return err
		}
		return s.Table(cli.List(aliases), func(w io.Writer) { showAliases(w, aliases...) })
	})
	set := &cobra.Command{
		Use:   "set <alias> <target> " + ownerUsage,
		Short: "Sets an alias for a model or a tier",
		Long: `
Sets an alias: a name by which clients can request a model (provider/model, or its id
alone) or a tier (low, medium, high). An alias does not widen any limit: allowed models
apply to the model it stands for. A user's aliases take precedence over the team's,
then come the organisation's and those of the Caddyfile.
`,
		Args: cobra.ExactArgs(2),
	}
	o.forOwner(set, func(s *session, _ *cobra.Command, args []string, owner keychain.Owner) error {
		alias, err := s.SetAlias(s.Ctx, s.catalog, owner, args[0], args[1])
		if err != nil {
			return err
		}
		return s.Table(alias, func(w io.Writer) { showAliases(w, alias) })
	})
	remove := &cobra.Command{Use: "remove <alias> " + ownerUsage, Short: "Removes an alias", Args: cobra.ExactArgs(1)}
	o.forOwner(remove, func(s *session, _ *cobra.Command, args []string, owner keychain.Owner) error {
		if err := s.RemoveAlias(s.Ctx, owner, args[0]); err != nil {
			return err
		}
		return s.printRemoved(args[0])
	})
	return cli.Group(&cobra.Command{Use: "aliases", Short: "Manages aliases for models and tiers"}, list, set, remove)
}

// showAliases prints a table of aliases.
func showAliases(w io.Writer, aliases ...keychain.Alias) {
	cli.Row(w, "ALIAS", "TARGET", "SINCE")
	for i := range aliases {
		cli.Row(w, aliases[i].Name, aliases[i].Target, aliases[i].CreatedAt)
	}
}
