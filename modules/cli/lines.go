package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/modules/directive"
)

// explained has a command that loads a configuration tell at its end which line of the
// Caddyfile an error is about. Before it Caddy logs the error with the way through the JSON.
func explained(theirs func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := theirs(cmd, args)
		if err == nil {
			return nil
		}
		config, _ := cmd.Flags().GetString("config")
		adapter, _ := cmd.Flags().GetString("adapter")
		if config == "" {
			config = "Caddyfile"
		}
		if adapter != "" && adapter != "caddyfile" {
			return err
		}
		text, unread := os.ReadFile(config)
		if unread != nil {
			return err
		}
		if line := directive.Explain(config, text, err); line != "" {
			cmd.PrintErrln("Error:", line)
		}
		return err
	}
}
