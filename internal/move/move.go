// Package move copies a database to a database of the other engine, from SQLite to PostgreSQL or back, while nothing
// else writes to either. It copies every table of every schema row by row, and then compares the rows of both
// databases.
//
// The list of tables is read from the databases. The target gets its tables by the same migrations. Tables that both
// databases have are copied, with values converted to the types of the other engine. Full-text indexes, which differ
// between the engines, are rebuilt by the schemas. All other tables that only one engine has must be empty; see
// [store.Schema].
//
// Until all rows are copied and equal, the target has a mark, the table store.MovingTable, and no server opens the
// target. An interrupted move resumes where it stopped.
package move

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Options says what to move.
type Options struct {
	// From and To are the two databases. They have different engines and were not started. Run closes both.
	From, To *store.DB
	// Schemas are the schemas that the program knows, including those that From does not have.
	Schemas []store.Schema
	// Progress is called with the number of rows processed since its last call, and the total number to process: each
	// row is copied and then read again. Default: none.
	Progress func(rows, total int64)
	// Logger is the logger of the databases. Default: no log.
	Logger *zap.Logger

	batch int // rows per transaction; 0 means batchRows
}

// Limits of the rows copied in one transaction.
const (
	batchRows  = 5000
	batchBytes = 8 << 20
)

// Report describes the result of a move.
type Report struct {
	From string `json:"from"` // engines of the two databases
	To   string `json:"to"`
	// Resumed reports whether an earlier run had filled a part of the target.
	Resumed bool    `json:"resumed"`
	Tables  []Table `json:"tables"`
	// Indexed names the schemas whose full-text index was rebuilt.
	Indexed []string `json:"indexed"`
}

// Rows returns the number of rows in all tables.
func (r *Report) Rows() (n int64) {
	for i := range r.Tables {
		n += r.Tables[i].Rows
	}
	return n
}

// Table is a table that was moved.
type Table struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
	// Digest is a digest of all rows, in hex. It is equal in both databases and does not depend on the order of the
	// rows.
	Digest string `json:"digest"`
}

// mover is one run of a move.
type mover struct {
	Options
	from, to *side
	versions map[string]int64 // versions of the source's schemas
	schemas  []store.Schema   // the schemas that the source has, in the order of Options.Schemas
	plans    []*plan          // one for each table to copy, by name
	resumed  bool             // see Report.Resumed
	total    int64            // number of rows to process; see Options.Progress
	ends     []func()         // close connections and release locks, in the reverse order
}

// Run moves a database. Its errors name the table and, where possible, the column.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.batch == 0 {
		o.batch = batchRows
	}
	if o.From.Dialect() == o.To.Dialect() {
		return nil, fmt.Errorf(
			"both databases are on %s: move copies only from one engine to the other; use backup and restore instead",
			o.From.Dialect())
	}
	m := &mover{Options: o}
	defer m.end()
	for _, step := range []func(context.Context) error{
		m.hold, m.settle, m.openSource, m.openTarget, m.plan, m.begin, m.copy, m.compare,
	} {
		if err := step(ctx); err != nil {
			return nil, withCause(ctx, err)
		}
	}
	r := &Report{
		From: o.From.Dialect().String(), To: o.To.Dialect().String(), Resumed: m.resumed,
		Tables: []Table{}, Indexed: []string{},
	}
	for _, p := range m.plans {
		r.Tables = append(r.Tables, Table{p.name, p.target.rows, hex.EncodeToString(p.target.digest())})
	}
	var err error
	if r.Indexed, err = m.reindex(ctx); err == nil {
		err = m.finish(ctx)
	}
	if err != nil {
		return nil, withCause(ctx, err)
	}
	return r, nil
}

// withCause adds the cause of a cancelled context to an error, because drivers only report a broken connection then. It
// returns other errors unchanged.
func withCause(ctx context.Context, err error) error {
	if ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w: %w", context.Cause(ctx), err)
}

// end closes the connections and both databases.
func (m *mover) end() {
	for _, end := range slices.Backward(m.ends) {
		end()
	}
	m.ends = nil
	_, _ = m.From.Close(), m.To.Close()
}

