package pattern

import (
	"errors"
	"sync"
	"sync/atomic"
)

// held holds the matchers of the queries that are running on SQLite. An SQL function is registered for the whole
// process and gets the ID of its matcher.
var held struct {
	sync.Map // int64 -> Matcher
	last     atomic.Int64
}

// Hold registers a matcher for SQL until Release, and returns its ID.
func Hold(m Matcher) (id int64) {
	id = held.last.Add(1)
	held.Store(id, m)
	return id
}

// Release removes a matcher that Hold has registered.
func Release(id int64) { held.Delete(id) }

// Held returns the number of registered matchers.
func Held() (n int) {
	held.Range(func(any, any) bool { n++; return true })
	return n
}

// Match matches s with the matcher of that ID.
func Match(id int64, s string) (bool, error) {
	m, ok := held.Load(id)
	if !ok {
		return false, errors.New("there is no pattern of this number")
	}
	return m.(Matcher).MatchString(s)
}
