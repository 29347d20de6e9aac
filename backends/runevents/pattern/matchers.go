package pattern

import (
	"errors"
	"sync"
	"sync/atomic"
)

// matchers contains the matchers of the queries that are running on SQLite, by ID. An SQL function exists once for the
// whole process, so it gets the ID of a matcher as an argument.
var matchers struct {
	sync.Map // int64 -> Matcher
	last     atomic.Int64
}

// Hold makes a matcher available to Match until Release is called, and returns its ID.
func Hold(m Matcher) (id int64) {
	id = matchers.last.Add(1)
	matchers.Store(id, m)
	return id
}

// Release removes the matcher with the given ID.
func Release(id int64) { matchers.Delete(id) }

// Match reports whether s matches the matcher with the given ID. It returns an error if there is no such matcher.
func Match(id int64, s string) (bool, error) {
	m, ok := matchers.Load(id)
	if !ok {
		return false, errors.New("there is no pattern of this number")
	}
	return m.(Matcher).MatchString(s)
}
