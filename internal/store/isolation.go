package store

import "context"

type committedKey struct{}

// ReadCommitted returns a context with which [DB.Write] uses the isolation level "read committed" on PostgreSQL. Such a
// write is never repeated because of concurrent transactions, but conflicts with them are not detected either. It suits
// a writer whose statements lock all rows on which the write relies. It has no effect on SQLite, which has one writer
// at a time.
func ReadCommitted(ctx context.Context) context.Context {
	return context.WithValue(ctx, committedKey{}, true)
}

type hastyKey struct{}

// Hastily returns a context with which [DB.Write] on PostgreSQL returns when the change is committed, without waiting
// until it is durable. Other transactions see the change, but a server that crashes may lose the commits of its last
// second. It suits data that is useful for minutes only, when waiting for the disk is most of the work. It has no
// effect on SQLite.
func Hastily(ctx context.Context) context.Context {
	return context.WithValue(ctx, hastyKey{}, true)
}

type turnKey struct{}

// InTurn returns a context with which [DB.Write] queues the change on PostgreSQL. Changes with the same name run one
// after another, and only a few named changes run at the same time, in the order of their calls. It suits short changes
// that many callers make at the same time to the same rows: they wait in this process, without a connection, instead of
// competing in the server. Names are compared with ==.
//
// In such a transaction the server uses generic plans, planned once per connection, so statements that need different
// plans for different values should not be run in it. Bitmap scans are off as well: they would read and sort all rows
// of a value that the planner assumes to be rare, even if there are thousands. InTurn has no effect on SQLite, whose
// single writer makes changes in order.
func InTurn(ctx context.Context, name any) context.Context {
	return context.WithValue(ctx, turnKey{}, name)
}

// begin returns the statements that begin a write with the options in ctx.
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
