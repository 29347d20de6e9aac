package move

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// targetDB returns the database to fill. On SQLite it is a file beside the final one.
func (m *mover) targetDB() (*store.DB, error) {
	file := m.To.File()
	if file == "" {
		return m.To, nil
	}
	return store.NewSQLite(store.SQLiteOptions{Path: file + store.MovingEnding}, m.Logger)
}

// latestVersions returns the number of the last migration of each of the source's schemas for an engine, by the name
// of the schema.
func (m *mover) latestVersions(d store.Dialect) (map[string]int64, error) {
	versions := make(map[string]int64)
	for _, s := range m.schemas {
		latest, err := s.Latest(d)
		if err != nil {
			return nil, err
		}
		versions[s.Name] = latest
	}
	return versions, nil
}

// connect opens the connection to the target.
func (m *mover) connect(ctx context.Context, db *store.DB) error {
	conn, end, err := db.OpenConn(ctx)
	if err != nil {
		return err
	}
	m.to = &side{db: db, conn: conn, end: end}
	m.ends = append(m.ends, end)
	return nil
}

// openTarget makes the tables of the target if it is empty, and continues with a target that holds a part of this move.
func (m *mover) openTarget(ctx context.Context) error {
	open := m.openPostgresTarget
	if m.To.Dialect() == store.SQLite {
		open = m.openSQLiteTarget
	}
	if err := open(ctx); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	return nil
}

// createMark makes the table store.MovingTable, which marks the target and records the progress of the move.
func (m *mover) createMark(ctx context.Context) error {
	err := m.to.exec(ctx, "CREATE TABLE "+store.MovingTable+" (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)")
	if err != nil {
		return err
	}
	return m.record(ctx, recordSource, m.source())
}

// source returns a text that identifies the database to move.
func (m *mover) source() string {
	if file := m.From.File(); file != "" {
		return file
	}
	return m.From.Dialect().String()
}

// state is the progress of a table.
type state struct {
	Done bool `json:"done"`
	// After is the key of the last row that was copied.
	After cursor `json:"after,omitempty"`
	Rows  int64  `json:"rows"`
	// Oldest and Newest are the minimum and the maximum of the column by which the table is partitioned.
	Oldest int64 `json:"oldest,omitempty"`
	Newest int64 `json:"newest,omitempty"`
}

// record stores a value under a name in the mark, the table store.MovingTable.
func (m *mover) record(ctx context.Context, name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return m.to.exec(ctx, "INSERT INTO "+store.MovingTable+
		" (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, string(text))
}

// recorded reads the value that record has stored under a name into the variable to which dst points. found is false
// if there is no value.
func (m *mover) recorded(ctx context.Context, name string, dst any) (found bool, err error) {
	var text string
	err = m.to.row(ctx, "SELECT value FROM "+store.MovingTable+" WHERE name = ?", name).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), dst)
	}
	return err == nil, err
}

// Names of recorded values.
const (
	recordSource = "from"
	recordKeys   = "foreign keys" // []store.ForeignKey: the foreign keys that were dropped
	recordTable  = "table "       // followed by the name of the table: state
)

// droppedKeys returns the foreign keys that were dropped from the target.
func (m *mover) droppedKeys(ctx context.Context) (keys []store.ForeignKey, err error) {
	_, err = m.recorded(ctx, recordKeys, &keys)
	return keys, err
}

// begin deletes rows that migrations have inserted, and removes the foreign keys, which would refuse rows in arbitrary
// order. When a move is resumed it only reads the recorded progress.
func (m *mover) begin(ctx context.Context) error {
	if m.To.Dialect() == store.SQLite {
		var exists bool
		if err := m.to.row(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?)",
			store.MovingTable).Scan(&exists); err != nil {
			return err
		}
		if !exists {
			if err := m.to.inTransaction(ctx, func() error { return m.createMark(ctx) }); err != nil {
				return fmt.Errorf("target: %w", err)
			}
		}
	}
	var source string
	if _, err := m.recorded(ctx, recordSource, &source); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	if source != m.source() {
		return fmt.Errorf(
			"target: it has an unfinished move of another database, %s: start over with an empty database", source)
	}
	var keys []store.ForeignKey
	begun, err := m.recorded(ctx, recordKeys, &keys) // which clear records, even if there are none
	if err == nil && !begun {
		err = m.to.inTransaction(ctx, func() error { return m.clear(ctx) })
	}
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	for _, p := range m.plans {
		found, err := m.recorded(ctx, recordTable+p.name, &p.state)
		if err != nil {
			return p.wrap(err)
		}
		if begun && !found { // since the move began, a newer program may have made the table and added rows
			if err := m.restart(ctx, p); err != nil {
				return p.wrap(err)
			}
		}
		p.earlier = found && (p.state.Done || p.state.Rows > 0)
		m.resumed = m.resumed || p.earlier
	}
	return nil
}

// clear prepares the target for the first row: it removes foreign keys, which it records, and rows that migrations have
// inserted.
func (m *mover) clear(ctx context.Context) (err error) {
	var keys []store.ForeignKey
	if m.To.Dialect() == store.Postgres {
		if keys, err = m.to.dropKeys(ctx); err != nil {
			return err
		}
	}
	for _, p := range m.plans {
		if err := m.to.exec(ctx, "DELETE FROM "+p.name); err != nil {
			return p.wrap(err)
		}
	}
	return m.record(ctx, recordKeys, append([]store.ForeignKey{}, keys...)) // [] instead of null if there are none
}

// copy copies the rows that no earlier run has copied.
func (m *mover) copy(ctx context.Context) error {
	for _, p := range m.plans {
		if err := m.copyTable(ctx, p); err != nil {
			return p.wrap(err)
		}
	}
	return nil
}

