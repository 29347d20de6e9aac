package authserver

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/brokers"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/transit"
	"github.com/tollgate-gateway/tollgate/internal/transit/transittest"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// TestReencrypt moves a database from a master key to a key management server, and checks that finished work is not
// repeated. Tests of commands set Caddy's default logger.
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
	if _, err := server.Reseal(t.Context(), nil); err != nil { // there are no sealed values yet
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; { // the first key is created in the background
		if done, err := server.Reseal(t.Context(), nil); err != nil {
			t.Fatal(err)
		} else if done.Scanned == 1 {
			break
		} else if time.Now().After(deadline) {
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
	if events := feed(t, caddyfile); len(events) < 4 || !slices.Equal(events[len(events)-4:], []string{want[0], want[1], want[0], want[0]}) {
		t.Errorf("the audit feed has %q", events)
	}
}

// TestReencryptAll checks the command with several servers on one database. It uses the keys of all servers that seal,
// wherever they are configured, and refuses servers that seal differently.
func TestReencryptAll(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("OLD", strings.Repeat("0a", 32))
	t.Setenv("NEW", strings.Repeat("0b", 32))
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	caddyfile := filepath.Join(folder, "Caddyfile")
	const sealed = "signing: {key_store: postgres_key}\ndata_encryption: {driver: aes_master, aes_master: "
	write("old.yaml", sealed+"{key_env: OLD}}\n")
	write("plain.yaml", "signing: {key_path: "+folder+"}\n")
	write("new.yaml", sealed+"{key_env: NEW}}\n")
	write("both.yaml", sealed+"{key_env: NEW, old_key_env: OLD}}\n")
	site := func(files ...string) {
		t.Helper()
		text := "{\n\torder authserver before respond\n\ttollgate {\n\t\tdatabase sqlite " + filepath.Join(folder, "x.db") + "\n\t}\n}\n"
		for i, file := range files {
			text += ":" + strconv.Itoa(9000+i) + " {\n\tauthserver {\n\t\tconfig " + file + "\n\t}\n\tauthserver {\n\t\tconfig " + file + "\n\t\tlistener admin\n\t}\n}\n"
		}
		write("Caddyfile", text)
	}
	run := func() (string, error) {
		root := &cobra.Command{Use: "authserver", SilenceUsage: true, SilenceErrors: true}
		commands(root)
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(new(bytes.Buffer))
		root.SetArgs([]string{"re-encrypt", "--json", "--config", caddyfile})
		err := root.ExecuteContext(t.Context())
		return strings.Join(strings.Fields(out.String()), ""), err
	}
	keep := func(provider, seal string) {
		t.Helper()
		db, end := databaseOf(t, caddyfile)
		defer end()
		master, err := encryption.NewMaster(seal, "")
		if err != nil {
			t.Fatal(err)
		}
		text, err := master.Seal(t.Context(), []byte("secret of "+provider), encryption.Place(brokers.Sealed.Table, provider, brokers.Sealed.Column))
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Write(t.Context(), func(c store.Conn) error {
			_, err := c.Exec("INSERT INTO authserver_brokers (id, slug, protocol, secret, created_at, updated_at) VALUES (?, ?, 'oauth', ?, 0, 0)", provider, provider, text)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	site("plain.yaml")
	if _, err := run(); !errors.Is(err, encryption.ErrNone) {
		t.Errorf("without a server that seals: %v", err)
	}
	keep("git", os.Getenv("OLD"))
	for _, test := range []struct {
		files []string
		want  string
		err   string
	}{
		{[]string{"plain.yaml", "old.yaml"}, `{"scanned":1,"rewritten":0,"failed":0}`, ""},
		{[]string{"new.yaml"}, `{"scanned":1,"rewritten":0,"failed":1}`, "cannot be decrypted"},
		{[]string{"old.yaml", "both.yaml"}, "", "use the same database but encrypt with different keys"},
		{[]string{"new.yaml", "plain.yaml", "both.yaml"}, `{"scanned":1,"rewritten":1,"failed":0}`, ""},
		{[]string{"new.yaml", "both.yaml"}, `{"scanned":1,"rewritten":0,"failed":0}`, ""},
	} {
		site(test.files...)
		output, err := run()
		if output != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%q: %s, error %v, want %s %s", test.files, output, err, test.want, test.err)
		}
	}
}
