package modules

import (
	"database/sql"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// TestServiceUsesOnlyItsTables checks that a server has the tables, the checks of the keyring and the key file of its
// services only.
func TestServiceUsesOnlyItsTables(t *testing.T) { // not parallel: provisioning sets Caddy's default logger
	const local = `{"handler":"api_auth","provider":{"provider":"user_jwt"}}`
	for name, c := range map[string]struct {
		handlers        []string
		tables, secrets []string
		key             bool
	}{
		"budget and health":          {[]string{`{"handler":"budget","limit":"1"}`, `{"handler":"health"}`}, nil, nil, false},
		"board":                      {[]string{`{"handler":"board"}`}, []string{"board", "keyring"}, []string{"board"}, true},
		"tokens of the board":        {[]string{`{"handler":"api_auth","provider":{"provider":"board_token"}}`}, []string{"board", "keyring"}, []string{"board"}, true},
		"run events":                 {[]string{`{"handler":"run_events"}`}, []string{"events"}, nil, false},
		"run events, users":          {[]string{local, `{"handler":"run_events"}`}, []string{"events"}, nil, true},
		"keychain":                   {[]string{`{"handler":"keychain"}`}, []string{"gateway", "keyring"}, []string{"gateway"}, true},
		"cascade":                    {[]string{`{"handler":"cascade"}`}, []string{"gateway", "keyring"}, []string{"gateway"}, true},
		"gateway keys":               {[]string{`{"handler":"api_auth","provider":{"provider":"gateway_key"}}`}, []string{"gateway", "keyring"}, []string{"gateway"}, true},
		"translate, scripted answer": {[]string{`{"handler":"translate","formats":["messages"]}`, `{"handler":"scripted_model"}`}, nil, nil, false},
		"board and gateway":          {[]string{`{"handler":"board"}`, `{"handler":"cascade"}`}, []string{"board", "gateway", "keyring"}, []string{"board", "gateway"}, true},
	} {
		t.Run(name, func(t *testing.T) { // not parallel: see above
			t.Chdir(t.TempDir())
			serve(t, c.handlers, c.tables, c.secrets)
			db := "data/tollgate.db"
			if _, err := os.Stat(db); (err == nil) != (c.tables != nil) {
				t.Errorf("the database: %v", err)
			}
			if _, err := os.Stat("data/tollgate.key"); (err == nil) != c.key {
				t.Errorf("the key file: %v", err)
			}
			if c.tables == nil {
				return
			}
			if got := column(t, db, `SELECT substr(name, 8) FROM sqlite_master WHERE type = 'table' AND name LIKE 'schema!_%' ESCAPE '!' ORDER BY 1`); !slices.Equal(got, c.tables) {
				t.Errorf("tables of %v, want %v", got, c.tables)
			}
			if c.secrets == nil {
				return
			}
			if got := column(t, db, `SELECT service FROM keyring_checks ORDER BY 1`); !slices.Equal(got, c.secrets) {
				t.Errorf("checks of the keyring of %v, want %v", got, c.secrets)
			}
		})
	}
}

// serve starts the apps that handlers load, and waits until the databases with the schemas in tables and the keyrings of
// the services in secrets can be used.
func serve(t *testing.T, handlers, tables, secrets []string) {
	t.Helper()
	base, err := caddy.ProvisionContext(&caddy.Config{
		Logging: &caddy.Logging{Logs: map[string]*caddy.CustomLog{"default": {BaseLog: caddy.BaseLog{Level: "PANIC"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := caddy.NewContext(base)
	defer cancel()
	for _, text := range handlers {
		var handler map[string]any
		if err := json.Unmarshal([]byte(text), &handler); err != nil {
			t.Fatal(err)
		}
		id := "http.handlers." + handler["handler"].(string)
		delete(handler, "handler")
		config, err := json.Marshal(handler)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ctx.LoadModuleByID(id, config); err != nil {
			t.Fatal(err)
		}
	}
	app, err := tollgate.From(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Start(); err != nil {
		t.Fatal(err)
	}
	for _, schema := range tables {
		if schema == "keyring" {
			continue
		}
		db, err := app.ServiceDatabase(schema, store.Schema{}) // a second reference to the same database
		if err == nil {
			err = db.WaitReady(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, service := range secrets {
		ring, err := app.Ring(service)
		if err == nil {
			err = ring.Check(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func column(t *testing.T, file, query string) []string {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	if err := rows.Err(); err != nil || strings.Join(all, "") == "" {
		t.Fatalf("%v, %v", all, err)
	}
	return all
}
