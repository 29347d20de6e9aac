// Package keyring has the commands that manage the keyring: they adopt it for a database, encrypt secrets again, and
// wrap keys.
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
		Short: "Manages the master keys that encrypt the secrets in the databases",
		Long: `
A server does not start if its keyring lacks the master key with which the secrets in
its database are encrypted. Run these commands in the folder of the server and as its user.
`,
		CobraFunc: keyringCommands,
	})
}

// keyringCommands adds the subcommands of the command keyring.
func keyringCommands(root *cobra.Command) {
	o := new(cli.Flags)
	o.AddConfig(root)
	var service string
	adopt := &cobra.Command{
		Use: "adopt [--service <name>]", Args: cobra.NoArgs,
		Short: "Makes a service's database accept the keyring of the configuration",
		Long: `
Makes the keyring of the configuration the one that every server on the service's
database must have. Use it only if a master key is lost: secrets encrypted with keys that
this keyring lacks are lost too and must be entered again. To change a key that you
still have, put the new key before the old one and run: tollgate keyring re-encrypt
`,
		RunE: o.Run(func(s *cli.Session, _ *cobra.Command, _ []string) error {
			if err := s.App.AdoptKeyring(s.Ctx, service); err != nil {
				return err
			}
			s.Note("The database of the service %s now accepts this keyring.", service)
			return nil
		}),
	}
	adopt.Flags().StringVar(&service, "service", gateway.Name, "The service whose secrets are lost")
	cli.Group(root, reencryptCommand(o), adopt, wrapCommand(o), unwrapCommand(o))
}

// remoteKeyring is a keyring whose master keys are encrypted by a key management server.
type remoteKeyring interface {
	// Wrap makes the server encrypt a master key, and returns the result as text.
	Wrap(ctx context.Context, key []byte) (string, error)
	// Unwrap makes the server decrypt the master keys of the keyring. dir is the folder of the default key file.
	Unwrap(ctx context.Context, dir string) ([][]byte, error)
}

var errNotRemote = errors.New("this command needs the keyring transit, but the configuration has another keyring")

// wrapCommand returns the command wrap.
func wrapCommand(o *cli.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "wrap [--existing]", Args: cobra.NoArgs,
		Short: "Creates a master key and prints it encrypted by the key management server",
		Long: `
Creates a master key, has the server of keyring transit encrypt it, and prints the
result, to be used as an argument of keyring transit or as a line of its file.
With --existing it reads a master key from standard input instead of creating one,
for example the key of keyring aes.
`,
	}
	existing := cmd.Flags().Bool("existing", false, "Read a master key from standard input instead of creating one")
	cmd.RunE = o.Run(func(s *cli.Session, cmd *cobra.Command, _ []string) error {
		ring, ok := s.App.KeyringModule().(remoteKeyring)
		if !ok {
			return errNotRemote
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

// unwrapCommand returns the command unwrap.
func unwrapCommand(o *cli.Flags) *cobra.Command {
	return &cobra.Command{
		Use: "unwrap", Args: cobra.NoArgs,
		Short: "Prints the master keys of keyring transit unencrypted, to go back to keyring aes",
		Long: `
Has the key management server decrypt the master keys of keyring transit, and prints
them in the form of keyring aes, for going back to that. Anyone who has both these
keys and the database can read the secrets.
`,
		RunE: o.Run(func(s *cli.Session, _ *cobra.Command, _ []string) error {
			ring, ok := s.App.KeyringModule().(remoteKeyring)
			if !ok {
				return errNotRemote
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
