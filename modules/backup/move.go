package backup

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/backup"
	"github.com/tollgate-gateway/tollgate/internal/move"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/cli"
	"github.com/tollgate-gateway/tollgate/modules/placeholder"
)

func init() {
	caddycmd.RegisterCommand(caddycmd.Command{
		Name:  "move",
		Usage: "--to <database> [--from <database>] [--database <name>] [--config <file>] [--adapter <name>] [--json]",
		Short: "Copies a database from SQLite to PostgreSQL, or back, while no server runs",
		Long: `
Copies every table of a database to one of the other engine, and compares all rows of
both in the end. Numbers, keys, secrets and settings stay as they are; indexes of words
are made anew. Stop all servers first.

A database is written sqlite:<file> or postgres://<user>:<password>@<host>/<name>. Keep
a password out of the command line by a placeholder, such as {env.TOLLGATE_DSN}. The
source is the database of the configuration that all services share, or that of one
service with --database. The target must be empty: a file that is not there, or a
database without tables. No server opens it before all of it is there.

Cut short, the same command goes on where it stopped. What was changed in the source
meanwhile is copied anew. The source is left as it is, so that it is a backup until you
remove it.

Files in folders, such as attachments of the board, are not in a database. They stay
where they are, as the key file does; the command tells which.
`,
		CobraFunc: moveCommand,
	})
}

func moveCommand(root *cobra.Command) {
	o := new(cli.Flags)
	o.Add(root)
	root.Args = cobra.NoArgs
	from := root.Flags().String("from", "", "Database to copy (default: that of the configuration)")
	to := root.Flags().String("to", "", "Database to copy to, which is empty")
	name := root.Flags().String("database", "",
		"Name of a service with a database of its own in the configuration, which is the one to copy")
	cli.Required(root, "to")
	root.MarkFlagsMutuallyExclusive("from", "database")
	root.RunE = o.Run(func(s *cli.Session, _ *cobra.Command, _ []string) error {
		state, err := s.App.State()
		if err != nil {
			return err
		}
		source, err := sourceOf(state, *from, *name)
		if err != nil {
			return err
		}
		target, err := database(*to)
		if err != nil {
			return fmt.Errorf("--to: %w", err)
		}
		defer func() { _, _ = source.Close(), target.Close() }()
		bar := cli.NewProgress(s.Notes, 0, " rows", humanize.Comma)
		r, err := move.Run(s.Ctx, move.Options{
			From: source, To: target, Schemas: state.Schemas, Progress: bar.Step, Logger: zap.NewNop(),
		})
		bar.Clear()
		if err != nil {
			return err
		}
		notes(s, &state, *to, *name)
		return s.Table(r, func(w io.Writer) {
			cli.Row(w, "TABLE", "ROWS", "DIGEST OF BOTH")
			for i := range r.Tables {
				if t := &r.Tables[i]; t.Rows > 0 {
					cli.Row(w, t.Name, t.Rows, t.Digest[:shownDigest])
				}
			}
			cli.Row(w, fmt.Sprint(len(r.Tables), " tables"), r.Rows(), "equal")
		})
	})
}

// shownDigest is how many characters of a digest are shown to people.
const shownDigest = 16

// sourceOf returns the database to copy.
func sourceOf(state backup.State, from, name string) (*store.DB, error) {
	if from != "" {
		db, err := database(from)
		if err != nil {
			return nil, fmt.Errorf("--from: %w", err)
		}
		return db, nil
	}
	if name == "" {
		return state.Databases[0].DB, nil
	}
	var names []string
	for _, d := range state.Databases[1:] {
		if d.Name == name {
			return d.DB, nil
		}
		names = append(names, d.Name)
	}
	if len(names) == 0 {
		return nil, errors.New("--database: no service of the configuration has a database of its own")
	}
	return nil, fmt.Errorf("--database: %q has no database of its own; there are: %s", name, strings.Join(names, ", "))
}

// database opens a database that is given as an argument. Errors do not repeat the argument, which may hold a password.
func database(written string) (*store.DB, error) {
	resolved, err := placeholder.Resolve(written)
	if err != nil {
		return nil, err
	}
	if path, ok := strings.CutPrefix(resolved, "sqlite:"); ok {
		return store.NewSQLite(store.SQLiteOptions{Path: strings.TrimPrefix(path, "//")}, zap.NewNop())
	}
	if strings.HasPrefix(resolved, "postgres://") || strings.HasPrefix(resolved, "postgresql://") ||
		strings.Contains(resolved, "host=") {
		return store.NewPostgres(store.PostgresOptions{DSN: resolved}, zap.NewNop())
	}
	return nil, errors.New("a database is sqlite:<file> or postgres://<user>:<password>@<host>/<name>")
}

// notes shows the user what to do now.
func notes(s *cli.Session, state *backup.State, to, name string) {
	if name != "" {
		name += " "
	}
	if path, ok := strings.CutPrefix(to, "sqlite:"); ok {
		s.Note("All is there and is equal. Write in the configuration now: database %ssqlite %s",
			name, strings.TrimPrefix(path, "//"))
	} else {
		if strings.Contains(to, "://") { // it may hold a password
			to = "{env.TOLLGATE_DSN}"
		}
		s.Note("All is there and is equal. Write in the configuration now: database %spostgres %s", name, to)
	}
	if name == "" && len(state.Databases) > 1 {
		own := make([]string, 0, len(state.Databases)-1)
		for _, d := range state.Databases[1:] {
			own = append(own, d.Name)
		}
		s.Note("Services with a database of their own were left: %s. Move each by --database.", strings.Join(own, ", "))
	}
	for _, service := range slices.Sorted(maps.Keys(state.Folders)) {
		if folder := state.Folders[service]; there(folder) {
			s.Note("Files of %s stay in %s: have its configuration name that folder where it does not yet.",
				service, absolute(folder))
		}
	}
	if there(state.KeyFile) {
		s.Note(
			"The master key stays in %s: secrets open with it alone. Without a database file it is looked for in the folder data.",
			absolute(state.KeyFile))
	}
}

func there(path string) bool {
	_, err := os.Stat(path)
	return path != "" && err == nil
}

func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}
