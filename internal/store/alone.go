package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5/stdlib"
)

// Alone opens one connection of its own to the database, beside the pools of Read and Write, on which SQLite does not
// check foreign keys. It serves callers that copy the whole database and does not need Start, but a SQLite file must
// exist. The caller calls end to close the connection.
func (db *DB) Alone(ctx context.Context) (conn *sql.Conn, end func(), err error) {
	var pool *sql.DB
	switch e := db.engine.(type) {
	case *sqlite:
		// NORMAL: a loss of power can take away only whole transactions, the last ones.
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
