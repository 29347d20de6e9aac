package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// database is the file name of a server's database.
const database = "tollgate.db"

// plenty is a limit that no run reaches, but that has to be counted against.
const plenty = 1_000_000_000

// seed makes the database of a server before it starts: one user with a key at
// the provider. It returns a gateway key that has a limit, so that the gateway's
// budget has something to count.
func seed(ctx context.Context, dir string) (key string, err error) {
	db, err := openDatabase(ctx, dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }() // what was to be kept is committed
	master, _, err := keyring.LoadOrCreateKeyFile(filepath.Join(dir, "tollgate.key"))
	if err != nil {
		return "", fmt.Errorf("making the master key: %w", err)
	}
	ring, err := keyring.NewAES(master)
	if err != nil {
		return "", fmt.Errorf("making the keyring: %w", err)
	}
	service, err := keychain.New(db, ring, zap.NewNop(), time.Now)
	if err != nil {
		return "", fmt.Errorf("making the keychain: %w", err)
	}
	defer service.Close()
	const user = "bench"
	if _, _, _, err := service.InitUser(ctx, user); err != nil {
		return "", fmt.Errorf("making the user: %w", err)
	}
	known := func(string) bool { return true }
	if _, err := service.AddProviderKey(ctx, user, "openai", "sk-bench-not-a-secret", "", known); err != nil {
		return "", fmt.Errorf("adding the provider key: %w", err)
	}
	limit := int64(plenty)
	made, err := service.CreateKey(ctx, user, keychain.KeyOptions{RateLimitPerMinute: &limit})
	if err != nil {
		return "", fmt.Errorf("making the gateway key: %w", err)
	}
	return made.Key, nil
}

// openDatabase opens a server's database, also beside the server.
func openDatabase(ctx context.Context, dir string) (*store.DB, error) {
	db, err := store.NewSQLite(store.SQLiteOptions{Path: filepath.Join(dir, database)}, zap.NewNop())
	if err == nil {
		err = db.Register(keychain.Schema())
	}
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	db.Start(ctx)
	if err := db.WaitReady(ctx); err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	return db, nil
}

// usageRecords counts what the usage log of a server has.
func usageRecords(ctx context.Context, dir string) (n int64, err error) {
	db, err := openDatabase(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }() // what was to be kept is committed
	err = db.Read(ctx, func(c store.Conn) error {
		return c.Row("SELECT COUNT(*) FROM gateway_usage").Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("counting usage records: %w", err)
	}
	return n, nil
}
