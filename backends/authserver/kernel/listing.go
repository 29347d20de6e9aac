package kernel

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Listing is a list of rows that has pages, in the order of a time and an id. Its names are
// those of the schema, never of a request.
type Listing struct {
	Columns, Table string
	// At is the column with the time, and ID a unique one; an index has both in this order.
	// Without At the list is in the order of ID alone, a number.
	At, ID string
	// Along is a column before them in their index, and in the order, that has one value in all
	// rows: no other index gives that order then. Default: none.
	Along string
	// Where are conditions, which hold all, with Args.
	Where []string
	Args  []any
}

// Page is which rows of a Listing are asked for.
type Page struct {
	Limit, Offset int
	// Newest has the latest first.
	Newest bool
	// After is the place of the last row of the page before. Default: none.
	After Place
}

// Place is that of a row in a Listing.
type Place struct {
	At int64 // its time, or the number in whose order the list is
	ID string
}

// String is the place as clients send it back, opaque.
func (p Place) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.At, 36) + " " + p.ID))
}

// maxPlace bounds the text of a place: an id may be a URL.
const maxPlace = 4096

// ParsePlace reads what String has made.
func ParsePlace(text string) (p Place, ok bool) {
	if len(text) > maxPlace {
		return p, false
	}
	plain, err := base64.RawURLEncoding.DecodeString(text)
	at, id, found := strings.Cut(string(plain), " ")
	if err != nil || !found || !utf8.ValidString(id) || strings.Contains(id, "\x00") {
		return p, false
	}
	n, err := strconv.ParseInt(at, 36, 64)
	return Place{n, id}, err == nil
}

// And adds a condition.
func (l *Listing) And(condition string, args ...any) {
	l.Where, l.Args = append(l.Where, condition), append(l.Args, args...)
}

// Page is the statement of a page.
func (l Listing) Page(p Page) (statement string, args []any) {
	where, args := slices.Clip(l.Where), slices.Clip(l.Args)
	order, than := "", ">"
	if p.Newest {
		order, than = " DESC", "<"
	}
	by := l.ID + order
	if l.At != "" {
		by = l.At + order + ", " + by
	}
	if l.Along != "" {
		by = l.Along + order + ", " + by
	}
	switch {
	case p.After == Place{}:
	case l.At == "":
		where, args = append(where, l.ID+" "+than+" ?"), append(args, p.After.At)
	default:
		where, args = append(where, "("+l.At+", "+l.ID+") "+than+" (?, ?)"), append(args, p.After.At, p.After.ID)
	}
	statement = "SELECT " + l.Columns + " FROM " + l.Table + condition(where) + " ORDER BY " + by + " LIMIT ?"
	args = append(args, p.Limit)
	if p.Offset > 0 {
		statement, args = statement+" OFFSET ?", append(args, p.Offset)
	}
	return statement, args
}

// Count is the statement that counts the rows of all pages, at most so many: no more are
// looked for.
func (l Listing) Count(most int) (statement string, args []any) {
	return "SELECT count(*) FROM (SELECT 1 FROM " + l.Table + condition(l.Where) + " LIMIT ?) AS found", append(slices.Clip(l.Args), most)
}

func condition(where []string) string {
	if len(where) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(where, " AND ")
}

// Rows reads a page.
func Rows[T any](c Conn, l Listing, p Page, scan func(r store.Row) (T, error)) ([]T, error) {
	statement, args := l.Page(p)
	return store.List(c.ByValues(), scan, statement, args...)
}

// CountRows counts the rows of all pages, at most so many.
func CountRows(c Conn, l Listing, most int) (n int, err error) {
	statement, args := l.Count(most)
	return n, c.ByValues().Row(statement, args...).Scan(&n)
}
