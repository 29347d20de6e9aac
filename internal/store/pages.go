package store

// A page of a list is read by its key, from the one that the page before ended
// with: WHERE key > ? ORDER BY key LIMIT ?, with a limit that is one more than the
// page holds, which tells whether there is another.

// Cut is the page of a list that was read with LIMIT most+1, and whether the list
// goes on.
func Cut[T any](list []T, most int) (page []T, more bool) {
	if len(list) <= most {
		return list, false
	}
	return list[:most], true
}

// CutAt is Cut that tells where the list goes on: behind the key of the last row of
// the page; the zero K: nowhere.
func CutAt[T, K any](list []T, most int, key func(T) K) (page []T, next K) {
	page, more := Cut(list, most)
	if more && most > 0 {
		next = key(page[most-1])
	}
	return page, next
}
