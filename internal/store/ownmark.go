package store

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
)

// A database is marked while it is being restored, or filled from a database of the other engine; no server opens a
// marked database. On SQLite the mark is the unfinished database itself. It is a file beside the final path, with one
// of these endings added to the final name, and it is renamed at the end. On PostgreSQL the mark is a table.
const (
	RestoringEnding = ".restoring"
	RestoringTable  = "tollgate_restoring"
	MovingEnding    = ".moving"
	MovingTable     = "tollgate_moving"
)

// These errors are returned for a marked database.
var (
	errRestoring = errors.New(
		"a restore into this database is unfinished: run it again, or start over with an empty database")
	errMoving = errors.New(
		"a move into this database is unfinished: run it again, or start over with an empty database")
)

// marks lists the possible marks.
var marks = []struct {
	ending, table string
	err           error
}{{RestoringEnding, RestoringTable, errRestoring}, {MovingEnding, MovingTable, errMoving}}

// OwnMark makes Start open a database even if it is marked. The mark means that a restore or a move into the database
// is unfinished. OwnMark is for the program that has set the mark.
func (db *DB) OwnMark() { db.ownMark.Store(true) }

// checkMark returns an error if a file beside the database marks it.
func (s *sqlite) checkMark(context.Context) error {
	for _, m := range marks {
		if _, err := os.Stat(s.options.Path + m.ending); err == nil {
			return fmt.Errorf("%w (%s%s)", m.err, s.options.Path, m.ending)
		}
	}
	return nil
}

// checkMark returns an error if the database has a table that marks it.
func (p *postgres) checkMark(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, p.config)
	if err != nil {
		return fmt.Errorf("connecting to postgres: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, m := range marks {
		var exists bool
		if err := conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", m.table).Scan(&exists); err != nil {
			return fmt.Errorf("looking for an unfinished restore or move: %w", err)
		}
		if exists {
			return fmt.Errorf("%w (the table %s)", m.err, m.table)
		}
	}
	return nil
}
