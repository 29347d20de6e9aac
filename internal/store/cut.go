package store

// A page of a list is read by keyset: WHERE key > ? ORDER BY key LIMIT ?, where the first argument is the last key of
// the previous page. The limit is the page's size plus 1; an extra row shows that there is another page.

// Cut removes the extra row of a list that was read with LIMIT limit+1. It returns more as true if there was an extra
// row, so that there is another page.
func Cut[T any](list []T, limit int) (page []T, more bool) {
	if len(list) <= limit {
		return list, false
	}
	return list[:limit], true
}

// CutAt works like Cut, but returns the key of the page's last row as next, because the next page begins after that
// row. If there is no next page, next is the zero value of K.
func CutAt[T, K any](list []T, limit int, key func(T) K) (page []T, next K) {
	page, more := Cut(list, limit)
	if more && limit > 0 {
		next = key(page[limit-1])
	}
	return page, next
}
