package content

import "github.com/tollgate-gateway/tollgate/internal/store"

// Listing is a query for a list. On SQLite it names its index, so that statistics cannot change the plan;
// PostgreSQL has no syntax for that.
type Listing struct {
	Columns string
	From    string
	Index   string // for SQLite; empty for the primary key
	Where   string
	Order   string
}

// SQL returns the query for a database. Its last argument is the limit.
func (l Listing) SQL(d store.Dialect) string {
	from := l.From
	if d == store.SQLite && l.Index != "" {
		from += " INDEXED BY " + l.Index
	}
	return "SELECT " + l.Columns + " FROM " + from + " WHERE " + l.Where + " ORDER BY " + l.Order + Limit(d)
}

// Limit returns a LIMIT clause with a placeholder. SQLite plans a query again each time a plain LIMIT placeholder
// is bound, which costs more than running the query; it does not do so for a sum.
func Limit(d store.Dialect) string {
	if d == store.SQLite {
		return " LIMIT ? + 0"
	}
	return " LIMIT ?"
}
