package store

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"go.uber.org/zap"
)

// The functions of this file let programs of two releases use one database during an upgrade. The table of versions
// records for each additive migration which release applied it. An older program can use the database if all migrations
// that it does not know are additive, and were applied by its own release or the next one.

// releaseNumber matches the first two numbers of a version. They identify a release.
var releaseNumber = regexp.MustCompile(`^(\d{1,6})\.(\d{1,6})(?:\.|$)`)

// SetRelease sets the version of this program, such as 0.1.0. If there is no version, or if the version has another
// form, programs of other releases cannot use the database at the same time. SetRelease must be called before
// Register.
func (db *DB) SetRelease(version string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.release = version
}

// follows reports whether version belongs to the same release as olderVersion, or to the next release. In the next
// release, the second number is one higher, or the first number is one higher and the second is 0.
func follows(version, olderVersion string) bool {
	next, base := releaseNumber.FindStringSubmatch(version), releaseNumber.FindStringSubmatch(olderVersion)
	if next == nil || base == nil {
		return false
	}
	number := func(text string) int {
		n, _ := strconv.Atoi(text) // at most six digits
		return n
	}
	if next[1] != base[1] {
		return number(next[1]) == number(base[1])+1 && number(next[2]) == 0
	}
	return number(next[2]) == number(base[2]) || number(next[2]) == number(base[2])+1
}

// additiveColumn is a column of the table of versions. It has the release that applied an additive migration. The
// column does not exist before the first additive migration.
const additiveColumn = "additive_in"

// table returns the name of the table of versions.
func (s *schema) table() string { return schemaPrefix + s.Name }

// checkUsable returns an error if this program cannot use the schema's tables. That is so if they are older than the
// program's first migration, or if later migrations than its last one were applied and the program cannot work with
// their changes.
func (s *schema) checkUsable(ctx context.Context, provider *goose.Provider, pool *sql.DB, logger *zap.Logger) error {
	version, err := provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("reading the version of schema %q: %w", s.Name, err)
	}
	sources := provider.ListSources()
	first, last := sources[0].Version, sources[len(sources)-1].Version
	// In a new database that gets all migrations, version and s.until are both 0.
	if lowest := max(version, s.until); 0 < lowest && lowest < first {
		return fmt.Errorf("%w: its schema %s has version %d, but this program needs at least version %d; start the last "+
			"build before 0.1.0 on the database once, or use a new database", ErrTooOld, s.Name, lowest, first)
	}
	if version <= last {
		return nil
	}
	unknown := fmt.Sprintf("its schema %s has version %d, but this program knows only versions up to %d",
		s.Name, version, last)
	foreign, err := s.foreignRelease(ctx, pool, last)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %s: %w", ErrNewer, unknown, err)
	case foreign == "":
		return fmt.Errorf("%w: %s, and the later changes are not only additions; run the newer program, or restore the "+
			"backup from before the upgrade", ErrNewer, unknown)
	case !follows(foreign, s.release):
		return fmt.Errorf("%w: %s, and release %s does not directly follow release %s; first upgrade to the release between "+
			"them, or run the newer program", ErrNewer, unknown, foreign, s.release)
	}
	logger.Info("the database has additions of a newer program, which this program does not use",
		zap.String("schema", s.Name), zap.Int64("version", version), zap.Int64("known", last), zap.String("release", foreign))
	return nil
}

// foreignRelease returns the release that applied the migrations after a version. If several releases applied them,
// it returns the first one that does not follow the release of this program, or the last one if all of them follow
// it; see the function follows. foreignRelease returns "" if one of the migrations is not additive.
func (s *schema) foreignRelease(ctx context.Context, pool *sql.DB, afterVersion int64) (string, error) {
	exists, err := s.hasAdditiveColumn(ctx, pool)
	if err != nil || !exists { // without the column, no migration is recorded as additive
		return "", err
	}
	rows, err := pool.QueryContext(ctx, fmt.Sprintf(
		"SELECT coalesce(%s, '') FROM %s WHERE version_id > %d ORDER BY version_id", additiveColumn, s.table(), afterVersion))
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	found := ""
	for rows.Next() {
		release := ""
		if err := rows.Scan(&release); err != nil {
			return "", err
		}
		if release == "" {
			return "", nil
		}
		if found == "" || follows(found, s.release) {
			found = release
		}
	}
	return found, rows.Err()
}

// hasAdditiveColumn reports whether the table of versions has the column additiveColumn.
func (s *schema) hasAdditiveColumn(ctx context.Context, pool *sql.DB) (bool, error) {
	query := "SELECT count(*) FROM pragma_table_info('" + s.table() + "') WHERE name = '" + additiveColumn + "'"
	if s.dialect == Postgres {
		query = "SELECT count(*) FROM pg_attribute WHERE attrelid = '" + s.table() + "'::regclass AND attname = '" +
			additiveColumn + "' AND NOT attisdropped"
	}
	n := 0
	err := pool.QueryRowContext(ctx, query).Scan(&n)
	return n > 0, err
}

// recordAdditive records in the table of versions which migrations of this program are additive. If a program ends
// between a migration and this record, it makes the record at its next start. The caller holds the migration lock.
func (s *schema) recordAdditive(ctx context.Context, pool *sql.DB) error {
	if len(s.additive) == 0 || !releaseNumber.MatchString(s.release) {
		return nil
	}
	exists, err := s.hasAdditiveColumn(ctx, pool)
	if err == nil && !exists {
		_, err = pool.ExecContext(ctx, "ALTER TABLE "+s.table()+" ADD COLUMN "+additiveColumn+" TEXT")
	}
	if err != nil {
		return err
	}
	numbers := make([]string, len(s.additive))
	for i, version := range s.additive {
		numbers[i] = strconv.FormatInt(version, 10)
	}
	release, _, _ := strings.Cut(s.release, "+") // without build metadata
	placeholder := "?"
	if s.dialect == Postgres {
		placeholder = "$1"
	}
	_, err = pool.ExecContext(ctx, fmt.Sprintf(
		"UPDATE %s SET %s = %s WHERE %[2]s IS NULL AND version_id IN (%[4]s)",
		s.table(), additiveColumn, placeholder, strings.Join(numbers, ", ")), release)
	return err
}
