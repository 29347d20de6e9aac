package pattern

import (
	"errors"
	"sync"
	"sync/atomic"
)

// held are the matchers of the queries that run on SQLite now: a function of SQL is
// known to the whole process, and takes the number of one.
var held struct {
	sync.Map // int64 -> Matcher
	last     atomic.Int64
}

// Hold makes a matcher known to SQL, by a number, until Release.
func Hold(m Matcher) (id int64) {
	id = held.last.Add(1)
	held.Store(id, m)
	return id
}

// Release ends a Hold.
func Release(id int64) { held.Delete(id) }

// Held is how many are known now.
func Held() (n int) {
	held.Range(func(any, any) bool { n++; return true })
	return n
}

// Match asks the matcher of a number.
func Match(id int64, s string) (bool, error) {
	m, ok := held.Load(id)
	if !ok {
		return false, errors.New("there is no pattern of this number")
	}
	return m.(Matcher).MatchString(s)
}
