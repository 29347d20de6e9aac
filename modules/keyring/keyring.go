// Package keyring has the commands of what the keyring has to do with the databases.
package keyring

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

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
	cli.Group(root, adopt)
}
