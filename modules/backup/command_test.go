package backup

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
	_ "github.com/tollgate-gateway/tollgate/modules/keyring/aes"
	_ "github.com/tollgate-gateway/tollgate/modules/storage/sqlite"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// plain is the schema of a service without secrets.
var plain = store.Schema{Name: "plain", Migrations: fstest.MapFS{
	"00001_plain.sql": {Data: []byte("-- +goose Up\nCREATE TABLE plain (n BIGINT NOT NULL);\n")},
}}

func init() {
	tollgate.Register(tollgate.Service{Name: "plain", Schemas: []store.Schema{plain}})
}

// TestKeyNotes checks what the commands say about a master key that is not in the backup. They say nothing if no
// master key exists. Tests of commands set Caddy's default logger.
func TestKeyNotes(t *testing.T) { // not parallel: see above
	const (
		named   = "because it is not in a file"
		missing = "The backup does not contain the master key: there is no file "
		left    = "The backup contains neither the master key nor the signing keys"
		restore = "The backup does not contain the master key: copy it to "
	)
	for name, test := range map[string]struct {
		keyring  string
		schema   store.Schema
		flags    []string
		file     bool   // there is a key file
		backup   string // the note of the command backup, or ""
		restored string // the note of the command restore, or ""
	}{
		"no key":                  {schema: plain},
		"no key, without keys":    {schema: plain, flags: []string{"--without-key"}, backup: "does not contain the signing keys"},
		"a key file":              {schema: sealed.Schema(), file: true},
		"a key file, left out":    {schema: sealed.Schema(), file: true, flags: []string{"--without-key"}, backup: left, restored: restore},
		"a key file, not needed":  {schema: plain, file: true, flags: []string{"--without-key"}, backup: left},
		"a lost key file":         {schema: sealed.Schema(), backup: missing, restored: restore},
		"a key in the Caddyfile":  {keyring: "keyring aes MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", schema: sealed.Schema(), backup: named},
		"no secrets, a named key": {keyring: "keyring aes MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", schema: plain, backup: named},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			config := func(data string) (file string) {
				t.Helper()
				text := "{\n\ttollgate {\n\t\tdatabase sqlite " + filepath.Join(folder, data, "x.db") + "\n\t\t" + test.keyring + "\n\t}\n}\n"
				file = filepath.Join(folder, data+".caddyfile")
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return file
			}
			run := func(add func(*cobra.Command), args ...string) (notes string) {
				t.Helper()
				root := &cobra.Command{Use: "test", SilenceUsage: true, SilenceErrors: true}
				add(root)
				var errs bytes.Buffer
				root.SetOut(new(bytes.Buffer))
				root.SetErr(&errs)
				root.SetArgs(args)
				if err := root.ExecuteContext(t.Context()); err != nil {
					t.Fatal(err)
				}
				return errs.String()
			}
			says := func(command, notes, want string) {
				t.Helper()
				if !strings.Contains(notes, want) || want == "" && (strings.Contains(notes, "master key") || strings.Contains(notes, "signing keys")) {
					t.Errorf("%s: it says %q, want %q", command, notes, want)
				}
			}

			source, target := config("from"), config("to")
			app, end, err := tollgate.Load(source, "")
			if err != nil {
				t.Fatal(err)
			}
			_, err = app.OpenDatabase(t.Context(), "plain", test.schema)
			end()
			if err != nil {
				t.Fatal(err)
			}
			if test.file {
				if err := os.WriteFile(filepath.Join(folder, "from", "tollgate.key"), []byte("a key"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			copied := filepath.Join(folder, "copied")
			says("backup", run(backupCommand, append(test.flags, copied, "--config", source)...), test.backup)
			says("restore", run(restoreCommand, copied, "--config", target), test.restored)
		})
	}
}
