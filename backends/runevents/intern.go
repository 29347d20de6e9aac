package runevents

// cacheRows limits the number of rows in one generation of a cache.
const cacheRows = 1 << 16

// interned is a row to which many others refer, such as a resource, and which is written only once.
type interned struct {
	id  int64
	day int64 // used_day as far as is known; the database may have a later day
}

// cache maps the natural keys of rows to their IDs. It consists of two generations. When the young generation is full,
// it becomes the old one, and the previous old generation is dropped with all rows that have not been used in the
// meantime.
type cache[K comparable] struct {
	young, old map[K]interned
}

func (c *cache[K]) get(key K) (interned, bool) {
	row, ok := c.young[key]
	if ok {
		return row, true
	}
	if row, ok = c.old[key]; ok {
		c.put(key, row)
	}
	return row, ok
}

func (c *cache[K]) put(key K, row interned) {
	if len(c.young) >= cacheRows {
		c.old, c.young = c.young, nil
	}
	if c.young == nil {
		c.young = make(map[K]interned)
	}
	c.young[key] = row
}

// overlay holds the rows that one transaction uses: rows from the cache, and rows that the transaction has written. The
// latter are added to the cache after the commit.
type overlay[K comparable] struct {
	cache *cache[K]
	known map[K]interned
}

func newOverlay[K comparable](c *cache[K]) overlay[K] {
	return overlay[K]{cache: c, known: make(map[K]interned)}
}

func (o overlay[K]) get(key K) (interned, bool) {
	row, ok := o.known[key]
	if ok {
		return row, true
	}
	if row, ok = o.cache.get(key); ok {
		o.known[key] = row
	}
	return row, ok
}

func (o overlay[K]) keep() {
	for key, row := range o.known {
		o.cache.put(key, row)
	}
}
