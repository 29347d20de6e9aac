package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5/stdlib"
)

// OpenConn opens a separate connection to the database, beside the pools of Read and Write. On this connection SQLite
// does not check foreign keys. It serves callers that copy the whole database. It does not need Start, but a SQLite
// file must exist. The caller calls end to close the connection.
func (db *DB) OpenConn(ctx context.Context) (conn *sql.Conn, end func(), err error) {
	var pool *sql.DB
	switch e := db.engine.(type) {
	case *sqlite:
		// With NORMAL, a loss of power can undo the last transactions, but never a part of a transaction.
		pool, err = openSingle(fileURI(e.options.Path) + "?" + url.Values{
			"mode": {"rw"}, "_busy_timeout": {e.busyTimeout()}, "_error_rc": {"true"}, "_dqs": {"false"},
			"_synchronous": {"NORMAL"},
			"_pragma":      {pragma("cache_size", -writerCache>>10), "temp_store(memory)"},
		}.Encode())
	case *postgres:
		pool = stdlib.OpenDB(*e.config)
	}
	if err == nil {
		conn, err = pool.Conn(ctx)
	}
	if err != nil {
		if pool != nil {
			_ = pool.Close()
		}
		return nil, nil, fmt.Errorf("opening the %s database: %w", db.dialect, err)
	}
	return conn, func() { _, _ = conn.Close(), pool.Close() }, nil
}
