package runevents

import (
	"bytes"
	"database/sql"
	"math/bits"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// statementRows limits the number of rows that one statement writes. Each value is a parameter of the statement.
const statementRows = 64

// The statements that write one or more rows; see manyRows.
var (
	// With INSERT OR IGNORE, SQLite does not write a statement journal. The journal would only be needed to undo the
	// violation of a constraint, and there are no violations.
	eventColumns = " INTO run_events (at, report, seq, node, resource, change, status, corrective_change) VALUES "
	insertEvents = map[store.Dialect][]string{
		store.SQLite:   manyRows("INSERT OR IGNORE"+eventColumns, 8, ""),
		store.Postgres: manyRows("INSERT"+eventColumns, 8, ""),
	}
	resourceColumns = "INSERT INTO run_resources (hash, type, title, file, line, containing_class, containment_path, used_day) VALUES "
	insertResources = map[store.Dialect][]string{
		store.SQLite: manyRows(resourceColumns, 8,
			" ON CONFLICT (hash) DO UPDATE SET used_day = max(used_day, excluded.used_day) RETURNING hash, id, used_day"),
		store.Postgres: manyRows(resourceColumns, 8,
			" ON CONFLICT (hash) DO UPDATE SET used_day = greatest(run_resources.used_day, excluded.used_day) RETURNING hash, id, used_day"),
	}
	changeColumns = "INSERT INTO run_changes (hash, property, name, old_value, new_value, message, used_day) VALUES "
	insertChanges = map[store.Dialect][]string{
		store.SQLite: manyRows(changeColumns, 7,
			" ON CONFLICT (hash) DO UPDATE SET used_day = max(used_day, excluded.used_day) RETURNING hash, id, used_day"),
		store.Postgres: manyRows(changeColumns, 7,
			" ON CONFLICT (hash) DO UPDATE SET used_day = greatest(run_changes.used_day, excluded.used_day) RETURNING hash, id, used_day"),
	}
)

// rowsPerStatement returns how many of n remaining rows the next statement writes. n must be positive. On SQLite,
// preparing a statement takes longer than executing it, and a connection keeps few prepared statements; the number is
// therefore a power of two. On PostgreSQL, round trips take the most time, so each statement writes as many rows as
// possible.
func rowsPerStatement(d store.Dialect, n int) int {
	if d == store.SQLite {
		return powerOfTwoRows(n)
	}
	return min(n, statementRows)
}

// powerOfTwoRows returns the greatest power of two that exceeds neither n nor statementRows. n must be positive. The
// number is used for statements that are sent together, on both engines, because both keep only few prepared
// statements.
func powerOfTwoRows(n int) int { return 1 << (bits.Len(uint(min(n, statementRows))) - 1) }

// returning executes statements that write rows, and calls scan for each row that they return. statements[n] writes n
// rows, each with the given number of columns. args contains the values of all rows.
func (b *batch) returning(statements []string, columns int, args []any, scan func(r store.Row) error) error {
	var q store.Questions
	for len(args) > 0 {
		n := powerOfTwoRows(len(args) / columns)
		q.All(scan, statements[n], args[:n*columns]...)
		args = args[n*columns:]
	}
	return b.Ask(&q)
}

// laterRows queues statements that write rows and whose results are not needed. See returning for the parameters.
func (b *batch) laterRows(statements []string, columns int, args []any) error {
	for len(args) > 0 {
		n := powerOfTwoRows(len(args) / columns)
		if err := b.Later(statements[n], args[:n*columns]...); err != nil {
			return err
		}
		args = args[n*columns:]
	}
	return nil
}

// manyRows returns a slice in which the statement at index n, from 1 to statementRows, writes n rows with the given
// number of columns. prefix and suffix are the parts of the statement before and after the rows.
func manyRows(prefix string, columns int, suffix string) []string {
	row := "(" + strings.Repeat("?, ", columns-1) + "?)"
	texts := make([]string, statementRows+1)
	for n := 1; n <= statementRows; n++ {
		texts[n] = prefix + strings.Repeat(row+", ", n-1) + row + suffix
	}
	return texts
}

// pendingRow is a resource or change to which events of a batch refer. day is the day of the latest of these events.
type pendingRow[T any] struct {
	digest digest
	day    int64
	row    *T
}

// pendingRows collects the rows that may have to be created, or whose column used_day must be updated.
type pendingRows[T any] struct {
	overlay overlay[digest]
	rows    map[digest]pendingRow[T]
}

// add adds a row that an event of the given day uses. It does nothing if the overlay contains the row with that day
// or a later one.
func (w *pendingRows[T]) add(d digest, day int64, row *T) {
	if known, ok := w.overlay.get(d); ok && known.day >= day {
		return
	}
	if previous, ok := w.rows[d]; ok {
		day = max(day, previous.day)
	}
	w.rows[d] = pendingRow[T]{d, day, row}
}

// sorted returns the rows sorted by digest, so that two processes lock them in the same order.
func (w *pendingRows[T]) sorted() []pendingRow[T] {
	list := make([]pendingRow[T], 0, len(w.rows))
	for _, row := range w.rows {
		list = append(list, row)
	}
	slices.SortFunc(list, func(a, b pendingRow[T]) int { return bytes.Compare(a.digest[:], b.digest[:]) })
	return list
}

// internResources stores the resources of the reports' events, and finds their IDs.
func (b *batch) internResources(reports []storedReport) error {
	w := pendingRows[resource]{b.resources, make(map[digest]pendingRow[resource])}
	for _, r := range reports {
		for i := range r.events {
			res := &r.resources[r.events[i].resource]
			w.add(res.digest, dayOf(r.events[i].timestamp), res)
		}
	}
	return upsert(b, b.resources, insertResources[b.Dialect()], w.sorted(), func(args []any, res *resource) []any {
		var line any
		if res.line.Valid {
			line = res.line.Int64
		}
		return append(args, res.kind, res.title, nullableText(res.file), line,
			nullableText(res.containingClass), nullableText(res.containmentPath))
	})
}

// internChanges stores the changes of the reports' events, and puts their IDs into b.changes. With each change it
// stores the last day on which the change was used, so that unused ones can be deleted.
func (b *batch) internChanges(reports []storedReport) error {
	w := pendingRows[change]{b.changes, make(map[digest]pendingRow[change])}
	for _, r := range reports {
		for i := range r.events {
			c := &r.changes[r.events[i].change]
			w.add(c.digest, dayOf(r.events[i].timestamp), c)
		}
	}
	return upsert(b, b.changes, insertChanges[b.Dialect()], w.sorted(), func(args []any, c *change) []any {
		return append(args, nullableText(c.property), nullableText(c.name),
			nullableText(c.oldValue), nullableText(c.newValue), nullableText(c.message))
	})
}

// upsert writes rows that do not exist yet, updates the column used_day of the others, and adds all of them to found.
// statements[n] writes n rows. columns appends the values of a row, except the digest and the day of the row, to its
// first argument.
func upsert[T any](
	b *batch, found overlay[digest], statements []string, rows []pendingRow[T], columns func([]any, *T) []any,
) error {
	var args []any
	for len(rows) > 0 {
		n := rowsPerStatement(b.Dialect(), len(rows))
		chunk := rows[:n]
		rows, args = rows[n:], args[:0]
		for i := range chunk {
			args = append(columns(append(args, chunk[i].digest[:]), chunk[i].row), chunk[i].day)
		}
		if err := b.scanSharedRows(found, statements[len(chunk)], args); err != nil {
			return err
		}
	}
	return nil
}

// scanSharedRows executes a statement that returns the columns hash, id and used_day of shared rows, and adds the rows
// to found.
func (b *batch) scanSharedRows(found overlay[digest], statement string, args []any) error {
	result, err := b.Rows(statement, args...)
	if err != nil {
		return err
	}
	defer result.Close()
	var hash sql.RawBytes
	for result.Next() {
		var row sharedRow
		if err := result.Scan(&hash, &row.id, &row.day); err != nil {
			return err
		}
		found.rows[digest(hash)] = row
	}
	return result.Err()
}

// insertEvents writes the events of the reports, and adds them to the stored counts. The resources and changes of the
// events must have been written before.
func (b *batch) insertEvents(reports []storedReport) error {
	const columns = 8
	statements := insertEvents[b.Dialect()]
	args := make([]any, 0, columns*statementRows)
	counts := make(eventCounts)
	for _, r := range reports {
		for i := range r.events {
			e := &r.events[i]
			status, _ := b.words.get(word{words, e.status})
			resourceRow, _ := b.resources.get(r.resources[e.resource].digest)
			changeRow, _ := b.changes.get(r.changes[e.change].digest)
			counts.add(e.timestamp, r.node, status.id, 1)
			args = append(args, e.timestamp, r.id, int64(i), r.node, resourceRow.id, changeRow.id, status.id,
				nullableBool(e.corrective))
			if len(args) < columns*statementRows {
				continue
			}
			// Write a full statement at once, so that args stays small. The last statements can be sent later, together.
			if _, err := b.Exec(statements[statementRows], args...); err != nil {
				return err
			}
			args = args[:0]
		}
	}
	for len(args) > 0 {
		n := rowsPerStatement(b.Dialect(), len(args)/columns)
		if err := b.Later(statements[n], args[:columns*n]...); err != nil {
			return err
		}
		args = args[columns*n:]
	}
	return counts.write(b.Conn)
}
