package rights

// Sees reports whether the actor sees something in a thread. owner wrote the thread, and author wrote what is asked
// for, which is the thread itself or a post of it. All decisions about what an actor sees go through it.
func (a *Actor) Sees(forum, owner, author, visibility int64) bool {
	f := a.In(forum)
	if !a.Admits(f.Visible, f.Mask, owner, author, visibility) {
		return false
	}
	if a.Rights.admin && !a.Admits(f.Seen, f.Natural, owner, author, visibility) {
		a.Looked(forum)
	}
	return true
}

// Admits decides as Sees does, with other rights than those that the actor has as an administrator.
func (a *Actor) Admits(seen bool, mask Mask, owner, author, visibility int64) bool {
	if !seen || !mask.Has(ThreadView) || !mask.Has(ThreadViewOthers) && !a.Owns(owner) {
		return false
	}
	switch visibility {
	case Visible:
		return true
	case Unapproved:
		return a.Owns(author) || mask&(ContentViewUnapproved|ContentApprove) != 0
	}
	return mask.Has(ContentViewDeleted)
}

// Shows returns the visibilities that a moderator sees in lists, as SQL. They are literals, since the planner
// must be able to prove which partial index serves.
func (a *Actor) Shows(forum int64) string {
	f := a.In(forum)
	held := f.Mask&(ContentViewUnapproved|ContentApprove) != 0
	gone := f.Mask.Has(ContentViewDeleted)
	switch {
	case held && gone:
		return "IN (0, 1, 2)"
	case held:
		return "IN (0, 1)"
	case gone:
		return "IN (0, 2)"
	}
	return "= 0"
}

// Reads reports whether the actor may read threads of a forum, its own at least.
func (a *Actor) Reads(forum int64) bool {
	return a.In(forum).Visible && a.Has(forum, ThreadView)
}

// ReadsAll reports whether these are the threads of all.
func (a *Actor) ReadsAll(forum int64) bool { return a.Reads(forum) && a.Has(forum, ThreadViewOthers) }

// The visibilities of threads and posts, and their words.
const (
	Visible int64 = iota
	Unapproved
	Deleted
)

// VisibilityNames are the words, by number.
var VisibilityNames = [...]string{"visible", "unapproved", "deleted"}
