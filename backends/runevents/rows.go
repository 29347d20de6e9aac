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
	// INSERT OR IGNORE spares SQLite the statement journal, which is only needed to undo a violation. There are no
	// violations.
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

// chunkRows returns the number of rows, out of n, that the next statement writes. On SQLite it is a power of two,
// because a connection keeps few prepared statements, and preparing a statement takes longer than executing it. On
// PostgreSQL, round trips take longer.
func chunkRows(d store.Dialect, n int) int {
	if d == store.SQLite {
		return fewRows(n)
	}
	return min(n, statementRows)
}

// fewRows returns the greatest power of two that is at most n and at most statementRows. It is used for statements that
// are sent together, on both engines, because both keep only few prepared statements.
func fewRows(n int) int { return 1 << (bits.Len(uint(min(n, statementRows))) - 1) }

// returning executes statements that write rows, and calls scan for each row that they return. statements[n] writes n
// rows, each with the given number of columns.
func (b *batch) returning(statements []string, columns int, args []any, scan func(r store.Row) error) error {
	var q store.Questions
	for len(args) > 0 {
		n := fewRows(len(args) / columns)
		q.All(scan, statements[n], args[:n*columns]...)
		args = args[n*columns:]
	}
	return b.Ask(&q)
}

// later queues statements that write rows and whose results are not needed. See returning for the parameters.
func (b *batch) later(statements []string, columns int, args []any) error {
	for len(args) > 0 {
		n := fewRows(len(args) / columns)
		if err := b.Later(statements[n], args[:n*columns]...); err != nil {
			return err
		}
		args = args[n*columns:]
	}
	return nil
}

// manyRows returns a slice in which the statement at index n writes n rows.
func manyRows(prefix string, columns int, suffix string) []string {
	row := "(" + strings.Repeat("?, ", columns-1) + "?)"
	texts := make([]string, statementRows+1)
	for n := 1; n <= statementRows; n++ {
		texts[n] = prefix + strings.Repeat(row+", ", n-1) + row + suffix
	}
	return texts
}

// pendingRow is a row to which events of a batch refer. day is the day of its use.
type pendingRow[T any] struct {
	digest digest
	day    int64
	row    *T
}

// pendingRows collects the rows that may have to be created, or whose last day of use must be updated.
type pendingRows[T any] struct {
	known overlay[digest]
	rows  map[digest]pendingRow[T]
}

func (w *pendingRows[T]) add(d digest, day int64, row *T) {
	if known, ok := w.known.get(d); ok && known.day >= day {
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
func (b *batch) internResources(reports []stored) error {
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
		return append(args, res.kind, res.title, text(res.file), line, text(res.containingClass), text(res.containmentPath))
	})
}

func (b *batch) internChanges(reports []stored) error {
	w := pendingRows[change]{b.changes, make(map[digest]pendingRow[change])}
	for _, r := range reports {
		for i := range r.events {
			c := &r.changes[r.events[i].change]
			w.add(c.digest, dayOf(r.events[i].timestamp), c)
		}
	}
	return upsert(b, b.changes, insertChanges[b.Dialect()], w.sorted(), func(args []any, c *change) []any {
		return append(args, text(c.property), text(c.name), text(c.oldValue), text(c.newValue), text(c.message))
	})
}

// upsert writes rows, and adds their IDs to known. statements[n] writes n rows, and columns appends the values of a row
// except its digest and day.
func upsert[T any](
	b *batch, known overlay[digest], statements []string, rows []pendingRow[T], columns func([]any, *T) []any,
) error {
	var args []any
	for len(rows) > 0 {
		n := chunkRows(b.Dialect(), len(rows))
		chunk := rows[:n]
		rows, args = rows[n:], args[:0]
		for i := range chunk {
			args = append(columns(append(args, chunk[i].digest[:]), chunk[i].row), chunk[i].day)
		}
		if err := b.scanInterned(known, statements[len(chunk)], args); err != nil {
			return err
		}
	}
	return nil
}

// scanInterned executes a statement that returns digests, IDs and days of rows, and adds them to known.
func (b *batch) scanInterned(known overlay[digest], statement string, args []any) error {
	result, err := b.Rows(statement, args...)
	if err != nil {
		return err
	}
	defer result.Close()
	var hash sql.RawBytes
	for result.Next() {
		var row interned
		if err := result.Scan(&hash, &row.id, &row.day); err != nil {
			return err
		}
		known.known[digest(hash)] = row
	}
	return result.Err()
}

// insertEvents writes the events of the reports and adds them to the tally. The resources and changes of the events
// have been written before.
func (b *batch) insertEvents(reports []stored) error {
	const columns = 8
	statements := insertEvents[b.Dialect()]
	args := make([]any, 0, columns*statementRows)
	counts := make(tally)
	for _, r := range reports {
		for i := range r.events {
			e := &r.events[i]
			status, _ := b.words.get(word{words, e.status})
			res, _ := b.resources.get(r.resources[e.resource].digest)
			chg, _ := b.changes.get(r.changes[e.change].digest)
			counts.add(e.timestamp, r.node, status.id, 1)
			args = append(args, e.timestamp, r.id, int64(i), r.node, res.id, chg.id, status.id, bit(e.corrective))
			if len(args) < columns*statementRows {
				continue
			}
			if _, err := b.Exec(statements[statementRows], args...); err != nil {
				return err
			}
			args = args[:0]
		}
	}
	for len(args) > 0 {
		n := chunkRows(b.Dialect(), len(args)/columns)
		if err := b.Later(statements[n], args[:columns*n]...); err != nil {
			return err
		}
		args = args[columns*n:]
	}
	return counts.write(b.Conn)
}
