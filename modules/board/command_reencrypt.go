package board

import (
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
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
			db, ring, err := s.App.OpenSealed(s.Ctx, serviceName, board.Schema(), admin.Sealed.Sample)
			if err != nil {
				return err
			}
			service := board.New(db, kernel.Options{Keyring: func() (keyring.Keyring, error) { return ring, nil }}, zap.NewNop(),
				time.Now)
			defer service.Close()
			resealed, unreadable, err := service.Admin.Reencrypt(s.Ctx)
			if err != nil {
				return err
			}
			return s.Resealed(resealed, unreadable, "set new secrets for those webhooks")
		}),
	}
}
