package seed

import (
	"cmp"
	"database/sql"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// reserve takes ids for new rows of a table, ascending.
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
	// There is one writer, and a row with an id of its own moves the sequence on.
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

// bulk is rows to be inserted by few statements.
type bulk struct {
	statement, row string
	args           []any
}

func (b *bulk) add(values ...any) { b.args = append(b.args, values...) }

func (b *bulk) insert(c store.Conn) error {
	width := strings.Count(b.row, "?")
	for args := b.args; len(args) > 0; {
		// Few lengths, so that the statements are prepared once.
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

func instant(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

func word(text, byDefault string, valid bool) sql.NullString {
	return sql.NullString{String: cmp.Or(text, byDefault), Valid: valid}
}
