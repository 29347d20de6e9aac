package store

import "context"

type committedKey struct{}

// ReadCommitted has [DB.Write] run at the level read committed on PostgreSQL: no
// race is lost for what others have read or written meanwhile, and none is
// noticed. It is for a writer whose statements each lock the rows they rely on.
// SQLite has one writer at a time either way.
func ReadCommitted(ctx context.Context) context.Context {
	return context.WithValue(ctx, committedKey{}, true)
}

type earlyKey struct{}

// ReleaseEarly has [DB.Write] let go of its locks on PostgreSQL when the change is
// committed, and wait after that until it is durable. Others see the change while
// it is not, and may build on it: theirs is durable no sooner. It is for rows that
// many change one after another, each of whom would wait for the disk else. An error
// may mean that the change is committed and it is not known whether it is durable: the
// server was lost, or did not answer in time. On SQLite those who wait share a commit
// either way.
func ReleaseEarly(ctx context.Context) context.Context {
	return context.WithValue(ctx, earlyKey{}, true)
}

// releasesEarly reports whether the context of a write asks for that.
func releasesEarly(ctx context.Context) bool { return ctx.Value(earlyKey{}) != nil }

// begin is the statement that begins a write, as its context asks for.
func begin(ctx context.Context) string {
	statement := "begin isolation level serializable"
	if ctx.Value(committedKey{}) != nil {
		statement = "begin isolation level read committed"
	}
	if releasesEarly(ctx) {
		statement += "; set local synchronous_commit = off"
	}
	return statement
}
