package content

import "github.com/tollgate-gateway/tollgate/internal/store"

// Listing is a statement of a list. Each names its index on SQLite, so that
// statistics cannot change the plan; PostgreSQL has no such words.
type Listing struct {
	Columns string
	From    string
	Index   string // on SQLite; empty for the primary key
	Where   string
	Order   string
}

// SQL returns the statement for an engine. Its last argument is the limit.
func (l Listing) SQL(d store.Dialect) string {
	from := l.From
	if d == store.SQLite && l.Index != "" {
		from += " INDEXED BY " + l.Index
	}
	return "SELECT " + l.Columns + " FROM " + from + " WHERE " + l.Where + " ORDER BY " + l.Order + Limit(d)
}

// Limit returns LIMIT with a placeholder. SQLite plans a statement anew each time
// that its bare limit is bound, which costs more than to run it; a sum it does
// not look into.
func Limit(d store.Dialect) string {
	if d == store.SQLite {
		return " LIMIT ? + 0"
	}
	return " LIMIT ?"
}
