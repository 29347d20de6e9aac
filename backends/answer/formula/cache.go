package formula

import (
	"crypto/sha256"
	"sync"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// maxCached is the largest number of passages whose tables are cached. When it is reached, the cache is emptied.
const maxCached = 256

// TableCache caches the tables of passages, because many questions read the same report. The zero value is ready to
// use. A TableCache is safe for concurrent use.
type TableCache struct {
	mu     sync.Mutex                        // guards cached
	cached map[[sha256.Size]byte][][]*Series // by the hash of a passage's section and text
}

// series returns the series of each table in a passage. Callers must not change them. A nil t reads the tables without
// a cache.
func (t *TableCache) series(p *kernel.Passage) [][]*Series {
	if t == nil {
		return seriesInPassage(p)
	}
	key := sha256.Sum256([]byte(p.Section + "\x00" + p.Text))
	t.mu.Lock()
	all, ok := t.cached[key]
	t.mu.Unlock()
	if ok {
		return all
	}
	// The passage is read without the lock, so that other passages can be read at the same time. If two goroutines read
	// the same passage, both results are equal.
	all = seriesInPassage(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cached == nil || len(t.cached) >= maxCached {
		t.cached = make(map[[sha256.Size]byte][][]*Series)
	}
	t.cached[key] = all
	return all
}
