package keychain

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	_ "github.com/tollgate-gateway/tollgate/modules/keyring"
)

// reencrypt runs tollgate keyring re-encrypt.
func reencrypt(t *testing.T, args ...string) (out, notes string, err error) {
	t.Helper()
	root := &cobra.Command{Use: "keyring", SilenceUsage: true, SilenceErrors: true}
	caddycmd.Commands()["keyring"].CobraFunc(root)
	var stdout, stderr bytes.Buffer
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	root.SetArgs(append([]string{"re-encrypt"}, args...))
	err = root.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

// TestReencrypt puts a new master key before the old key, encrypts the database anew, and removes the old key.
func TestReencrypt(t *testing.T) {
	l, _ := sqliteCommandLine(t)
	l.stdin = "gsk_0123456789-abcdefghijklmnopqrstuvwxyz-WXYZ"
	l.run("users", "add", "alice")
	l.run("provider-keys", "add", "groq", "-u", "alice")
	out, _, err := reencrypt(t, "-c", l.config)
	if want := "SERVICE  SECRETS  RE-ENCRYPTED  CHANGED MEANWHILE  CANNOT BE DECRYPTED\ngateway  1        0             0                  0\n"; out != want || err != nil {
		t.Errorf("got\n%s\nwant\n%s\nerror %v", out, want, err)
	}
	const newer = "bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmU="
	text, err := os.ReadFile(l.config)
	if err != nil {
		t.Fatal(err)
	}
	configure := func(keys string) {
		t.Helper()
		if err := os.WriteFile(l.config, []byte(strings.Replace(string(text), masterKey, keys, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	configure(newer)
	out, _, err = reencrypt(t, "--json", "-c", l.config)
	if err == nil || !strings.Contains(err.Error(), "the keyring does not open the stored secrets of gateway: configure the master key that encrypted them") || out != "" {
		t.Errorf("without the old key: %s, error %v", out, err)
	}
	configure(newer + " " + masterKey)
	out, notes, err := reencrypt(t, "--json", "-c", l.config)
	if compact(t, out) != `{"gateway":{"total":1,"resealed":1,"changed":0,"unreadable":0}}` || notes != "gateway: 1 of 1 secrets checked\n" || err != nil {
		t.Errorf("with both keys: %s, notes %s, error %v", out, notes, err)
	}
	configure(newer)
	if out, _, err = reencrypt(t, "--json", "-c", l.config); compact(t, out) != `{"gateway":{"total":1,"resealed":0,"changed":0,"unreadable":0}}` || err != nil {
		t.Errorf("with the new key: %s, error %v", out, err)
	}
}

// TestReencryptInWrongFolder checks that without a database the command returns an error and creates no database.
func TestReencryptInWrongFolder(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	if _, _, err := reencrypt(t); err == nil || !strings.Contains(err.Error(), "there is no database at "+filepath.Join(folder, "data", "tollgate.db")+": run the command in the folder of the server") {
		t.Errorf("error %v", err)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) > 0 {
		t.Errorf("the command created %v (%v)", files, err)
	}
}
