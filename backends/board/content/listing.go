package content

import "github.com/tollgate-gateway/tollgate/internal/store"

// Listing is a query for a list. On SQLite the query names its index, so that statistics cannot change the plan.
// PostgreSQL has no syntax for naming an index.
type Listing struct {
	Columns string
	From    string
	Index   string // for SQLite; empty for the primary key
	Where   string
	Order   string
}

// SQL returns the text of the query for a database engine. The query's last argument is the limit.
func (l Listing) SQL(d store.Dialect) string {
	table := l.From
	if d == store.SQLite && l.Index != "" {
		table += " INDEXED BY " + l.Index
	}
	return "SELECT " + l.Columns + " FROM " + table + " WHERE " + l.Where + " ORDER BY " + l.Order + Limit(d)
}

// Limit returns a LIMIT clause with a placeholder. On SQLite the clause is a sum: SQLite plans a query again each time
// a plain LIMIT placeholder is bound, which costs more than running the query.
func Limit(d store.Dialect) string {
	if d == store.SQLite {
		return " LIMIT ? + 0"
	}
	return " LIMIT ?"
}
