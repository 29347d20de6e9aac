package cms

import (
	"encoding/json"
	"fmt"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/spf13/cobra"
)

// devCommand returns the command that serves a site for development.
func devCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "dev [--listen <address>] [--database <file>]", Args: cobra.NoArgs,
		Short: "Serves the site for development, on this machine only",
		Long: `
Serves the site without a configuration, on this machine only and without TLS. Changed
files take effect within a second. Errors in them are printed with file, line and
column.
`,
	}
	listen := cmd.Flags().String("listen", "127.0.0.1:8090", "Address to listen on")
	database := cmd.Flags().String("database", "data/tollgate.db", "Database file")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		config, err := devConfig(o.site, *listen, *database)
		if err != nil {
			return err
		}
		if err := caddy.Load(config, true); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "The API is at http://%s/api; stop it with Ctrl+C.\n", *listen)
		<-ctx.Done()
		return caddy.Stop()
	}
	return cmd
}

// devConfig returns the JSON configuration of a server for one site.
func devConfig(site, listen, database string) ([]byte, error) {
	site, err := filepath.Abs(site)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("{\n\tadmin off\n\tpersist_config off\n\tgrace_period 1s\n\ttollgate {\n\t\tdatabase sqlite %s\n\t}\n}\nhttp://%s {\n\tcms {\n\t\tsite %s\n\t}\n}\n",
		strconv.Quote(database), listen, strconv.Quote(site))
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "dev"})
	if err != nil {
		return nil, err
	}
	return json.RawMessage(config), nil
}
