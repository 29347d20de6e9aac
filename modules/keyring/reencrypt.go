package keyring

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// reencryptCommand returns the command re-encrypt.
func reencryptCommand(o *cli.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "re-encrypt", Args: cobra.NoArgs,
		Short: "Re-encrypts all secrets that an older master key has encrypted",
		Long: `
Re-encrypts the secrets of all services of the configuration with the current master
key, the first of the keyring: provider keys, keys of custom models and stored
responses of the gateway, stored answers, and secrets of webhooks. All servers use that
key from then on, so each must have it. The server may keep running. The command can be
interrupted and run again; once it has nothing left to do, the older master key can be
removed from the keyring. The authorization server has keys of its own: see tollgate
authserver re-encrypt.
`,
		RunE: o.Run(func(s *cli.Session, _ *cobra.Command, _ []string) error {
			done, err := s.App.Reseal(s.Ctx, func(service string, r sealed.Result) {
				s.Note("%s: %d of %d secrets checked", service, r.Checked, r.Total)
			})
			if err != nil {
				return err
			}
			services := slices.Sorted(maps.Keys(done))
			err = s.Table(done, func(w io.Writer) {
				cli.Row(w, "SERVICE", "SECRETS", "RE-ENCRYPTED", "CHANGED MEANWHILE", "CANNOT BE DECRYPTED")
				for _, service := range services {
					r := done[service]
					cli.Row(w, service, r.Total, r.Resealed, r.Changed, r.Unreadable)
				}
			})
			var unreadable []string
			for _, service := range services {
				if n := done[service].Unreadable; n > 0 {
					unreadable = append(unreadable, fmt.Sprintf("%d of %s", n, service))
				}
			}
			if err == nil && len(unreadable) > 0 {
				err = fmt.Errorf("none of the configured master keys decrypts some of the secrets (%s): "+
					"add the key with which they were encrypted, or store them again", strings.Join(unreadable, ", "))
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&o.JSON, "json", false, "Print JSON, for programs")
	return cmd
}
