package seed

import (
	"cmp"
	"database/sql"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// reserve reserves n ids for new rows of a table, in ascending order.
func reserve(c store.Conn, table string, n int) ([]int64, error) {
	ids := make([]int64, 0, n)
	if c.Dialect() == store.Postgres {
		return ids, c.All("SELECT nextval(pg_get_serial_sequence(?, 'id')) FROM generate_series(1, ?)",
			[]any{table, n}, func(r store.Row) error {
				var id int64
				err := r.Scan(&id)
				ids = append(ids, id)
				return err
			})
	}
	// SQLite has one writer, and inserting a row with an explicit id advances the sequence.
	var last int64
	if err := c.Row("SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = ?), 0)",
		table).Scan(&last); err != nil {
		return nil, err
	}
	for i := range n {
		ids = append(ids, last+int64(i)+1)
	}
	return ids, nil
}

// bulk collects rows that few statements insert together. statement is the part before the rows, and row the
// placeholders of one row.
type bulk struct {
	statement, row string
	args           []any
}

func (b *bulk) add(values ...any) { b.args = append(b.args, values...) }

// insert inserts the collected rows.
func (b *bulk) insert(c store.Conn) error {
	width := strings.Count(b.row, "?")
	for args := b.args; len(args) > 0; {
		// Few different lengths, so that there are few statements to prepare.
		rows := 1
		for _, length := range []int{64, 8} {
			if len(args) >= length*width {
				rows = length
				break
			}
		}
		if _, err := c.Exec(b.statement+b.row+strings.Repeat(", "+b.row, rows-1), args[:rows*width]...); err != nil {
			return err
		}
		args = args[rows*width:]
	}
	return nil
}

func placeholders(n int) string { return "(" + kernel.Marks(n) + ")" }

// instant returns a time for a column that is NULL for the zero time.
func instant(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

// word returns text or, if that is empty, byDefault, for a column that is NULL unless valid.
func word(text, byDefault string, valid bool) sql.NullString {
	return sql.NullString{String: cmp.Or(text, byDefault), Valid: valid}
}
