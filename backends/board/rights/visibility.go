package rights

// Sees reports whether the actor sees a thread, or a post in it. owner is the author of the thread. author and
// visibility are those of the thread or post in question. Every decision about visibility goes through Sees. If the
// actor sees the thread or post only as an administrator, Sees logs a look.
func (a *Actor) Sees(forum, owner, author, visibility int64) bool {
	f := a.In(forum)
	if !a.SeesWith(f.Visible, f.Mask, owner, author, visibility) {
		return false
	}
	if a.Rights.admin && !a.SeesWith(f.Seen, f.Natural, owner, author, visibility) {
		a.LogLook(forum)
	}
	return true
}

// SeesWith works like Sees, but with the given rights instead of the actor's rights. visible reports whether the
// forum is visible, and mask holds the rights in the forum. SeesWith logs no look.
func (a *Actor) SeesWith(visible bool, mask Mask, owner, author, visibility int64) bool {
	if !visible || !mask.Has(ThreadView) || !mask.Has(ThreadViewOthers) && !a.Owns(owner) {
		return false
	}
	switch visibility {
	case Visible:
		return true
	case Unapproved:
		return a.Owns(author) || mask&(ContentViewUnapproved|ContentApprove) != 0
	}
	return mask.Has(ContentViewDeleted) // deleted, or archived after that
}

// Shows returns an SQL condition for the visibilities of the threads and posts in a forum that lists show to the actor.
// It uses literals, so that the planner can prove that a partial index applies.
func (a *Actor) Shows(forum int64) string {
	f := a.In(forum)
	held := f.Mask&(ContentViewUnapproved|ContentApprove) != 0
	deleted := f.Mask.Has(ContentViewDeleted)
	switch {
	case held && deleted:
		return "IN (0, 1, 2)"
	case held:
		return "IN (0, 1)"
	case deleted:
		return "IN (0, 2)"
	}
	return "= 0"
}

// Reads reports whether the actor may read at least the threads that it has written in a forum.
func (a *Actor) Reads(forum int64) bool {
	return a.In(forum).Visible && a.Has(forum, ThreadView)
}

// ReadsAll reports whether the actor may read the threads of all authors in a forum.
func (a *Actor) ReadsAll(forum int64) bool { return a.Reads(forum) && a.Has(forum, ThreadViewOthers) }

// These are the visibilities of threads and posts.
const (
	Visible    int64 = iota
	Unapproved       // held: the thread or post waits for approval
	Deleted
	// Gone is the visibility of a thread that was merged into another thread. Nobody sees it. Its row stays, so that its
	// id is not used again.
	Gone
)

// VisibilityNames holds the names of the visibilities, indexed by their numbers, except Gone.
var VisibilityNames = [...]string{"visible", "unapproved", "deleted"}
