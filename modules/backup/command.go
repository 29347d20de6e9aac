// Package backup has the commands that back up the data of a configuration, restore it, and move databases.
package backup

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/internal/backup"
	"github.com/tollgate-gateway/tollgate/modules/cli"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddycmd.RegisterCommand(caddycmd.Command{
		Name:  "backup",
		Usage: "<folder> [--without-key] [--config <file>] [--adapter <name>] [--json]",
		Short: "Copies the databases, the master key and files to a folder, while the server runs",
		Long: `
Copies what the configuration keeps to a new folder: its databases, the file with the
master key, and the folders of its services, such as attachments of the board
and signing keys of the authorization server. What was
acknowledged before the command began is in it. The server may run meanwhile.

The folder gets its name when all is written and was read once more. A backup that was
cut short is beside it as <folder>.unfinished-…, and can be removed.

Whoever has the master key and the databases can read the secrets in them. Leave the key
out with --without-key where it is kept elsewhere.

Run it in the folder of the server and as the user of the server.
`,
		CobraFunc: backupCommand,
	})
	caddycmd.RegisterCommand(caddycmd.Command{
		Name:  "restore",
		Usage: "<folder> [--config <file>] [--adapter <name>] [--json]",
		Short: "Puts a backup into the places that the configuration names, where nothing is yet",
		Long: `
Puts a backup into the places that the configuration names: the databases, the file with
the master key, and the folders of its services. Nothing is overwritten: SQLite files must
not be there, PostgreSQL databases must be empty, and no server may run on them. A backup
is for the engine that it is of, and for a program that is not older.

Nothing is touched before the whole backup was read and is what its manifest says. Where
it is cut short no server opens the databases; the same command goes on then.
`,
		CobraFunc: restoreCommand,
	})
}

// answer is the answer in JSON.
type answer struct {
	Folder string `json:"folder"`
	*backup.Manifest
	Files any `json:"files,omitempty"` // left out, as there may be many: the manifest has them
}

func backupCommand(root *cobra.Command) {
	o := new(cli.Flags)
	o.Add(root)
	root.Args = cobra.ExactArgs(1)
	withoutKey := root.Flags().Bool("without-key", false,
		"Leave the files with keys out: the master key, and what the authorization server signs with")
	root.RunE = o.Run(func(s *cli.Session, _ *cobra.Command, args []string) error {
		state, err := s.App.State()
		if err == nil {
			state, err = s.App.Existing(state)
		}
		if err != nil {
			return err
		}
		if *withoutKey {
			state = tollgate.WithoutKeys(state)
		}
		return run(s, args[0], state, backup.Write, func(m *backup.Manifest) {
			switch {
			case m.KeyFile:
			case *withoutKey:
				s.Note("Neither the master key nor signing keys are in it: keep them elsewhere.")
			default:
				s.Note("The master key is not in it, since it is not in a file: keep what the configuration names for keyring.")
			}
			s.Note("The configuration is not in it, nor are certificates, which are got anew.")
			note(s, args[0], m)
		})
	})
}

// note records the backup for the home page of the server.
func note(s *cli.Session, folder string, m *backup.Manifest) {
	folder, err := filepath.Abs(folder)
	if err == nil {
		err = s.App.NoteBackup(tollgate.Backup{At: m.Begun, Folder: folder})
	}
	if err != nil {
		s.Note("The home page will not show this backup: %v", err)
	}
}

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
					s.Note("The backup has a file with the master key, which was left: the configuration names the key itself.")
				}
				return
			}
			if _, err := os.Stat(state.KeyFile); err != nil {
				s.Note("The master key is not in the backup: put it to %s before the server starts.", state.KeyFile)
			}
		})
	})
}

// operation is backup.Write or backup.Restore.
type operation func(ctx context.Context, folder string, state backup.State, o backup.Options) (*backup.Manifest, error)

// run writes or restores a backup and reports it.
func run(s *cli.Session, folder string, state backup.State, do operation, notes func(m *backup.Manifest)) error {
	bar := cli.NewProgress(s.Notes, 0, "", func(n int64) string { return humanize.Bytes(uint64(max(n, 0))) })
	m, err := do(s.Ctx, folder, state, backup.Options{Program: tollgate.Version(), Progress: bar.Step})
	bar.Clear()
	if err != nil {
		return err
	}
	notes(m)
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
