package cms

import (
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/cms"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

func reencryptCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "re-encrypt", Args: cobra.NoArgs,
		Short: "Re-encrypts secrets that an older master key has sealed",
		Long: `
Re-encrypts the secrets of webhooks with the current master key, the first of the
keyring. All servers use that key from then on, so each must have it. The server may
keep running. Run the command until it has nothing left to do; then the older master
key can be removed from the keyring.
`,
		RunE: o.Run(func(s *cli.Session, _ *cobra.Command, _ []string) error {
			if err := s.App.Exists(serviceName); err != nil {
				return err
			}
			site, err := filepath.Abs(o.site)
			if err != nil {
				return err
			}
			schemas := cms.Schemas()
			for _, schema := range schemas[1:] {
				if _, err := s.App.ServiceDatabase(serviceName, schema); err != nil {
					return err
				}
			}
			db, ring, err := s.App.OpenSealed(s.Ctx, serviceName, schemas[0], cms.SealedSample)
			if err != nil {
				return err
			}
			server, err := cms.Offline(cms.Options{
				Site: site, DB: db, Now: time.Now,
				Keyring: func() (keyring.Keyring, error) { return ring, nil },
			})
			if err != nil {
				return err
			}
			defer server.Close()
			resealed, unreadable, err := server.Webhooks().Reencrypt(s.Ctx)
			if err != nil {
				return err
			}
			return s.Resealed(resealed, unreadable, "set new secrets for those webhooks")
		}),
	}
}
