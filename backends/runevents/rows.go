package runevents

import (
	"bytes"
	"database/sql"
	"math/bits"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// statementRows limits the number of rows of one statement; each value is a parameter.
const statementRows = 64

// The statements that write several rows.
var (
	// SQLite needs no statement journal if a violation is ignored instead of undone. There are no violations.
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

// chunkRows returns how many of n rows the next statement writes. A connection to SQLite keeps few prepared
// statements, and preparing one costs more than running it, so only powers of two are used there. On PostgreSQL,
// round trips cost more.
func chunkRows(d store.Dialect, n int) int {
	if d == store.SQLite {
		return fewRows(n)
	}
	return min(n, statementRows)
}

// fewRows returns the greatest power of two that is at most n and statementRows. Statements that are sent together
// use it on both engines, because both keep only few of them prepared.
func fewRows(n int) int { return 1 << (bits.Len(uint(min(n, statementRows))) - 1) }

// returning runs statements that write rows, and calls scan for each row that they return.
func (b *batch) returning(statements []string, columns int, args []any, scan func(r store.Row) error) error {
	var q store.Questions
	for len(args) > 0 {
		n := fewRows(len(args) / columns)
		q.All(scan, statements[n], args[:n*columns]...)
		args = args[n*columns:]
	}
	return b.Ask(&q)
}

// later queues statements that write rows, on whose result nothing depends.
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

// manyRows returns statements that write 1, 2 and more rows, at the index of their number.
func manyRows(prefix string, columns int, suffix string) []string {
	row := "(" + strings.Repeat("?, ", columns-1) + "?)"
	texts := make([]string, statementRows+1)
	for n := 1; n <= statementRows; n++ {
		texts[n] = prefix + strings.Repeat(row+", ", n-1) + row + suffix
	}
	return texts
}

// wanted is a row to which events of a batch refer.
type wanted[T any] struct {
	digest digest
	day    int64
	row    *T
}

// want collects the rows that may not exist yet, or that must be marked as used on a later day.
type want[T any] struct {
	known overlay[digest]
	rows  map[digest]wanted[T]
}

func (w *want[T]) add(d digest, day int64, row *T) {
	if known, ok := w.known.get(d); ok && known.day >= day {
		return
	}
	if previous, ok := w.rows[d]; ok {
		day = max(day, previous.day)
	}
	w.rows[d] = wanted[T]{d, day, row}
}

// sorted returns the rows in one order, so that two servers lock them in the same order.
func (w *want[T]) sorted() []wanted[T] {
	list := make([]wanted[T], 0, len(w.rows))
	for _, row := range w.rows {
		list = append(list, row)
	}
	slices.SortFunc(list, func(a, b wanted[T]) int { return bytes.Compare(a.digest[:], b.digest[:]) })
	return list
}

// internResources stores the resources of the reports' events, and looks up their IDs.
func (b *batch) internResources(reports []stored) error {
	w := want[resource]{b.resources, make(map[digest]wanted[resource])}
	for _, r := range reports {
		for i := range r.events {
			res := &r.resources[r.events[i].resource]
			w.add(res.digest, dayOf(r.events[i].at), res)
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
	w := want[change]{b.changes, make(map[digest]wanted[change])}
	for _, r := range reports {
		for i := range r.events {
			c := &r.changes[r.events[i].change]
			w.add(c.digest, dayOf(r.events[i].at), c)
		}
	}
	return upsert(b, b.changes, insertChanges[b.Dialect()], w.sorted(), func(args []any, c *change) []any {
		return append(args, text(c.property), text(c.name), text(c.oldValue), text(c.newValue), text(c.message))
	})
}

// upsert writes the wanted rows and records their IDs.
func upsert[T any](
	b *batch, known overlay[digest], statements []string, rows []wanted[T], columns func([]any, *T) []any,
) error {
	var args []any
	for len(rows) > 0 {
		n := chunkRows(b.Dialect(), len(rows))
		chunk := rows[:n]
		rows, args = rows[n:], args[:0]
		for i := range chunk {
			args = append(columns(append(args, chunk[i].digest[:]), chunk[i].row), chunk[i].day)
		}
		if err := b.numbers(known, statements[len(chunk)], args); err != nil {
			return err
		}
	}
	return nil
}

// numbers looks up IDs by digest with a statement, and adds them to known.
func (b *batch) numbers(known overlay[digest], statement string, args []any) error {
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

// insertEvents writes and counts the events of the reports, whose resources and changes have been written.
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
			counts.add(e.at, r.node, status.id, 1)
			args = append(args, e.at, r.id, int64(i), r.node, res.id, chg.id, status.id, bit(e.corrective))
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
