package retrieve

// Enough has a retriever be content with so many of the latest passages.
func (r *Retriever) Enough(n int) { r.enough = n }
