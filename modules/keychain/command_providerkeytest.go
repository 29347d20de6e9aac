package keychain

import (
	"fmt"
	"io"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/gateway"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// keyTest is the outcome of testing a provider key, in the JSON form of the management API.
type keyTest struct {
	OK        bool        `json:"ok"`
	Provider  string      `json:"provider"`
	Model     string      `json:"model"`
	LatencyMS int64       `json:"latency_ms"`
	Error     *keyFailure `json:"error"`
}

// keyFailure describes why a provider key does not work.
type keyFailure struct {
	Status  int    `json:"status"` // 0 if there was no HTTP response
	Code    string `json:"code"`
	Message string `json:"message"`
}

// testProviderKey returns the command that tests a provider key with a request to its provider.
func testProviderKey(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test <key id> " + ownerUsage,
		Short: "Tries a provider key by one small request to its provider",
		Long: `
Tries a provider key by one request of a few tokens to the cheapest model of its
provider. It fails if the provider does not answer well, and says why. The request counts
for no budget and does not change the health of the key that a running server has noted.
`,
		Args: cobra.ExactArgs(1),
	}
	o.forOwner(cmd, func(s *session, _ *cobra.Command, args []string, owner keychain.Owner) error {
		provider, probe, err := gateway.Probe(s.Ctx, s.Service, s.catalog, owner, args[0], caddy.Log())
		if err != nil {
			return err
		}
		result := keyTest{OK: probe.OK, Provider: provider, Model: probe.Model, LatencyMS: probe.Latency.Milliseconds()}
		if f := probe.Failure; f != nil {
			result.Error = &keyFailure{f.Status, f.Code, f.Message}
		}
		err = s.Table(result, func(w io.Writer) {
			if result.OK {
				_, _ = fmt.Fprintf(w, "%s works: %s of %s has answered in %s.\n", cli.Cell(args[0]), cli.Cell(result.Model),
					cli.Cell(provider), probe.Latency.Round(time.Millisecond))
			}
		})
		if f := result.Error; err == nil && f != nil {
			err = fmt.Errorf("the provider key %s does not work: %s: %s (%s, status %d)",
				args[0], provider, f.Message, f.Code, f.Status)
		}
		return err
	})
	return cmd
}
