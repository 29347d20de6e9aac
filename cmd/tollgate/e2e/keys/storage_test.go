package keys

import (
	"bufio"
	"crypto/elliptic"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// postgres returns the settings for a new PostgreSQL database, and a pool of connections to that database.
func postgres(t *testing.T, s settings) (settings, *sql.DB) {
	t.Helper()
	dsn := testenv.Postgres(t).DSN()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return s.And(settings{"storage.driver": "postgres", "storage.postgres.dsn": dsn}), db
}

// processes returns the process IDs of all other connections to a database.
func processes(t *testing.T, db *sql.DB) (list []int) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY pid")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var pid int
		if err := rows.Scan(&pid); err != nil {
			t.Fatal(err)
		}
		list = append(list, pid)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// within reports whether a condition soon becomes true.
func within(happens func() bool) string {
	for end := time.Now().Add(2 * soon); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if happens() {
			return "true"
		}
	}
	return "false"
}

// crowd calls f while many requests wait for a locked table, each of which occupies a connection.
func (n *server) crowd(db *sql.DB, many int, f func()) {
	n.t.Helper()
	tx, err := db.BeginTx(n.t.Context(), nil)
	if err == nil {
		_, err = tx.ExecContext(n.t.Context(), "LOCK TABLE authserver_users IN ACCESS EXCLUSIVE MODE")
	}
	if err != nil {
		n.t.Fatal(err)
	}
	done := make(chan struct{}, many)
	for range many {
		go func() {
			n.get(n.adminPort, "/admin/users")
			done <- struct{}{}
		}()
	}
	f()
	if err := tx.Rollback(); err != nil {
		n.t.Fatal(err)
	}
	for range many {
		<-done
	}
}

// flipsOfStorage has the settings for the database, and for values that can be used once.
var flipsOfStorage = map[string]flip{
	"storage.driver": {Other: "postgres", Want: [2]string{"true", "false"}, See: func(t *testing.T, s settings) string {
		with, _ := postgres(t, nil)
		return run(t, with.And(s)).file("data", "authserver.db")
	}},
	"storage.postgres.dsn": {First: "one", Other: "two", Want: [2]string{"1 0", "0 1"}, See: func(t *testing.T, s settings) string {
		one, first := postgres(t, nil)
		two, second := postgres(t, nil)
		run(t, map[string]settings{"one": one, "two": two}[s["storage.postgres.dsn"]])
		var found [2]int
		for i, db := range []*sql.DB{first, second} {
			if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pg_tables WHERE tablename = 'authserver_users'").Scan(&found[i]); err != nil {
				t.Fatal(err)
			}
		}
		return strconv.Itoa(found[0]) + " " + strconv.Itoa(found[1])
	}},
	"storage.postgres.max_conns": {Other: "3", With: settings{"storage.postgres.min_conns": "1"}, Want: [2]string{"true", "false"}, See: func(t *testing.T, s settings) (more string) {
		with, db := postgres(t, s)
		n := run(t, with)
		n.crowd(db, 10, func() {
			more = within(func() bool { return len(processes(t, db)) > 6 }) // besides connections outside of the pool
		})
		return more
	}},
	"storage.postgres.min_conns": {Other: "20", Want: [2]string{"false", "true"}, See: func(t *testing.T, s settings) string {
		with, db := postgres(t, s)
		run(t, with)
		return strconv.FormatBool(len(processes(t, db)) >= 20)
	}},
	"storage.postgres.max_conn_idle_time": {Other: "100ms", With: settings{"storage.postgres.min_conns": "15"}, Want: [2]string{"false", "true"}, See: func(t *testing.T, s settings) string {
		with, db := postgres(t, s)
		n := run(t, with)
		n.crowd(db, 20, func() { within(func() bool { return len(processes(t, db)) > 15 }) })
		return within(func() bool { return len(processes(t, db)) < 10 })
	}},
	"storage.postgres.max_conn_lifetime": {Other: "100ms", Want: [2]string{"false", "true"}, See: func(t *testing.T, s settings) string {
		with, db := postgres(t, s)
		n := run(t, with)
		var before []int
		n.crowd(db, 10, func() { // most connections belong to the pool
			within(func() bool { before = processes(t, db); return len(before) > 10 })
			time.Sleep(200 * time.Millisecond) // longer than the lifetime
		})
		return within(func() bool {
			alive := processes(t, db)
			left := slices.DeleteFunc(slices.Clone(before), func(pid int) bool { return !slices.Contains(alive, pid) })
			return len(left) <= len(before)/2 // some do not belong to the pool
		})
	}},
	"storage.sqlite.path": {Other: "data/own.db", Want: [2]string{"true false", "false true"}, See: func(t *testing.T, s settings) string {
		n := run(t, s)
		return n.file("data", "authserver.db") + " " + n.file("data", "own.db")
	}},
	"storage.sqlite.wal": {Other: "false", Want: [2]string{"true", "false"}, See: func(t *testing.T, s settings) string {
		return run(t, s).file("data", "authserver.db-wal")
	}},

	"counters.redis_env": {Other: "REDIS", Want: [2]string{"false", "true"}, See: func(t *testing.T, s settings) string {
		at, err := url.Parse(testenv.NewRedis(t).URL())
		if err != nil {
			t.Fatal(err)
		}
		n := run(t, s, "REDIS="+at.String())
		key := jwkstest.NewEC(elliptic.P256()) // a proof can be used once (RFC 9449 section 11.1)
		proof := jwkstest.Sign(t, "ES256", key, map[string]any{"typ": "dpop+jwt", "jwk": json.RawMessage(jwkstest.JWK("", key))}, map[string]any{
			"jti": rand.Text(), "htm": http.MethodPost, "htu": "http://localhost:" + n.publicPort + "/oauth/token", "iat": time.Now().Unix(),
		})
		made := e2e.Do(t, e2e.Client, http.MethodPost, "http://127.0.0.1:"+n.adminPort+"/admin/clients", "", `{"client_name":"Robot","grant_types":["client_credentials"],"scope":"x","token_endpoint_auth_method":"client_secret_post"}`, "Content-Type", "application/json")
		var robot struct {
			ID     string `json:"client_id"`
			Secret string `json:"client_secret"`
		}
		if err := json.Unmarshal([]byte(made.Body), &robot); err != nil {
			t.Fatal(err, made.Body)
		}
		form := url.Values{"grant_type": {"client_credentials"}, "client_id": {robot.ID}, "client_secret": {robot.Secret}}.Encode()
		e2e.Do(t, e2e.Client, http.MethodPost, "http://127.0.0.1:"+n.publicPort+"/oauth/token", "", form, "Content-Type", "application/x-www-form-urlencoded", "DPoP", proof)
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", at.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, err := c.Write([]byte("DBSIZE\r\n")); err != nil {
			t.Fatal(err)
		}
		size, err := bufio.NewReader(c).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strconv.FormatBool(strings.TrimSpace(size) != ":0")
	}},
}