// copyTable copies a table, or the rest that no earlier run has copied, one batch of rows per transaction.
func (m *mover) copyTable(ctx context.Context, p *plan) error {
	if p.state.Done {
		m.progress(p.state.Rows)
		return nil
	}
	if len(p.key) == 0 && p.state.Rows > 0 { // without a key it is unknown which rows were copied
		if err := m.restart(ctx, p); err != nil {
			return err
		}
	}
	if p.partitionedBy >= 0 && p.state.Rows == 0 {
		column := p.columns[p.partitionedBy]
		if err := m.from.row(ctx, "SELECT COALESCE(min("+column+"), 0), COALESCE(max("+column+"), 0) FROM "+
			p.name).Scan(&p.state.Oldest, &p.state.Newest); err != nil {
			return err
		}
	}
	m.progress(p.state.Rows)
	var batch [][]any
	size := 0 // of the batch, in bytes
	err := m.from.read(ctx, p, p.state.After, true, func(row []any) error {
		p.source.add(row)
		batch = append(batch, slices.Clone(row))
		size += len(p.source.buf)
		if len(batch) < m.batch && size < batchBytes {
			return nil
		}
		err := m.copyBatch(ctx, p, batch, false)
		batch, size = batch[:0], 0
		return err
	})
	if err != nil {
		return err
	}
	return m.copyBatch(ctx, p, batch, true)
}

// copyBatch inserts rows in the target and records the progress, in one transaction. done means that the table has no
// further rows.
func (m *mover) copyBatch(ctx context.Context, p *plan, batch [][]any, done bool) error {
	next := p.state
	next.Done = done
	next.Rows += int64(len(batch))
	if len(batch) > 0 && len(p.key) > 0 {
		last := batch[len(batch)-1]
		next.After = nil
		for _, column := range p.key {
			next.After = append(next.After, last[column])
		}
	}
	err := m.to.inTransaction(ctx, func() error {
		if len(batch) > 0 {
			if err := m.to.insert(ctx, p, batch); err != nil {
				return err
			}
		}
		return m.record(ctx, recordTable+p.name, next)
	})
	if err != nil {
		return err
	}
	p.state = next
	m.progress(int64(len(batch)))
	return nil
}

// restart empties a table of the target so that it is copied from the beginning.
func (m *mover) restart(ctx context.Context, p *plan) error {
	p.state, p.source, p.earlier = state{}, sum{}, false
	return m.to.inTransaction(ctx, func() error {
		if err := m.to.exec(ctx, "DELETE FROM "+p.name); err != nil {
			return err
		}
		return m.record(ctx, recordTable+p.name, p.state)
	})
}

// insert inserts rows in the open transaction.
func (s *side) insert(ctx context.Context, p *plan, rows [][]any) error {
	if s.dialect() == store.Postgres {
		return s.insertPostgres(ctx, p, rows)
	}
	return s.insertSQLite(ctx, p, rows)
}

// compare reads the target and compares it with the source. If a table was partly copied by an earlier run, the source
// may have changed in between; if the table differs, it is copied again.
func (m *mover) compare(ctx context.Context) error {
	for _, p := range m.plans {
		if p.earlier {
			p.source = sum{}
			if err := m.from.sum(ctx, p, &p.source, func(int64) {}); err != nil {
				return p.wrap(err)
			}
		}
		if err := m.to.sum(ctx, p, &p.target, m.progress); err != nil {
			return p.wrap(err)
		}
		if !p.source.equal(&p.target) && p.earlier {
			if err := m.copyAgain(ctx, p); err != nil {
				return p.wrap(err)
			}
		}
		if !p.source.equal(&p.target) {
			return fmt.Errorf("table %s differs: the source has %d rows with the digest %x, the target %d rows with %x",
				p.name, p.source.rows, p.source.digest(), p.target.rows, p.target.digest())
		}
	}
	return nil
}

// copyAgain copies a whole table again and computes its sums.
func (m *mover) copyAgain(ctx context.Context, p *plan) error {
	m.Logger.Info("copying a table again, because it changed after an earlier run copied a part of it",
		zap.String("table", p.name))
	if err := m.restart(ctx, p); err != nil {
		return err
	}
	m.total += 2 * p.rows // each row is copied, and then read for the sums
	if err := m.copyTable(ctx, p); err != nil {
		return err
	}
	p.target = sum{}
	return m.to.sum(ctx, p, &p.target, m.progress)
}

// stepRows is how many rows are read between two reports of progress.
const stepRows = 1000

// sum reads a whole table and adds its rows to dst. step is called with the number of rows read since its last call.
func (s *side) sum(ctx context.Context, p *plan, dst *sum, step func(rows int64)) error {
	err := s.read(ctx, p, nil, false, func(row []any) error {
		dst.add(row)
		if dst.rows%stepRows == 0 {
			step(stepRows)
		}
		return nil
	})
	step(dst.rows % stepRows)
	return err
}

// continueNumbers makes the numbers of new rows in the target continue after the numbers that the source has
// assigned.
func (m *mover) continueNumbers(ctx context.Context) error {
	last, setLast := m.from.lastSQLite, m.to.setLastPostgres
	if m.To.Dialect() == store.SQLite {
		last, setLast = m.from.lastPostgres, m.to.setLastSQLite
	}
	for _, p := range m.plans {
		if p.identity == "" {
			continue
		}
		number, err := last(ctx, p)
		if err == nil {
			err = setLast(ctx, p, number)
		}
		if err != nil {
			return p.wrap(err)
		}
	}
	return nil
}

// finish completes the target and removes its mark.
func (m *mover) finish(ctx context.Context) error {
	finish := m.finishPostgres
	if m.To.Dialect() == store.SQLite {
		finish = m.finishSQLite
	}
	if err := finish(ctx); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	return nil
}
