// Package keyring has the commands that relate the keyring to the databases.
package keyring

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/modules/cli"
	"github.com/tollgate-gateway/tollgate/modules/gateway"
)

func init() {
	caddycmd.RegisterCommand(caddycmd.Command{
		Name:  "keyring",
		Usage: "<command> [--config <file>] [--adapter <name>]",
		Short: "Manages what the keyring has to do with the databases",
		Long: `
A node does not serve while its keyring is not the one that sealed the secrets in
a database. Run it in the folder of the server and as the user of the server.
`,
		CobraFunc: keyringCommands,
	})
}

func keyringCommands(root *cobra.Command) {
	o := new(cli.Flags)
	o.AddConfig(root)
	var service string
	adopt := &cobra.Command{
		Use: "adopt [--service <name>]", Args: cobra.NoArgs,
		Short: "Makes the keyring of the configuration that of a service's database",
		Long: `
Makes the keyring of the configuration the one that every node on the service's
database has to have. What was sealed with master keys that it lacks is lost and has
to be stored again: it is for keys that are lost. Where they are not, put the new
key before the old one and run: tollgate keychain re-encrypt
`,
		RunE: o.Run(func(s *cli.Session, _ *cobra.Command, _ []string) error {
			if err := s.App.AdoptKeyring(s.Ctx, service); err != nil {
				return err
			}
			s.Note("The keyring is that of the service %s now.", service)
			return nil
		}),
	}
	adopt.Flags().StringVar(&service, "service", gateway.Name, "The service whose secrets are lost")
	cli.Group(root, adopt, wrapCommand(o), unwrapCommand(o))
}

// far is a keyring whose master keys are encrypted by a key management server.
type far interface {
	Wrap(ctx context.Context, key []byte) (string, error)
	Unwrap(ctx context.Context, dir string) ([][]byte, error)
}

var errNotFar = errors.New("the configuration has no keyring transit")

func wrapCommand(o *cli.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "wrap [--existing]", Args: cobra.NoArgs,
		Short: "Prints a master key that the key management server has encrypted",
		Long: `
Makes a master key, has the server of keyring transit encrypt it, and prints that:
it is for the arguments of keyring transit, or for a line of its file. --existing
reads a master key from standard input instead, such as that of keyring aes.
`,
	}
	existing := cmd.Flags().Bool("existing", false, "Reads the master key from standard input")
	cmd.RunE = o.Run(func(s *cli.Session, cmd *cobra.Command, _ []string) error {
		ring, ok := s.App.KeyringModule().(far)
		if !ok {
			return errNotFar
		}
		key := keyring.NewMasterKey()
		if *existing {
			text, err := cli.ReadSecret(cmd, "master key")
			if err == nil {
				key, err = keyring.ParseMasterKey(text)
			}
			if err != nil {
				return err
			}
		}
		wrapped, err := ring.Wrap(s.Ctx, key)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(s.Out, wrapped)
		return err
	})
	return cmd
}

func unwrapCommand(o *cli.Flags) *cobra.Command {
	return &cobra.Command{
		Use: "unwrap", Args: cobra.NoArgs,
		Short: "Prints the master keys of keyring transit in the clear, to leave it",
		Long: `
Has the key management server open the master keys of keyring transit, and prints
them as keyring aes takes them: to go back to that. Whoever has them and the
database can read what is sealed.
`,
		RunE: o.Run(func(s *cli.Session, _ *cobra.Command, _ []string) error {
			ring, ok := s.App.KeyringModule().(far)
			if !ok {
				return errNotFar
			}
			keys, err := ring.Unwrap(s.Ctx, s.App.KeyringFolder())
			for _, key := range keys {
				if _, err := fmt.Fprintln(s.Out, base64.StdEncoding.EncodeToString(key)); err != nil {
					return err
				}
			}
			return err
		}),
	}
}
