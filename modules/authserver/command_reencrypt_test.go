package authserver

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/transit"
	"github.com/tollgate-gateway/tollgate/internal/transit/transittest"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// TestReencrypt: a database moves from a master key to a key management server, and what is
// done is not done again. Tests of commands set Caddy's default logger.
func TestReencrypt(t *testing.T) {
	folder := t.TempDir()
	kms := transittest.New(t)
	client, err := transit.New(transit.Options{Address: kms.URL, Token: transittest.Root})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Key("transit", "data").Create(t.Context(), transit.AES256GCM); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MASTER", strings.Repeat("0a", 32))
	t.Setenv("KMS_TOKEN", transittest.Root)
	keys, caddyfile := filepath.Join(folder, "keys.yaml"), filepath.Join(folder, "Caddyfile")
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(caddyfile, "{\n\torder authserver before respond\n\ttollgate {\n\t\tdatabase sqlite "+filepath.Join(folder, "x.db")+"\n\t}\n}\n:0 {\n\tauthserver {\n\t\tconfig keys.yaml\n\t}\n}\n")
	const table = "signing: {key_store: postgres_key}\ndata_encryption: {aes_master: {key_env: MASTER}, "
	write(keys, table+"driver: aes_master}\n")

	app, end, err := tollgate.Load(caddyfile, "")
	if err != nil {
		t.Fatal(err)
	}
	db, err := app.OpenDatabase(t.Context(), serviceName, authserver.Schema())
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(keys)
	if err != nil {
		t.Fatal(err)
	}
	shared := counters.NewMemory(time.Now)
	server, err := authserver.New(authserver.Options{Config: loaded, DB: db, Counters: shared, Key: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Reseal(t.Context(), nil); err != nil { // there is nothing yet
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(2 * time.Minute); ; { // the first key is made in the background
		if done, err := server.Reseal(t.Context(), nil); err != nil {
			t.Fatal(err)
		} else if done.Scanned == 1 {
			break
		} else if time.Now().After(until) {
			t.Fatal("no key is made")
		}
	}
	server.Close()
	end()
	if err := shared.Close(); err != nil {
		t.Fatal(err)
	}

	run := func(want string) {
		t.Helper()
		root := &cobra.Command{Use: "authserver", SilenceUsage: true, SilenceErrors: true}
		commands(root)
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(new(bytes.Buffer))
		root.SetArgs([]string{"re-encrypt", "--json", "--config", caddyfile})
		if err := root.ExecuteContext(t.Context()); err != nil || strings.Join(strings.Fields(out.String()), "") != want {
			t.Errorf("%s, error %v, want %s", out.String(), err, want)
		}
	}
	run(`{"scanned":1,"rewritten":0,"failed":0}`)
	far := "driver: kms_transit_encrypt, kms_transit_encrypt: {address: '" + kms.URL + "', auth_method: token, token_env: KMS_TOKEN, key_name: data}}\n"
	write(keys, table+far)
	run(`{"scanned":1,"rewritten":1,"failed":0}`)
	run(`{"scanned":1,"rewritten":0,"failed":0}`)
	write(keys, strings.Replace(table, "aes_master: {key_env: MASTER}, ", "", 1)+far)
	run(`{"scanned":1,"rewritten":0,"failed":0}`)
	want := []string{"encryption.reencrypted admin scanned=1 rewritten=0 failed=0", "encryption.reencrypted admin scanned=1 rewritten=1 failed=0"}
	if told := feed(t, caddyfile); len(told) < 4 || !slices.Equal(told[len(told)-4:], []string{want[0], want[1], want[0], want[0]}) {
		t.Errorf("the audit feed has %q", told)
	}
}
