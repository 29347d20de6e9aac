package keychain

import (
	"encoding/json"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/modules/apiauth"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// tokenCommand prints a token that api_auth user_jwt accepts. It needs the
// keyring of the configuration and no database.
func tokenCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token <user> [--ttl <duration>]",
		Short: "Prints a token with which a user signs in to the management API",
		Long: `
Prints a token with which a user signs in to the management API (/users/ and
/keychain-keys/), for a first try, support and development. The server accepts
it with "api_auth user_jwt", unless that has "local off". It cannot be revoked
other than by a new key of the keyring: keep its life short.
`,
		Args: cobra.ExactArgs(1),
	}
	life := cmd.Flags().String("ttl", "12h", "How long the token is good, at most 30d")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ttl, err := caddy.ParseDuration(*life)
		if err != nil {
			return fmt.Errorf("--ttl must be a duration such as 90m, 12h or 7d")
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		app, end, err := tollgate.Load(o.config, o.adapter)
		if err != nil {
			return err
		}
		defer end()
		keys, err := app.DeriveKeys(ctx, apiauth.UserTokens)
		if err != nil {
			return err
		}
		token, expires, err := apiauth.SignUserToken(keys, args[0], time.Now(), ttl)
		if err != nil {
			return err
		}
		if o.json {
			encoder := json.NewEncoder(cmd.OutOrStdout())
			encoder.SetEscapeHTML(false)
			encoder.SetIndent("", "  ")
			return encoder.Encode(map[string]any{"user_id": args[0], "token": token, "expires_at": expires})
		}
		// Alone on its line, so that $(tollgate keychain token alice) is the token.
		_, _ = fmt.Fprintln(cmd.OutOrStdout(), token)
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "Signs in %s until %s.\n", cell(args[0]), when(&expires))
		return nil
	}
	return cmd
}
