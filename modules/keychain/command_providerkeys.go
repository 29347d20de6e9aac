package keychain

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

var errNoSecret = errors.New("the provider key is empty: pipe it in, as in " +
	"`echo \"$KEY\" | tollgate keychain provider-keys add …`, or name a variable with --from-env")

func providerKeyCommands(o *options) *cobra.Command {
	all := &cobra.Command{
		Use:   "list --user <id>",
		Short: "Lists the provider keys of a user, masked",
		Args:  cobra.NoArgs,
		RunE: o.show(func(s *session) error {
			keys, err := s.ProviderKeys(s.Ctx, s.user)
			if err != nil {
				return err
			}
			return s.Table(cli.List(keys), func(w io.Writer) { showProviderKeys(w, keys...) })
		}),
	}
	remove := &cobra.Command{
		Use:   "remove <key id> --user <id>",
		Short: "Removes a provider key",
		Args:  cobra.ExactArgs(1),
		RunE: o.run(func(s *session, _ *cobra.Command, args []string) error {
			if err := s.DeleteProviderKey(s.Ctx, s.user, args[0]); err != nil {
				return err
			}
			return s.removed(args[0])
		}),
	}
	return cli.Group(&cobra.Command{Use: "provider-keys", Short: "Manages the keys of users at model providers"},
		o.forUser(addProviderKey(o)), o.forUser(all), o.forUser(remove))
}

func addProviderKey(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add <provider> --user <id> [--label <text>] [--from-env <name>]",
		Short: "Stores a provider key, encrypted",
		Long: `
Stores a provider key, encrypted. The key is read from standard input, asked for
on a terminal, or taken from the environment variable of --from-env. It is never
an argument, since other users of the machine can read those.
`,
		Args: cobra.ExactArgs(1),
	}
	label := cmd.Flags().String("label", "", "What the key is for")
	variable := cmd.Flags().String("from-env", "", "The environment variable that holds the key")
	cmd.RunE = o.run(func(s *session, cmd *cobra.Command, args []string) error {
		known := func(code string) bool { _, ok := s.catalog.Provider(code); return ok }
		if !known(args[0]) { // before a person is asked for the key
			return fmt.Errorf("there is no provider %q; there are: %s", args[0], strings.Join(s.providers(), ", "))
		}
		secret, err := readSecret(cmd, *variable)
		if err != nil {
			return err
		}
		key, err := s.AddProviderKey(s.Ctx, s.user, args[0], secret, *label, known)
		if err != nil {
			return err
		}
		return s.Table(key, func(w io.Writer) { showProviderKeys(w, *key) })
	})
	return cmd
}

// providers are the codes on offer.
func (s *session) providers() []string {
	all := s.catalog.Providers()
	codes := make([]string, 0, len(all))
	for _, p := range all {
		codes = append(codes, p.Code)
	}
	return codes
}

// readSecret takes a secret from an environment variable, or else from
// standard input, which a terminal does not echo.
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

func fromEnvironment(variable string) (string, error) {
	secret := strings.TrimSpace(os.Getenv(variable))
	if secret == "" {
		return "", fmt.Errorf("the environment variable %s is not set, or empty", variable)
	}
	return secret, nil
}

// removed is the answer of the commands that remove something.
func (s *session) removed(id string) error {
	return s.Table(map[string]any{"id": id, "removed": true}, func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "Removed %s.\n", cli.Cell(id))
	})
}

func showProviderKeys(w io.Writer, keys ...keychain.ProviderKey) {
	cli.Row(w, "KEY ID", "PROVIDER", "LABEL", "KEY", "CREATED")
	for i := range keys {
		k := &keys[i]
		cli.Row(w, k.ID, k.Provider, k.Label, k.Masked, when(&k.CreatedAt))
	}
}
