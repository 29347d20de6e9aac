package keychain

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// errNoSecret is the error for an empty provider key.
var errNoSecret = errors.New("the provider key is empty: pipe it in, as in " +
	"`echo \"$KEY\" | tollgate keychain provider-keys add …`, or name a variable with --from-env")

// providerKeyCommands returns the commands that manage provider keys.
func providerKeyCommands(o *options) *cobra.Command {
	remove := &cobra.Command{
		Use:   "remove <key id> " + ownerUsage,
		Short: "Removes a provider key",
		Args:  cobra.ExactArgs(1),
	}
	o.forOwner(remove, func(s *session, _ *cobra.Command, args []string, owner keychain.Owner) error {
		if err := s.DeleteKeyOf(s.Ctx, owner, args[0]); err != nil {
			return err
		}
		return s.printRemoved(args[0])
	})
	return cli.Group(&cobra.Command{
		Use: "provider-keys", Short: "Manages the keys of users, teams and the organisation at model providers",
	}, addProviderKey(o), listProviderKeys(o), limitProviderKey(o), testProviderKey(o), remove)
}

// ownerUsage represents the flags of forOwner in a usage line.
const ownerUsage = "--user <id> | --team <team> | --organisation"

// forOwner adds flags to cmd that select the owner of provider keys or aliases: a user, a team or the organisation. The
// command calls work with the owner.
func (o *options) forOwner(
	cmd *cobra.Command, work func(s *session, cmd *cobra.Command, args []string, owner keychain.Owner) error,
) {
	cmd.Flags().StringVarP(&o.user, "user", "u", "", "The user, by id or mail address")
	team := cmd.Flags().String("team", "", "The team, by id or name")
	all := cmd.Flags().Bool("organisation", false, "The organisation, whose keys serve all users")
	cmd.MarkFlagsOneRequired("user", "team", "organisation")
	cmd.MarkFlagsMutuallyExclusive("user", "team", "organisation")
	cmd.RunE = o.run(func(s *session, cmd *cobra.Command, args []string) error {
		owner := keychain.Owner{Kind: keychain.OnUser, ID: s.user}
		switch {
		case *all:
			owner = keychain.TheOrganisation
		case cmd.Flags().Changed("team"):
			found, err := s.Team(s.Ctx, *team)
			if err != nil {
				return err
			}
			owner = keychain.Owner{Kind: keychain.OnTeam, ID: found.ID}
		}
		return work(s, cmd, args, owner)
	})
}

// listProviderKeys returns the command that lists the provider keys of an owner.
func listProviderKeys(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list " + ownerUsage,
		Short: "Lists provider keys, masked; those of a team or the organisation with their spending",
		Args:  cobra.NoArgs,
	}
	o.forOwner(cmd, func(s *session, _ *cobra.Command, _ []string, owner keychain.Owner) error {
		owned, err := s.KeysOf(s.Ctx, owner)
		if err != nil {
			return err
		}
		if owner.Kind != keychain.OnUser {
			return s.Table(cli.List(owned), func(w io.Writer) { showOwnedKeys(w, owned...) })
		}
		keys := make([]keychain.ProviderKey, len(owned))
		for i := range owned {
			keys[i] = owned[i].ProviderKey
		}
		return s.Table(cli.List(keys), func(w io.Writer) { showProviderKeys(w, keys...) })
	})
	return cmd
}

// limitProviderKey returns the command that shows and changes the limits of a provider key.
func limitProviderKey(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "limit <key id> " + ownerUsage +
			" [--usd-per-month <amount>] [--rate-limit <n>] [--expires <when>] … | --lift",
		Short: "Limits the use of a provider key, or shows its limits if no flag is given",
		Long: `
Limits the use of a provider key: money and tokens a day, week, month and in total,
requests a minute, and an expiry. A key that has used up a budget is skipped until the
next period. Limits without a flag stay as they are; --lift removes all of them. Without
flags it shows the limits.
`,
		Args: cobra.ExactArgs(1),
	}
	flags := newKeyLimitFlags(cmd.Flags())
	removeAll, limitFlags := addRemovers(cmd, keyLimitFlagNames, "Remove all limits")
	o.forOwner(cmd, func(s *session, cmd *cobra.Command, args []string, owner keychain.Owner) error {
		keys, err := s.KeysOf(s.Ctx, owner)
		if err != nil {
			return err
		}
		index := slices.IndexFunc(keys, func(k keychain.OwnedKey) bool { return k.ID == args[0] })
		if index < 0 {
			return fmt.Errorf("there is no provider key %q; list all with: tollgate keychain provider-keys list", args[0])
		}
		key := keys[index]
		if slices.ContainsFunc(limitFlags, cmd.Flags().Changed) {
			edit, err := flags.edit(time.Now())
			if err != nil {
				return err
			}
			limits := key.Limits.All()
			edit(&limits)
			if *removeAll {
				limits = keychain.Limits{}
			}
			if key, err = s.LimitKey(s.Ctx, owner, args[0], limits.OfKey()); err != nil {
				return err
			}
		}
		return s.Table(key, func(w io.Writer) { showOwnedKeys(w, key) })
	})
	return cmd
}

