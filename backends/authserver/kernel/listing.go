package kernel

import (
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Listing is a query whose rows are returned in pages, ordered by a time and an id. The names of its table and columns
// must be constants, never text from a request.
type Listing struct {
	Columns, Table string
	// At is the column with the time, and ID a unique column. An index must contain both in this order. If At is empty,
	// the rows are ordered by ID alone, which must be a number.
	At, ID string
	// IndexPrefix is a column that precedes At and ID in their index and has the same value in all rows of the listing.
	// It is part of ORDER BY, so that the database uses that index. Default: no column.
	IndexPrefix string
	// Where holds conditions that are joined with AND, with their arguments in Args.
	Where []string
	Args  []any
}

// Page selects a part of the rows of a Listing.
type Page struct {
	Limit, Offset int
	// Newest orders the rows from the latest to the earliest.
	Newest bool
	// After is the position of the last row of the previous page. Default: the page is the first.
	After Place
}

// Place is the position of a row in a Listing.
type Place struct {
	At int64 // the time of the row, or the number by which the list is ordered
	ID string
}

// String returns the position as an opaque cursor for clients.
func (p Place) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.At, 36) + " " + p.ID))
}

// maxPlace is the maximum length of a cursor in bytes. It allows for an id that is a URL.
const maxPlace = 4096

// ParsePlace parses a cursor that String returned.
func ParsePlace(text string) (p Place, ok bool) {
	if len(text) > maxPlace {
		return p, false
	}
	plain, err := base64.RawURLEncoding.DecodeString(text)
	position, id, found := strings.Cut(string(plain), " ")
	if err != nil || !found || !utf8.ValidString(id) || strings.Contains(id, "\x00") {
		return p, false
	}
	n, err := strconv.ParseInt(position, 36, 64)
	return Place{n, id}, err == nil
}

// And adds a condition and its arguments to the query.
func (l *Listing) And(condition string, args ...any) {
	l.Where, l.Args = append(l.Where, condition), append(l.Args, args...)
}

// Page returns the SQL statement that selects a page, and its arguments.
func (l Listing) Page(p Page) (statement string, args []any) {
	conds, args := slices.Clip(l.Where), slices.Clip(l.Args)
	order, comparison := "", ">"
	if p.Newest {
		order, comparison = " DESC", "<"
	}
	orderBy := l.ID + order
	if l.At != "" {
		orderBy = l.At + order + ", " + orderBy
	}
	if l.IndexPrefix != "" {
		orderBy = l.IndexPrefix + order + ", " + orderBy
	}
	switch {
	case p.After == Place{}: // the first page
	case l.At == "":
		conds, args = append(conds, l.ID+" "+comparison+" ?"), append(args, p.After.At)
	default:
		conds, args = append(conds, "("+l.At+", "+l.ID+") "+comparison+" (?, ?)"), append(args, p.After.At, p.After.ID)
	}
	statement = "SELECT " + l.Columns + " FROM " + l.Table + whereClause(conds) + " ORDER BY " + orderBy + " LIMIT ?"
	args = append(args, p.Limit)
	if p.Offset > 0 {
		statement, args = statement+" OFFSET ?", append(args, p.Offset)
	}
	return statement, args
}

// Count returns the SQL statement that counts the rows of all pages, and its arguments. The counting stops at limit.
func (l Listing) Count(limit int) (statement string, args []any) {
	return "SELECT count(*) FROM (SELECT 1 FROM " + l.Table + whereClause(l.Where) + " LIMIT ?) AS found",
		append(slices.Clip(l.Args), limit)
}

// whereClause returns the WHERE clause of a statement for conditions that must all be true.
func whereClause(conditions []string) string {
	if len(conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conditions, " AND ")
}

// CountRows returns the number of rows of all pages, but at most limit.
func (l Listing) CountRows(c Conn, limit int) (n int, err error) {
	statement, args := l.Count(limit)
	err = c.ByValues().Row(statement, args...).Scan(&n)
	return n, err
}

// Rows returns one page of the query that find returns. It converts each row with scan.
func Rows[T any](
	ctx context.Context, s *Server, find func(c Conn) (Listing, error), p Page, scan func(r store.Row) (T, error),
) ([]T, error) {
	return Read(ctx, s, func(c Conn) ([]T, error) {
		l, err := find(c)
		if err != nil {
			return nil, err
		}
		statement, args := l.Page(p)
		return store.List(c.ByValues(), scan, statement, args...)
	})
}

// CountRows returns the number of rows, on all pages, of the query that find returns, but at most limit.
func CountRows(ctx context.Context, s *Server, find func(c Conn) (Listing, error), limit int) (int, error) {
	return Read(ctx, s, func(c Conn) (int, error) {
		l, err := find(c)
		if err != nil {
			return 0, err
		}
		return l.CountRows(c, limit)
	})
}

// Find returns the query itself, for Rows and CountRows.
func (l Listing) Find(Conn) (Listing, error) { return l, nil }
