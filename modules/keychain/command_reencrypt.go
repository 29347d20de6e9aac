package keychain

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

func reencryptCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "re-encrypt",
		Short: "Re-encrypts secrets that an older master key has sealed",
		Long: `
Re-encrypts the provider keys and the keys of custom models with the current master
key, the first of the keyring. All servers use that key from then on, so each must have
it. The server may keep running. The command can be interrupted and run again; once it
has nothing left to do, the older master key can be removed from the keyring.
`,
		Args: cobra.NoArgs,
		RunE: o.run(func(s *session, _ *cobra.Command, _ []string) error {
			result, err := s.Reencrypt(s.Ctx, func(r sealed.Result) { s.Note("%d of %d checked", r.Checked, r.Total) })
			if err != nil {
				return err
			}
			err = s.Table(result, func(w io.Writer) {
				cli.Row(w, "Sealed texts:", result.Total)
				cli.Row(w, "Sealed anew:", result.Resealed)
				cli.Row(w, "Changed meanwhile:", result.Changed)
				cli.Row(w, "Cannot be opened:", result.Unreadable)
			})
			if err == nil && result.Unreadable > 0 {
				err = fmt.Errorf("%d sealed texts open with none of the configured master keys; add the key they were sealed with",
					result.Unreadable)
			}
			return err
		}),
	}
}
