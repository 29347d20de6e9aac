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

// listIn returns the results of a handler that responds with a whole list. The list is in the given member, which is
// the only member of the response. err is returned unchanged.
func listIn[T any](member string, list []T, err error) (any, error) {
	return map[string][]T{member: orEmpty(list)}, err
}

// listInData returns the results of a handler whose response has a whole list in the member data. err is returned
// unchanged.
func listInData[T any](list []T, err error) (any, error) { return listIn("data", list, err) }

// listPage is a page of a list. After is the key of the page's last row if further rows may follow, and nil otherwise.
type listPage[T any] struct {
	Rows  []T     `json:"data"`
	After *string `json:"next_after"`
}

// listAfter serves a page of a list that is ordered by a key. The query parameters after and limit select the page.
// read returns at most limit rows with keys greater than afterKey, which is empty for the first page. keyOf returns the
// key of a row, and convert converts a row for the response. A page with limit rows may be followed by another one.
func listAfter[T, R any](
	c *rest.Call, read func(afterKey string, limit int) ([]T, error), keyOf func(*T) string, convert func(*T) R,
) (any, error) {
	limit, err := c.Int("limit", 100, 1, 500)
	if err != nil {
		return nil, err
	}
	rows, err := read(c.R.URL.Query().Get("after"), limit)
	if err != nil {
		return nil, err
	}
	page := listPage[R]{Rows: make([]R, len(rows))}
	for i := range rows {
		page.Rows[i] = convert(&rows[i])
	}
	if len(rows) == limit {
		lastKey := keyOf(&rows[limit-1])
		page.After = &lastKey
	}
	return page, nil
}

// unchanged returns a row unchanged. It is the conversion for rows that listAfter need not convert.
func unchanged[T any](row *T) T { return *row }

// listNewest serves a page of a list that begins with the newest entry. The query parameters cursor and limit select
// the page. position returns the position of an entry, which increases with time. read returns at most limit entries
// with positions below cursor, or the newest ones if cursor is 0.
func listNewest[T any](
	c *rest.Call, read func(cursor int64, limit int) ([]T, error), position func(*T) int64,
) (any, error) {
	limit, err := c.Int("limit", 100, 1, 500)
	if err != nil {
		return nil, err
	}
	cursor, err := c.Cursor("cursor")
	if err != nil {
		return nil, err
	}
	rows, err := read(cursor, limit)
	if err != nil {
		return nil, err
	}
	answer := struct {
		Rows []T     `json:"data"`
		Next *string `json:"next_cursor"`
	}{Rows: orEmpty(rows)}
	if len(rows) == limit {
		answer.Next = cursorAt(position(&rows[limit-1]))
	}
	return answer, nil
}

// cursorAt returns the cursor of the page that follows the entry with the given position.
func cursorAt(position int64) *string {
	text := rest.Cursor(position)
	return &text
}
