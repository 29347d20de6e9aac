package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"time"

	"github.com/pressly/goose/v3"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store/migration"
)

// migrateLockWait limits the wait for another process that migrates. After this time the attempt fails and is repeated
// like any other.
const migrateLockWait = time.Minute

// Schema describes the tables of one service.
type Schema struct {
	// Name distinguishes the schemas of a database, for example "gateway". The versions of applied migrations are in
	// the table "schema_<name>". A name has at most 40 lower case letters, digits and underscores and begins with a
	// letter.
	Name string
	// Migrations holds in its root the files NNNNN_name.sql for both engines, or NNNNN_name.sqlite.sql and
	// NNNNN_name.postgres.sql for one engine, with the annotations of goose ("-- +goose Up"). Other files are ignored.
	// A line "-- additive" marks a migration after which programs of the last release can still use the database; see
	// migration.IsAdditive. Words in double braces are replaced by the spelling of the engine: {{id}} is the type of a
	// primary key whose numbers the database assigns, {{bytes}} the type of binary data, {{bytewise}} a collation and
	// {{without rowid}} a table option. See migration.Spell. A line that begins with {{sqlite}} or {{postgres}} is for
	// that engine alone.
	Migrations fs.FS
	// The functions below describe data that each engine stores in a different way, for a move from one engine to the
	// other. Each is nil if the service has no such data. See Partition and internal/move.

	// Partition returns the partition of a table to which a row belongs. key is the row's number in the column by which
	// PostgreSQL partitions the table; all rows have numbers from oldest to newest. Different results never overlap.
	Partition func(table string, key, oldest, newest int64) Partition
	// Settle moves rows from tables that only the other engine uses to tables that both engines use. No server runs on
	// the database meanwhile.
	Settle func(ctx context.Context, db *DB) error
	// Reindex rebuilds the full-text index, an FTS5 table or a TSVECTOR column, from the rows of the other tables.
	// Earlier content of the index is replaced. step is called with the number of rows processed since its last call.
	Reindex func(ctx context.Context, db *DB, step func(rows int64)) error
}

// Partition is a part of a table on PostgreSQL, with the rows whose numbers are at least From and less than Until.
type Partition struct {
	Name        string
	From, Until int64
}

// schema is a registered Schema.
type schema struct {
	Schema
	dialect  Dialect
	release  string   // see SetRelease
	files    []string // in the order of their numbers
	foreign  []string // files for the other engine
	additive []int64  // the versions of additive migrations
	until    int64    // the last version to apply; 0 means all

	fingerprint [sha256.Size]byte // of the names and texts of files
}

var schemaName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// Register adds a schema. The next Start applies the schema's migrations; a Start that is already running may leave
// them out. Register reads s.Migrations but not the database. Registering the same name again with the same files
// changes nothing; with other files it is an error.
func (db *DB) Register(s Schema) error {
	added, err := newSchema(s, db.dialect)
	if err != nil {
		return fmt.Errorf("schema %q: %w", s.Name, err)
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	added.release = db.release
	for _, known := range db.schemas {
		if known.Name != added.Name {
			continue
		}
		if known.fingerprint != added.fingerprint {
			return fmt.Errorf("schema %q: registered twice with different migrations", s.Name)
		}
		return nil
	}
	db.schemas = append(db.schemas, added)
	return nil
}

// newSchema checks s and leaves out migrations that are only for the other engine.
func newSchema(s Schema, d Dialect) (*schema, error) {
	if !schemaName.MatchString(s.Name) {
		return nil, errors.New("the name must be 1 to 40 lower case letters, digits and underscores and begin with a letter")
	}
	if s.Migrations == nil {
		return nil, errors.New("no migrations")
	}
	s.Migrations = migration.Rewrite(s.Migrations, func(text []byte) ([]byte, error) {
		return migration.Spell(text, d.String())
	})
	files, err := fs.Glob(s.Migrations, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("listing migrations: %w", err)
	}
	checked := &schema{Schema: s, dialect: d}
	sum := sha256.New()
	for _, name := range files { // sorted by Glob
		match := migration.FileName.FindStringSubmatch(name)
		if match == nil {
			return nil, fmt.Errorf(
				"migration %q is not named NNNNN_name.sql, NNNNN_name.sqlite.sql or NNNNN_name.postgres.sql", name)
		}
		if engine := match[2]; engine != "" && engine != d.String() {
			checked.foreign = append(checked.foreign, name)
			continue
		}
		text, err := readMigration(s.Migrations, name)
		if err != nil {
			return nil, err
		}
		sum.Write(fmt.Appendf(nil, "%s %d\n", name, len(text))) // the length tells where the text ends
		sum.Write(text)
		checked.files = append(checked.files, name)
		switch additive, err := migration.IsAdditive(string(text)); {
		case err != nil:
			return nil, fmt.Errorf("migration %q %w", name, err)
		case additive:
			version, err := versionOf(name)
			if err != nil {
				return nil, err
			}
			checked.additive = append(checked.additive, version)
		}
	}
	if len(checked.files) == 0 {
		return nil, fmt.Errorf("no migrations for %s", d)
	}
	sum.Sum(checked.fingerprint[:0]) // writes the hash into the array
	return checked, nil
}

// versionOf returns the number in the name of a migration, which must match migration.FileName.
func versionOf(name string) (int64, error) {
	version, err := strconv.ParseInt(migration.FileName.FindStringSubmatch(name)[1], 10, 64)
	if err != nil { // too large
		return 0, fmt.Errorf("migration %q: %w", name, err)
	}
	return version, nil
}

// readMigration returns the text of a migration.
func readMigration(files fs.FS, name string) ([]byte, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("reading migration: %w", err)
	}
	return text, nil
}

