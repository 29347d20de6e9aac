package store

import (
	"context"
	"database/sql"
)

type committedKey struct{}

// ReadCommitted has [DB.Write] run at the level read committed on PostgreSQL: no
// race is lost for what others have read or written meanwhile, and none is
// noticed. It is for a writer whose statements each lock the rows they rely on.
// SQLite has one writer at a time either way.
func ReadCommitted(ctx context.Context) context.Context {
	return context.WithValue(ctx, committedKey{}, true)
}

// isolation is the level that the context of a write asks for.
func isolation(ctx context.Context) sql.IsolationLevel {
	if ctx.Value(committedKey{}) != nil {
		return sql.LevelReadCommitted
	}
	return sql.LevelSerializable
}
