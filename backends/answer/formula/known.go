package formula

import (
	"crypto/sha256"
	"sync"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// maxKnown is how many passages have their tables cached.
const maxKnown = 256

// Tables caches the tables of passages, because many questions read the same report. The zero value is ready
// to use, and it is safe for concurrent use.
type Tables struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte][][]*Series
}

// of returns the series of each table in a passage. Callers must not change them. With a nil t they are read
// without a cache.
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
	if t.known == nil || len(t.known) >= maxKnown {
		t.known = make(map[[sha256.Size]byte][][]*Series)
	}
	t.known[key] = all
	return all
}