// Errors of databases that another version of the program has made.
var (
	// ErrNewer is wrapped by the error for a database whose tables a newer version of the program made.
	ErrNewer = errors.New("the database was changed by a newer program")
	// ErrTooOld is wrapped by the error for a database whose tables are older than the program's first migration. That
	// migration creates all tables at once and replaced the migrations before it.
	ErrTooOld = errors.New("the database was made by a program before release 0.1.0")
)

// applyAll brings schemas up to date. It checks all schemas before it changes the database, so that a refused database
// stays unchanged. The caller holds the migration lock.
func applyAll(ctx context.Context, schemas []*schema, pool *sql.DB, d goose.Dialect, logger *zap.Logger) error {
	providers := make([]*goose.Provider, len(schemas))
	for i, s := range schemas {
		provider, err := goose.NewProvider(d, pool, s.Migrations,
			goose.WithTableName(schemaPrefix+s.Name),
			goose.WithExcludeNames(s.foreign),
			goose.WithDisableGlobalRegistry(true),
			goose.WithLogger(goose.NopLogger()),
		)
		if err != nil {
			return fmt.Errorf("reading migrations of schema %q: %w", s.Name, err)
		}
		if err := s.checkUsable(ctx, provider, pool, logger); err != nil {
			return err
		}
		providers[i] = provider
	}
	for i, s := range schemas {
		if err := s.apply(ctx, providers[i], pool, logger); err != nil {
			return err
		}
	}
	return nil
}

// apply brings one schema up to date. The method checkUsable must have accepted the schema.
func (s *schema) apply(ctx context.Context, provider *goose.Provider, pool *sql.DB, logger *zap.Logger) error {
	run := provider.Up
	if s.until > 0 {
		run = func(ctx context.Context) ([]*goose.MigrationResult, error) { return provider.UpTo(ctx, s.until) }
	}
	applied, err := run(ctx)
	if partial, ok := errors.AsType[*goose.PartialError](err); ok {
		applied = partial.Applied
		err = fmt.Errorf("migration %s: %w", path.Base(partial.Failed.Source.Path), partial.Err)
	}
	for _, m := range applied {
		logger.Info("migration applied",
			zap.String("schema", s.Name),
			zap.Int64("version", m.Source.Version),
			zap.String("file", path.Base(m.Source.Path)),
			zap.Duration("duration", m.Duration),
		)
	}
	if err != nil {
		return fmt.Errorf("migrating schema %q: %w", s.Name, err)
	}
	if err := s.recordAdditive(ctx, pool); err != nil {
		return fmt.Errorf("recording the additive migrations of schema %q: %w", s.Name, err)
	}
	return nil
}
