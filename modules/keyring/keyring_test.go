package keyring

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/internal/transit"
	"github.com/tollgate-gateway/tollgate/internal/transit/transittest"
	_ "github.com/tollgate-gateway/tollgate/modules/counters/memory"
	_ "github.com/tollgate-gateway/tollgate/modules/keyring/aes"
	_ "github.com/tollgate-gateway/tollgate/modules/keyring/transit"
	_ "github.com/tollgate-gateway/tollgate/modules/storage/sqlite"
)

// TestWrap checks that a master key that the key management server has wrapped is unwrapped unchanged. Tests of
// commands set Caddy's default logger.
func TestWrap(t *testing.T) { // not parallel: see above
	s := transittest.New(t)
	c, err := transit.New(transit.Options{Address: s.URL, Token: transittest.Root})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Key("transit", "tollgate").Create(t.Context(), transit.AES256GCM); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "Caddyfile")
	run := func(ring, stdin string, args ...string) (string, error) {
		t.Helper()
		text := "{\n\ttollgate {\n\t\tdatabase sqlite " + filepath.Join(folder, "x.db") + "\n\t\tkeyring " + ring + "\n\t}\n}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		root := &cobra.Command{Use: "keyring", SilenceUsage: true, SilenceErrors: true}
		keyringCommands(root)
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(new(bytes.Buffer))
		root.SetIn(strings.NewReader(stdin))
		root.SetArgs(append(args, "--config", file))
		err := root.ExecuteContext(t.Context())
		return strings.TrimSpace(out.String()), err
	}
	far := func(keys string) string {
		return "transit " + keys + " {\n\t\t\taddress " + s.URL + "\n\t\t\ttoken " + transittest.Root + "\n\t\t}"
	}
	const key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	wrapped, err := run(far(""), key+"\n", "wrap", "--existing")
	if err != nil || transit.CipherVersion(wrapped) != 1 {
		t.Fatalf("%q, error %v", wrapped, err)
	}
	fresh, err := run(far(""), "", "wrap")
	if err != nil || fresh == wrapped {
		t.Fatalf("%q, error %v", fresh, err)
	}
	if text, err := run(far(fresh+" "+wrapped), "", "unwrap"); err != nil || !strings.HasSuffix(text, "\n"+key) {
		t.Errorf("%q, error %v", text, err)
	}
	if _, err := run(far(""), "hunter2\n", "wrap", "--existing"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v", err)
	}
	for _, command := range []string{"wrap", "unwrap"} {
		if _, err := run("aes "+key, "", command); err == nil || !strings.Contains(err.Error(), "needs the keyring transit") {
			t.Errorf("%s: error %v", command, err)
		}
	}
}
