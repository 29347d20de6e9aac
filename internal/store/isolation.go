package store

import "context"

type committedKey struct{}

// ReadCommitted returns a context that has [DB.Write] use the isolation level read committed on PostgreSQL. Such a
// write loses no race against what others have read or written meanwhile, and notices none. It suits a writer whose
// statements each lock the rows they rely on. It has no effect on SQLite, which has one writer at a time.
func ReadCommitted(ctx context.Context) context.Context {
	return context.WithValue(ctx, committedKey{}, true)
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
// connection, instead of competing in the server. Names are compared with ==.
//
// In such a transaction the server uses generic plans, planned once for a connection, so a statement that needs
// different plans for different values does not belong in it. Bitmap scans are off as well: they read and sort all rows
// of a value that is assumed to have few, when there may be thousands. InTurn has no effect on SQLite, whose single
// writer takes changes in order.
func InTurn(ctx context.Context, name any) context.Context {
	return context.WithValue(ctx, turnKey{}, name)
}

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
	if ctx.Value(hastyKey{}) != nil {
		statements = append(statements, "set local synchronous_commit = off")
	}
	return statements
}
