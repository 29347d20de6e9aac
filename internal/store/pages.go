package store

// A page of a list is read by keyset: WHERE key > ? ORDER BY key LIMIT ?, beginning after the last key of the previous
// page. The limit is one more than the page holds, so that the extra row shows whether there is another page.

// Cut trims the extra row of a list that was read with LIMIT limit+1 and reports whether the list goes on.
func Cut[T any](list []T, limit int) (page []T, more bool) {
	if len(list) <= limit {
		return list, false
	}
	return list[:limit], true
}

// CutAt works like Cut but returns the key of the last row of the page, after which the next page begins, or the zero K
// if there is no next page.
func CutAt[T, K any](list []T, limit int, key func(T) K) (page []T, next K) {
	page, more := Cut(list, limit)
	if more && limit > 0 {
		next = key(page[limit-1])
	}
	return page, next
}
