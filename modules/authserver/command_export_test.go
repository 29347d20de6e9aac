package authserver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestExport checks that a failed export leaves no file, and that an existing file is neither overwritten nor removed.
func TestExport(t *testing.T) { // not parallel: a process has one command line, which Caddy relies on
	run, config := userLine(t)
	file := filepath.Join(t.TempDir(), "accounts")
	db, end := databaseOf(t, config)
	rename := func(oldName, newName string) {
		t.Helper()
		if err := db.Write(t.Context(), func(c store.Conn) error {
			_, err := c.Exec("ALTER TABLE " + oldName + " RENAME TO " + newName)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	rename("authserver_users", "authserver_away")
	if _, _, err := run("", "export", file); err == nil {
		t.Error("users were exported without their table")
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the failed export left its file: %v", err)
	}
	rename("authserver_away", "authserver_users")
	end()
	for _, wantErr := range []bool{false, true} { // the second one finds the file of the first
		if _, _, err := run("", "export", file); (err != nil) != wantErr {
			t.Errorf("export: error %v, want one: %v", err, wantErr)
		}
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
}
