package authserver

import (
	"bufio"
	"errors"
	"os"

	"github.com/spf13/cobra"
)

// exportCommand returns the command that writes clients and users to a file.
func exportCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "export <file>", Args: cobra.ExactArgs(1),
		Short: "Writes clients and users for another authorization server",
		Long: `
Writes all clients, and all users who sign in with a password, to a file that
import --from tollgate reads, one per line, as JSON. It includes the connected
accounts at providers and the planned deletions. The file contains the hashes of
secrets and passwords, and the unencrypted secrets of authenticator apps: keep it
secret, and delete it after the import. An existing file is not overwritten. A -
stands for standard output.
`,
		RunE: o.run(func(s *session, cmd *cobra.Command, args []string) (err error) {
			keys, err := s.keys()
			if err != nil {
				return err
			}
			server, end, err := newOfflineServer(s, keys)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, end()) }()
			out := cmd.OutOrStdout()
			if args[0] != "-" {
				var file *os.File
				if file, err = os.OpenFile(args[0], os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
					return err
				}
				defer func() {
					// A file that lacks accounts is removed. It must not be imported, and the next attempt would fail because the file
					// exists.
					if err = errors.Join(err, file.Close()); err != nil {
						err = errors.Join(err, os.Remove(args[0]))
					}
				}()
				out = file
			}
			buffered := bufio.NewWriter(out)
			n, err := server.Export(s.Ctx, buffered)
			if err = errors.Join(err, buffered.Flush()); err != nil {
				return err
			}
			s.Note("%d clients and %d users, %d of whom have a passkey and come without their password; left out: %d people of other providers, %d who have not chosen a password",
				n.Clients, n.Users, n.WithoutPassword, n.Elsewhere, n.Pending)
			return nil
		}),
	}
}
