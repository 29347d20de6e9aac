package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// database is the name of a server's database file.
const database = "tollgate.db"

// sizeFrom returns the number in an environment variable, or fallback if the variable is not set. It returns an error
// if the number is less than minimum. The error uses unit as the name of the things that the number counts.
func sizeFrom[T int | int64](variable, unit string, fallback, minimum T) (T, error) {
	text := os.Getenv(variable)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < int64(minimum) {
		return 0, fmt.Errorf("%s must be a number of %s from %d on, not %q", variable, unit, minimum, text)
	}
	return T(n), nil
}

// open opens a database with the given schemas. The parameters db and err are the results of a constructor of package
// store. A server may already be running on the database.
func open(ctx context.Context, db *store.DB, err error, schemas ...store.Schema) (*store.DB, error) {
	for _, s := range schemas {
		if err == nil {
			err = db.Register(s)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	db.Start(ctx)
	if err := db.WaitReady(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the database: %w", err), db.Close())
	}
	return db, nil
}

// openDatabase opens the database file of a server with the gateway's tables. The server may be running.
func openDatabase(ctx context.Context, dir string) (*store.DB, error) {
	db, err := store.NewSQLite(store.SQLiteOptions{Path: filepath.Join(dir, database)}, zap.NewNop())
	return open(ctx, db, err, schema.Gateway())
}

// newKeychain returns the keychain and the usage log in a database. The keychain uses the given master key.
func newKeychain(db *store.DB, masterKey []byte) (*keychain.Service, *spending.Ledger, error) {
	ring, err := keyring.NewAES(masterKey)
	if err != nil {
		return nil, nil, fmt.Errorf("making the keyring: %w", err)
	}
	ledger := spending.NewLedger(db, zap.NewNop(), time.Now)
	service, err := keychain.New(db, ring, ledger, zap.NewNop(), time.Now)
	if err != nil {
		return nil, nil, fmt.Errorf("making the keychain: %w", err)
	}
	return service, ledger, nil
}

// onBoth calls measure with an empty database on each engine: first an SQLite file in dir, then a database on a
// temporary PostgreSQL server. It returns the lines for SQLite, with the figures for PostgreSQL in the column "plain".
// The function measure must return the same lines for both engines.
func onBoth(
	ctx context.Context, dir string, tables store.Schema, measure func(db *store.DB) ([]line, error),
) ([]line, error) {
	measureAndClose := func(db *store.DB, err error) ([]line, error) {
		if db, err = open(ctx, db, err, tables); err != nil {
			return nil, err
		}
		defer func() { _ = db.Close() }() // nothing in it is kept
		return measure(db)
	}
	lines, err := measureAndClose(
		store.NewSQLite(store.SQLiteOptions{Path: filepath.Join(dir, database)}, zap.NewNop()))
	if err != nil {
		return nil, err
	}
	dsn, stop, err := testenv.StartPostgres()
	if err != nil {
		return nil, fmt.Errorf("starting PostgreSQL: %w", err)
	}
	defer func() { _ = stop() }() // nothing in it is kept
	onPostgres, err := measureAndClose(store.NewPostgres(store.PostgresOptions{DSN: dsn}, zap.NewNop()))
	for i := range onPostgres {
		lines[i].beside(onPostgres[i])
	}
	return lines, err
}

// beside puts the figure of the line for the other database into the column "plain", and sets the ratio of the two
// figures.
func (l *line) beside(other line) {
	l.plain = other.tollgate
	ours, err := strconv.ParseFloat(l.tollgate, 64)
	theirs, err2 := strconv.ParseFloat(l.plain, 64)
	if err == nil && err2 == nil && theirs > 0 {
		l.ratio = fmt.Sprintf("%.2f", ours/theirs)
	}
}

// analyze makes PostgreSQL collect statistics about a database that was just filled, as autovacuum would do later.
// SQLite needs none.
func analyze(ctx context.Context, db *store.DB) error {
	if db.Dialect() == store.SQLite {
		return nil
	}
	conn, err := db.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // the statement has already run
	_, err = conn.Exec(ctx, "VACUUM ANALYZE")
	return err
}
