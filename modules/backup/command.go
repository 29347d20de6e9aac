// Package backup has the commands that back up the data of a configuration, restore it, and move databases.
package backup

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/internal/backup"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/modules/cli"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddycmd.RegisterCommand(caddycmd.Command{
		Name:  "backup",
		Usage: "<folder> [--without-key] [--config <file>] [--adapter <name>] [--json]",
		Short: "Backs up the databases, the master key and the services' files while the server runs",
		Long: `
Copies the data of all services to a new folder: the databases, the file with the master
key, and the services' folders, such as the board's attachments and the authorization
server's signing keys. The backup contains everything that was acknowledged before the
command began. The server may keep running.

The folder gets its name only after everything has been written and read back. An
interrupted backup stays beside it as <folder>.unfinished-… and can be deleted.

Anyone who has both the master key and the databases can read the secrets in them. Use
--without-key to leave the key out if you keep it elsewhere.

Run it in the folder of the server and as the user of the server.
`,
		CobraFunc: backupCommand,
	})
	caddycmd.RegisterCommand(caddycmd.Command{
		Name:  "restore",
		Usage: "<folder> [--config <file>] [--adapter <name>] [--json]",
		Short: "Restores a backup to the places that the configuration names, which must be empty",
		Long: `
Restores a backup to the places that the configuration names: the databases, the file
with the master key, and the services' folders. Nothing is overwritten: SQLite files must
not exist, PostgreSQL databases must be empty, and no server may be using them. A backup
can only be restored to the same engine, and by the same or a newer version.

Nothing is written before the whole backup has been checked against its manifest. If the
restore is interrupted, no server opens the databases; run the same command again to
continue.
`,
		CobraFunc: restoreCommand,
	})
}

// answer is the JSON output of the commands backup and restore.
type answer struct {
	Folder string `json:"folder"`
	*backup.Manifest
	Files any `json:"files,omitempty"` // always nil: it hides the files of Manifest, of which there may be many
}

// backupCommand sets up the command backup.
func backupCommand(root *cobra.Command) {
	o := new(cli.Flags)
	o.Add(root)
	root.Args = cobra.ExactArgs(1)
	withoutKey := root.Flags().Bool("without-key", false,
		"Leave out the files with keys: the master key and the authorization server's signing keys")
	root.RunE = o.Run(func(s *cli.Session, _ *cobra.Command, args []string) error {
		configured, err := s.App.State()
		if err != nil {
			return err
		}
		existing, err := s.App.Existing(configured)
		if err != nil {
			return err
		}
		state := existing
		if *withoutKey {
			state = tollgate.WithoutKeys(state)
		}
		return run(s, args[0], state, backup.Write, func(m *backup.Manifest) {
			fileMissing := configured.KeyFile != "" && existing.KeyFile == ""
			switch {
			case m.KeyFile: // the backup contains the master key
			case fileMissing && !needsKey(m): // there is no master key
				if *withoutKey {
					s.Note("The backup does not contain the signing keys: keep them elsewhere.")
				}
			case *withoutKey:
				s.Note("The backup contains neither the master key nor the signing keys: keep them elsewhere.")
			case fileMissing:
				s.Note("The backup does not contain the master key: there is no file %s.", configured.KeyFile)
			default:
				s.Note("The backup does not contain the master key, because it is not in a file: keep the keys that the option keyring names.")
			}
			s.Note("The backup contains neither the configuration nor certificates; certificates are obtained again.")
			noteBackup(s, args[0], m)
		})
	})
}

// noteBackup records the backup for the home page of the server. If that fails, it prints a message.
func noteBackup(s *cli.Session, folder string, m *backup.Manifest) {
	folder, err := filepath.Abs(folder)
	if err == nil {
		err = s.App.NoteBackup(tollgate.Backup{At: m.Begun, Folder: folder})
	}
	if err != nil {
		s.Note("The home page will not show this backup: %v", err)
	}
}

// restoreCommand sets up the command restore.
func restoreCommand(root *cobra.Command) {
	o := new(cli.Flags)
	o.Add(root)
	root.Args = cobra.ExactArgs(1)
	root.RunE = o.Run(func(s *cli.Session, _ *cobra.Command, args []string) error {
		state, err := s.App.State()
		if err != nil {
			return err
		}
		return run(s, args[0], state, backup.Restore, func(m *backup.Manifest) {
			if state.KeyFile == "" {
				if m.KeyFile {
					s.Note("The master key in the backup was not restored, because the configuration names the key itself.")
				}
				return
			}
			if _, err := os.Stat(state.KeyFile); err != nil && needsKey(m) {
				s.Note("The backup does not contain the master key: copy it to %s before you start the server.", state.KeyFile)
			}
		})
	})
}

// needsKey reports whether a database of a backup has the table of check values. A database has this table if a
// service on it stores secrets that the master key encrypts.
func needsKey(m *backup.Manifest) bool {
	return slices.ContainsFunc(m.Databases, func(d backup.DatabaseCopy) bool {
		_, ok := d.Schemas[sealed.Schema().Name]
		return ok
	})
}

// operation is backup.Write or backup.Restore.
type operation func(ctx context.Context, folder string, state backup.State, o backup.Options) (*backup.Manifest, error)

// run writes or restores a backup, prints its parts, and passes its manifest to printNotes, which prints further
// messages.
func run(s *cli.Session, folder string, state backup.State, op operation, printNotes func(m *backup.Manifest)) error {
	bar := cli.NewProgress(s.Notes, 0, "", func(n int64) string { return humanize.Bytes(uint64(max(n, 0))) })
	m, err := op(s.Ctx, folder, state, backup.Options{Program: tollgate.Version(), Progress: bar.Step})
	bar.Clear()
	if err != nil {
		return err
	}
	printNotes(m)
	if absolute, err := filepath.Abs(folder); err == nil {
		folder = absolute
	}
	return s.Table(answer{folder, m, nil}, func(w io.Writer) {
		cli.Row(w, "PART", "KIND", "SIZE")
		for i := range m.Databases {
			d := &m.Databases[i]
			cli.Row(w, "database "+d.Name, d.Engine,
				humanize.Bytes(m.Size("databases/"+d.Name+".", "databases/"+d.Name+"/")))
		}
		for _, service := range m.Folders {
			cli.Row(w, "files of "+service, "folder", humanize.Bytes(m.Size("files/"+service+"/")))
		}
		if m.KeyFile {
			cli.Row(w, "master key", "file", humanize.Bytes(m.Size("key/")))
		}
		cli.Row(w, "at "+m.Begun.Format("2006-01-02 15:04:05Z"), "backup", fmt.Sprint(len(m.Files), " files"))
	})
}
