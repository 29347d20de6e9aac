package tollgate

import (
	"fmt"
	"os/signal"
	"syscall"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
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
	var config, adapter, service string
	adopt := &cobra.Command{
		Use: "adopt [--service <name>]", Args: cobra.NoArgs,
		Short: "Makes the keyring of the configuration that of a service's database",
		Long: `
Makes the keyring of the configuration the one that every node on the service's
database has to have. What was sealed with master keys that it lacks is lost and has
to be stored again: it is for keys that are lost. Where they are not, put the new
key before the old one and run: tollgate keychain re-encrypt
`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			if err := adoptKeyring(ctx, config, adapter, service); err != nil {
				return err
			}
			_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "The keyring is that of the service "+service+" now.")
			return nil
		},
	}
	adopt.Flags().StringVar(&service, "service", keyService, "The service whose secrets are lost")
	flags := root.PersistentFlags()
	flags.StringVarP(&config, "config", "c", "", "Configuration file (default: ./Caddyfile, where there is one)")
	flags.StringVarP(&adapter, "adapter", "a", "", "Name of the adapter that reads the configuration (default: by the name of the file)")
	root.Args = cobra.NoArgs
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.AddCommand(adopt)
}
