// Package move copies a database to one of the other engine, while nothing writes: every
// table of every schema that is in it, row by row, and then compares the rows of both.
//
// What there is to copy is read from the databases themselves. The target gets its tables
// by the same migrations; tables that both have are copied, with what their columns hold
// in the type of the other engine. Indexes of words, which each engine has in its own way,
// are made anew by the schemas, and what only one engine has else must be empty; see
// [store.Schema].
//
// The target keeps a mark, the table store.MovingTable, until all of it is there and is
// equal, and no server opens it before. A move that was cut short goes on where it ended.
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

// Options say what is moved.
type Options struct {
	// From and To are not started, and of different engines. Both are closed by Run.
	From, To *store.DB
	// Schemas are those that the program knows, whether From has them or not.
	Schemas []store.Schema
	// Progress is told how many rows were dealt with more, and how many there are to deal
	// with: each is copied, and read once more. Default: nobody is.
	Progress func(more, total int64)
	// Logger is for what the databases have to tell. Default: nothing is logged.
	Logger *zap.Logger

	batch int // rows of one transaction; 0: batchRows
}

// Bounds of what is copied in one transaction.
const (
	batchRows  = 5000
	batchBytes = 8 << 20
)

// Report tells what was moved.
type Report struct {
	From string `json:"from"` // engines
	To   string `json:"to"`
	// Resumed: the target had a part of it already.
	Resumed bool    `json:"resumed"`
	Tables  []Table `json:"tables"`
	// Indexed are the schemas whose index of words was made anew.
	Indexed []string `json:"indexed"`
}

// Rows is how many rows there are in all tables.
func (r *Report) Rows() (n int64) {
	for i := range r.Tables {
		n += r.Tables[i].Rows
	}
	return n
}

// Table is one of them.
type Table struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
	// Digest is of all rows in both databases, in hex, whatever their order.
	Digest string `json:"digest"`
}

// mover is one run.
type mover struct {
	Options
	from, to *side
	versions map[string]int64 // of the source's schemas
	schemas  []store.Schema   // those that the source has
	plans    []*plan
	resumed  bool
	total    int64
	ends     []func()
}

// Run moves a database. Errors name the table, and the column where one is at fault.
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
		return nil, fmt.Errorf("both databases are of %s: a move is from one engine to the other, and a backup and its restoring from one place to another", o.From.Dialect())
	}
	m := &mover{Options: o}
	defer m.end()
	for _, do := range []func(context.Context) error{m.hold, m.settle, m.openSource, m.openTarget, m.plan, m.begin, m.copy, m.compare} {
		if err := do(ctx); err != nil {
			return nil, ended(ctx, err)
		}
	}
	r := &Report{From: o.From.Dialect().String(), To: o.To.Dialect().String(), Resumed: m.resumed, Tables: []Table{}, Indexed: []string{}}
	for _, p := range m.plans {
		r.Tables = append(r.Tables, Table{p.name, p.there.rows, hex.EncodeToString(p.there.digest())})
	}
	var err error
	if r.Indexed, err = m.reindex(ctx); err == nil {
		err = m.finish(ctx)
	}
	if err != nil {
		return nil, ended(ctx, err)
	}
	return r, nil
}

// ended has the error of a move that was told to end say so: drivers tell of a broken
// connection then.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w: %w", context.Cause(ctx), err)
}

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
		} else if err := unserved(ctx, db); err != nil {
			return err
		}
	}
	return nil
}

// settle opens the source as a server does, so that it has the tables of this program, and
// files what servers have left in tables that the other engine does not have.
func (m *mover) settle(ctx context.Context) error {
	conn, end, err := m.From.Alone(ctx)
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
		i := slices.IndexFunc(m.Schemas, func(s store.Schema) bool { return s.Name == name })
		if i < 0 {
			return fmt.Errorf("the source has the tables %q, which this program does not know: use the program that made them, or a newer one", name)
		}
		m.schemas = append(m.schemas, m.Schemas[i])
	}
	slices.SortFunc(m.schemas, func(a, b store.Schema) int { return slices.Index(m.names(), a.Name) - slices.Index(m.names(), b.Name) })
	if err := m.open(ctx, m.From); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	for _, s := range m.schemas {
		if s.Settle == nil {
			continue
		}
		if err := s.Settle(ctx, m.From); err != nil {
			return fmt.Errorf("filing what waits in the tables of %s: %w", s.Name, err)
		}
	}
	return m.From.Close()
}

// names are those of the schemas of the program, in its order.
func (m *mover) names() (names []string) {
	for _, s := range m.Schemas {
		names = append(names, s.Name)
	}
	return names
}

// open starts a database with the schemas of the source.
func (m *mover) open(ctx context.Context, db *store.DB) error {
	for _, s := range m.schemas {
		if err := db.Register(s); err != nil {
			return err
		}
	}
	db.Start(ctx)
	// It migrates, which takes the time that it takes, or has failed.
	if err := db.Ready(); err != nil && !errors.Is(err, store.ErrOpening) {
		return err
	}
	return db.WaitReady(ctx)
}

// openSource takes the source for this move alone: from here on nobody changes it.
func (m *mover) openSource(ctx context.Context) error {
	conn, end, err := m.From.Alone(ctx)
	if err != nil {
		return err
	}
	m.from = &side{m.From, conn, end}
	m.ends = append(m.ends, end)
	if m.From.Dialect() == store.SQLite {
		if err := m.from.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
			return fmt.Errorf("keeping others from writing to the source: %w", err)
		}
		return nil
	}
	return m.from.lockPostgres(ctx, m.schemas)
}

// count is how many rows there are to deal with.
func (m *mover) count(ctx context.Context) error {
	for _, p := range m.plans {
		if err := m.from.row(ctx, "SELECT count(*) FROM "+p.name).Scan(&p.rows); err != nil {
			return fmt.Errorf("table %s: %w", p.name, err)
		}
		m.total += 2 * p.rows
	}
	return nil
}

func (m *mover) progress(rows int64) { m.Progress(rows, m.total) }

// reindex has the schemas make their indexes of words.
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
	db.OwnMark()
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
			return nil, fmt.Errorf("making the index of words of %s: %w", s.Name, err)
		}
		indexed = append(indexed, s.Name)
	}
	return indexed, nil
}
