package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestManual(t *testing.T) {
	t.Parallel()
	root := &cobra.Command{Use: "tollgate"}
	adopt(root)
	run := func(*cobra.Command, []string) {}
	keys := &cobra.Command{Use: "keys", Short: "Keeps keys"}
	keys.AddCommand(&cobra.Command{Use: "create --label <name> [--limit <n>]", Short: "Makes a key", Run: run})
	root.AddCommand(keys)
	dir := filepath.Join(t.TempDir(), "man8")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeManual(root, dir); err != nil {
		t.Fatal(err)
	}
	for file, parts := range map[string][]string{
		"tollgate.8":             {`.TH "TOLLGATE" "8"`, "Tollgate Manual", "tollgate - Edge gateway for model APIs and web services\n"},
		"tollgate-keys-create.8": {`.TH "TOLLGATE-KEYS-CREATE" "8"`, "tollgate-keys-create - Makes a key\n", "--label <name> [--limit <n>]"},
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if !strings.Contains(strings.ReplaceAll(string(text), `\-`, "-"), part) {
				t.Errorf("%s lacks %q:\n%.400s", file, part, text)
			}
		}
		if strings.Contains(string(text), "Caddy\"") {
			t.Errorf("%s is of Caddy:\n%.400s", file, text)
		}
	}
}
