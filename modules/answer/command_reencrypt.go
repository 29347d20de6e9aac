package answer

import (
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

func reencryptCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "re-encrypt", Args: cobra.NoArgs,
		Short: "Re-encrypts secrets that an older master key has sealed",
		Long: `
Re-encrypts stored answers and traces with the current master key, the first of the
keyring. All servers use that key from then on, so each must have it. The server may
keep running. The command can be interrupted and run again; once it has nothing left to
do, the older master key can be removed from the keyring.
`,
		RunE: o.Run(func(s *cli.Session, _ *cobra.Command, _ []string) error {
			if err := s.App.Exists(answer.SchemaName); err != nil {
				return err
			}
			db, ring, err := s.App.OpenSealed(s.Ctx, answer.SchemaName, answer.Schema(), answer.Sealed.Sample)
			if err != nil {
				return err
			}
			result, err := answer.Sealed.Reseal(s.Ctx, db, ring, zap.NewNop(),
				func(r sealed.Result) { s.Note("%d of %d checked", r.Checked, r.Total) })
			if err != nil {
				return err
			}
			return s.Resealed(result.Resealed, result.Unreadable, "they are deleted after 30 days")
		}),
	}
}
