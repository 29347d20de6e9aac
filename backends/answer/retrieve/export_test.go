package retrieve

// Enough sets the number of hits among the latest passages that a retriever is content with.
func (r *Retriever) Enough(n int) { r.enough = n }
