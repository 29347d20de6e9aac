package runevents

// cacheRows limits the number of rows in one generation of a cache.
const cacheRows = 1 << 16

// sharedRow is a row to which many others refer, such as a resource, and which is written only once.
type sharedRow struct {
	id  int64
	day int64 // column used_day when the row was last read; the database may contain a later day
}

// cache maps the natural keys of rows to their IDs. It consists of two generations. When the young generation is full,
// it becomes the old one, and the previous old generation is dropped with all rows that have not been used in the
// meantime.
type cache[K comparable] struct {
	young, old map[K]sharedRow
}

// get returns the row with the given key. It moves a row of the old generation to the young one, so that it is kept.
func (c *cache[K]) get(key K) (sharedRow, bool) {
	row, ok := c.young[key]
	if ok {
		return row, true
	}
	if row, ok = c.old[key]; ok {
		c.put(key, row)
	}
	return row, ok
}

// put adds a row. If the young generation is full, it becomes the old one first.
func (c *cache[K]) put(key K, row sharedRow) {
	if len(c.young) >= cacheRows {
		c.old, c.young = c.young, nil
	}
	if c.young == nil {
		c.young = make(map[K]sharedRow)
	}
	c.young[key] = row
}

// overlay holds the rows that one transaction uses: rows from the cache, and rows that the transaction has written. The
// latter are added to the cache after the commit.
type overlay[K comparable] struct {
	cache *cache[K]
	rows  map[K]sharedRow
}

// newOverlay returns an empty overlay over the cache c.
func newOverlay[K comparable](c *cache[K]) overlay[K] {
	return overlay[K]{cache: c, rows: make(map[K]sharedRow)}
}

// get returns the row with the given key from the overlay or from the cache.
func (o overlay[K]) get(key K) (sharedRow, bool) {
	row, ok := o.rows[key]
	if ok {
		return row, true
	}
	if row, ok = o.cache.get(key); ok {
		o.rows[key] = row
	}
	return row, ok
}

// saveToCache adds all rows to the cache.
func (o overlay[K]) saveToCache() {
	for key, row := range o.rows {
		o.cache.put(key, row)
	}
}
