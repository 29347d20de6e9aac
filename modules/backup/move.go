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
		Short: "Moves a database from SQLite to PostgreSQL, or back, while no server is running",
		Long: `
Copies every table of a database to the other engine, and then compares all rows of both.
Ids, keys, secrets and settings stay the same; full-text indexes are rebuilt. Stop all
servers first.

A database is written as sqlite:<file> or postgres://<user>:<password>@<host>/<name>. To
keep a password off the command line, use a placeholder such as {env.TOLLGATE_DSN}. The
source is the database that all services of the configuration share, or with --database
that of a single service. The target must be empty: a file that does not exist, or a
database without tables. No server opens it before the move is complete.

If the move is interrupted, run the same command again to continue. Rows that have changed
in the source since then are copied again. The source is not changed; keep it as a backup
until you delete it.

Files in folders, such as the board's attachments, are not part of a database. They stay
where they are, as does the key file; the command lists them.
`,
		CobraFunc: moveCommand,
	})
}

// moveCommand sets up the command move.
func moveCommand(root *cobra.Command) {
	o := new(cli.Flags)
	o.Add(root)
	root.Args = cobra.NoArgs
	sourceFlag := root.Flags().String("from", "", "Database to copy (default: that of the configuration)")
	targetFlag := root.Flags().String("to", "", "Database to copy to, which must be empty")
	service := root.Flags().String("database", "",
		"Copy the database of this service, which has its own in the configuration")
	cli.Required(root, "to")
	root.MarkFlagsMutuallyExclusive("from", "database")
	root.RunE = o.Run(func(s *cli.Session, _ *cobra.Command, _ []string) error {
		state, err := s.App.State()
		if err != nil {
			return err
		}
		source, err := sourceOf(state, *sourceFlag, *service)
		if err != nil {
			return err
		}
		target, err := openArgument(*targetFlag)
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
		printNextSteps(s, &state, *targetFlag, *service)
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

// sourceOf returns the database to copy. source is the value of the flag --from. If source is set, it describes the
// database. Otherwise the database is the own database of the service with the given name or, if name is empty, the
// common database.
func sourceOf(state backup.State, source, name string) (*store.DB, error) {
	if source != "" {
		db, err := openArgument(source)
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
		return nil, errors.New("--database: no service of the configuration has its own database")
	}
	return nil, fmt.Errorf("--database: %q does not have its own database; these services do: %s", name, strings.Join(names, ", "))
}

// openArgument returns the database that a command argument or flag describes. Its errors do not repeat the argument,
// which may contain a password.
func openArgument(argument string) (*store.DB, error) {
	resolved, err := placeholder.Resolve(argument)
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
	return nil, errors.New("a database is written as sqlite:<file> or postgres://<user>:<password>@<host>/<name>")
}

// printNextSteps prints what to do after a database was copied. target describes the new database, and name is the
// service, or empty for the common database.
func printNextSteps(s *cli.Session, state *backup.State, target, name string) {
	if name != "" {
		name += " "
	}
	if path, ok := strings.CutPrefix(target, "sqlite:"); ok {
		s.Note("All rows were copied and are equal. Now change the configuration to: database %ssqlite %s",
			name, strings.TrimPrefix(path, "//"))
	} else {
		if strings.Contains(target, "://") { // the URL may contain a password
			target = "{env.TOLLGATE_DSN}"
		}
		s.Note("All rows were copied and are equal. Now change the configuration to: database %spostgres %s", name, target)
	}
	if name == "" && len(state.Databases) > 1 {
		others := make([]string, 0, len(state.Databases)-1)
		for _, d := range state.Databases[1:] { // the first is the common database
			others = append(others, d.Name)
		}
		s.Note("Services with their own databases were not moved: %s. Move each with --database.", strings.Join(others, ", "))
	}
	for _, service := range slices.Sorted(maps.Keys(state.Folders)) {
		if folder := state.Folders[service]; exists(folder) {
			s.Note("The files of %s stay in %s: make sure that the configuration names this folder.",
				service, absolute(folder))
		}
	}
	if exists(state.KeyFile) {
		s.Note(
			"The master key stays in %s. Without it the secrets cannot be read. With PostgreSQL it is read from the folder data.",
			absolute(state.KeyFile))
	}
}

// exists reports whether path is not empty and names a file or folder that can be accessed.
func exists(path string) bool {
	_, err := os.Stat(path)
	return path != "" && err == nil
}

// absolute returns path as an absolute path, or unchanged if that is not possible.
func absolute(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}
