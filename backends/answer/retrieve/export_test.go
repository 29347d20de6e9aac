package retrieve

// Look has a retriever look among so many of the latest passages first.
func (r *Retriever) Look(windows ...int64) { r.windows = windows }