// addProviderKey returns the command that stores a provider key.
func addProviderKey(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add <provider> " + ownerUsage + " [--label <text>] [--from-env <name>]",
		Short: "Stores a provider key, encrypted",
		Long: `
Stores a provider key, encrypted. The key is read from standard input, or from the
environment variable that --from-env names; on a terminal the command asks for it. It
is never an argument, because other users of the machine can read those.
`,
		Args: cobra.ExactArgs(1),
	}
	label := cmd.Flags().String("label", "", "What the key is for")
	variable := cmd.Flags().String("from-env", "", "Environment variable with the key")
	o.forOwner(cmd, func(s *session, cmd *cobra.Command, args []string, owner keychain.Owner) error {
		known := func(code string) bool { _, ok := s.catalog.Provider(code); return ok }
		if !known(args[0]) { // checked before the user is asked for the key
			return fmt.Errorf("there is no provider %q; there are: %s", args[0], strings.Join(s.providers(), ", "))
		}
		if owner.Kind == keychain.OnUser {
			if err := keychain.RefuseOwnKeys(s.catalog); err != nil {
				return err
			}
		}
		secret, err := readSecret(cmd, *variable)
		if err != nil {
			return err
		}
		key, err := s.AddKeyOf(s.Ctx, owner, args[0], secret, *label, known)
		if err != nil {
			return err
		}
		return s.Table(key, func(w io.Writer) { showProviderKeys(w, *key) })
	})
	return cmd
}

// providers returns the codes of the providers in the catalog.
func (s *session) providers() []string {
	all := s.catalog.Providers()
	codes := make([]string, 0, len(all))
	for _, p := range all {
		codes = append(codes, p.Code)
	}
	return codes
}

// readSecret reads a secret from an environment variable, or from standard input if variable is empty. A terminal does
// not echo it.
func readSecret(cmd *cobra.Command, variable string) (string, error) {
	if variable != "" {
		return fromEnvironment(variable)
	}
	secret, err := cli.ReadSecret(cmd, "provider key")
	if secret = strings.TrimSpace(secret); err == nil && secret == "" {
		err = errNoSecret
	}
	return secret, err
}

// fromEnvironment returns the secret in an environment variable. It returns an error if the variable is empty.
func fromEnvironment(variable string) (string, error) {
	secret := strings.TrimSpace(os.Getenv(variable))
	if secret == "" {
		return "", fmt.Errorf("the environment variable %s is not set or is empty", variable)
	}
	return secret, nil
}

// printRemoved prints the result of a command that has removed an object. id is the object's id.
func (s *session) printRemoved(id string) error {
	return s.Table(map[string]any{"id": id, "removed": true}, func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "Removed %s.\n", cli.Cell(id))
	})
}

// showProviderKeys prints a table of provider keys.
func showProviderKeys(w io.Writer, keys ...keychain.ProviderKey) {
	cli.Row(w, "KEY ID", "PROVIDER", "LABEL", "KEY", "CREATED")
	for i := range keys {
		k := &keys[i]
		cli.Row(w, k.ID, k.Provider, k.Label, k.Masked, formatTime(&k.CreatedAt))
	}
}

// showOwnedKeys prints a table of provider keys with their spending and limits.
func showOwnedKeys(w io.Writer, keys ...keychain.OwnedKey) {
	cli.Row(w, "KEY ID", "PROVIDER", "LABEL", "KEY", "CREATED", "USD TODAY", "THIS MONTH", "LIMITS")
	for i := range keys {
		k := &keys[i]
		l := k.Limits.All()
		cli.Row(w, k.ID, k.Provider, k.Label, k.Masked, formatTime(&k.CreatedAt), k.Today.USD, k.Month.USD, limitsText(&l))
	}
}
