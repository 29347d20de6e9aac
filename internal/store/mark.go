package store

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
)

// A database that is being restored, or filled from one of the other engine, has a mark, and no server opens it. On
// SQLite the mark is the file with this ending beside it, which becomes the database in the end; on PostgreSQL it is
// this table.
const (
	RestoringEnding = ".restoring"
	RestoringTable  = "tollgate_restoring"
	MovingEnding    = ".moving"
	MovingTable     = "tollgate_moving"
)

// Errors of a database with a mark.
var (
	errRestoring = errors.New(
		"a restore into this database has not ended: run it again, or begin anew with an empty database")
	errMoving = errors.New(
		"a move into this database has not ended: run it again, or begin anew with an empty database")
)

// marks lists the marks that a database may have.
var marks = []struct {
	ending, table string
	err           error
}{{RestoringEnding, RestoringTable, errRestoring}, {MovingEnding, MovingTable, errMoving}}

// OwnMark makes Start open the database in spite of a mark, because the caller has set it.
func (db *DB) OwnMark() { db.ownMark.Store(true) }

// marked returns an error while a file that is a mark exists.
func (s *sqlite) marked(context.Context) error {
	for _, m := range marks {
		if _, err := os.Stat(s.options.Path + m.ending); err == nil {
			return fmt.Errorf("%w (%s%s)", m.err, s.options.Path, m.ending)
		}
	}
	return nil
}

// marked returns an error while the database has a table that is a mark.
func (p *postgres) marked(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, p.config)
	if err != nil {
		return fmt.Errorf("connecting to postgres: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, m := range marks {
		var there bool
		if err := conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", m.table).Scan(&there); err != nil {
			return fmt.Errorf("looking for an unfinished restore or move: %w", err)
		}
		if there {
			return fmt.Errorf("%w (the table %s)", m.err, m.table)
		}
	}
	return nil
}
