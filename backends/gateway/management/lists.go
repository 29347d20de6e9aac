package management

import (
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// orEmpty returns an empty list for nil, so that JSON has an array.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// named returns a response whose only member is a whole list. An error is passed on.
func named[T any](member string, list []T, err error) (any, error) {
	return map[string][]T{member: orEmpty(list)}, err
}

// data returns a response with a whole list in the member data. An error is passed on.
func data[T any](list []T, err error) (any, error) { return named("data", list, err) }

// listed is a page of a list. If there may be further rows it has the key of the last row.
type listed[T any] struct {
	Rows  []T     `json:"data"`
	After *string `json:"next_after"`
}

// list serves a page of a list that is ordered by a key. read returns at most limit rows with keys greater than after,
// which is empty for the first page. key returns the key of a row, and row converts a row for the response. There may
// be further rows if the page has as many as the limit allows.
func list[T, R any](
	c *rest.Call, read func(after string, limit int) ([]T, error), key func(*T) string, row func(*T) R,
) (any, error) {
	limit, err := c.Int("limit", 100, 1, 500)
	if err != nil {
		return nil, err
	}
	rows, err := read(c.R.URL.Query().Get("after"), limit)
	if err != nil {
		return nil, err
	}
	l := listed[R]{Rows: make([]R, len(rows))}
	for i := range rows {
		l.Rows[i] = row(&rows[i])
	}
	if len(rows) == limit {
		next := key(&rows[limit-1])
		l.After = &next
	}
	return l, nil
}

// unchanged returns a row unchanged. It is the conversion of list for rows that need no conversion.
func unchanged[T any](row *T) T { return *row }

// newest serves a page of a list that begins with the newest entry. place returns the position of an entry. read
// returns at most limit entries with positions below before, or the newest ones if before is 0.
func newest[T any](c *rest.Call, read func(before int64, limit int) ([]T, error), place func(*T) int64) (any, error) {
	limit, err := c.Int("limit", 100, 1, 500)
	if err != nil {
		return nil, err
	}
	before, err := c.Cursor("cursor")
	if err != nil {
		return nil, err
	}
	rows, err := read(before, limit)
	if err != nil {
		return nil, err
	}
	answer := struct {
		Rows []T     `json:"data"`
		Next *string `json:"next_cursor"`
	}{Rows: orEmpty(rows)}
	if len(rows) == limit {
		answer.Next = cursor(place(&rows[limit-1]))
	}
	return answer, nil
}

func cursor(place int64) *string {
	text := rest.Cursor(place)
	return &text
}
