package keychain

import (
	"fmt"
	"io"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/modules/apiauth"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// tokenCommand returns the command that prints a token for api_auth user_jwt. It needs the keyring of the
// configuration, but no database.
func tokenCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token <user> [--ttl <duration>]",
		Short: "Prints a token for the management API in a user's name",
		Long: `
Prints a token for the management API in a user's name (/users/ and
/keychain-keys/), for trying it out, support and development. The server accepts it with
"api_auth user_jwt", unless that has "local off". It can only be revoked by changing the
keyring, so keep its lifetime short.
`,
		Args: cobra.ExactArgs(1),
	}
	lifetime := cmd.Flags().String("ttl", "12h", "Lifetime of the token, at most 30d")
	cmd.RunE = o.Run(func(s *cli.Session, _ *cobra.Command, args []string) error {
		ttl, err := caddy.ParseDuration(*lifetime)
		if err != nil {
			return fmt.Errorf("--ttl must be a duration such as 90m, 12h or 7d")
		}
		keys, err := s.App.DeriveKeys(s.Ctx, apiauth.UserTokens)
		if err != nil {
			return err
		}
		token, expires, err := apiauth.SignUserToken(keys, args[0], time.Now(), ttl)
		if err != nil {
			return err
		}
		return s.Answer(map[string]any{"user_id": args[0], "token": token, "expires_at": expires}, func(w io.Writer) {
			// Only the token goes to standard output, so that $(tollgate keychain token alice) works.
			_, _ = fmt.Fprintln(w, token)
			if localTokensOff(gjson.ParseBytes(s.App.ConfigJSON())) {
				s.Note("This configuration has `local off`: none of its sites accepts the token.")
				return
			}
			s.Note("The token is valid for %s until %s.", cli.Cell(args[0]), formatTime(&expires))
		})
	})
	return cmd
}

// localTokensOff reports whether a configuration, in Caddy's JSON form, verifies users' tokens but accepts local tokens
// nowhere.
func localTokensOff(config gjson.Result) bool {
	verifiesTokens, acceptsLocal := false, false
	var search func(v gjson.Result)
	search = func(v gjson.Result) {
		if v.Get("provider").Str == "user_jwt" {
			verifiesTokens = true
			acceptsLocal = acceptsLocal || !v.Get("disable_local").Bool()
		}
		if v.IsObject() || v.IsArray() {
			v.ForEach(func(_, inner gjson.Result) bool {
				search(inner)
				return true
			})
		}
	}
	search(config)
	return verifiesTokens && !acceptsLocal
}
