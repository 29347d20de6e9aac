package tollgate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// heldFiles has the database files that this process serves. The configurations of this process share them; no other
// process may serve them at the same time.
var heldFiles = caddy.NewUsagePool()

// holdFiles locks the database files for this process.
func (a *App) holdFiles() error {
	for i, p := range a.pending {
		file := p.db.File()
		if file == "" || a.pendingBefore(i) {
			continue
		}
		_, err := Share(a, heldFiles, file,
			func() (func(), error) { return store.HoldSQLite(a.ctx, file) },
			func(release func()) error {
				release()
				return nil
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// LookAhead returns an error if a server could not use the configuration's database files: another process serves a
// file, its folder cannot be created, or it cannot be read. It creates missing folders.
func (a *App) LookAhead(ctx context.Context) error {
	databases, err := a.databases()
	if err != nil {
		return err
	}
	for _, d := range databases {
		file := d.DB.File()
		if file == "" || d.Name == commonDatabase && !a.usesCommon() { // file is empty on PostgreSQL
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return fmt.Errorf("the folder of the database cannot be created: %w", err)
		}
		release, err := store.HoldSQLite(ctx, file)
		if err != nil {
			return err
		}
		err = store.ReadableSQLite(ctx, file)
		release()
		if err != nil {
			return fmt.Errorf("the database %s cannot be used: %w", file, err)
		}
	}
	return nil
}

// usesCommon reports whether any service in the configuration uses the common database. It returns false for a
// configuration that is not valid JSON, which has been reported before.
func (a *App) usesCommon() (used bool) {
	for _, name := range Services() {
		if _, separate := a.named[name]; separate {
			continue
		}
		err := a.handlers(registered[name], func(json.RawMessage) error {
			used = true
			return nil
		})
		if err != nil {
			return false
		}
	}
	return used
}
