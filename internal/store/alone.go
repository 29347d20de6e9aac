package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5/stdlib"
)

// Alone is one connection to the database of its own, beside those of Read and Write, and
// without the checks of keys that SQLite makes there. It is for who copies all of it, and
// needs no Start; a SQLite file must be there. The caller calls end.
func (db *DB) Alone(ctx context.Context) (conn *sql.Conn, end func(), err error) {
	var pool *sql.DB
	switch e := db.engine.(type) {
	case *sqlite:
		// NORMAL: what a loss of power takes away is whole transactions, the last ones.
		pool, err = openSingle(fileURI(e.options.Path) + "?" + url.Values{
			"mode": {"rw"}, "_busy_timeout": {e.busyTimeout()}, "_error_rc": {"true"}, "_dqs": {"false"}, "_synchronous": {"NORMAL"},
			"_pragma": {pragma("cache_size", -writerCache>>10), "temp_store(memory)"},
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
