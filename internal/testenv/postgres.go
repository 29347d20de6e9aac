package testenv

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// PostgresServer is a PostgreSQL server with one database for the test. The data is kept while a private server is
// stopped.
type PostgresServer struct {
	testServer
	name string // of the database
}

// sharedPostgres starts the server that all tests of the process share.
var sharedPostgres = sync.OnceValues(func() (*server, error) { return startPostgres(false) })

// databases counts the databases on the shared server, for their names.
var databases atomic.Int64

// Postgres returns a new, empty database on the server that all tests of the process share. The database is dropped at
// the end of the test, and the server stops with the process.
func Postgres(tb testing.TB) *PostgresServer {
	tb.Helper()
	return postgresLike(tb, "template1")
}

// PostgresTemplate is a template for databases. The first call of Copy fills it.
type PostgresTemplate struct {
	once sync.Once
	name string
	err  error
}

// Copy works like Postgres, but the new database has the content of the template. The first call for a template calls
// fill to write that content. fill must close its connections before it returns.
func (t *PostgresTemplate) Copy(tb testing.TB, fill func(dsn string) error) *PostgresServer {
	tb.Helper()
	t.once.Do(func() {
		var shared *server
		if shared, t.err = sharedPostgres(); t.err != nil {
			return
		}
		t.name = "template_" + strconv.FormatInt(databases.Add(1), 10)
		if t.err = postgresAdmin(shared, "CREATE DATABASE "+t.name); t.err == nil {
			t.err = fill(postgresDSN(shared, t.name))
		}
	})
	if t.err != nil {
		tb.Fatalf("testenv: the template of databases: %v", t.err)
	}
	return postgresLike(tb, t.name)
}

// postgresLike returns a new database on the shared server with the content of the database that template names.
func postgresLike(tb testing.TB, template string) *PostgresServer {
	tb.Helper()
	shared, err := sharedPostgres()
	if err != nil {
		tb.Fatal(err)
	}
	p := &PostgresServer{testServer{tb: tb, server: shared}, "test_" + strconv.FormatInt(databases.Add(1), 10)}
	p.admin("CREATE DATABASE " + p.name + " TEMPLATE " + template)
	tb.Cleanup(func() { p.admin("DROP DATABASE " + p.name + " WITH (FORCE)") })
	return p
}

// NewPostgres returns a private server, which the test may stop and start.
func NewPostgres(tb testing.TB) *PostgresServer {
	tb.Helper()
	return &PostgresServer{privateServer(tb, func() (*server, error) { return startPostgres(false) }), "postgres"}
}

// DSN returns the URL of the database. No password is needed.
func (p *PostgresServer) DSN() string {
	return postgresDSN(p.server, p.name)
}

// admin runs a statement in the administrator's database.
func (p *PostgresServer) admin(statement string) {
	p.tb.Helper()
	if err := postgresAdmin(p.server, statement); err != nil {
		p.tb.Fatal(err)
	}
}

// postgresAdmin runs a statement in the administrator's database of a server.
func postgresAdmin(s *server, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, postgresDSN(s, "postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement)
	return err
}

// postgresDSN returns the URL of a database on a server.
func postgresDSN(s *server, database string) string {
	return "postgres://tollgate@" + s.address() + "/" + database + "?sslmode=disable"
}

// startPostgres makes a cluster and runs a server on it. A durable server has the default settings; the settings of
// other servers sacrifice durability for speed.
func startPostgres(durable bool) (_ *server, err error) {
	const folder = "/usr/lib/postgresql/*/bin" // where Debian installs it
	initdb, hasInitdb := lookUp("initdb", folder)
	postgres, hasPostgres := lookUp("postgres", folder)
	if !hasInitdb || !hasPostgres {
		return nil, fmt.Errorf("testenv: PostgreSQL's initdb and postgres are missing: apt-get install postgresql")
	}
	account, err := unprivileged()
	if err != nil {
		return nil, err
	}
	s, err := newServer("postgres", "INT", account) // INT does not wait for clients
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = s.stop(false)
		}
	}()

	data := filepath.Join(s.dir, "data")
	if err := s.makeCluster(initdb, data); err != nil {
		return nil, err
	}
	s.command = []string{
		postgres, "-D", data, "-p", strconv.Itoa(s.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=300",
		// Tests query small tables without statistics. Compiling such a query takes longer than it saves.
		"-c", "jit=off",
	}
	if !durable {
		s.command = append(s.command, "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off",
			"-c", "shared_buffers=32MB")
	}
	s.answers = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, postgresDSN(s, "postgres"))
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	}
	return s, s.start()
}

// makeCluster makes the folder data for a PostgreSQL server by running the program initdb.
func (s *server) makeCluster(initdb, data string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, initdb, //nolint:gosec // found by lookUp
		"--pgdata="+data, "--username=tollgate", "--auth=trust",
		"--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	cmd.Dir = s.dir
	s.account.apply(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}
