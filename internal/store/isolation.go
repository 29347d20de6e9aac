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

type hastyKey struct{}

// Hastily has [DB.Write] return on PostgreSQL when the change is committed, and not wait
// until it is durable: others see it, but a server that breaks down may forget what was
// committed in its last second. It is for what is of use for minutes, and where to wait for
// the disk is most of the work. On SQLite the change is durable either way.
func Hastily(ctx context.Context) context.Context {
	return context.WithValue(ctx, hastyKey{}, true)
}

type turnKey struct{}

// InTurn has [DB.Write] run a change on PostgreSQL in its turn: those of the same
// name one after another, and few at once of all that have a name, in the order in
// which they came. It is for short changes that many make at a time, of rows that
// several of them want: they wait in this process for each other, which takes no
// connection, and not for a server that does all of them by halves. Names are equal
// if == says so. Those of a name that wait, and ask for the same level, share a transaction,
// each behind a savepoint: one that fails takes back itself alone, and is run again by itself
// where it is the server that says so. What has been taken along is carried through where its
// caller leaves.
//
// The server plans each statement once for a connection, and not five times by the values: a
// statement that wants another plan for other values has no place in such a change. Nor are
// there bitmap scans in these plans, which read all rows of a value and sort them where it is
// believed to have few, and there may be thousands. SQLite has one writer, who takes them in
// their order.
func InTurn(ctx context.Context, name any) context.Context {
	return context.WithValue(ctx, turnKey{}, name)
}

// releasesEarly reports whether the context of a write asks for that.
func releasesEarly(ctx context.Context) bool { return ctx.Value(earlyKey{}) != nil }

// begin are the statements that begin a write, as its context asks for.
func begin(ctx context.Context) []string {
	statements := []string{"begin isolation level serializable"}
	if ctx.Value(committedKey{}) != nil {
		statements[0] = "begin isolation level read committed"
	}
	if ctx.Value(turnKey{}) != nil {
		statements = append(statements, "set local plan_cache_mode = force_generic_plan", "set local enable_bitmapscan = off")
	}
	if releasesEarly(ctx) || ctx.Value(hastyKey{}) != nil {
		statements = append(statements, "set local synchronous_commit = off")
	}
	return statements
}
