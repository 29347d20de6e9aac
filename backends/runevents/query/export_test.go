package query

import (
	"database/sql"
	"net/http"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Explain returns how the database would answer a request.
func (s *Service) Explain(tb testing.TB, r *http.Request, entity string, scope Scope) (sqlText, plan string) {
	tb.Helper()
	pl, err := s.admit(r, entity, scope)
	if err != nil {
		tb.Fatal(err)
	}
	err = s.o.DB.Read(tb.Context(), func(conn store.Conn) error {
		ctx := conn.Context()
		tx, err := conn.Pool().BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := s.prepare(ctx, tx); err != nil {
			return err
		}
		c := s.compiler(pl)
		var compiled *statement
		if pl.counts != nil {
			compiled = c.countRows(pl.counts[0])
		} else {
			compiled = c.rows(pl.query)
		}
		defer compiled.release()
		sqlText = compiled.sql
		explain := "EXPLAIN QUERY PLAN "
		if s.o.DB.Dialect() == store.Postgres {
			explain = "EXPLAIN "
			// The tables of a test are small; only this shows which index serves.
			if _, err := tx.ExecContext(ctx, "SET LOCAL enable_seqscan = off"); err != nil {
				return err
			}
		}
		rows, err := tx.QueryContext(ctx, explain+compiled.sql, compiled.args...) //nolint:gosec // what the service would ask
		if err != nil {
			return err
		}
		defer rows.Close()
		columns, _ := rows.Columns()
		var lines []string
		for rows.Next() {
			cells := make([]any, len(columns))
			for i := range cells {
				cells[i] = new(sql.NullString)
			}
			if err := rows.Scan(cells...); err != nil {
				return err
			}
			lines = append(lines, cells[len(cells)-1].(*sql.NullString).String)
		}
		plan = strings.Join(lines, "\n")
		return rows.Err()
	})
	if err != nil {
		tb.Fatal(err)
	}
	return sqlText, plan
}

// Occupy acquires all slots for wide queries. release returns them.
func (s *Service) Occupy(tb testing.TB) (release func()) {
	tb.Helper()
	if err := s.wide.Acquire(tb.Context(), int64(s.o.Wide)); err != nil {
		tb.Fatal(err)
	}
	return func() { s.wide.Release(int64(s.o.Wide)) }
}

// MaxBuffered is the size up to which an answer is buffered.
const MaxBuffered = maxBuffered

// LongPlaces returns the number of slots for long answers. A query must have run before.
func (s *Service) LongPlaces() (n int) {
	for s.slots.long.TryAcquire(int64(n) + 1) {
		s.slots.long.Release(int64(n) + 1)
		n++
	}
	return n
}

// OccupyLong acquires all slots for long answers. A query must have run before. release returns the slots.
func (s *Service) OccupyLong(tb testing.TB) (release func()) {
	tb.Helper()
	n := int64(s.LongPlaces())
	if !s.slots.long.TryAcquire(n) {
		tb.Fatal("the slots for long answers are in use")
	}
	return func() { s.slots.long.Release(n) }
}
