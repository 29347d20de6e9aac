package operation

import (
	"bytes"
	"database/sql"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// release is the release whose databases TestUpgrade is to write; see testdata/upgrade/README.md.
var release = flag.String("release", "", "write the databases of this release into testdata/upgrade")

// writeRelease writes the database of an engine for the release: the newest database in testdata/upgrade, upgraded by
// this program, with added rows for services that it lacks.
func writeRelease(t *testing.T, engine string) {
	t.Helper()
	e := newEarlier(t, engine, e2e.NewUpstream(t))
	e.load(newest(t, engine))
	e.Start()
	e.serving()
	if e.noted["client"] == "" {
		e.fillAuthserver()
		e.fillCMS()
		e.fillAnswer()
	}
	e.Stop()
	const years = 75 * 365 * 24 * time.Hour
	for table, columns := range passing { // so that the rows are not old when the tests run in later years
		set := make([]string, len(columns))
		for i, column := range columns {
			set[i] = fmt.Sprintf("%s = CASE WHEN %[1]s BETWEEN 1 AND %d THEN %[1]s + %d ELSE %[1]s END",
				column, time.Now().Add(years/2).UnixMicro(), years.Microseconds())
		}
		if engine == "postgres" {
			table = "public." + table
		}
		later := "UPDATE " + table + " SET " + strings.Join(set, ", ") //nolint:gosec // names of passing
		if _, err := e.db.ExecContext(t.Context(), later); err != nil {
			t.Fatal(err)
		}
	}
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(e.noted)) {
		fmt.Fprintf(&text, "-- %s: %s\n", name, e.noted[name])
	}
	text.WriteString("\n" + dump(t, e.db, engine, e.dsn))
	folder := filepath.Join("testdata", "upgrade", *release)
	err := os.MkdirAll(folder, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, engine+".sql"), text.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// passing has the time columns of rows that the services delete when they are old. writeRelease adds 75 years to them.
var passing = map[string][]string{
	"authserver_sessions":  {"created_at", "seen_at", "confirmed_at"},
	"authserver_families":  {"created_at", "rotated_at", "expires_at"},
	"authserver_issuances": {"issued_at", "expires_at"},
	"authserver_codes":     {"spent_at", "expires_at"},
	"authserver_once":      {"expires_at"},
	"authserver_audit":     {"created_at"},
	"cms_revoked_tokens":   {"ends_at"},
	"cms_refresh_tokens":   {"ends_at"},
	"cms_attempts":         {"ends_at"},
	"answer_accepted":      {"at"},
	"answer_windows":       {"began", "ends"},
	"answer_answers":       {"created_at"},
}

// dump returns the statements that create the database of an engine. The database must not change meanwhile.
func dump(t *testing.T, db *sql.DB, engine, dsn string) string {
	t.Helper()
	if engine == "sqlite" {
		return dumpSQLite(t, db)
	}
	out, err := exec.CommandContext(t.Context(), "pg_dump", "--no-owner", "--no-privileges", "--no-comments", "--inserts", dsn).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	return dumpNoise.ReplaceAllString(string(out), "")
}

// dumpNoise matches the comments of pg_dump, commands for psql, empty lines, and statements that only one version of
// pg_dump writes.
var dumpNoise = regexp.MustCompile(`(?m)^(?:--.*|\\.*|SET transaction_timeout.*|)\n`)

// dumpSQLite returns the tables of a SQLite database with their rows, then the indexes and views. A virtual table
// creates the tables that store its rows, so those tables are emptied first.
func dumpSQLite(t *testing.T, db *sql.DB) string {
	t.Helper()
	var text bytes.Buffer
	text.WriteString("BEGIN;\n")
	shadow := "EXISTS (SELECT 1 FROM sqlite_schema v WHERE v.sql LIKE 'CREATE VIRTUAL%' AND s.name LIKE v.name || '\\_%' ESCAPE '\\')"
	for _, table := range list(t, db, "SELECT name FROM sqlite_schema s WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY "+shadow+", rowid") {
		clause := "FROM sqlite_schema s WHERE name = '" + table + "'"
		own := list(t, db, "SELECT sql "+clause+" AND NOT "+shadow)
		if len(own) == 0 {
			fmt.Fprintf(&text, "DELETE FROM %s;\n", table)
		} else {
			fmt.Fprintf(&text, "%s;\n", own[0])
		}
		if len(list(t, db, "SELECT 1 "+clause+" AND sql LIKE 'CREATE VIRTUAL%'")) == 0 {
			dumpRows(t, db, &text, table)
		}
	}
	text.WriteString("DELETE FROM sqlite_sequence;\n")
	dumpRows(t, db, &text, "sqlite_sequence")
	for _, statement := range list(t, db, "SELECT sql FROM sqlite_schema WHERE type <> 'table' AND sql <> '' ORDER BY rowid") {
		fmt.Fprintf(&text, "%s;\n", statement)
	}
	return text.String() + "COMMIT;\n"
}

// dumpRows writes the statements that insert the rows of a table of SQLite.
func dumpRows(t *testing.T, db *sql.DB, text *bytes.Buffer, table string) {
	t.Helper()
	columns := list(t, db, "SELECT 'quote(' || name || ')' FROM pragma_table_info('"+table+"')")
	for _, row := range list(t, db, "SELECT "+strings.Join(columns, " || ', ' || ")+" FROM "+table) {
		fmt.Fprintf(text, "INSERT INTO %s VALUES (%s);\n", table, row)
	}
}

// list returns the first column of the result of a query.
func list(t *testing.T, db *sql.DB, query string) (values []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}
