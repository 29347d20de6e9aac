package answer

import (
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

func reencryptCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "re-encrypt", Args: cobra.NoArgs,
		Short: "Seals what is under an older master key with the current one",
		Long: `
Seals stored answers and traces that are under an older master key with the current
one, the first of the keyring, with which all nodes seal from then on: each must have
it. The server may run meanwhile. It can be interrupted and run again; when it has
nothing left to do, the older master key can be taken out of the keyring.
`,
		RunE: o.Run(func(s *cli.Session, _ *cobra.Command, _ []string) error {
			if err := s.App.Exists(answer.SchemaName); err != nil {
				return err
			}
			db, ring, err := s.App.OpenSealed(s.Ctx, answer.SchemaName, answer.Schema(), answer.SealedSample)
			if err != nil {
				return err
			}
			server := answer.New(answer.Options{
				DB: db, Logger: zap.NewNop, Now: time.Now,
				Keyring: func() (keyring.Keyring, error) { return ring, nil },
			})
			defer server.Close()
			resealed, unreadable, err := server.Reencrypt(s.Ctx, func(looked int) { s.Note("%d answers looked at", looked) })
			if err != nil {
				return err
			}
			return s.Resealed(resealed, unreadable, "they are gone after 30 days")
		}),
	}
}
