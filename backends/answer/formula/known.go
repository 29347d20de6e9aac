package formula

import (
	"crypto/sha256"
	"sync"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// mostKnown is of how many passages tables are kept.
const mostKnown = 256

// Tables are those of passages as they were read: questions about one report read the same ones. The zero value is
// ready, and safe for concurrent use.
type Tables struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte][][]*Series
}

// of are the series of each table in a passage, for reading alone.
func (t *Tables) of(p *kernel.Passage) [][]*Series {
	if t == nil {
		return ofPassage(p)
	}
	key := sha256.Sum256([]byte(p.Section + "\x00" + p.Text))
	t.mu.Lock()
	all, ok := t.known[key]
	t.mu.Unlock()
	if ok {
		return all
	}
	all = ofPassage(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= mostKnown {
		t.known = make(map[[sha256.Size]byte][][]*Series)
	}
	t.known[key] = all
	return all
}
