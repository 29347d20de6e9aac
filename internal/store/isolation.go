package store

import "context"

type committedKey struct{}

// ReadCommitted returns a context that has [DB.Write] use the isolation level read committed on PostgreSQL. Such a
// write loses no race against what others have read or written meanwhile, and notices none. It suits a writer whose
// statements each lock the rows they rely on. It has no effect on SQLite, which has one writer at a time.
func ReadCommitted(ctx context.Context) context.Context {
	return context.WithValue(ctx, committedKey{}, true)
}

type earlyKey struct{}

// ReleaseEarly returns a context that has [DB.Write] release its locks on PostgreSQL when the change is committed, and
// only then wait until it is durable. Others see the change before it is durable and may build on it, but their changes
// become durable no sooner. It suits rows that many writers change one after another, each of whom would otherwise wait
// for the disk. An error may mean that the change is committed but not known to be durable, because the server was lost
// or did not answer in time. It has no effect on SQLite, where waiting writers share a commit.
func ReleaseEarly(ctx context.Context) context.Context {
	return context.WithValue(ctx, earlyKey{}, true)
}

type hastyKey struct{}

// Hastily returns a context that has [DB.Write] return on PostgreSQL when the change is committed, without waiting
// until it is durable. Others see the change, but a server that crashes may lose what was committed in its last second.
// It suits data that is of use for minutes only, when waiting for the disk is most of the work. It has no effect on
// SQLite.
func Hastily(ctx context.Context) context.Context {
	return context.WithValue(ctx, hastyKey{}, true)
}

type turnKey struct{}

// InTurn returns a context that has [DB.Write] queue the change on PostgreSQL. Changes with the same name run one after
// another, and only a few named changes run at the same time, in the order in which they came. It suits short changes
// that many callers make at the same time to the same rows: they wait for each other in this process, which takes no
// connection, instead of competing in the server. Names are compared with ==. Waiting changes of the same name that ask
// for the same isolation level share a transaction, each behind a savepoint: one that fails rolls back only itself, and
// is run again by itself if the error came from the server. A change that has joined another's transaction is carried
// through even if its caller leaves.
//
// In such a transaction the server uses generic plans, planned once for a connection, so a statement that needs
// different plans for different values does not belong in it. Bitmap scans are off as well: they read and sort all rows
// of a value that is assumed to have few, when there may be thousands. InTurn has no effect on SQLite, whose single
// writer takes changes in order.
func InTurn(ctx context.Context, name any) context.Context {
	return context.WithValue(ctx, turnKey{}, name)
}

// releasesEarly reports whether ctx was made by ReleaseEarly.
func releasesEarly(ctx context.Context) bool { return ctx.Value(earlyKey{}) != nil }

// begin returns the statements that begin a write with the options of its context.
func begin(ctx context.Context) []string {
	statements := []string{"begin isolation level serializable"}
	if ctx.Value(committedKey{}) != nil {
		statements[0] = "begin isolation level read committed"
	}
	if ctx.Value(turnKey{}) != nil {
		statements = append(statements,
			"set local plan_cache_mode = force_generic_plan", "set local enable_bitmapscan = off")
	}
	if releasesEarly(ctx) || ctx.Value(hastyKey{}) != nil {
		statements = append(statements, "set local synchronous_commit = off")
	}
	return statements
}
