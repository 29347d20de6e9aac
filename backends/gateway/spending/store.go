package spending

import (
	"context"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// usageWidth is the number of columns that insertUsageRows sets in a row.
const usageWidth = 3

// insertUsageRows returns the statement that inserts n requests into the usage log.
func insertUsageRows(n int) string {
	return `INSERT INTO gateway_usage_records (at, user_id, record) VALUES (?,?,?)` + strings.Repeat(",(?,?,?)", n-1)
}

// insertUsage inserts records into the usage log, with many rows per statement, since executing a statement costs more
// than adding a row. Parsing a full statement, with insertRows rows, costs more than executing it, so it is prepared
// once.
func (s *Ledger) insertUsage(c store.Conn, records []Record) error {
	var rows usageRows
	if len(records) >= 2*insertRows { // preparing pays off from the second execution
		full, err := c.Prepare(insertUsageRows(insertRows))
		if err != nil {
			return err
		}
		defer full.Close()
		for ; len(records) >= insertRows; records = records[insertRows:] {
			args, err := rows.args(records[:insertRows])
			if err != nil {
				return err
			}
			if _, err = full.ExecContext(c.Context(), args...); err != nil {
				return err
			}
		}
	}
	for part := range slices.Chunk(records, insertRows) {
		args, err := rows.args(part)
		if err != nil {
			return err
		}
		if _, err := c.Exec(insertUsageRows(len(part)), args...); err != nil {
			return err
		}
	}
	return nil
}

// usageRows computes the arguments of one statement after another, and reuses its memory.
type usageRows struct {
	values []any
	packed []byte
	ends   []int // the end of each row in packed
}

// args returns the arguments of the statement that inserts the records. The result is valid until the next call.
func (u *usageRows) args(records []Record) ([]any, error) {
	u.values, u.packed, u.ends = slices.Grow(u.values[:0], len(records)*usageWidth), u.packed[:0], u.ends[:0]
	for i := range records {
		var err error
		if u.packed, err = appendPacked(u.packed, &records[i]); err != nil {
			return nil, err
		}
		u.ends = append(u.ends, len(u.packed))
	}
	text, start := string(u.packed), 0 // one allocation for the texts of all rows
	for i, end := range u.ends {
		u.values = append(u.values, schema.Micros(records[i].At), records[i].UserID, text[start:end])
		start = end
	}
	return u.values, nil
}

// Recent returns at most limit (1 to 500) requests of a user with ids below beforeID, newest first. If beforeID is 0 it
// begins with the newest request.
func (s *Ledger) Recent(ctx context.Context, userID string, beforeID int64, limit int) ([]Record, error) {
	if !schema.StorableID(userID) {
		return nil, nil
	}
	if beforeID <= 0 {
		beforeID = 1<<63 - 1
	}
	return read(ctx, s, func(row store.Row) (Record, error) {
		var id, began int64
		var user, packed string
		if err := row.Scan(&id, &began, &user, &packed); err != nil {
			return Record{}, err
		}
		r, err := parsePacked(packed)
		r.ID, r.At, r.UserID = id, schema.Moment(began), user
		return r, err
	}, `SELECT id, at, user_id, record FROM gateway_usage_records WHERE user_id = ? AND id < ? ORDER BY id DESC LIMIT ?`,
		userID, beforeID, min(max(limit, 1), 500))
}