// hold keeps servers away from both databases.
func (m *mover) hold(ctx context.Context) error {
	if file := m.From.File(); file != "" {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no database at %s", file)
		}
	}
	for _, db := range []*store.DB{m.From, m.To} {
		if file := db.File(); file != "" {
			release, err := store.HoldSQLite(ctx, file)
			if err != nil {
				return fmt.Errorf("%w: stop the server first", err)
			}
			m.ends = append(m.ends, release)
		} else if err := checkUnserved(ctx, db); err != nil {
			return err
		}
	}
	return nil
}

// settle opens the source as a server does, which migrates it to this program's tables. It then calls Settle of the
// schemas, which moves rows out of tables that the other engine does not have.
func (m *mover) settle(ctx context.Context) error {
	conn, end, err := m.From.OpenConn(ctx)
	if err != nil {
		return err
	}
	m.versions, err = versionsOf(ctx, m.From.Dialect(), conn)
	end()
	if err != nil {
		return err
	}
	if len(m.versions) == 0 {
		return errors.New("the source has no tables of this program")
	}
	for name := range m.versions {
		if !slices.ContainsFunc(m.Schemas, func(s store.Schema) bool { return s.Name == name }) {
			return fmt.Errorf(
				"the source has the schema %q, which this program does not know: use the program that made it, or a newer one",
				name)
		}
	}
	for _, s := range m.Schemas {
		if _, ok := m.versions[s.Name]; ok {
			m.schemas = append(m.schemas, s)
		}
	}
	if err := m.open(ctx, m.From); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	for _, s := range m.schemas {
		if s.Settle == nil {
			continue
		}
		if err := s.Settle(ctx, m.From); err != nil {
			return fmt.Errorf("moving rows of schema %s to tables that both engines have: %w", s.Name, err)
		}
	}
	return m.From.Close() // openSource connects to it again
}

// open starts a database with the schemas of the source.
func (m *mover) open(ctx context.Context, db *store.DB) error {
	for _, s := range m.schemas {
		if err := db.Register(s); err != nil {
			return err
		}
	}
	db.Start(ctx)
	// If the database is still migrating, wait without a time limit.
	if err := db.Ready(); err != nil && !errors.Is(err, store.ErrOpening) {
		return err
	}
	return db.WaitReady(ctx)
}

// openSource opens the source so that no other program changes it from then on.
func (m *mover) openSource(ctx context.Context) error {
	conn, end, err := m.From.OpenConn(ctx)
	if err != nil {
		return err
	}
	m.from = &side{m.From, conn, end}
	m.ends = append(m.ends, end)
	if m.From.Dialect() == store.SQLite {
		if err := m.from.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
			return fmt.Errorf("locking the source against writers: %w", err)
		}
		return nil
	}
	return m.from.lockPostgres(ctx, m.schemas)
}

// count determines the number of rows to process.
func (m *mover) count(ctx context.Context) error {
	for _, p := range m.plans {
		if err := m.from.row(ctx, "SELECT count(*) FROM "+p.name).Scan(&p.rows); err != nil {
			return fmt.Errorf("table %s: %w", p.name, err)
		}
		m.total += 2 * p.rows // each row is copied, and then read for the sums
	}
	return nil
}

// progress reports that further rows were processed.
func (m *mover) progress(rows int64) { m.Progress(rows, m.total) }

// reindex makes the schemas rebuild their full-text indexes. It returns the names of these schemas.
func (m *mover) reindex(ctx context.Context) (indexed []string, err error) {
	indexed = []string{}
	if !slices.ContainsFunc(m.schemas, func(s store.Schema) bool { return s.Reindex != nil }) {
		return indexed, nil
	}
	db, err := m.targetDB()
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	db.OwnMark() // the target has the mark of an unfinished move, this one
	if err := m.open(ctx, db); err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	for _, s := range m.schemas {
		if s.Reindex == nil {
			continue
		}
		err := s.Reindex(ctx, db, func(rows int64) {
			m.total += rows
			m.progress(rows)
		})
		if err != nil {
			return nil, fmt.Errorf("rebuilding the full-text index of schema %s: %w", s.Name, err)
		}
		indexed = append(indexed, s.Name)
	}
	return indexed, nil
}
