package query

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tollgate-gateway/tollgate/backends/runevents/packed"
)

// expanded returns the SQL expression of a field whose value is a list that belongs to a report: its events, logs or
// metrics. The expression is a subquery for each report, so that only one report's list is in memory at a time. kind
// is the kind of the cell. href is the last part of the path of the route that returns this list alone.
func (s *selectCompiler) expanded(f *field) (sql string, kind cellKind, href string) {
	if f.column != "events" {
		return "(SELECT d." + f.column + " FROM run_report_details d WHERE d.at = " + s.column("r", "producer_timestamp") +
			" AND d.report = " + s.column("r", "id") + ")", cellPacked, f.column
	}
	corrective := "NULL"
	if f := s.q.entity.byName["corrective_change"]; f != nil && !f.alwaysNull {
		corrective = s.c.jsonBool("e.corrective_change")
	}
	// The names of SQL functions, and an expression for a column with JSON.
	object, list, json := "json_object", "json_group_array", func(col string) string { return "json(" + col + ")" }
	timestamp := "run_timestamp(e.at)"
	if s.c.postgres() {
		object, list, json = "json_build_object", "json_agg", func(col string) string { return col + "::json" }
		timestamp = `to_char(to_timestamp(e.at / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"')`
	}
	row := object + "('status', (SELECT name FROM run_words WHERE id = e.status), 'timestamp', " + timestamp +
		", 'resource_type', s.type, 'resource_title', s.title, 'property', c.property, 'name', c.name" +
		", 'new_value', " + json("c.new_value") + ", 'old_value', " + json("c.old_value") +
		", 'message', c.message, 'file', s.file, 'line', s.line, 'containing_class', s.containing_class" +
		", 'containment_path', " + json("s.containment_path") + ", 'corrective_change', " + corrective + ")"
	return "(SELECT CAST(COALESCE(" + list + "(" + row + "), '[]') AS TEXT) FROM run_events e" +
		" JOIN run_resources s ON s.id = e.resource JOIN run_changes c ON c.id = e.change" +
		" WHERE e.report = " + s.column("r", "id") + ")", cellJSON, "events"
}

// jsonBool returns the SQL expression of a JSON boolean or null, for a column with 0, 1 or NULL.
func (c *compiler) jsonBool(col string) string {
	if c.postgres() {
		return "(" + col + " = 1)"
	}
	return "json(CASE " + col + " WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)"
}

// detail answers with the logs or the metrics of one report; pl.detail says which of the two. The list is empty if
// retention has deleted it.
func (s *Service) detail(ctx context.Context, tx *sql.Tx, pl *plan, out *output) error {
	reportHash, _ := decodeHash(pl.scope.Report) // checkScope has refused invalid hashes
	var compressed []byte
	err := tx.QueryRowContext(ctx, "SELECT d."+pl.detail+" FROM run_reports r JOIN run_report_details d ON d.at = r.producer_timestamp AND d.report = r.id WHERE r.hash = $1", reportHash).Scan(&compressed) //nolint:gosec // one of two names
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	list := []byte("[]")
	if err == nil {
		if list, err = packed.Append(nil, compressed, maxDetail); err != nil {
			return err
		}
	}
	_, err = out.Write(list)
	return err
}
